/**
 * What the plan needs to know of a workload and of a model. The stack's own, richer types satisfy
 * these structurally, so that `gpu/` depends on nothing.
 */

/** Figures of a model as loaded from its source, before any in-situ quantisation (ISQ). */
export interface ModelFigures {
  /** Query heads of the attention. */
  readonly heads: number;
  /** Key/value heads of the attention. */
  readonly kvHeads: number;
  /** Key heads of linear attention layers; their value heads are a multiple of it. */
  readonly linearHeads?: number | undefined;
  /** Width of one expert (`moe_intermediate_size`); absent for a dense model. */
  readonly moeIntermediate?: number | undefined;
  /** Size of the weights in GiB. */
  readonly weightsGiB: number;
  /** Key/value cache of one token over all layers and heads in KiB, at 16 bits. */
  readonly kvKiBPerToken: number;
}

/** In-situ quantisation of candle-vllm: full-precision weights quantised while they load. */
export type Isq = "q4k" | "q8_0";

/** A model as a stack states it. */
export interface Model {
  /** A key of the model table, or any name when `figures` is given. */
  readonly name: string;
  /** Exactly one of the three. */
  readonly source: {
    readonly hub?: string | undefined;
    readonly folder?: string | undefined;
    readonly gguf?: string | undefined;
  };
  readonly isq?: Isq | undefined;
  /** The stack's own figures; they win over the table. */
  readonly figures?: ModelFigures | undefined;
}

/** The serving engines; a workload without one (clef-serve) has no model to check. */
export type Engine = "candle-vllm" | "vllm";

/** One Deployment as the plan sees it. */
export interface Workload {
  /** Name of the Deployment, unique. */
  readonly name: string;
  /** Config key for messages, such as `llm-serving:candleVllm`. */
  readonly key: string;
  /** Name of the node that its pods select. */
  readonly node: string;
  /** Pods wanted; 0 means parked. */
  readonly replicas: number;
  /** Cards of one pod: 1 for a workload without an engine. */
  readonly tensorParallel: number;
  readonly rollout: "recreate" | "surge";
  /** Memory request and limit of the container in GiB, /dev/shm included. */
  readonly hostMemoryGiB: number;
  readonly engine?: Engine | undefined;
  readonly model?: Model | undefined;
  /** Longest context in tokens that the stack wants to serve. */
  readonly contextTokens?: number | undefined;
  /** Sequences that the stack wants to serve at once. */
  readonly maxSequences?: number | undefined;
  /** PersistentVolumeClaim with the models. */
  readonly modelsClaim?: string | undefined;
}

/** One node with cards, as the stack states it. */
export interface GpuNode {
  readonly name: string;
  /** Cards of the node. */
  readonly cards: number;
  /** Memory of one card in GiB. */
  readonly memoryGiB: number;
}
