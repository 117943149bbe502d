import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { binaryNames, buildArguments, pins, type BinaryName } from "./pins.ts";

/** Folder of the go.mod files. */
export const sourceFolder = import.meta.dirname;

/**
 * The project's cache of tools, shared by every clone of this user:
 * `${XDG_CACHE_HOME:-~/.cache}/llm-serving/toolchain`.
 * A relative XDG_CACHE_HOME is ignored, as the XDG base directory specification says.
 */
export function cacheRoot(env: NodeJS.ProcessEnv): string {
  const stated = env.XDG_CACHE_HOME ?? "";
  const base = isAbsolute(stated) ? stated : join(env.HOME ?? homedir(), ".cache");
  return join(base, "llm-serving", "toolchain");
}

/** First 12 hex digits of a SHA-256 over the parts, in their order. */
export function shortHash(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex").slice(0, 12);
}

/**
 * Names what a module's binaries are built from: its pins, its Go files, the flags and the platform.
 * Two clones with the same key may share binaries; any other edit gets a folder of its own.
 * @param sources folder that holds the module's folder
 */
export function moduleKey(module: string, sources = sourceFolder): string {
  const files = ["go.mod", "go.sum", "main.go"]
    .map((file) => join(sources, module, file))
    .filter((path) => existsSync(path));
  const flags = binaryNames
    .filter((name) => pins[name].module === module)
    .map((name) => [name, pins[name].version, ...buildArguments(pins[name])].join(" "));
  return shortHash([
    `${process.platform}/${process.arch}`,
    ...flags,
    ...files.map((path) => readFileSync(path, "utf8")),
  ]);
}

/** Where each binary lies in the cache once it is built. A file there is always complete. */
export function cachedPaths(root: string): Readonly<Record<BinaryName, string>> {
  const keys = new Map<string, string>();
  const paths = binaryNames.map((name) => {
    const { module } = pins[name];
    const key = keys.get(module) ?? moduleKey(module);
    keys.set(module, key);
    return [name, join(root, `${module}-${key}`, name)] as const;
  });
  return Object.fromEntries(paths) as Record<BinaryName, string>;
}
