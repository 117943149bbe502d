import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";

/** The clone's root, where the stack files are. */
export const repository = resolve(import.meta.dirname, "..");

/** @returns what git printed @throws Error when it fails */
export async function git(...args: readonly string[]): Promise<string> {
  const options = { cwd: repository, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)("git", args, options);
  return stdout;
}

/**
 * The commit behind a name.
 * @param name anything that git resolves to a commit
 * @throws Error for a person, naming it, when there is none
 */
export async function commitOf(name: string): Promise<string> {
  try {
    return (await git("rev-parse", "--verify", "--end-of-options", `${name}^{commit}`)).trim();
  } catch {
    throw new Error(
      `BASE = ${name}: not a commit of this repository; name a branch, tag or commit`,
    );
  }
}
