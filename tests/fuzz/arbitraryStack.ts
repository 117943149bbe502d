// Stacks as people edit them: mostly one node, counts that nearly fit, and now and then a slip.
import fc from "fast-check";
import type { RawStack } from "../support/arbitraryConfig.ts";
import type { LiveCards } from "./planOracle.ts";
import { allKeys } from "./shapeOracle.ts";
import { changed, type Raw } from "./violation.ts";

/** What one run judges. */
export interface Case {
  readonly raw: Raw;
  /** Facts of a cluster; without them the configured numbers alone count. */
  readonly live?: LiveCards | undefined;
}

const digest = `registry.example/llm/x@sha256:${"5".repeat(64)}`;
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Values by weight, such as [5, "recreate"], [2, "surge"]. */
const weighted = <T>(...choices: readonly (readonly [number, T])[]) =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const nodes = weighted([7, 1], [1, 2], [1, 3], [1, 4]).chain((size) =>
  fc.array(
    fc.record({
      cards: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(4, 4, 8) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 16 }) },
      ),
      memoryGiB: weighted([6, 32], [4, 80], [1, 16], [1, 24], [2, 192]),
    }),
    { minLength: size, maxLength: size },
  ),
);

function workload(names: readonly string[]) {
  const replicas = fc.oneof(
    { weight: 40, arbitrary: weighted([10, 0], [9, 1], [2, 2], [1, 3]) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 16 }) },
  );
  return {
    replicas,
    image: fc.constant(digest),
    node: names.length > 1 ? fc.constantFrom(...names) : maybe(fc.constantFrom(...names)),
    rollout: weighted([2, "recreate" as const], [1, "surge" as const], [2, undefined]),
    hostMemoryGiB: fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(undefined, 16, 64) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) },
    ),
    graceSeconds: maybe(fc.integer({ min: 1, max: 600 })),
    coldStartSeconds: maybe(fc.integer({ min: 1, max: 3600 })),
  };
}

const figures = fc.record({
  heads: weighted([9, 32], [9, 64], [4, 40], [4, 28], [1, 14], [1, 71]),
  kvHeads: weighted([8, 4], [8, 8], [4, 2], [2, 1], [1, 3], [1, 6]),
  linearHeads: weighted([9, undefined], [3, 16], [3, 32], [1, 6]),
  moeIntermediate: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(undefined, undefined, 512, 768, 1024, 1536) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 96 }).map((blocks) => blocks * 32) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2048 }) },
  ),
  weightsGiB: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 300 }).map((tenths) => tenths / 10) },
    { weight: 1, arbitrary: fc.integer({ min: 40, max: 400 }) },
  ),
  kvKiBPerToken: fc.constantFrom(0.5, 24, 96, 320),
});

const source = fc.constantFrom(
  { gguf: "/models/coder.gguf" },
  { folder: "/models/coder" },
  { hub: "org/coder" },
);

const named = fc.oneof(
  fc.record({
    name: weighted(
      [4, "qwen3-30b-a3b-q4_k_m"],
      [1, "qwen3-30b-a3b-f16"],
      [2, "qwen3-coder-next-q4"],
    ),
  }),
  fc.record({ name: fc.constantFrom("our-own", "qwen3-30b-a3b-q4_k_m"), figures }),
);

const isqs = weighted([2, undefined], [2, "q4k" as const], [1, "q8_0" as const]);

function engine(names: readonly string[], candle: boolean) {
  return fc.record({
    ...workload(names),
    tensorParallel: weighted([6, 1 as const], [3, 2 as const], [1, 4 as const]),
    model: fc.tuple(named, source, isqs).map(([model, from, isq]) => ({
      ...model,
      source: from,
      ...(candle && !("gguf" in from) ? { isq } : {}),
    })),
    contextTokens: maybe(fc.constantFrom(1024, 32_768, 1_048_576)),
    maxSequences: maybe(fc.integer({ min: 1, max: 256 })),
    modelsClaim: maybe(fc.constant("models")),
  });
}

/** A valid configuration; whether it works on its cards is open. */
const soundStack = nodes.chain((all) => {
  const gpuNodes = all.map((node, at) => ({ name: `worker-${at + 1}`, ...node }));
  const names = gpuNodes.map(({ name }) => name);
  return fc.record({
    cluster: fc.constant({ context: "llm-lab", lab: true as const }),
    gpuNodes: fc.constant(gpuNodes),
    clefServe: fc.record(workload(names)),
    candleVllm: engine(names, true),
    candleVllmNext: engine(names, true),
    reasoning: engine(names, false) as fc.Arbitrary<RawStack["reasoning"]>,
    coderService: fc.record({ backend: fc.constantFrom("candle-vllm", "candle-vllm-next") }),
  });
});

