// The rules between the values of a configuration, from their description alone.
import { shapeViolations } from "./shapeOracle.ts";
import { isMap, type Raw, related, type Violation, valueAt } from "./violation.ts";

/** The stack's keys of the workloads, engines first. */
export const engineKeys = ["candleVllm", "candleVllmNext", "reasoning"] as const;
export const workloadKeys = [...engineKeys, "clefServe"] as const;

const knownModels = ["qwen3-30b-a3b-q4_k_m", "qwen3-30b-a3b-f16", "qwen3-coder-next-q4"];

/**
 * What is wrong with a configuration by itself, cards and memory aside. A rule between values holds
 * its peace about a value that is wrong already.
 */
export function configViolations(raw: Raw): readonly Violation[] {
  const shape = shapeViolations(raw);
  const isWrong = (key: string) => shape.some(({ keys }) => keys.some((k) => related(k, key)));
  const at = (key: string) => (isWrong(key) ? undefined : valueAt(raw, key));
  const rules = [
    clusterRule(raw),
    ...distinctRules(raw),
    ...workloadKeys.flatMap((key) => workloadRules(key, raw, at, isWrong)),
    ...engineKeys.flatMap((key) => modelRules(`${key}.model`, raw, isWrong)),
  ];
  const prepared = at("clefServe.bootstrap") === "prepared";
  if (prepared && valueAt(raw, "clefServe.packagesClaim") === undefined) {
    rules.push({ reason: "claim", keys: ["clefServe.packagesClaim"] });
  }
  return [...shape, ...rules.filter((rule) => rule !== undefined)];
}

function clusterRule(raw: Raw): Violation | undefined {
  const stated = ["cluster.uid", "cluster.lab"].filter((key) => valueAt(raw, key) !== undefined);
  if (!isMap(raw.cluster) || stated.length === 1) return undefined;
  return { reason: "cluster", keys: ["cluster.uid", "cluster.lab"] };
}

/** Names of nodes and clients are listed once. */
function distinctRules(raw: Raw): Violation[] {
  const again = (values: readonly unknown[], key: (at: number) => string) =>
    values.flatMap((value, at) =>
      typeof value === "string" && values.indexOf(value) < at
        ? [{ reason: "listed twice" as const, keys: [key(at)] }]
        : [],
    );
  return [
    ...again(nodeNames(raw), (at) => `gpuNodes[${at}].name`),
    ...again(listAt(raw, "access.clients"), (at) => `access.clients[${at}]`),
  ];
}

/** The name of each entry; an entry that is no map, such as a bare text, has none. */
function nodeNames(raw: Raw): readonly unknown[] {
  return listAt(raw, "gpuNodes").map((entry) => (isMap(entry) ? entry.name : undefined));
}

function listAt(raw: Raw, key: string): readonly unknown[] {
  const value: unknown = valueAt(raw, key);
  return Array.isArray(value) ? value : [];
}

function workloadRules(
  key: string,
  raw: Raw,
  at: (key: string) => unknown,
  isWrong: (key: string) => boolean,
): Violation[] {
  if (!isMap(raw[key])) return [];
  const found: Violation[] = [];
  const names = nodeNames(raw);
  const namesKnown =
    names.length > 0 &&
    new Set(names).size === names.length &&
    names.every((_, n) => !isWrong(`gpuNodes[${n}].name`));
  const node = valueAt(raw, `${key}.node`);
  if (namesKnown && !isWrong(`${key}.node`)) {
    const legal = node === undefined ? names.length === 1 : names.includes(node);
    if (!legal) found.push({ reason: "node", keys: [`${key}.node`] });
  }
  const image = valueAt(raw, `${key}.image`);
  if (!isWrong(`${key}.image`)) {
    const tagged = typeof image === "string" && !image.includes("@sha256:");
    const digests = !isWrong("registry.requireDigests") && at("registry.requireDigests") !== false;
    const needed = image === undefined && Number(at(`${key}.replicas`) ?? 0) > 0;
    if (needed || (tagged && digests)) found.push({ reason: "image", keys: [`${key}.image`] });
  }
  return found;
}

function modelRules(key: string, raw: Raw, isWrong: (key: string) => boolean): Violation[] {
  const model = valueAt(raw, key);
  if (!isMap(model)) return [];
  const found: Violation[] = [];
  const known = knownModels.includes(String(model.name)) || model.figures !== undefined;
  if (model.name !== undefined && !isWrong(`${key}.name`) && !known) {
    found.push({ reason: "model", keys: [`${key}.name`] });
  }
  const { source } = model;
  if (isMap(source)) {
    const kinds = ["hub", "folder", "gguf"].filter((kind) => source[kind] !== undefined);
    if (kinds.length !== 1) found.push({ reason: "source", keys: [`${key}.source`] });
    const quantisedTwice = kinds.includes("gguf") && model.isq !== undefined;
    if (quantisedTwice && !isWrong(`${key}.isq`)) {
      found.push({ reason: "isq of a gguf", keys: [`${key}.isq`] });
    }
  }
  return found;
}
