import { budgetEdits, type Edit, peakCards, steadyCards, sumOf, surgePods } from "./budget.ts";
import { shmGiB } from "./devices.ts";
import { rankViolations, workingDegrees, workloadFit } from "./engineRules.ts";
import type { Fit } from "./fit.ts";
import { modelFigures, MODELS } from "./models.ts";
import { describePool, type LiveGpus, type NodePool, nodePools } from "./pool.ts";
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

/** Most alternatives that one message offers. */
const maxAlternatives = 4;

/**
 * Host memory per rank in GiB below which nothing starts. Derived: a CUDA context and an engine's
 * own heap take about 1 GiB of host memory in each process.
 */
const hostGiBPerRank = 1;

/**
 * Checks a stack against its cards and divides them. Collects every problem.
 *
 * A parked workload (replicas 0) holds no card, but its shape is checked all the same: its
 * Deployment is rendered with it, and unparking must not be the moment at which a typo surfaces.
 * Only a model that is too big for its cards is left to a warning while parked.
 *
 * @param live facts of the cluster; without them the configured numbers alone count
 * @throws RangeError when a number is not finite
 */
export function planGpus(
  workloads: readonly Workload[],
  nodes: readonly GpuNode[],
  live?: LiveGpus,
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
      ...workloads.flatMap((workload) => workloadProblems(workload, pools, fits)),
      ...[...pools.values()].flatMap((pool) =>
        poolProblems(
          pool,
          byNode.get(pool.node.name) ?? [],
          roomiest.find((other) => other.pool !== pool),
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

function workloadProblems(
  workload: Workload,
  pools: ReadonlyMap<string, NodePool>,
  fits: Readonly<Record<string, Fit>>,
): readonly string[] {
  const { key, name, model, engine, hostMemoryGiB, replicas, tensorParallel } = workload;
  const problems: string[] = [];
  const shm = shmGiB(tensorParallel);
  const leastGiB = shm + hostGiBPerRank * tensorParallel;
  if (hostMemoryGiB < leastGiB) {
    problems.push(
      `${key}.hostMemoryGiB = ${hostMemoryGiB}: ${tensorParallel} x ${hostGiBPerRank} GiB of processes and ${shm} GiB of /dev/shm do not fit (${leastGiB} or more); set it to ${leastGiB} or more`,
    );
  }
  if (model !== undefined && modelFigures(model) === undefined) {
    problems.push(
      `${key}.model.name = ${model.name}: not in the model table (${Object.keys(MODELS).join(", ")}); use one of these or state ${key}.model.figures`,
    );
  }
  if (model?.isq !== undefined && (engine !== "candle-vllm" || model.source.gguf !== undefined)) {
    const wrong =
      engine === "candle-vllm"
        ? "candle-vllm panics when it quantises a GGUF file"
        : "candle-vllm only";
    problems.push(`${key}.model.isq = ${model.isq}: ${wrong} (absent); remove ${key}.model.isq`);
  }
  const pool = pools.get(workload.node);
  if (pool === undefined) {
    problems.push(
      `${key}.node = ${workload.node}: not a node of this stack (${[...pools.keys()].join(", ")}); set it to one of these`,
    );
    return problems;
  }
  const { node } = pool;
  const wrong = [...rankViolations(workload, tensorParallel)];
  if (tensorParallel > node.cards) wrong.push(`${node.name} has ${node.cards} cards`);
  const fit = fits[name];
  if (fit?.verdict === "refused" && replicas > 0) wrong.push(describeRefusal(workload, node, fit));
  if (wrong.length > 0) {
    const allowed = workingDegrees(workload, node);
    problems.push(
      `${key}.tensorParallel = ${tensorParallel}: ${wrong.join(", ")} ${
        allowed.length > 0
          ? `(${list(allowed)}); set it to ${list(allowed)}`
          : `(no number of cards works on ${node.name}); choose another model or node`
      }`,
    );
  }
  return problems;
}

/** Why a model does not fit, with all numbers: "needs 50.6 GiB on a card of 32 GiB ...". */
export function describeRefusal(workload: Workload, node: GpuNode, fit: Fit): string {
  const needed = fit.weightsGiB + fit.overheadGiB;
  return `${workload.model?.name ?? workload.name} needs ${gib(needed)} on ${
    workload.tensorParallel > 1 ? "its fullest card" : "one card"
  } (weights ${gib(fit.weightsGiB)}, overhead ${gib(fit.overheadGiB)}) and a card of ${node.name} has ${gib(fit.memoryGiB)}`;
}

function poolProblems(
  pool: NodePool,
  workloads: readonly Workload[],
  elsewhere: { pool: NodePool; spare: number } | undefined,
): readonly string[] {
  const { node, index, available } = pool;
  const steady = sumOf(workloads, steadyCards);
  const peak = sumOf(workloads, peakCards);
  if (peak <= available) return [];
  const running = workloads.filter(({ replicas }) => replicas > 0);
  const surging = running.filter((workload) => surgePods(workload) > 0);
  const terms = [
    ...running.map((w) => `${w.name} ${w.replicas} x ${w.tensorParallel} = ${steadyCards(w)}`),
    ...surging.map(
      (w) =>
        `${w.name} surge ${surgePods(w)} x ${w.tensorParallel} = ${peakCards(w) - steadyCards(w)}`,
    ),
  ];
  const asked = `${node.name} is asked for ${peak} cards, ${terms.join(" + ")}, and has ${describePool(pool)}`;
  const remedy = list(
    budgetEdits(pool, running, elsewhere).slice(0, maxAlternatives).map(describeEdits),
  );
  const [first] = surging;
  const subject =
    steady <= available && first !== undefined
      ? `${first.key}.rollout = ${first.rollout}`
      : `llm-serving:gpuNodes[${index}].cards = ${node.cards}`;
  return [`${subject}: ${asked} (at most ${available}); ${remedy}`];
}

function describeEdits(edits: readonly Edit[]): string {
  return edits.map(({ path, value }) => `set ${path} to ${value}`).join(" and ");
}

function spareCards(pool: NodePool, workloads: readonly Workload[]): number {
  return pool.available - sumOf(workloads, peakCards);
}

/** "1", "1 or 2", "1, 2 or 4". */
function list(items: readonly (string | number)[]): string {
  const head = items.slice(0, -1).join(", ");
  const tail = String(items.at(-1) ?? "");
  return head === "" ? tail : `${head} or ${tail}`;
}

function gib(value: number): string {
  return `${Number(value.toFixed(1))} GiB`;
}

function assertFinite(workload: Workload): void {
  const { key, replicas, tensorParallel, hostMemoryGiB, contextTokens, maxSequences } = workload;
  const numbers: Readonly<Record<string, number | undefined>> = {
    ...(workload.model && modelFigures(workload.model)),
    ...{ replicas, tensorParallel, hostMemoryGiB, contextTokens, maxSequences },
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== undefined && !Number.isFinite(value))
      throw new RangeError(`${key}.${name} = ${value}: not a number`);
  }
}
