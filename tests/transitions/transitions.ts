// Generated transitions through the real CLI: does the preview say what will happen, and does nothing get stuck?
import { compared } from "../../rehearse/comparison.ts";
import { Transitions } from "./arbitraryTransition.ts";
import { Lane, type Outcome } from "./lane.ts";
import { cardsUsed, NODES, type State } from "./state.ts";

/** `--parallel` of the runs, in turn; undefined: the CLI's default. */
const PARALLEL = [1, 2, undefined] as const;

/** What many transitions came to. */
export interface Counts {
  applied: number;
  /** Refused by the preview, such as a handoff to an engine that is not Ready; nothing was changed. */
  refused: number;
  /** Applied, by `--parallel`. */
  readonly byParallel: Map<string, number>;
  /** Applied transitions that began or ended with every card of every node held. */
  fullPool: number;
  /** Transitions in which a pod was stuck, or that did not come to their end. */
  readonly stuck: string[];
  /** Transitions in which a pod waited for a card. */
  waited: number;
  /** Transitions in which pods restarted. */
  restarts: number;
  /** Measured less predicted seconds, of everything that was compared. */
  readonly deviations: number[];
  readonly misses: string[];
}

/**
 * Applies transitions on lanes side by side.
 *
 * @param count applied ones
 * @param lanes labs at once
 * @param seed reproduces the transitions of each lane
 * @param name of the labs, followed by a number
 * @param signal ends it early; nothing of the labs is left
 * @param onProgress is told of every transition
 */
export async function transitions(
  count: number,
  lanes: number,
  seed: number,
  name: string,
  signal: AbortSignal,
  onProgress: (counts: Counts) => void = () => undefined,
): Promise<Counts> {
  const counts: Counts = {
    ...{ applied: 0, refused: 0, fullPool: 0, waited: 0, restarts: 0 },
    ...{ byParallel: new Map(), stuck: [], deviations: [], misses: [] },
  };
  // A lane that fails ends the others, and all of them have ended before anything is thrown.
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  let begun = 0;
  const run = async (at: number): Promise<void> => {
    const lane = new Lane(`${name}-${at}`, stop);
    const generated = new Transitions(seed + at);
    try {
      await lane.open();
      while (begun < count && !stop.aborted) {
        begun += 1;
        const parallel = PARALLEL[begun % PARALLEL.length];
        const from = lane.state;
        const to = generated.next(from);
        const outcome = await lane.go(to, parallel);
        if (outcome.refused) begun -= 1;
        record(counts, outcome, from, to, parallel);
        onProgress(counts);
        // What is stuck would spoil what follows.
        if (outcome.failure !== undefined) await lane.open();
      }
    } catch (error) {
      if (!stop.aborted) failed.abort(error);
    } finally {
      await lane.close();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, at) => run(at)));
  failed.signal.throwIfAborted();
  return counts;
}

function record(
  counts: Counts,
  { refused, failure, report }: Outcome,
  from: State,
  to: State,
  parallel: number | undefined,
): void {
  if (refused) {
    counts.refused += 1;
    return;
  }
  counts.applied += 1;
  const key = parallel === undefined ? "default" : String(parallel);
  counts.byParallel.set(key, (counts.byParallel.get(key) ?? 0) + 1);
  const all = NODES.reduce((sum, { cards }) => sum + cards, 0);
  if ([from, to].some((state) => cardsUsed(state) === all)) counts.fullPool += 1;
  const where = `#${counts.applied} --parallel ${key}: ${JSON.stringify(from)} to ${JSON.stringify(to)}`;
  if (report.cardWaits.length > 0) counts.waited += 1;
  if (report.restarted.length > 0) counts.restarts += 1;
  if (failure !== undefined || report.cardWaits.some(({ stuck }) => stuck)) {
    counts.stuck.push(`${where}\n${report.failures.join("\n")}\n${failure ?? ""}`);
  }
  const { forecast, restarted, routes } = report;
  if (forecast === undefined) {
    counts.misses.push(`${where}\n  no forecast`);
    return;
  }
  const { deviations, misses } = compared(forecast, restarted, routes);
  counts.deviations.push(...deviations);
  if (misses.length > 0) counts.misses.push([where, ...misses].join("\n  "));
}

/** The counts in a few lines, every miss among them. */
export function describe(counts: Counts): string {
  const { applied, refused, byParallel, fullPool, stuck, waited, restarts } = counts;
  const parallel = [...byParallel].map(([key, times]) => `--parallel ${key}: ${times}`);
  const sorted = counts.deviations.map(Math.abs).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1) ?? "-";
  return [
    `transitions: ${applied} applied (${parallel.join(", ")}), ${refused} refused by their preview`,
    `  ${fullPool} with every card held before or after, ${waited} with a pod that waited for a card`,
    `  stuck: ${stuck.length}`,
    `  restarts and outages as predicted: ${applied - counts.misses.length} of ${applied} (${restarts} with restarts, ${sorted.length} times compared)`,
    `  deviation in real seconds: median ${at(0.5)}, 95 % ${at(0.95)}, most ${at(1)}`,
    ...stuck.map((line) => `stuck ${line}`),
    ...counts.misses.map((line) => `missed ${line}`),
  ].join("\n");
}
