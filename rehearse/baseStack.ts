import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stackFile } from "../config/stackFile.ts";
import { git, repository } from "../review/git.ts";
import { RehearsalError } from "./problem.ts";

/** The stack file before and after the edit. */
export interface StackFiles {
  /** Text of BASE's. */
  readonly before: string;
  /** Text of the one in the working copy. */
  readonly after: string;
  /** Short hash of BASE's commit. */
  readonly commit: string;
}

/**
 * Reads a stack's file as it is and as it was.
 * @param base a git revision
 * @param configFile instead of the one in the working copy
 * @throws {RehearsalError} when there is no such commit or file
 */
export async function readStackFiles(
  stack: string,
  base: string,
  configFile?: string,
): Promise<StackFiles> {
  const file = stackFile(stack);
  const path = configFile ?? join(repository, file);
  if (!existsSync(path)) {
    throw new RehearsalError(`--config-file = ${path}: does not exist; name a stack file`);
  }
  const commit = await gitOrNothing(
    "rev-parse",
    "--verify",
    "--quiet",
    "--short",
    "--end-of-options",
    `${base}^{commit}`,
  );
  if (commit === undefined) {
    throw new RehearsalError(
      `BASE = ${base}: no commit of this repository (a branch, tag or commit); set BASE=HEAD`,
    );
  }
  const before = await gitOrNothing("show", `${commit.trim()}:${file}`);
  if (before === undefined) {
    throw new RehearsalError(
      `BASE = ${base}: ${file} is not in that commit (a commit that has it); choose a later one`,
    );
  }
  return { before, after: readFileSync(path, "utf8"), commit: commit.trim() };
}

/** What git printed; undefined when it failed, as it does for what is not there. */
function gitOrNothing(...args: readonly string[]): Promise<string | undefined> {
  return git(...args).catch(() => undefined);
}
