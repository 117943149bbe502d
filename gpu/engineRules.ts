import { type Fit, isqSplit, memoryFit } from "./fit.ts";
import { modelFigures, modelRow } from "./models.ts";
import type { GpuNode, ModelFigures, Workload } from "./workload.ts";

/** Degrees of tensor parallelism that a stack may state. */
export const tensorParallelDegrees = [1, 2, 4] as const;

/**
 * Why a workload cannot run with `ranks` cards, as phrases; empty when it can.
 *
 * Query heads and linear heads must divide by the ranks; KV heads divide, or each is replicated
 * (candle-vllm since 0.8.9, vLLM always); candle-vllm documents a power of two. Experts are cut into
 * equal parts, under ISQ at whole blocks.
 *
 * @see https://github.com/vllm-project/vllm/issues/596 and candle-vllm's README
 */
export function rankViolations(workload: Workload, ranks: number): readonly string[] {
  if (!Number.isInteger(ranks) || ranks < 1) return [`${ranks} is not a number of cards`];
  const violations: string[] = [];
  const { engine, model } = workload;
  if (engine === "candle-vllm" && !isPowerOfTwo(ranks)) {
    violations.push("candle-vllm runs on a power of two of cards");
  } else if (!tensorParallelDegrees.some((degree) => degree === ranks)) {
    violations.push("a pod takes no other number of cards");
  }
  const figures = model && modelFigures(model);
  if (engine === undefined || model === undefined || figures === undefined) return violations;
  const { heads, kvHeads, linearHeads } = figures;
  if (heads % ranks !== 0) {
    violations.push(`the ${heads} heads of ${model.name} do not divide by ${ranks}`);
  }
  if (kvHeads % ranks !== 0 && ranks % kvHeads !== 0) {
    violations.push(
      `the ${kvHeads} KV heads of ${model.name} neither divide by ${ranks} nor divide it`,
    );
  }
  if (linearHeads !== undefined && linearHeads % ranks !== 0) {
    violations.push(`the ${linearHeads} linear heads of ${model.name} do not divide by ${ranks}`);
  }
  const { isq } = model;
  const split = isqSplit({ engine, figures, tensorParallel: ranks, isq });
  if (split === "unsplittable") {
    violations.push(
      `candle-vllm cannot cut the experts of ${model.name}, ${figures.moeIntermediate ?? 0} columns wide, into ${ranks} ranks as ${isq ?? ""}`,
    );
  } else if (split === undefined && (figures.moeIntermediate ?? 0) % ranks !== 0) {
    violations.push(
      `the ${figures.moeIntermediate ?? 0} columns of the experts of ${model.name} do not divide by ${ranks}`,
    );
  }
  return violations;
}

/**
 * Memory fit of a workload on a node's cards with `ranks` cards.
 *
 * @returns undefined for a workload without an engine or with unknown figures
 * @throws RangeError when a number is not finite
 */
export function workloadFit(workload: Workload, node: GpuNode, ranks: number): Fit | undefined {
  const { engine, model, contextTokens = 0, maxSequences = 0 } = workload;
  const figures: ModelFigures | undefined = model && modelFigures(model);
  if (engine === undefined || model === undefined || figures === undefined) return undefined;
  const row = modelRow(model);
  return memoryFit({
    engine,
    figures,
    tensorParallel: ranks,
    memoryGiB: node.memoryGiB,
    gguf: model.source.gguf !== undefined,
    isq: model.isq,
    quantised: row !== undefined && row.format !== "f16",
    contextTokens,
    maxSequences,
  });
}

/** True when `ranks` cards break no rule, exist on the node and hold the model. */
export function works(workload: Workload, node: GpuNode, ranks: number): boolean {
  return (
    ranks <= node.cards &&
    rankViolations(workload, ranks).length === 0 &&
    workloadFit(workload, node, ranks)?.verdict !== "refused"
  );
}

/** The degrees with which a workload works on a node. */
export function workingDegrees(workload: Workload, node: GpuNode): readonly number[] {
  return tensorParallelDegrees.filter((ranks) => works(workload, node, ranks));
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value));
}
