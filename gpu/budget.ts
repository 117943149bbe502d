import { works } from "./engineRules.ts";
import type { NodePool } from "./pool.ts";
import { rollingUpdateBounds } from "./rollout.ts";
import type { Workload } from "./workload.ts";

/** One edit of the stack file. */
export interface Edit {
  /** Config path, such as `llm-serving:reasoning.replicas`. */
  readonly path: string;
  readonly value: number | string;
}

/** Pods of a workload beyond its replicas while it rolls out: 1 under surge, 0 when parked. */
export function surgePods({ replicas, rollout }: Pick<Workload, "replicas" | "rollout">): number {
  if (replicas <= 0 || rollout === "recreate") return 0;
  return rollingUpdateBounds(replicas, 1, 0).surge;
}

/** Cards that a workload holds between rollouts; nothing when a number is negative. */
export function steadyCards(workload: Pick<Workload, "replicas" | "tensorParallel">): number {
  return Math.max(0, workload.replicas) * Math.max(0, workload.tensorParallel);
}

/** Cards that a workload holds at most, while it rolls out. */
export function peakCards(workload: Workload): number {
  return steadyCards({ ...workload, replicas: workload.replicas + surgePods(workload) });
}

/** Sum of a number over workloads. */
export function sumOf(workloads: readonly Workload[], cards: (of: Workload) => number): number {
  return workloads.reduce((sum, workload) => sum + cards(workload), 0);
}

/**
 * The smallest edits of the stack that bring a node's workloads within its pool, as alternatives:
 * single edits, the least invasive first; one list of several edits when no single one is enough.
 *
 * @param pool the node that is asked for too much
 * @param workloads the workloads on that node
 * @param elsewhere the other node with the most spare cards, and how many it spares
 * @param unparked name of a workload that no edit parks
 * @returns empty when nothing is too much, or when only parking `unparked` would help
 */
export function budgetEdits(
  pool: NodePool,
  workloads: readonly Workload[],
  elsewhere?: { readonly pool: NodePool; readonly spare: number },
  unparked?: string,
): readonly (readonly Edit[])[] {
  const excess = sumOf(workloads, peakCards) - pool.available;
  if (excess <= 0) return [];
  const single = workloads
    .flatMap((workload) =>
      singleEdits(workload, excess, pool, workload.name !== unparked, elsewhere),
    )
    .sort((a, b) => a.loss - b.loss);
  if (single.length > 0) return single.map(({ edit }) => [edit]);
  const several = parkUntil(workloads, excess, unparked);
  return several === undefined ? [] : [several];
}

/** Edits of one workload that free `excess` cards at once; `loss` is what it serves with less. */
function singleEdits(
  workload: Workload,
  excess: number,
  pool: NodePool,
  mayPark: boolean,
  elsewhere?: { readonly pool: NodePool; readonly spare: number },
): readonly { readonly edit: Edit; readonly loss: number }[] {
  const { key, replicas, tensorParallel } = workload;
  const peak = peakCards(workload);
  if (peak < excess || replicas <= 0) return [];
  const edits: { edit: Edit; loss: number }[] = [];
  if (surgePods(workload) * tensorParallel >= excess) {
    edits.push({ edit: { path: `${key}.rollout`, value: "recreate" }, loss: 0 });
  }
  if (
    elsewhere !== undefined &&
    elsewhere.spare >= peak &&
    works(workload, elsewhere.pool.node, tensorParallel)
  ) {
    edits.push({ edit: { path: `${key}.node`, value: elsewhere.pool.node.name }, loss: 0 });
  }
  const fewer = replicasWithin(workload, peak - excess);
  if (fewer > 0 || mayPark) {
    edits.push({
      edit: { path: `${key}.replicas`, value: fewer },
      loss: (replicas - fewer) * tensorParallel,
    });
  }
  const narrower = [2, 1].find(
    (ranks) =>
      ranks < tensorParallel &&
      peakCards({ ...workload, tensorParallel: ranks }) <= peak - excess &&
      works(workload, pool.node, ranks),
  );
  if (narrower !== undefined) {
    edits.push({
      edit: { path: `${key}.tensorParallel`, value: narrower },
      loss: replicas * (tensorParallel - narrower),
    });
  }
  return edits;
}

/** The most replicas whose peak is within `cards`. */
function replicasWithin(workload: Workload, cards: number): number {
  const pods = Math.floor(cards / workload.tensorParallel);
  return Math.max(0, pods - surgePods(workload));
}

/**
 * Parks the largest workloads until the excess is gone, `unparked` the last of all; the last one keeps what it can.
 * @returns undefined when that would be nothing of `unparked`
 */
function parkUntil(
  workloads: readonly Workload[],
  excess: number,
  unparked: string | undefined,
): readonly Edit[] | undefined {
  const edits: Edit[] = [];
  let left = excess;
  const last = (workload: Workload): number => Number(workload.name === unparked);
  const inOrder = workloads.toSorted((a, b) => last(a) - last(b) || peakCards(b) - peakCards(a));
  for (const workload of inOrder) {
    if (left <= 0) break;
    const peak = peakCards(workload);
    const value = left >= peak ? 0 : replicasWithin(workload, peak - left);
    if (value === 0 && workload.name === unparked) return undefined;
    edits.push({ path: `${workload.key}.replicas`, value });
    left -= peak;
  }
  return edits;
}
