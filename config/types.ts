import type * as z from "zod";
import type { stackSchema } from "./schema.ts";

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** What the schema returns: every value valid by itself, the rules between values not applied yet. */
export type ParsedStack = DeepReadonly<z.output<typeof stackSchema>>;

type Settled<W> = Omit<W, "node"> & {
  /** Name of the node that the pods select, one of `gpuNodes`. */
  readonly node: string;
};

/** The one cluster that the stack may touch: `uid` or `lab` is set, never both. */
export type ClusterConfig = ParsedStack["cluster"];

/** A node with GPUs: `cards` 1..16 of `memoryGiB` 1..192 each. */
export type GpuNode = ParsedStack["gpuNodes"][number];

/** clef-serve: one card a replica, never an engine. */
export type ClefServeConfig = Settled<ParsedStack["clefServe"]> & {
  /** As stated, or as it follows from `bootstrap`. */
  readonly coldStartSeconds: number;
};

/** What every workload states; units and ranges stand in `config/schema.ts`. */
export type WorkloadConfig = Omit<ClefServeConfig, "bootstrap" | "packagesClaim">;

/** Where the weights come from: a Hugging Face id, a folder or a GGUF file, both below /models. */
export type ModelSource =
  { readonly hub: string } | { readonly folder: string } | { readonly gguf: string };

type ParsedEngine = ParsedStack["candleVllm"];
type ParsedModel = ParsedEngine["model"];

/** Figures of a model outside the model table: heads, GiB of weights, KiB of cache per token. */
export type ModelFigures = NonNullable<ParsedModel["figures"]>;

/** A model with its source; `isq` is never set for vLLM nor beside a GGUF file. */
export type ModelConfig = Omit<ParsedModel, "source"> & { readonly source: ModelSource };

/** A candle-vllm or vLLM engine: `tensorParallel` cards a replica. */
export type EngineConfig = Settled<Omit<ParsedEngine, "model">> & { readonly model: ModelConfig };

/** Which engine the Service coder-predictor selects. */
export type CoderServiceConfig = ParsedStack["coderService"];

/** Where images come from; `push` is `pull` where the stack does not state it. */
export type RegistryConfig = ParsedStack["registry"];

/** Who may connect (namespaces), and whether a read-only reviewer exists. */
export type AccessConfig = ParsedStack["access"];

/** A stack's whole configuration: valid by every rule but those of the GPU plan, defaults filled in. */
export interface StackConfig {
  readonly cluster: ClusterConfig;
  readonly gpuNodes: readonly GpuNode[];
  readonly clefServe: ClefServeConfig;
  readonly candleVllm: EngineConfig;
  readonly candleVllmNext: EngineConfig;
  readonly reasoning: EngineConfig;
  readonly coderService: CoderServiceConfig;
  readonly registry: RegistryConfig;
  readonly access: AccessConfig;
}
