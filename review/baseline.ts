import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import type { FieldChange } from "./resourceChange.ts";
import { stackEdits } from "./stackEdits.ts";

const execute = promisify(execFile);
const repository = resolve(import.meta.dirname, "..");

/** What was edited since a commit. */
export interface Baseline {
  /** Abbreviated commit of the work tree, and whether it has changes that are not committed. */
  readonly commit: string;
  readonly dirty: boolean;
  /** Abbreviated commit of the base. */
  readonly baseCommit: string;
  /** Keys of the stack file that differ from the base. */
  readonly edits: readonly FieldChange[];
  /** Files beside the stack file that differ from the base. */
  readonly changedFiles: readonly string[];
}

/**
 * Compares the work tree with a commit.
 * @param base anything that git resolves to a commit
 * @param configFile stack file instead of the stack's own
 * @throws Error that names the base, or the stack's file, when there is none
 */
export async function baselineOf(
  stack: string,
  base: string,
  configFile?: string,
): Promise<Baseline> {
  const file = `Pulumi.${stack}.yaml`;
  const baseCommit = await commitOf(base);
  const [commit, status, names, before, after] = await Promise.all([
    commitOf("HEAD"),
    git("status", "--porcelain"),
    git("diff", "--name-only", baseCommit, "--"),
    // A stack may be new.
    git("show", `${baseCommit}:${file}`).catch(() => undefined),
    readFile(configFile ?? resolve(repository, file), "utf8").catch(() => undefined),
  ]);
  if (after === undefined) {
    throw new Error(
      `STACK = ${stack}: ${configFile ?? file} does not exist; name a stack that has a file`,
    );
  }
  return {
    commit: commit.slice(0, SHORT),
    dirty: status.trim() !== "",
    baseCommit: baseCommit.slice(0, SHORT),
    edits: stackEdits(before, after),
    changedFiles: names.split("\n").filter((name) => name !== "" && name !== file),
  };
}

/** Characters of an abbreviated commit. */
const SHORT = 10;

async function commitOf(name: string): Promise<string> {
  try {
    return (await git("rev-parse", "--verify", "--end-of-options", `${name}^{commit}`)).trim();
  } catch {
    throw new Error(
      `BASE = ${name}: not a commit of this repository; name a branch, tag or commit`,
    );
  }
}

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await execute("git", args, { cwd: repository, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
