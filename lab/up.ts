// `make up`: the lab, the dev stack on it, and what runs where in the end.
import { cardMap, type NodeCards } from "../gpu/cardMap.ts";
import { foreground } from "./foreground.ts";
import { labOfShell } from "./lab.ts";
import { run } from "./run.ts";
import { devEnvironment } from "./stackEnvironment.ts";

/** The stack's outputs that the summary shows; see config.md's list. */
interface Outputs {
  readonly gpuAllocation: Readonly<
    Record<string, { readonly cards: number; readonly used: Readonly<Record<string, number>> }>
  >;
  readonly workloads: Readonly<Record<string, string>>;
  readonly routes: Readonly<Record<string, string>>;
  readonly coderBaseUrl: string;
  readonly coderClusterIP: string;
}

/**
 * What a stack runs, as a card map and its outputs.
 * @param colour ANSI colours
 */
export function summary(outputs: Outputs, colour: boolean): string {
  const nodes: NodeCards[] = Object.entries(outputs.gpuAllocation).map(
    ([name, { cards, used }]) => ({
      name,
      cards,
      holders: Object.entries(used).map(([label, held]) => ({ label, cards: held })),
    }),
  );
  const facts = [
    ...Object.entries(outputs.workloads),
    ...Object.entries(outputs.routes),
    ["coder-predictor", `${outputs.coderClusterIP}  ${outputs.coderBaseUrl}`] as const,
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(18)}${value}`);
  return ["", cardMap(nodes, { colour }), "", ...lines, ""].join("\n");
}

async function main(): Promise<number> {
  const env = await devEnvironment(console.log);
  const args = ["up", "--stack", "dev", "--yes", "--skip-preview", "--suppress-outputs"];
  const code = await foreground("pulumi", args, env);
  if (code !== 0) return code;
  const signal = new AbortController().signal;
  const json = await run("pulumi", ["stack", "output", "--json", "--stack", "dev"], env, signal);
  console.log(summary(JSON.parse(json) as Outputs, process.stdout.isTTY));
  if ((await labOfShell()) === undefined) console.log("To use the lab in this shell: . .lab/env");
  return 0;
}

if (import.meta.main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
