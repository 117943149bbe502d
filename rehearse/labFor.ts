import type { StackConfig } from "../config/types.ts";
import type { LabOptions } from "../lab/lab.ts";
import { type StackWorkload, workloadsOf } from "../stackPlan.ts";
import type { SimulatedTimes } from "./realTime.ts";

/** Lab seconds that the longest cold start takes, so that a rehearsal stays short. */
const LONGEST_LAB_SECONDS = 4;

/** 1 s of the lab for 60 s of reality, unless a longer cold start asks for more. */
const LEAST_TIME_SCALE = 60;

/**
 * How long the pods of an edit take: those that start have the cold start after the edit, those that go the grace
 * before it. A deleted pod uses up its whole grace, which is the most that it can hold its cards: a server that ends
 * sooner frees them sooner.
 */
export function simulatedTimes(before: StackConfig, after: StackConfig): SimulatedTimes {
  const named = (workloads: readonly StackWorkload[], app: string) =>
    workloads.find(({ name }) => name === app);
  const [old, next] = [workloadsOf(before), workloadsOf(after)];
  const longestColdStart = Math.max(...next.map(({ coldStartSeconds }) => coldStartSeconds));
  return {
    timeScale: Math.max(LEAST_TIME_SCALE, Math.ceil(longestColdStart / LONGEST_LAB_SECONDS)),
    coldStartSeconds: (app) => named(next, app)?.coldStartSeconds ?? 0,
    terminationSeconds: (app) => named(old, app)?.graceSeconds ?? 0,
    nodeCards: mostCards([...before.gpuNodes, ...after.gpuNodes]),
  };
}

function mostCards(nodes: StackConfig["gpuNodes"]): ReadonlyMap<string, number> {
  const cards = new Map<string, number>();
  for (const node of nodes) {
    cards.set(node.name, Math.max(node.cards, cards.get(node.name) ?? 0));
  }
  return cards;
}

/** The lab on which an edit can be rehearsed: all its nodes, each with the most cards that it has before or after. */
export function labFor(
  before: StackConfig,
  after: StackConfig,
): Required<Pick<LabOptions, "nodes" | "coldStartSeconds" | "terminationSeconds" | "timeScale">> {
  const times = simulatedTimes(before, after);
  const apps = workloadsOf(after).map(({ name }) => name);
  const byApp = (of: (app: string) => number) =>
    Object.fromEntries(apps.map((app) => [app, of(app)]));
  return {
    nodes: [...times.nodeCards].map(([name, cards]) => ({ name, cards })),
    coldStartSeconds: byApp(times.coldStartSeconds),
    terminationSeconds: byApp(times.terminationSeconds),
    timeScale: times.timeScale,
  };
}
