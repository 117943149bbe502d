// `make review STACK= BASE=`: what an edit of the stack does, as one page for a reviewer. It changes nothing.
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { stackEnvironment } from "../lab/stackEnvironment.ts";
import { baselineOf } from "./baseline.ts";
import { cliVersion } from "./cliVersion.ts";
import { reviewMarkdown } from "./reviewMarkdown.ts";
import { exitCodeOf, reviewOf } from "./reviewOf.ts";
import { reviewTerminal } from "./reviewTerminal.ts";
import { runPreview } from "./runPreview.ts";

/** What must hold whoever edits the program. */
const policyPack = join(import.meta.dirname, "..", "policy");

const usage =
  "usage: node review/review.ts --stack <name> [--base <commit>] [--output <folder>] [--limit <characters>] " +
  "[--config-file <file>]";

/** What the command is told. */
interface Arguments {
  readonly stack: string;
  readonly base: string;
  readonly output: string;
  readonly limit: number;
  readonly configFile: string | undefined;
}

/** @throws Error with the usage, or naming the argument that is wrong */
function argumentsOf(): Arguments {
  const { values } = parseArgs({
    options: {
      stack: { type: "string" },
      base: { type: "string", default: "HEAD" },
      output: { type: "string" },
      limit: { type: "string", default: "60000" },
      "config-file": { type: "string" },
    },
  });
  const { stack, base, output, limit, "config-file": file } = values;
  if (stack === undefined || stack === "") throw new Error(usage);
  if (!/^\d{4,7}$/.test(limit)) {
    throw new Error(`--limit = ${limit}: not a number of characters (1000..9999999)`);
  }
  return {
    stack,
    base,
    output: resolve(output ?? join(import.meta.dirname, "..", ".review", stack)),
    limit: Number(limit),
    configFile: file === undefined ? undefined : resolve(file),
  };
}

/** @returns 0 nothing changes, 2 something does, 1 blocked */
async function main(): Promise<number> {
  const { stack, base, output, limit, configFile } = argumentsOf();
  // Before the lab is started: a wrong name of a stack or commit is told at once.
  const { edits, ...compared } = await baselineOf(stack, base, configFile);
  const env = await stackEnvironment(stack);
  const [{ seconds, ...run }, cli] = await Promise.all([
    runPreview({ stack, env, configFile, policyPacks: [policyPack] }),
    cliVersion(env),
  ]);
  const review = reviewOf({ stack, ...run, edits, provenance: { ...compared, base, cli } });
  await mkdir(output, { recursive: true });
  await writeFile(join(output, "report.md"), reviewMarkdown(review, { limit }));
  console.log(reviewTerminal(review, { colour: process.stdout.isTTY }));
  console.log(`\nreport: ${join(output, "report.md")} (preview ${seconds.toFixed(1)} s)`);
  return exitCodeOf(review);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
