// `make bench-moves`: what a one-card move costs beyond the cold start and the grace that nobody can avoid.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { type LabOptions, startLab, stopLab } from "../lab/lab.ts";
import { repository } from "../lab/labLifecycle.ts";
import { interrupt } from "../lab/interrupt.ts";
import { perform } from "../rehearse/perform.ts";
import { rehearsalReport, type RehearsalReport } from "../rehearse/report.ts";
import { Stage } from "../rehearse/stage.ts";
import {
  type Manifest,
  changedProgram,
  kubectlApply,
  manifestsOf,
  program,
  type Variant,
} from "./moveVariants.ts";

/** Real seconds of every workload; the lab runs at full scale, so that what it adds is measured as it is. */
const COLD_START = 4;
const GRACE = 2;

/** There and back, so many times for each way; fewer only to see whether the bench itself works. */
const ROUNDS = process.env.ROUNDS === "1" ? 1 : 5;

const WORKLOADS = ["clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"] as const;

const signal = interrupt();

const lab = {
  coldStartSeconds: Object.fromEntries(WORKLOADS.map((name) => [name, COLD_START])),
  terminationSeconds: Object.fromEntries(WORKLOADS.map((name) => [name, GRACE])),
} satisfies LabOptions;

/** clef-serve and the coder hold a card each and reasoning two: the pool is full before the move and after it. */
async function stackFiles(): Promise<readonly [before: string, after: string]> {
  const text = await readFile(join(repository, "Pulumi.dev.yaml"), "utf8");
  const edited = (clefReplicas: number, coderCards: number) => {
    const document = parseDocument(text);
    const set = (section: string, key: string, value: number) => {
      document.setIn(["config", `llm-serving:${section}`, key], value);
    };
    for (const section of ["clefServe", "candleVllm", "candleVllmNext", "reasoning"]) {
      set(section, "coldStartSeconds", COLD_START);
      set(section, "graceSeconds", GRACE);
    }
    set("reasoning", "replicas", 2);
    set("clefServe", "replicas", clefReplicas);
    set("candleVllm", "tensorParallel", coderCards);
    return document.toString();
  };
  return [edited(1, 1), edited(0, 2)];
}

/** What one move cost, in seconds. */
interface Cost {
  /** Outage of coder-predictor, whose engine restarts, beyond its cold start. */
  readonly outage: number;
  /** From the edit until the receiver of the card serves, beyond the donor's grace and its own cold start. */
  readonly receiver: number;
}

function costOf(report: RehearsalReport, receiver: string): Cost {
  const fateOf = (name: string) => report.routes.find(({ route }) => route === name);
  const coder = fateOf("coder-predictor");
  const served = fateOf(receiver)?.serving.at(-1)?.from;
  if (coder?.gaps.length !== 1 || served === undefined) {
    throw new Error(`not measured: ${JSON.stringify(report.routes)}`);
  }
  return { outage: coder.outageSeconds - COLD_START, receiver: served - GRACE - COLD_START };
}

/** @throws Error when a move does not come to its end */
async function measured(variant: Variant, name: string): Promise<Cost[]> {
  await stopLab(name);
  try {
    const running = await startLab({ name, ...lab, signal });
    const apply = await variant.open(running, signal);
    const { kubeConfig } = await Stage.open(running, {
      stack: "dev",
      signal,
    });
    const move = async (text: string): Promise<RehearsalReport> => {
      const { recording, settled, up } = await perform(kubeConfig, () => apply(text), 60_000);
      if (!settled || up.code !== 0) throw new Error(`${variant.name}: ${up.output}`);
      const seconds = (of: number) => () => of;
      const times = {
        timeScale: 1,
        coldStartSeconds: seconds(COLD_START),
        terminationSeconds: seconds(GRACE),
        nodeCards: new Map<string, number>(),
      };
      return rehearsalReport({
        ...{ stack: "dev", base: "", commit: "", edits: [], times, recording, settled },
        ...{ workloads: WORKLOADS, surging: new Set<string>(), limitSeconds: undefined },
        ...{ forecast: undefined, refusal: undefined },
      });
    };
    const [before, after] = await stackFiles();
    await move(before);
    const costs: Cost[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      costs.push(costOf(await move(after), "coder-predictor"));
      costs.push(costOf(await move(before), "/v1/systemone"));
    }
    return costs;
  } finally {
    await stopLab(name);
  }
}

/** What the program renders, on a lab of its own that is gone afterwards. */
async function rendered(text: string): Promise<Manifest[]> {
  const name = "bench-moves-render";
  await stopLab(name);
  try {
    const running = await startLab({ name, ...lab, signal });
    const stage = await Stage.open(running, { stack: "dev", signal });
    const { settled, up } = await perform(stage.kubeConfig, () => stage.up(text), 60_000);
    if (!settled) throw new Error(up.output);
    return await manifestsOf(stage);
  } finally {
    await stopLab(name);
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

const VARIANTS: readonly Variant[] = [
  program,
  kubectlApply("kubectl apply -k, files in order", rendered),
  changedProgram(
    "the program without ordering",
    "gpu/moves.ts",
    /const donors = names\.filter\(.*\);/,
    "const donors: string[] = [];",
  ),
  changedProgram(
    "the program with the provider's own waits",
    "components/names.ts",
    /NOT_AWAITED_BY_PROVIDER = \{.*\}/,
    "NOT_AWAITED_BY_PROVIDER: Record<string, string> = {}",
  ),
];

/** Medians of one way, in seconds. */
interface Row extends Cost {
  readonly name: string;
  readonly worstOutage: number;
}

function rowOf(name: string, costs: readonly Cost[]): Row {
  const outages = costs.map(({ outage }) => outage);
  const receiver = median(costs.map((cost) => cost.receiver));
  return { name, outage: median(outages), receiver, worstOutage: Math.max(...outages) };
}

/** The rows as a table, each median beside its ratio to the first row's. */
function table(rows: readonly Row[]): string[] {
  const cell = (value: number, width: number) => value.toFixed(2).padStart(width);
  const ratio = (value: number, own: number | undefined) => cell(value / (own ?? value), 7);
  return [
    `one-card moves on a full pool, ${2 * ROUNDS} each way of applying, seconds beyond cold start and grace`,
    `${" ".repeat(44)}outage  ratio   receiver serves  ratio   worst outage`,
    ...rows.map(
      ({ name, outage, receiver, worstOutage }) =>
        `${name.padEnd(44)}${cell(outage, 6)}${ratio(outage, rows[0]?.outage)}` +
        `${cell(receiver, 18)}${ratio(receiver, rows[0]?.receiver)}${cell(worstOutage, 15)}`,
    ),
  ];
}

try {
  const rows: Row[] = [];
  for (const variant of VARIANTS) {
    console.error(`${variant.name}: ${2 * ROUNDS} moves`);
    rows.push(rowOf(variant.name, await measured(variant, "bench-moves")));
  }
  console.log(table(rows).join("\n"));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
