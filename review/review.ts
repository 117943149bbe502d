// `make review STACK= BASE=`: what an edit of the stack does, as one page for a reviewer. It changes nothing. It works with
// the caller's own kubeconfig, backend and login, as `pulumi preview` would.
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { checkedStack } from "../config/stackFile.ts";
import { interrupt } from "../lab/interrupt.ts";
import { cliVersion } from "./cliVersion.ts";
import { commitOf, repository } from "./git.ts";
import { runPreview } from "./runPreview.ts";
import type { WriteOptions } from "./writeReview.ts";

/** What must hold whoever edits the program. */
const policyPack = join(repository, "policy");

const usage =
  "usage: node review/review.ts --stack <name> [--base <commit>] [--output <folder>] [--limit <characters>] " +
  "[--pictures <address of the folder>] [--config-file <file>]";

/** What the command is told. */
interface Arguments extends WriteOptions {
  readonly stack: string;
  readonly base: string;
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
      pictures: { type: "string" },
      "config-file": { type: "string" },
    },
  });
  const { stack, base, output, limit, pictures, "config-file": file } = values;
  if (stack === undefined) throw new Error(usage);
  if (!/^\d{4,7}$/.test(limit)) {
    throw new Error(
      `--limit = ${limit}: not a number of characters (1000..9999999); set it to 60000`,
    );
  }
  const configFile = file === undefined ? undefined : resolve(file);
  if (configFile === undefined) checkedStack(stack);
  else if (!existsSync(configFile)) {
    throw new Error(`--config-file = ${configFile}: does not exist; name a stack file`);
  }
  return {
    ...{ stack, base, configFile, pictures },
    output: resolve(output ?? join(repository, ".review", stack)),
    limit: Number(limit),
  };
}

/** Everything that is done while the CLI works; even what it takes to load it costs nothing then. */
async function meanwhile({ stack, configFile }: Arguments, baseCommit: string) {
  const [cli, { baselineOf }, { reviewOf, exitCodeOf }, { reviewTerminal }, { writeReview }] =
    await Promise.all([
      cliVersion(),
      import("./baseline.ts"),
      import("./reviewOf.ts"),
      import("./reviewTerminal.ts"),
      import("./writeReview.ts"),
    ]);
  const baseline = await baselineOf(stack, baseCommit, configFile);
  return { cli, baseline, reviewOf, exitCodeOf, reviewTerminal, writeReview };
}

/** CPU time of this process so far, which a busy machine does not stretch as it does the clock. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** @returns 0 nothing changes, 2 something does, 1 blocked */
async function main(signal: AbortSignal): Promise<number> {
  const args = argumentsOf();
  const { stack, base, configFile } = args;
  // Before the preview, so that a wrong name is told at once.
  const baseCommit = await commitOf(base);
  const before = cpuSeconds();
  const [{ seconds, ...run }, tools] = await Promise.all([
    runPreview({ stack, configFile, policyPacks: [policyPack], signal }),
    meanwhile(args, baseCommit),
  ]);
  const during = cpuSeconds() - before;
  const { edits, warnings: baseWarnings, ...compared } = tools.baseline;
  const provenance = { ...compared, base, cli: tools.cli };
  const review = tools.reviewOf({ stack, ...run, edits, baseWarnings, provenance });
  const report = await tools.writeReview(review, args);
  const { isTTY, columns } = process.stdout;
  console.log(tools.reviewTerminal(review, { colour: isTTY, width: columns }));
  // Both counted from the start of this process.
  const beyond = (performance.now() / 1000 - seconds).toFixed(2);
  const cpu = (cpuSeconds() - during).toFixed(2);
  console.log(
    `\n${relative(process.cwd(), report)} (preview ${seconds.toFixed(2)} s, beyond it ${beyond} s, CPU ${cpu} s)`,
  );
  return tools.exitCodeOf(review);
}

const signal = interrupt();
try {
  process.exitCode = await main(signal);
} catch (error) {
  if (signal.aborted) console.error("interrupted; nothing was changed");
  else console.error(error instanceof Error ? error.message : error);
  process.exitCode = signal.aborted ? 130 : 1;
}
