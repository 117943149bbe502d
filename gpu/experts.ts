import type { Isq } from "./workload.ts";

/** Values per block of a quantised row: rows are cut at multiples of it only. @see ggml */
const blockSize: Readonly<Record<Isq, number>> = { q4k: 256, q8_0: 32 };

/** How candle-vllm splits the experts of a layer over its ranks. */
export interface ExpertSplit {
  /** Quantisation that the experts really get. */
  readonly isq: Isq;
  /** Columns of each expert per rank; they sum to `moe_intermediate_size`. */
  readonly columns: readonly number[];
}

/**
 * Splits experts that are quantised while they load (ISQ).
 *
 * With m columns and N ranks a rank gets m/N of them when that is a multiple of the block. If not,
 * c = m/N rounded up to a multiple of the block: when (m - c) divides by N - 1 the ranks get c, c,
 * ... and the rest, else everything silently becomes Q8_0.
 *
 * @param columns m, a positive integer
 * @param ranks N, a positive integer
 * @returns undefined when a rank would get nothing or part of a block, a single one too, or when equal
 *   parts leave a rest: candle-vllm stops at load
 * @see candle-vllm src/openai/models/layers/moe.rs, FusedMoeISQ::new
 */
export function splitExperts(columns: number, ranks: number, isq: Isq): ExpertSplit | undefined {
  const share = Math.floor(columns / ranks);
  const chunk = (block: number) => Math.ceil(share / block) * block;
  const kept =
    ranks === 1 ||
    share % blockSize[isq] === 0 ||
    (columns - chunk(blockSize[isq])) % (ranks - 1) === 0
      ? isq
      : "q8_0";
  const block = blockSize[kept];
  if (share % block === 0) {
    if (columns % ranks !== 0) return undefined;
    return { isq: kept, columns: Array.from({ length: ranks }, () => share) };
  }
  const size = chunk(block);
  const split = Array.from({ length: ranks }, (_, rank) => Math.min(size, columns - rank * size));
  return split.every((part) => part > 0 && part % block === 0)
    ? { isq: kept, columns: split }
    : undefined;
}