type Slip = readonly [key: string, value: unknown];

/** Right for some key and wrong for most: which of them is the oracle's to say. */
export const slips: readonly unknown[] = [
  ...[undefined, null, true, false, NaN, Infinity, [], {}, "", " ", "2", "0x2", "true"],
  ...[-1, 0, 0.5, 1, 2, 3, 4, 5, 16, 17, 64, 128, 129, 192, 193, 256, 257, 600, 601, 1023, 1024],
  ...[1025, 3600, 3601, 4096, 4097, 10_240, 10_241, 65_536, 65_537, 1_048_577, 2 ** 31, 1e21],
  ...["worker-1", "worker-2", "no-such-node", "recreate", "surge", "q4k", "q8_0", "prepared"],
  ...["candle-vllm", "reasoning", "qwen3-30b-a3b-q4_k_m", "no-such-model", "org/name"],
  ...["/models/other", "/tmp/model", "/models/../etc", "x:v1", "x:latest", "x@sha256:12", digest],
  ...["3f0c1d2e-0000-4000-8000-00000000abcd", ["one", "two"], ["one", "one"], { hub: "org/x" }],
  ...[{ gguf: "/models/x" }, { hub: "org/x", folder: "/models/x" }, { RUST_LOG: "info" }],
  ...[{ HF_TOKEN: "x" }, { CUDA_VISIBLE_DEVICES: "0" }, { "1X": "x" }, { PORT: 1 }],
  ...[{ name: "hf-token", key: "token" }, { replicas: 1 }],
];

/** Slips that only other values make one, which chance alone hardly finds. */
const slipsBetweenValues: readonly Slip[] = [
  ...[undefined, "x:v1"].map((image) => ["clefServe.image", image] as const),
  ...[undefined, "x:v1"].map((image) => ["candleVllm.image", image] as const),
  ["registry.requireDigests", false],
  ["clefServe.bootstrap", "prepared"],
  ["clefServe.packagesClaim", "clef-packages"],
  ["access.clients", ["one", "one"]],
  ["gpuNodes[1]", { name: "worker-1", cards: 4, memoryGiB: 32 }],
  ["reasoning.model.isq", "q4k"],
  ["candleVllm.model.isq", "q4k"],
  ["candleVllmNext.model.source.gguf", "/models/next.gguf"],
  ["candleVllmNext.node", "worker-2"],
  ["reasoning.model.figures", undefined],
  ["cluster.uid", "3f0c1d2e-0000-4000-8000-00000000abcd"],
  ["cluster.lab", undefined],
];

const slip: fc.Arbitrary<Slip> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...slipsBetweenValues) },
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...allKeys), fc.constantFrom(...slips)) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom("replicaCount", "candleVllm.tp", "gpuNodes[0].gpus", "reasoning.model.size"),
      fc.constantFrom(1, "x", {}),
    ),
  },
);

const live = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({
      allocatable: fc.dictionary(
        fc.constantFrom("worker-1", "worker-2", "worker-3"),
        fc.oneof(fc.constantFrom(4, 8, 16), fc.integer({ min: 0, max: 16 })),
        { minKeys: 1 },
      ),
      held: fc.array(
        fc.record({
          node: fc.constantFrom("worker-1", "worker-2"),
          cards: fc.integer({ min: 1, max: 4 }),
        }),
        { maxLength: 2 },
      ),
    }),
  },
);

const manySlips: fc.Arbitrary<readonly Slip[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.array(slip, { minLength: 1, maxLength: 3 }) },
);

/** Whole stacks, two of five with one to three slips. */
export const arbitraryCase: fc.Arbitrary<Case> = fc
  .record({ stack: soundStack, made: manySlips, live })
  .map(({ stack, made, live: facts }) => ({
    raw: made.reduce<Raw>((raw, [key, value]) => changed(raw, key, value), stated(stack)),
    live: facts,
  }));

/** Leaves out what a file would not state. */
function stated(stack: object): Raw {
  return JSON.parse(JSON.stringify(stack)) as Raw;
}
