// `make rehearse STACK=prod BASE=HEAD LIMIT=`: an edit of a stack file, tried on a lab before it reaches the cards.
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { stackFile, StackFileError } from "../config/stackFile.ts";
import { interrupt } from "../lab/interrupt.ts";
import { duration } from "../review/duration.ts";
import { outageText, rehearsalMarkdown } from "../review/rehearsalMarkdown.ts";
import { stackEdits } from "../review/stackEdits.ts";
import { timelineSvg } from "../review/timelineSvg.ts";
import { argumentsOf } from "./arguments.ts";
import { readStackFiles } from "./baseStack.ts";
import { RehearsalError } from "./problem.ts";
import { rehearse } from "./rehearsal.ts";
import type { RehearsalReport } from "./report.ts";

const begun = performance.now();

function say(line: string): void {
  console.error(`${((performance.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${line}`);
}

/** @returns 0 passed or nothing to rehearse, 1 failed */
async function main(signal: AbortSignal): Promise<number> {
  const { stack, base, limitSeconds, output, configFile } = argumentsOf(process.argv.slice(2));
  const files = await readStackFiles(stack, base, configFile);
  const file = stackFile(stack);
  if (stackEdits(files.before, files.after, file).length === 0) {
    console.log(`${file} says the same in ${base} (${files.commit}): nothing to rehearse`);
    return 0;
  }
  const report = await rehearse({ stack, base, ...files }, { limitSeconds, say, signal });
  await write(report, output);
  console.log(summary(report).join("\n"));
  console.log(`\nreport: ${relative(process.cwd(), join(output, "rehearsal.md"))}`);
  return report.failures.length === 0 ? 0 : 1;
}

async function write(report: RehearsalReport, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = {
    "rehearsal.md": rehearsalMarkdown(report, "rehearsal.svg"),
    "rehearsal.json": `${JSON.stringify(report, undefined, 2)}\n`,
    "rehearsal.svg": timelineSvg(report),
  };
  await Promise.all(
    Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)),
  );
}

function summary(report: RehearsalReport): string[] {
  const { routes, restarted, cardWaits, coderPredictor, endSeconds, failures } = report;
  const rows: (readonly [string, string])[] = [
    ...routes.map((fate) => [fate.route, outageText(fate)] as const),
    ["pods restart", restarted.length === 0 ? "none" : restarted.join(", ")],
    ["Pending for a card", cardWaits.map(({ pod }) => pod).join(", ") || "none"],
    ["ClusterIP and uid", coderPredictor.kept ? "unchanged" : "CHANGED"],
    ["settled after", duration(endSeconds)],
  ];
  return [
    "",
    ...rows.map(([name, text]) => `  ${name.padEnd(20)}${text}`),
    "",
    ...(failures.length === 0 ? ["passed"] : ["failed:", ...failures.map((line) => `  ${line}`)]),
  ];
}

const signal = interrupt();
try {
  process.exitCode = await main(signal);
} catch (error) {
  // Only a problem of the rehearsal itself, or of the stack file, is told in full by its message.
  if (signal.aborted) console.error("interrupted; nothing of the lab is left");
  else {
    const isTold = error instanceof RehearsalError || error instanceof StackFileError;
    console.error(isTold ? error.message : error);
  }
  process.exitCode = signal.aborted ? 130 : 1;
}
