import { peakCards, steadyCards, sumOf } from "./budget.ts";
import { rankViolations, workloadFit } from "./engineRules.ts";
import type { Fit } from "./fit.ts";
import { modelFigures } from "./models.ts";
import { type LiveGpus, type NodePool, nodePools } from "./pool.ts";
import { poolProblem, workloadProblems } from "./problems.ts";
import type { GpuNode, Workload } from "./workload.ts";

/** Cards of one node as the stack divides them. Depends on the configuration alone. */
export interface NodeAllocation {
  /** Cards that the stack states for the node. */
  readonly cards: number;
  /** Cards per running workload, in the order of the workloads; parked ones are left out. */
  readonly used: Readonly<Record<string, number>>;
  /** cards minus used; negative only in a plan with problems. */
  readonly free: number;
}

/** The plan of a stack: its allocation, or why it cannot work. */
export interface GpuPlan {
  readonly allocation: Readonly<Record<string, NodeAllocation>>;
  /** One line each, `<key> = <value>: <what is wrong> (<allowed>); <what to do>`; empty: it works. */
  readonly problems: readonly string[];
  /** Memory fit by workload, for each with an engine, known figures and a legal shape. */
  readonly fits: Readonly<Record<string, Fit>>;
  readonly pools: ReadonlyMap<string, NodePool>;
}

/**
 * Checks a stack against its cards and divides them. Collects every problem.
 *
 * A parked workload (replicas 0) holds no card, but its shape is checked all the same: its
 * Deployment is rendered with it, and unparking must not be the moment at which a typo surfaces.
 * Only a model that is too big for its cards is left to a warning while parked.
 *
 * @param live facts of the cluster; without them the configured numbers alone count
 * @param coderBackend workload behind coder-predictor; no problem's remedy parks it
 * @throws RangeError when a number is not finite
 */
export function planGpus(
  workloads: readonly Workload[],
  nodes: readonly GpuNode[],
  live?: LiveGpus,
  coderBackend?: string,
): GpuPlan {
  workloads.forEach(assertFinite);
  const pools = nodePools(nodes, live);
  const byNode = Map.groupBy(workloads, (workload) => workload.node);
  const fits = Object.fromEntries(
    workloads.flatMap((workload) => {
      const fit = fitOf(workload, pools);
      return fit === undefined ? [] : [[workload.name, fit]];
    }),
  );
  const roomiest = [...pools.values()]
    .map((pool) => ({ pool, spare: spareCards(pool, byNode.get(pool.node.name) ?? []) }))
    .sort((a, b) => b.spare - a.spare)
    .slice(0, 2);
  return {
    allocation: Object.fromEntries(nodes.map((node) => [node.name, allocate(node, byNode)])),
    problems: [
      ...workloads.flatMap((workload) => workloadProblems(workload, pools, fits[workload.name])),
      ...[...pools.values()].flatMap((pool) =>
        poolProblem(
          pool,
          byNode.get(pool.node.name) ?? [],
          roomiest.find((other) => other.pool !== pool),
          coderBackend,
        ),
      ),
    ],
    fits,
    pools,
  };
}

function allocate(node: GpuNode, byNode: ReadonlyMap<string, readonly Workload[]>): NodeAllocation {
  const running = (byNode.get(node.name) ?? []).filter(({ replicas }) => replicas > 0);
  return {
    cards: node.cards,
    used: Object.fromEntries(running.map((workload) => [workload.name, steadyCards(workload)])),
    free: node.cards - sumOf(running, steadyCards),
  };
}

function fitOf(workload: Workload, pools: ReadonlyMap<string, NodePool>): Fit | undefined {
  const pool = pools.get(workload.node);
  return pool === undefined || rankViolations(workload, workload.tensorParallel).length > 0
    ? undefined
    : workloadFit(workload, pool.node, workload.tensorParallel);
}

function spareCards(pool: NodePool, workloads: readonly Workload[]): number {
  return pool.available - sumOf(workloads, peakCards);
}

function assertFinite(workload: Workload): void {
  const { key, replicas, tensorParallel, hostMemoryGiB, contextTokens, maxSequences } = workload;
  const numbers: Readonly<Record<string, number | undefined>> = {
    ...(workload.model && modelFigures(workload.model)),
    ...{ replicas, tensorParallel, hostMemoryGiB, contextTokens, maxSequences },
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== undefined && !Number.isFinite(value)) {
      throw new RangeError(`${key}.${name} = ${value}: not a number`);
    }
  }
}
