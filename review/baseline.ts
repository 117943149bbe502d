import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { stackFile } from "../config/stackFile.ts";
import { commitOf, git, repository } from "./git.ts";
import type { FieldChange } from "./resourceChange.ts";
import { stackEdits } from "./stackEdits.ts";
import { warningsOfFile } from "./standingWarnings.ts";

/** What was edited since a commit. */
export interface Baseline {
  /** Abbreviated commit of the work tree, and whether it has changes that are not committed. */
  readonly commit: string;
  readonly dirty: boolean;
  /** Abbreviated commit of the base. */
  readonly baseCommit: string;
  /** Keys of the stack file that differ from the base. */
  readonly edits: readonly FieldChange[];
  /** What the base's stack file gives cause to warn of. */
  readonly warnings: readonly string[];
  /** Files beside the stack file that differ from the base. */
  readonly changedFiles: readonly string[];
}

/** Characters of an abbreviated commit. */
const SHORT = 10;

/**
 * Compares the work tree with a commit.
 * @param baseCommit of {@link commitOf}
 * @param configFile stack file instead of the stack's own
 * @throws Error when the stack file cannot be read, or is no YAML
 */
export async function baselineOf(
  stack: string,
  baseCommit: string,
  configFile?: string,
): Promise<Baseline> {
  const file = stackFile(stack);
  const [commit, status, names, before, after] = await Promise.all([
    commitOf("HEAD"),
    git("status", "--porcelain"),
    git("diff", "--name-only", baseCommit, "--"),
    // A stack may be new.
    git("show", `${baseCommit}:${file}`).catch(() => undefined),
    readFile(configFile ?? resolve(repository, file), "utf8"),
  ]);
  return {
    commit: commit.slice(0, SHORT),
    dirty: status.trim() !== "",
    baseCommit: baseCommit.slice(0, SHORT),
    edits: stackEdits(before, after, file),
    warnings: before === undefined ? [] : warningsOfFile(before, stack),
    changedFiles: names.split("\n").filter((name) => name !== "" && name !== file),
  };
}
