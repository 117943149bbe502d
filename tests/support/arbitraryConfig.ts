import fc from "fast-check";
import type * as z from "zod";
import type { stackSchema } from "../../config/schema.ts";
import { MODELS } from "../../gpu/models.ts";

/** A stack's configuration as a person writes it: defaults may be absent. */
export type RawStack = z.input<typeof stackSchema>;

/** What the parts of one stack have to agree on. */
interface Frame {
  readonly nodes: RawStack["gpuNodes"];
  readonly requireDigests: boolean | undefined;
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Numbers of a range, small ones and both ends more often than the rest. */
const within = (min: number, max: number) =>
  fc.oneof(
    fc.integer({ min, max: Math.min(max, min + 3) }),
    fc.integer({ min, max }),
    fc.constantFrom(min, max),
  );

/** The names that Kubernetes takes for objects and, without dots, for namespaces. */
const objectName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,12}[a-z0-9])?$/);
const pathPart = fc.stringMatching(/^[A-Za-z0-9][\w.+@=-]{0,12}$/);
const modelPath = fc
  .array(pathPart, { minLength: 1, maxLength: 3 })
  .map((parts) => `/models/${parts.join("/")}`);
const repository = fc
  .tuple(
    fc.constantFrom("registry.example/llm/", "registry.example:5000/", "localhost:5000/a_b/", ""),
    fc.constantFrom("candle-vllm", "clef-serve", "x"),
  )
  .map((parts) => parts.join(""));
const digest = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((n) => n.toString(16));
const byDigest = fc
  .tuple(repository, digest)
  .map(([repo, hex]) => `${repo}@sha256:${hex.padStart(64, "0")}`);
const byTag = fc
  .tuple(repository, fc.constantFrom("0.8.9", "0123456", "20220113.20", "v1", "latest-1"))
  .map((parts) => parts.join(":"));

const nodes = within(1, 16).chain((size) =>
  fc.tuple(
    ...Array.from({ length: size }, (_, at) =>
      fc.record({
        name: fc.constant(`worker-${at + 1}`),
        cards: within(1, 16),
        memoryGiB: fc.oneof(fc.constantFrom(16, 32, 80), within(1, 192)),
      }),
    ),
  ),
);

const env = fc.dictionary(
  fc.constantFrom("RUST_LOG", "MAX_TOKENS", "VLLM_USE_V1", "NCCL_P2P_DISABLE", "_x", "constructor"),
  fc.constantFrom("", "1", "0123", "true", "info,debug", "a b"),
  { maxKeys: 3 },
);

/** A running workload has an image; a parked one may. */
function workload({ nodes: all, requireDigests }: Frame) {
  const image = requireDigests === false ? fc.oneof(byDigest, byTag) : byDigest;
  const node = fc.constantFrom(...all.map(({ name }) => name));
  const staffed = fc.oneof(
    fc.record({ replicas: fc.constant(0), image: maybe(image) }),
    fc.record({ replicas: within(1, 16), image }),
  );
  const rest = fc.record({
    node: all.length > 1 ? node : maybe(node),
    coldStartSeconds: maybe(within(1, 3600)),
    graceSeconds: maybe(within(1, 600)),
    hostMemoryGiB: maybe(within(1, 1024)),
    cpu: maybe(within(1, 128)),
    rollout: maybe(fc.constantFrom("recreate" as const, "surge" as const)),
    env: maybe(env),
  });
  return fc.tuple(staffed, rest).map(([a, b]) => ({ ...a, ...b }));
}

const figures = fc.record({
  heads: within(1, 1024),
  kvHeads: within(1, 1024),
  linearHeads: maybe(within(1, 1024)),
  moeIntermediate: maybe(within(1, 1_048_576)),
  weightsGiB: fc.oneof(fc.constantFrom(17.35, 45.1, 4096), within(1, 4096)),
  kvKiBPerToken: fc.oneof(fc.constantFrom(0.5, 24, 96), within(1, 65_536)),
});

