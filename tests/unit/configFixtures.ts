import type { Path } from "../../config/fields.ts";
import type { Surroundings } from "../../config/parse.ts";
import { parseStackConfig } from "../../config/parse.ts";
import { ConfigError } from "../../config/problems.ts";

export type Raw = Record<string, unknown>;

export const DIGEST = `@sha256:${"0123456789abcdef".repeat(4)}`;

/** A deep copy in which no part is shared, as after reading a file. */
function unshared(value: unknown): Raw {
  return JSON.parse(JSON.stringify(value)) as Raw;
}

/** The smallest valid stack: everything parked, every default in force. */
export function smallStack(): Raw {
  const engine = {
    replicas: 0,
    tensorParallel: 1,
    model: { name: "qwen3-30b-a3b-q4_k_m", source: { gguf: "/models/coder.gguf" } },
  };
  return unshared({
    cluster: { context: "platform-onprem", lab: true },
    gpuNodes: [{ name: "worker-1", cards: 4, memoryGiB: 32 }],
    clefServe: { replicas: 0 },
    candleVllm: engine,
    candleVllmNext: engine,
    reasoning: engine,
    coderService: { backend: "candle-vllm" },
  });
}

/** A valid stack that states every key which can stand beside the others. */
export function fullStack(): Raw {
  const workload = (image: string) => ({
    replicas: 1,
    image: `registry.example/llm/${image}${DIGEST}`,
    node: "worker-1",
    coldStartSeconds: 300,
    graceSeconds: 30,
    hostMemoryGiB: 24,
    cpu: 8,
    rollout: "surge",
    env: { RUST_LOG: "info", MAX_TOKENS: "512" },
  });
  const engine = (image: string) => ({
    ...workload(image),
    tensorParallel: 2,
    contextTokens: 8192,
    maxSequences: 4,
    modelsClaim: "models",
    hfTokenSecret: { name: "hf-token", key: "token" },
    model: {
      name: "our-own",
      source: { hub: "example/our-own" },
      figures: {
        heads: 32,
        kvHeads: 4,
        linearHeads: 16,
        moeIntermediate: 768,
        weightsGiB: 17.35,
        kvKiBPerToken: 96,
      },
    },
  });
  const candle = engine("candle-vllm");
  const quantised = { ...candle, model: { ...candle.model, isq: "q4k" } };
  return unshared({
    cluster: {
      context: "platform-onprem",
      uid: "3f0c1d2e-0000-4000-8000-00000000abcd",
      admissionGuard: true,
    },
    gpuNodes: [
      { name: "worker-1", cards: 4, memoryGiB: 32 },
      { name: "worker-2", cards: 8, memoryGiB: 16 },
    ],
    clefServe: { ...workload("clef-serve"), bootstrap: "prepared", packagesClaim: "clef-packages" },
    candleVllm: quantised,
    candleVllmNext: quantised,
    reasoning: engine("vllm"),
    coderService: { backend: "candle-vllm-next", acceptUnready: true },
    registry: {
      pull: "registry.example/llm",
      push: "registry-direct:5000/llm",
      pullSecret: "registry-pull",
      maxLayerMiB: 50,
      requireDigests: true,
    },
    access: { reviewer: true, clients: ["poimen-memory"] },
  });
}

/** A copy in which the value at a path is another one; maps on the way are made where missing. */
export function withValue(raw: unknown, path: Path, value: unknown): Raw {
  const [first, ...rest] = path;
  if (first === undefined) throw new Error("a path has at least one segment");
  const copy = Array.isArray(raw) ? Object.assign([], raw) : Object.assign({}, raw);
  const before: unknown = Reflect.get(copy, first);
  const after = rest.length === 0 ? value : withValue(before ?? {}, rest, value);
  Object.defineProperty(copy, first, {
    value: after,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return copy;
}

/** A copy without the key at a path. */
export function without(raw: Raw, path: Path): Raw {
  const copy = unshared(raw);
  let holder: unknown = copy;
  for (const segment of path.slice(0, -1)) holder = Reflect.get(holder as object, segment);
  Reflect.deleteProperty(holder as object, path.at(-1) ?? "");
  return copy;
}

/** The lines with which a stack named dev is refused; none when it is accepted. */
export function refusals(raw: Raw, around?: Surroundings): readonly string[] {
  try {
    parseStackConfig(raw, "dev", around);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((problem) => problem.line);
    throw error;
  }
}
