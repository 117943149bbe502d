import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkedStack, StackFileError } from "../config/stackFile.ts";
import { AdoptionError, repository } from "./command.ts";
import type { Declared } from "./declared.ts";
import { readDeclared } from "./declared.ts";
import type { StackArguments } from "./rendering.ts";

/** What both commands are told. */
export interface AdoptionArguments {
  readonly stack: StackArguments;
  readonly declared: Declared;
}

const usage =
  "usage: node adopt/plan.ts|adopt.ts --stack <name> [--config-file <file>] [--declared <file>]";

/**
 * Runs a command to its exit code: 0 done, 1 refused or failed, 2 wrong usage. Errors meant for a person go to stderr.
 */
export async function runCommand(
  action: (args: AdoptionArguments) => Promise<number>,
): Promise<void> {
  const stack = stackArguments();
  if (stack === undefined) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  try {
    const { declared, ...rest } = stack;
    if (rest.configFile === undefined) checkedStack(rest.stack);
    process.exitCode = await action({ stack: rest, declared: readDeclared(declared) });
  } catch (error) {
    if (!(error instanceof AdoptionError || error instanceof StackFileError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

function stackArguments(): (StackArguments & { readonly declared: string }) | undefined {
  try {
    const { values } = parseArgs({
      options: {
        stack: { type: "string" },
        "config-file": { type: "string" },
        declared: { type: "string", default: join(repository, "adopt", "declared.yaml") },
      },
    });
    const { stack, declared, "config-file": file } = values;
    if (stack === undefined) return undefined;
    return { stack, declared, configFile: file === undefined ? undefined : resolve(file) };
  } catch {
    return undefined;
  }
}
