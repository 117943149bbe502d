import type { RealLife } from "./realTime.ts";

/** What a pod does for a while. */
export type PodPhase = "waiting for a card" | "starting" | "serving" | "draining";

/** A phase in seconds of real time since the edit. */
export interface Span {
  readonly phase: PodPhase;
  readonly from: number;
  readonly to: number;
}

/** One pod of a workload. */
export interface PodTimeline {
  readonly pod: string;
  readonly node: string;
  readonly cards: number;
  readonly spans: readonly Span[];
}

/** The pods of one workload, those that were there first. */
export interface WorkloadTimeline {
  readonly workload: string;
  readonly pods: readonly PodTimeline[];
}

/**
 * What each workload's pods did.
 * @param workloads names in the order of the stack file; one without a pod has none
 * @param end seconds after the edit up to which a phase without an end lasts
 */
export function timelines(
  lives: readonly RealLife[],
  workloads: readonly string[],
  end: number,
): WorkloadTimeline[] {
  return workloads.map((workload) => ({
    workload,
    pods: lives
      .filter(({ app }) => app === workload)
      .map((life) => ({
        pod: life.name,
        node: life.node,
        cards: life.cards,
        spans: spansOf(life, end),
      })),
  }));
}

function spansOf(life: RealLife, end: number): Span[] {
  const { created = 0, bound, deleted = end, gone = end } = life.real;
  const ready = life.served ? 0 : life.real.ready;
  // The scheduler takes an instant when a card is free: no phase of its own.
  const started = life.waitedForCard ? (bound ?? deleted) : created;
  const spans: Span[] = [
    { phase: "waiting for a card", from: created, to: started },
    { phase: "starting", from: started, to: Math.min(ready ?? deleted, deleted) },
    { phase: "serving", from: ready ?? deleted, to: deleted },
    { phase: "draining", from: deleted, to: gone },
  ];
  return spans.filter(({ from, to }) => to > from);
}
