import { type ExpertSplit, splitExperts } from "./experts.ts";
import type { Engine, Isq, ModelFigures } from "./workload.ts";

/**
 * KAITO's memory budget of one card, tuned to vLLM: weights grow by 2 % when loaded, activations and
 * graphs take 5 % of the card's weights, CUDA context, NCCL buffers and a base 2.3 GiB.
 *
 * @see https://github.com/kaito-project/kaito pkg/workspace/estimator/budget.go
 */
const weightExpansion = 1.02;
const overheadPerWeight = 0.05;
const baseOverheadGiB = 2.3;

/** Share of a card that vLLM may use in KAITO's estimates. */
const vllmUsableShare = 0.84;

/** candle-vllm's default `--kv-fraction`: share of the memory free after load that KV cache gets. */
const candleKvFraction = 0.6;

/** Bits per weight of ggml's block formats, scales included. */
const q4kBits = 4.5;
const q6kBits = 6.5625;
const q8Bits = 8.5;

/**
 * Bits per weight after ISQ. q4k keeps the down projection, a third of the experts, at Q6_K.
 * Derived: all weights are taken as experts, which 95 % of them are in these models.
 *
 * @see candle-vllm src/openai/models/layers/mod.rs, isq_high_precision_dtype
 */
const isqBits: Readonly<Record<Isq, number>> = { q4k: (2 * q4kBits + q6kBits) / 3, q8_0: q8Bits };

/** Bits per weight of a full-precision source, which ISQ shrinks; a quantised one stays as it is. */
const fullPrecisionBits = 16;

/**
 * Growth of a GGUF file whose down projection, a third of the experts, cannot be cut at a block:
 * that third becomes Q8_0. Derived from the bits of Q8_0 and Q4_K.
 *
 * @see candle-vllm src/openai/models/layers/quantized_var_builder.rs, get_sharded_no_shape
 */
const ggufRequantised = 1 + (q8Bits / q4kBits - 1) / 3;
const ggufBlock = 256;

/** What decides whether a model fits its cards. */
export interface FitInput {
  readonly engine: Engine;
  readonly figures: ModelFigures;
  /** Ranks, one card each: an integer of 1 or more. */
  readonly tensorParallel: number;
  /** Memory of one card in GiB. */
  readonly memoryGiB: number;
  /** True when the source is a GGUF file. */
  readonly gguf: boolean;
  readonly isq?: Isq | undefined;
  /** True when `figures.weightsGiB` is already the size of weights of about 4 bits. */
  readonly quantised?: boolean | undefined;
  /** Context in tokens that the stack wants, 0 for no wish. */
  readonly contextTokens: number;
  /** Sequences that the stack wants at once. */
  readonly maxSequences: number;
}

/** Verdict on the heaviest rank, with its numbers. Sizes are GiB on that rank's card. */
export interface Fit {
  /** refused: weights and overhead exceed the card. marginal: fewer KV tokens than wanted. */
  readonly verdict: "fits" | "marginal" | "refused";
  readonly weightsGiB: number;
  readonly overheadGiB: number;
  readonly memoryGiB: number;
  /** Tokens that the KV cache holds; under candle-vllm this is the context that results. */
  readonly kvTokens: number;
  /** contextTokens x maxSequences. */
  readonly wantedTokens: number;
  /** Share of the weights on the heaviest rank: 1/N unless the experts split unevenly. */
  readonly share: number;
  /** Quantisation differs from what was asked for: experts or a part of them became Q8_0. */
  readonly requantised: boolean;
}

/**
 * Estimates the memory of the heaviest rank, which decides.
 *
 * Per card: weights x share x 1.02, plus 5 % of that, plus 2.3 GiB. vLLM gives what is left of 84 %
 * of the card to the KV cache; candle-vllm gives 60 % of what is free after load. A token takes
 * kvKiBPerToken x max(kvHeads / N, 1) / kvHeads on each rank: KV heads divide or are replicated.
 *
 * @throws RangeError when a number is not finite, or tensorParallel is not a positive integer
 */
export function memoryFit(input: FitInput): Fit {
  const { engine, figures, tensorParallel, memoryGiB, contextTokens, maxSequences } = input;
  assertFinite({ ...figures, tensorParallel, memoryGiB, contextTokens, maxSequences });
  if (!Number.isInteger(tensorParallel) || tensorParallel < 1) {
    throw new RangeError(`tensorParallel = ${tensorParallel}: not a positive integer`);
  }
  const { share, growth, requantised } = heaviestRank(input);
  const weightsGiB = figures.weightsGiB * growth * share * weightExpansion;
  const overheadGiB = baseOverheadGiB + weightsGiB * overheadPerWeight;
  const usedGiB = weightsGiB + overheadGiB;
  const kvGiB =
    engine === "vllm"
      ? memoryGiB * vllmUsableShare - usedGiB
      : (memoryGiB - usedGiB) * candleKvFraction;
  const headsPerRank = Math.max(figures.kvHeads / tensorParallel, 1) / figures.kvHeads;
  const kvKiB = figures.kvKiBPerToken * headsPerRank;
  const kvTokens = kvKiB > 0 ? Math.floor((Math.max(kvGiB, 0) * 2 ** 20) / kvKiB) : Infinity;
  const wantedTokens = contextTokens * maxSequences;
  const verdict = usedGiB > memoryGiB ? "refused" : kvTokens < wantedTokens ? "marginal" : "fits";
  return {
    verdict,
    weightsGiB,
    overheadGiB,
    memoryGiB,
    kvTokens,
    wantedTokens,
    share,
    requantised,
  };
}

/** Experts of a model under ISQ; undefined for sources that are loaded as they are. */
export function isqSplit(
  input: Pick<FitInput, "engine" | "figures" | "tensorParallel" | "isq">,
): ExpertSplit | "unsplittable" | undefined {
  const { engine, figures, tensorParallel, isq } = input;
  if (engine !== "candle-vllm" || isq === undefined || figures.moeIntermediate === undefined) {
    return undefined;
  }
  return splitExperts(figures.moeIntermediate, tensorParallel, isq) ?? "unsplittable";
}

function heaviestRank(input: FitInput): { share: number; growth: number; requantised: boolean } {
  const { engine, figures, tensorParallel, gguf, isq } = input;
  const even = { share: 1 / tensorParallel, growth: 1, requantised: false };
  if (engine !== "candle-vllm") return even;
  const columns = figures.moeIntermediate;
  if (gguf) {
    // A GGUF file is cut into equal parts, whatever the block.
    const cut = columns === undefined ? 0 : (columns / tensorParallel) % ggufBlock;
    return tensorParallel > 1 && cut !== 0
      ? { ...even, growth: ggufRequantised, requantised: true }
      : even;
  }
  if (isq === undefined) return even;
  const sourceBits = input.quantised === true ? isqBits.q4k : fullPrecisionBits;
  const split = isqSplit(input);
  if (split === undefined || split === "unsplittable" || columns === undefined) {
    return { ...even, growth: isqBits[isq] / sourceBits };
  }
  return {
    share: Math.max(...split.columns) / columns,
    growth: isqBits[split.isq] / sourceBits,
    requantised: split.isq !== isq,
  };
}

function assertFinite(values: Readonly<Record<string, number | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && !Number.isFinite(value)) {
      throw new RangeError(`${name} = ${value}: not a finite number`);
    }
  }
}
