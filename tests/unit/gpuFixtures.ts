import fc from "fast-check";
import type { LiveGpus } from "../../gpu/pool.ts";
import type { GpuNode, ModelFigures, Workload } from "../../gpu/workload.ts";

/** `worker-1`: four V100 cards of 32 GiB. */
export const worker1: GpuNode = { name: "worker-1", cards: 4, memoryGiB: 32 };

/** A workload without an engine: clef-serve. */
export function clefServe(changes: Partial<Workload> = {}): Workload {
  return {
    name: "clef-serve",
    key: "llm-serving:clefServe",
    node: "worker-1",
    replicas: 1,
    tensorParallel: 1,
    rollout: "recreate",
    hostMemoryGiB: 16,
    ...changes,
  };
}

/** candle-vllm with the 30B model on one card. */
export function candleVllm(changes: Partial<Workload> = {}): Workload {
  return {
    ...clefServe(),
    name: "candle-vllm",
    key: "llm-serving:candleVllm",
    engine: "candle-vllm",
    model: { name: "qwen3-30b-a3b-q4_k_m", source: { gguf: "/models/coder.gguf" } },
    contextTokens: 32768,
    maxSequences: 2,
    modelsClaim: "models",
    ...changes,
  };
}

/** candle-vllm-next: Coder-Next on two cards, parked. */
export function candleVllmNext(changes: Partial<Workload> = {}): Workload {
  return candleVllm({
    name: "candle-vllm-next",
    key: "llm-serving:candleVllmNext",
    replicas: 0,
    tensorParallel: 2,
    model: { name: "qwen3-coder-next-q4", source: { gguf: "/models/next.gguf" } },
    maxSequences: 8,
    ...changes,
  });
}

/** reasoning: vLLM, parked. */
export function reasoning(changes: Partial<Workload> = {}): Workload {
  return candleVllm({
    name: "reasoning",
    key: "llm-serving:reasoning",
    replicas: 0,
    engine: "vllm",
    model: { name: "small", source: { hub: "org/small" }, figures: figures() },
    ...changes,
  });
}

/** Figures of a small dense model that fits everywhere. */
export function figures(changes: Partial<ModelFigures> = {}): ModelFigures {
  return { heads: 32, kvHeads: 8, weightsGiB: 4, kvKiBPerToken: 32, ...changes };
}

/** Four workloads as in `Pulumi.prod.yaml`. */
export function prod(): readonly Workload[] {
  return [clefServe(), candleVllm(), candleVllmNext(), reasoning()];
}

/** Live facts of worker-1. */
export function liveCards(allocatable: number, unmanaged: LiveGpus["unmanaged"] = []): LiveGpus {
  return { allocatable: new Map([["worker-1", allocatable]]), unmanaged };
}

/** Nodes named worker-1, worker-2, ... */
export const arbitraryNodes: fc.Arbitrary<readonly GpuNode[]> = fc
  .array(
    fc.record({
      cards: fc.integer({ min: 1, max: 16 }),
      memoryGiB: fc.constantFrom(16, 32, 80),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((nodes) => nodes.map((node, index) => ({ name: `worker-${index + 1}`, ...node })));

/** The four workloads with any legal counts, on any of four nodes, one of which may be unknown. */
export const arbitraryWorkloads: fc.Arbitrary<readonly Workload[]> = fc
  .array(
    fc.record({
      replicas: fc.integer({ min: 0, max: 16 }),
      tensorParallel: fc.constantFrom(1, 2, 4),
      rollout: fc.constantFrom("recreate" as const, "surge" as const),
      node: fc.integer({ min: 1, max: 4 }).map((number) => `worker-${number}`),
      hostMemoryGiB: fc.integer({ min: 1, max: 1024 }),
    }),
    { minLength: 4, maxLength: 4 },
  )
  .map((all) =>
    [clefServe, candleVllm, candleVllmNext, reasoning].map((make, index) =>
      make(make === clefServe ? { ...all[index], tensorParallel: 1 } : all[index]),
    ),
  );