const hub = fc
  .tuple(pathPart, pathPart)
  .map(([org, name]) => `${org}/${name}`.replace(/[+@=]/g, ""));

const candleIsq = maybe(fc.constantFrom("q4k" as const, "q8_0" as const));

/** Known models and stated figures; `isq` only where the weights are not quantised yet. */
function model<Isq>(isq: fc.Arbitrary<Isq>) {
  const named = fc.oneof(
    fc.record({ name: fc.constantFrom(...Object.keys(MODELS)), figures: maybe(figures) }),
    fc.record({ name: fc.constantFrom("our-own", "a", "constructor"), figures }),
  );
  const loaded = fc.oneof(
    fc.record({ source: fc.record({ gguf: modelPath }) }),
    fc.record({ source: fc.oneof(fc.record({ hub }), fc.record({ folder: modelPath })), isq }),
  );
  return fc.tuple(named, loaded).map(([a, b]) => ({ ...a, ...b }));
}

function engine<Isq>(frame: Frame, isq: fc.Arbitrary<Isq>) {
  const own = fc.record({
    tensorParallel: fc.constantFrom(1 as const, 2 as const, 4 as const),
    model: model(isq),
    contextTokens: maybe(within(1024, 1_048_576)),
    maxSequences: maybe(within(1, 256)),
    modelsClaim: maybe(objectName),
    hfTokenSecret: maybe(
      fc.record({ name: objectName, key: fc.constantFrom("token", "HF_TOKEN") }),
    ),
  });
  return fc.tuple(workload(frame), own).map(([a, b]) => ({ ...a, ...b }));
}

function clefServe(frame: Frame) {
  const packages = fc.oneof(
    fc.record({ bootstrap: fc.constant("prepared" as const), packagesClaim: objectName }),
    fc.record({
      bootstrap: maybe(fc.constantFrom("install" as const, "image" as const)),
      packagesClaim: maybe(objectName),
    }),
  );
  return fc.tuple(workload(frame), packages).map(([a, b]) => ({ ...a, ...b }));
}

const cluster = fc.oneof(
  fc.record({
    context: fc.constantFrom("platform-onprem", "kind-a b", "arn:aws:eks:x:1:cluster/a"),
    uid: fc.uuid(),
    admissionGuard: maybe(fc.boolean()),
  }),
  fc.record({
    context: fc.constant("llm-lab"),
    lab: fc.constant(true as const),
    admissionGuard: maybe(fc.boolean()),
  }),
);

/**
 * Valid configurations of a stack: every rule of `config.ts` holds, those of the GPU plan may not.
 * Keys with a default are sometimes absent.
 */
export const arbitraryStack: fc.Arbitrary<RawStack> = fc
  .record({ nodes, requireDigests: fc.constantFrom(true, false, undefined) })
  .chain((frame) =>
    fc.record({
      cluster,
      gpuNodes: fc.constant(frame.nodes),
      clefServe: clefServe(frame),
      candleVllm: engine(frame, candleIsq),
      candleVllmNext: engine(frame, candleIsq),
      reasoning: engine(frame, fc.constant(undefined)),
      coderService: fc.record({
        backend: fc.constantFrom("candle-vllm" as const, "candle-vllm-next" as const),
        acceptUnready: maybe(fc.boolean()),
      }),
      registry: fc.record({
        pull: maybe(fc.constantFrom("registry.example/llm", "localhost:5000")),
        push: maybe(fc.constant("registry-direct:5000/llm")),
        pullSecret: maybe(objectName),
        maxLayerMiB: maybe(within(1, 10_240)),
        requireDigests: fc.constant(frame.requireDigests),
      }),
      access: maybe(
        fc.record({
          reviewer: maybe(fc.boolean()),
          clients: maybe(fc.uniqueArray(objectName, { maxLength: 4 })),
        }),
      ),
    }),
  )
  .map(withoutUndefined);

/** Leaves out what a file would not state. */
function withoutUndefined(stack: RawStack): RawStack {
  return JSON.parse(JSON.stringify(stack)) as RawStack;
}
