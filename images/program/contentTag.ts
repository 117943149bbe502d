import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

/** What the image is made of; a Python cache or an editor's file beside it is not. */
const SOURCES = /^(Dockerfile|\.dockerignore|requirements\.txt|.*\.py)$/;

/**
 * A tag that names what an image is built from: the same in every clone, whatever its path and its files' times.
 * @param folder with a slash at its end
 * @returns `src-` and 12 hex digits
 */
export function contentTag(folder: URL): string {
  const hash = createHash("sha256");
  const names = readdirSync(folder).filter((name) => SOURCES.test(name));
  for (const name of names.sort()) {
    const content = readFileSync(new URL(name, folder));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return `src-${hash.digest("hex").slice(0, 12)}`;
}
