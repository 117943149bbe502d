import { budgetEdits, type Edit, peakCards, steadyCards, sumOf, surgePods } from "./budget.ts";
import { shmGiB } from "./devices.ts";
import { rankViolations, workingDegrees } from "./engineRules.ts";
import type { Fit } from "./fit.ts";
import { modelFigures, MODELS } from "./models.ts";
import { describePool, type NodePool } from "./pool.ts";
import type { GpuNode, Workload } from "./workload.ts";

/** Most alternatives that one message offers. */
const maxAlternatives = 4;

/**
 * Host memory per rank in GiB below which nothing starts. Derived: a CUDA context and an engine's
 * own heap take about 1 GiB of host memory in each process.
 */
const hostGiBPerRank = 1;

/**
 * What is wrong with one workload, whatever its neighbours ask for.
 *
 * @param fit its memory fit, where its shape allows one
 */
export function workloadProblems(
  workload: Workload,
  pools: ReadonlyMap<string, NodePool>,
  fit: Fit | undefined,
): readonly string[] {
  const pool = pools.get(workload.node);
  return [
    ...hostMemoryProblem(workload),
    ...modelProblems(workload),
    ...(pool === undefined
      ? [
          `${workload.key}.node = ${workload.node}: not a node of this stack (${[...pools.keys()].join(", ")}); set it to one of these`,
        ]
      : ranksProblem(workload, pool.node, fit)),
  ];
}

function hostMemoryProblem(workload: Workload): readonly string[] {
  const { key, hostMemoryGiB, tensorParallel } = workload;
  const shm = shmGiB(tensorParallel);
  const leastGiB = shm + hostGiBPerRank * tensorParallel;
  if (hostMemoryGiB >= leastGiB) return [];
  const wrong = `${tensorParallel} x ${hostGiBPerRank} GiB of processes and ${shm} GiB of /dev/shm do not fit`;
  return [
    `${key}.hostMemoryGiB = ${hostMemoryGiB}: ${wrong} (${leastGiB} or more); set it to ${leastGiB} or more`,
  ];
}

function modelProblems(workload: Workload): readonly string[] {
  const { key, engine, model } = workload;
  if (model === undefined) return [];
  const problems: string[] = [];
  if (modelFigures(model) === undefined) {
    problems.push(
      `${key}.model.name = ${model.name}: not in the model table (${Object.keys(MODELS).join(", ")}); use one of these or state ${key}.model.figures`,
    );
  }
  const remedy = `(absent); remove ${key}.model.isq`;
  if (model.isq !== undefined && engine !== "candle-vllm") {
    problems.push(`${key}.model.isq = ${model.isq}: candle-vllm only ${remedy}`);
  } else if (model.isq !== undefined && model.source.gguf !== undefined) {
    problems.push(
      `${key}.model.isq = ${model.isq}: candle-vllm panics when it quantises a GGUF file ${remedy}`,
    );
  }
  return problems;
}

function ranksProblem(workload: Workload, node: GpuNode, fit: Fit | undefined): readonly string[] {
  const { key, replicas, tensorParallel } = workload;
  const wrong = [...rankViolations(workload, tensorParallel)];
  if (tensorParallel > node.cards)
    wrong.push(`${node.name} has ${node.cards} card${node.cards === 1 ? "" : "s"}`);
  if (fit?.verdict === "refused" && replicas > 0) wrong.push(describeRefusal(workload, node, fit));
  if (wrong.length === 0) return [];
  const allowed = list(workingDegrees(workload, node));
  const remedy =
    allowed === ""
      ? `(no number of cards works on ${node.name}); choose another model or node`
      : `(${allowed}); set it to ${allowed}`;
  return [`${key}.tensorParallel = ${tensorParallel}: ${wrong.join(", ")} ${remedy}`];
}

/** Why a model does not fit, with all numbers: "needs 50.6 GiB on a card of 32 GiB ...". */
export function describeRefusal(workload: Workload, node: GpuNode, fit: Fit): string {
  const needed = fit.weightsGiB + fit.overheadGiB;
  const even = fit.share * workload.tensorParallel <= 1;
  const where =
    workload.tensorParallel === 1 ? "one card" : even ? "each card" : "its fullest card";
  return `${workload.model?.name ?? workload.name} needs ${gib(needed)} on ${where} (weights ${gib(fit.weightsGiB)}, overhead ${gib(fit.overheadGiB)}) and a card of ${node.name} has ${gib(fit.memoryGiB)}`;
}

/**
 * Whether a node is asked for more cards than its pool has: a line with every term of the sum and the
 * smallest edits, or none.
 *
 * @param elsewhere the other node with the most spare cards
 * @param coderBackend workload behind coder-predictor, which no edit parks
 */
export function poolProblem(
  pool: NodePool,
  workloads: readonly Workload[],
  elsewhere: { pool: NodePool; spare: number } | undefined,
  coderBackend: string | undefined,
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
  const asked = `${node.name} is asked for ${peak} card${peak === 1 ? "" : "s"}, ${terms.join(" + ")}, and has ${describePool(pool)}`;
  const edits = budgetEdits(pool, running, elsewhere, coderBackend);
  const remedy =
    edits.length > 0
      ? list(edits.slice(0, maxAlternatives).map(describeEdits))
      : `free cards of ${node.name}: without ${coderBackend ?? "it"} coder-predictor has no endpoint, and to park all others is not enough`;
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

/** "1", "1 or 2", "1, 2 or 4". */
function list(items: readonly (string | number)[]): string {
  const head = items.slice(0, -1).join(", ");
  const tail = String(items.at(-1) ?? "");
  return head === "" ? tail : `${head} or ${tail}`;
}

function gib(value: number): string {
  return `${Number(value.toFixed(1))} GiB`;
}
