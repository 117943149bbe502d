// What the documented configuration allows, written from its description alone: a second opinion on
// config/, of which it shares nothing.
import { isMap, type Raw, type Violation, valueAt } from "./violation.ts";

type Check = (value: unknown) => boolean;
/** A map's keys, `!` behind a required one; a list's only entry; or a test of the value. */
type Spec = Check | readonly [Spec] | { readonly [key: string]: Spec };

const whole =
  (min: number, max: number): Check =>
  (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
const above0 =
  (max: number): Check =>
  (value) =>
    typeof value === "number" && value > 0 && value <= max;
const text =
  (form: RegExp): Check =>
  (value) =>
    typeof value === "string" && form.test(value);
const among =
  (...allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value);

const flag = among(true, false);
const objectName = text(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const repository = text(/^[a-z0-9._-]+(:\d+)?(\/[a-z0-9._-]+)*$/);
const modelPath: Check = (value) =>
  text(/^\/models(\/[\w.-]+)+$/)(value) && !String(value).includes("/..");

const variables: Check = (value) =>
  isMap(value) &&
  Object.entries(value).every(
    ([name, content]) =>
      typeof content === "string" &&
      /^[A-Za-z_]\w*$/.test(name) &&
      !/_VISIBLE_DEVICES$|SECRET|PASSWORD|(^|_)(TOKEN|API_KEY)$/.test(name),
  );

const workload: Spec = {
  "replicas!": whole(0, 16),
  image: text(/^[a-z0-9._:/-]+(:(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$/),
  node: objectName,
  coldStartSeconds: whole(1, 3600),
  graceSeconds: whole(1, 600),
  hostMemoryGiB: whole(1, 1024),
  cpu: whole(1, 128),
  rollout: among("recreate", "surge"),
  env: variables,
};

const engine = (isq: Check): Spec => ({
  ...workload,
  "tensorParallel!": among(1, 2, 4),
  "model!": {
    "name!": text(/^[\w.-]+$/),
    "source!": { hub: text(/^[\w.-]+\/[\w.-]+$/), folder: modelPath, gguf: modelPath },
    isq,
    figures: {
      "heads!": whole(1, 1024),
      "kvHeads!": whole(1, 1024),
      linearHeads: whole(1, 1024),
      moeIntermediate: whole(1, 1_048_576),
      "weightsGiB!": above0(4096),
      "kvKiBPerToken!": above0(65_536),
    },
  },
  contextTokens: whole(1024, 1_048_576),
  maxSequences: whole(1, 256),
  modelsClaim: objectName,
  hfTokenSecret: { "name!": objectName, "key!": text(/^[\w.-]+$/) },
});

const candle = engine(among("q4k", "q8_0"));

const stack: Spec = {
  "cluster!": {
    "context!": text(/\S/),
    uid: text(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    lab: among(true),
    admissionGuard: flag,
  },
  "gpuNodes!": [{ "name!": objectName, "cards!": whole(1, 16), "memoryGiB!": whole(1, 192) }],
  "clefServe!": {
    ...workload,
    bootstrap: among("install", "prepared", "image"),
    packagesClaim: objectName,
  },
  "candleVllm!": candle,
  "candleVllmNext!": candle,
  "reasoning!": engine(() => false),
  "coderService!": { "backend!": among("candle-vllm", "candle-vllm-next"), acceptUnready: flag },
  registry: {
    pull: repository,
    push: repository,
    pullSecret: objectName,
    maxLayerMiB: whole(1, 10_240),
    requireDigests: flag,
  },
  access: { reviewer: flag, clients: [text(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)] },
};

/** Every key that a configuration may state, lists by their first entry. */
export const allKeys: readonly string[] = keysIn(stack, "");

function keysIn(spec: Spec, key: string): string[] {
  if (typeof spec === "function") return [key];
  if (isList(spec)) return [key, ...keysIn(spec[0], `${key}[0]`)];
  const below = Object.entries(spec).flatMap(([name, inner]) =>
    keysIn(inner, `${key}${key === "" ? "" : "."}${name.replace("!", "")}`),
  );
  return key === "" ? below : [key, ...below];
}

/** Values that are no value of their key, keys that do not exist, and required keys without a value. */
export function shapeViolations(raw: Raw): Violation[] {
  return look(stack, raw, "").map((key) => ({
    reason: valueAt(raw, key) === undefined ? "missing key" : "value or key",
    keys: [key],
  }));
}

function look(spec: Spec, value: unknown, key: string): string[] {
  if (typeof spec === "function") return spec(value) ? [] : [key];
  if (isList(spec)) {
    // An empty list of clients is fine, one of nodes is not.
    if (!Array.isArray(value) || (value.length === 0 && key === "gpuNodes")) return [key];
    return value.flatMap((entry, at) => look(spec[0], entry, `${key}[${at}]`));
  }
  if (!isMap(value)) return [key];
  const dot = key === "" ? "" : ".";
  const known = Object.entries(spec).flatMap(([name, inner]) => {
    const plain = name.replace("!", "");
    const below = value[plain];
    if (below !== undefined) return look(inner, below, `${key}${dot}${plain}`);
    return name.endsWith("!") ? [`${key}${dot}${plain}`] : [];
  });
  const unknown = Object.keys(value).filter((name) => !(name in spec) && !(`${name}!` in spec));
  const spelled = (name: string) => (/^[A-Za-z_]/.test(name) ? `${dot}${name}` : `["${name}"]`);
  return [...known, ...unknown.map((name) => `${key}${spelled(name)}`)];
}

function isList(spec: Spec): spec is readonly [Spec] {
  return Array.isArray(spec);
}
