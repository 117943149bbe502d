// `make review STACK= BASE=`: what an edit of the stack does, as one page for a reviewer. It changes nothing. It works with
// the caller's own kubeconfig, backend and login, as `pulumi preview` would.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { baselineOf } from "./baseline.ts";
import { cardMapSvg } from "./cardMapSvg.ts";
import { cliVersion } from "./cliVersion.ts";
import { reviewMarkdown } from "./reviewMarkdown.ts";
import { exitCodeOf, type Review, reviewOf } from "./reviewOf.ts";
import { reviewTerminal } from "./reviewTerminal.ts";
import { runPreview } from "./runPreview.ts";

/** What must hold whoever edits the program. */
const policyPack = join(import.meta.dirname, "..", "policy");

const usage =
  "usage: node review/review.ts --stack <name> [--base <commit>] [--output <folder>] [--limit <characters>] " +
  "[--pictures <address of the folder>] [--config-file <file>]";

/** The pictures beside the report. */
const PICTURES = { light: "cards-light.svg", dark: "cards-dark.svg" } as const;

/** What the command is told. */
interface Arguments {
  readonly stack: string;
  readonly base: string;
  readonly output: string;
  readonly limit: number;
  /** Where a reader of the report can fetch the pictures; absent: nowhere, the report draws them as text. */
  readonly pictures: string | undefined;
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
  if (stack === undefined || stack === "") throw new Error(usage);
  if (!/^\d{4,7}$/.test(limit)) {
    throw new Error(`--limit = ${limit}: not a number of characters (1000..9999999)`);
  }
  return {
    stack,
    base,
    output: resolve(output ?? join(import.meta.dirname, "..", ".review", stack)),
    limit: Number(limit),
    pictures,
    configFile: file === undefined ? undefined : resolve(file),
  };
}

/** Writes the report and its pictures. @returns the report's path */
async function written(review: Review, { output, limit, pictures }: Arguments): Promise<string> {
  const report = join(output, "report.md");
  const address = pictures?.replace(/\/$/, "");
  const at = address === undefined ? undefined : (name: string) => `${address}/${name}`;
  const markdown = reviewMarkdown(review, {
    limit,
    pictures: at && { light: at(PICTURES.light), dark: at(PICTURES.dark) },
  });
  await mkdir(output, { recursive: true });
  await writeFile(report, markdown);
  for (const theme of ["light", "dark"] as const) {
    const path = join(output, PICTURES[theme]);
    const { facts } = review;
    // No picture rather than that of an earlier run.
    if (facts === undefined) await rm(path, { force: true });
    else await writeFile(path, cardMapSvg(facts.after, { before: facts.before, theme }));
  }
  return report;
}

/** @returns 0 nothing changes, 2 something does, 1 blocked */
async function main(): Promise<number> {
  const args = argumentsOf();
  const { stack, base, configFile } = args;
  // Before the preview: a wrong name of a stack or commit is told at once.
  const { edits, ...compared } = await baselineOf(stack, base, configFile);
  const [{ seconds, ...run }, cli] = await Promise.all([
    runPreview({ stack, configFile, policyPacks: [policyPack] }),
    cliVersion(),
  ]);
  const review = reviewOf({ stack, ...run, edits, provenance: { ...compared, base, cli } });
  const report = await written(review, args);
  const { isTTY, columns } = process.stdout;
  console.log(reviewTerminal(review, { colour: isTTY, width: columns }));
  // Counted from the start of this process.
  const own = performance.now() / 1000 - seconds;
  console.log(
    `\n${relative(process.cwd(), report)}: preview ${seconds.toFixed(2)} s, report ${own.toFixed(2)} s`,
  );
  return exitCodeOf(review);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
