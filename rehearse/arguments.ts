import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkedStack } from "../config/stackFile.ts";
import { repository } from "../lab/labLifecycle.ts";
import { RehearsalError } from "./problem.ts";

/** What `make rehearse` is told. */
export interface Arguments {
  readonly stack: string;
  /** A git revision. */
  readonly base: string;
  /** The longest outage of a route that is accepted, in seconds; undefined: any. */
  readonly limitSeconds: number | undefined;
  /** Folder of the report, absolute. */
  readonly output: string;
  /** Stack file instead of the stack's own. */
  readonly configFile: string | undefined;
}

/**
 * Reads the command line. An empty limit is an absent one, as make passes it.
 * @throws {RehearsalError} naming the argument that is wrong
 * @throws {StackFileError} when the stack has no file
 */
export function argumentsOf(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      stack: { type: "string", default: "prod" },
      base: { type: "string", default: "HEAD" },
      limit: { type: "string", default: "" },
      output: { type: "string" },
      "config-file": { type: "string" },
    },
  });
  const { stack, base, limit, output, "config-file": file } = values;
  if (!/^\d{0,6}$/.test(limit)) {
    throw new RehearsalError(
      `LIMIT = ${limit}: not a number of seconds (0..999999, or unset); set LIMIT=300`,
    );
  }
  const configFile = file === undefined ? undefined : resolve(file);
  if (configFile === undefined) checkedStack(stack);
  return {
    ...{ stack, base, configFile },
    limitSeconds: limit === "" ? undefined : Number(limit),
    output: resolve(output ?? join(repository, ".review", stack)),
  };
}
