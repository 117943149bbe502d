import type { Model, ModelFigures } from "./workload.ts";

/** A row of the model table: figures of one named file or repository, and where they come from. */
export interface ModelRow {
  readonly figures: ModelFigures;
  /** How the weights are stored in the source. */
  readonly format: "q4_k_m" | "q4" | "f16";
  /** Value heads of linear attention: a multiple of `figures.linearHeads`, which therefore decides. */
  readonly linearValueHeads?: number;
  /** What is known to go wrong with these weights as they are, without `isq`. */
  readonly caution?: string;
  /** Where the figures come from. */
  readonly source: string;
}

/** Bytes of one GiB, to state sizes that are published in GB exactly. */
const GiB = 2 ** 30;

/** The models that a stack may name without figures of its own. */
export const MODELS: Readonly<Record<string, ModelRow>> = {
  "qwen3-30b-a3b-q4_k_m": {
    figures: {
      heads: 32,
      kvHeads: 4,
      moeIntermediate: 768,
      weightsGiB: 17.35,
      kvKiBPerToken: 96, // 48 layers x 4 KV heads x 128 x 2 (key and value) x 2 bytes
    },
    format: "q4_k_m",
    source: "config.json of Qwen/Qwen3-30B-A3B; size of its Q4_K_M GGUF file",
  },
  "qwen3-30b-a3b-f16": {
    figures: {
      heads: 32,
      kvHeads: 4,
      moeIntermediate: 768,
      weightsGiB: 61e9 / GiB, // published as 61 GB
      kvKiBPerToken: 96,
    },
    format: "f16",
    caution: "wrong output is reported for it unquantised on V100",
    source: "config.json and safetensors of Qwen/Qwen3-30B-A3B",
  },
  "qwen3-coder-next-q4": {
    figures: {
      heads: 16,
      kvHeads: 2,
      linearHeads: 16,
      moeIntermediate: 512,
      weightsGiB: 45.1,
      kvKiBPerToken: 24, // 12 of 48 layers have full attention: 12 x 2 x 256 x 2 x 2 bytes
    },
    linearValueHeads: 32,
    format: "q4",
    source: "config.json of Qwen/Qwen3-Coder-Next; size of its Q4 GGUF file",
  },
};

/**
 * The figures of a model: the stack's own when it states them, else the table's.
 *
 * @returns undefined when the name is not in the table and the stack states no figures
 */
export function modelFigures(model: Model): ModelFigures | undefined {
  return model.figures ?? modelRow(model)?.figures;
}

/** The table's row of a model that is loaded with the table's figures. */
export function modelRow(model: Model): ModelRow | undefined {
  return model.figures === undefined && Object.hasOwn(MODELS, model.name)
    ? MODELS[model.name]
    : undefined;
}
