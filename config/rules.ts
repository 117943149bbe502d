import { MODELS } from "../gpu/models.ts";
import type { Path } from "./fields.ts";
import { fieldAt, hintOf, keysOf } from "./fields.ts";
import { VARIABLE_NAME } from "./forms.ts";
import { nearest } from "./nearest.ts";
import { shellWord } from "./problems.ts";
import type { Review } from "./review.ts";
import { isSecretName } from "./secrets.ts";

const ENGINES = ["candleVllm", "candleVllmNext", "reasoning"] as const;

const WORKLOADS = ["clefServe", ...ENGINES] as const;

/**
 * Refuses names of variables that no value makes right, before the values are looked at: a message
 * about the value would help to set what must not be set.
 */
export function checkVariableNames(review: Review): void {
  const paths = WORKLOADS.flatMap((workload) => {
    const env = review.sound([workload, "env"]);
    return isMap(env) ? Object.keys(env).map((name) => [workload, "env", name] as const) : [];
  });
  for (const path of paths) {
    const name = path[2];
    const remedy = review.remedies.remove(path);
    if (name.toUpperCase().endsWith("_VISIBLE_DEVICES")) {
      review.add(
        path,
        "the device plugin decides which cards a pod sees, and this overrides it",
        "no *_VISIBLE_DEVICES",
        remedy,
      );
    } else if (!VARIABLE_NAME.test(name)) {
      review.add(path, "not a variable name", "letters, digits and _, no digit first", remedy);
    } else if (isSecretName(name)) {
      review.add(
        path,
        "the name looks like a secret's, and the environment ends up in state and previews",
        "no secrets; an engine's token comes from hfTokenSecret",
        remedy,
      );
    }
  }
}

/**
 * The rules between values. Each looks at raw values and skips what was refused already, so that
 * one bad value hides no other problem.
 */
export function checkRules(review: Review): void {
  checkCluster(review);
  checkDistinct(review, ["gpuNodes"], ["name"]);
  for (const workload of WORKLOADS) {
    if (!isMap(review.sound([workload]))) continue;
    checkNode(review, workload);
    checkImage(review, workload);
  }
  checkBootstrap(review);
  for (const engine of ENGINES) checkModel(review, [engine, "model"]);
  checkDistinct(review, ["access", "clients"], []);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkCluster(review: Review): void {
  const cluster = review.sound(["cluster"]);
  if (!isMap(cluster)) return;
  const uid: Path = ["cluster", "uid"];
  const lab: Path = ["cluster", "lab"];
  const allowed = "exactly one of uid and lab";
  if (cluster.uid !== undefined && cluster.lab !== undefined) {
    review.add(lab, "uid is set too", allowed, review.remedies.remove(lab));
  } else if (cluster.uid === undefined && cluster.lab === undefined) {
    const context = review.sound(["cluster", "context"]);
    const flag = typeof context === "string" ? `--context ${shellWord(context)} ` : "";
    const lookUp = `"$(kubectl ${flag}get namespace kube-system -o jsonpath={.metadata.uid})"`;
    review.add(uid, "neither uid nor lab is set", allowed, review.remedies.setShell(uid, lookUp));
  }
}

function checkNode(review: Review, workload: string): void {
  const nodes = review.sound(["gpuNodes"]);
  if (!Array.isArray(nodes)) return;
  const names = nodes
    .map((_, at) => review.sound(["gpuNodes", at, "name"]))
    .filter((name) => typeof name === "string");
  const path: Path = [workload, "node"];
  const wanted = review.sound(path);
  const allowed = names.join(" | ");
  if (names.length < nodes.length) return;
  if (wanted === undefined && names.length > 1) {
    const remedy = review.remedies.set(path, names[0] ?? "");
    review.add(path, "required, as there are several nodes", allowed, remedy);
  } else if (typeof wanted === "string" && !names.includes(wanted)) {
    const remedy = review.remedies.set(path, nearest(wanted, names));
    review.add(path, "no node of llm-serving:gpuNodes", allowed, remedy);
  }
}

function checkImage(review: Review, workload: string): void {
  const path: Path = [workload, "image"];
  const requireDigests: Path = ["registry", "requireDigests"];
  const image = review.sound(path);
  const replicas = review.sound([workload, "replicas"]);
  const remedy = review.remedies.set(path, String(hintOf(fieldAt(path)).example));
  if (image === undefined && typeof replicas === "number" && replicas > 0) {
    review.add(path, `required while replicas is ${replicas}`, "repo@sha256:<64 hex>", remedy);
  }
  const tagsAllowed = review.isRefused(requireDigests) || review.sound(requireDigests) === false;
  if (typeof image === "string" && !image.includes("@") && !tagsAllowed) {
    review.add(
      path,
      "a tag can change under a running pod",
      "repo@sha256:<64 hex> while registry.requireDigests is true",
      remedy,
    );
  }
}

function checkBootstrap(review: Review): void {
  const claim: Path = ["clefServe", "packagesClaim"];
  if (review.sound(["clefServe", "bootstrap"]) !== "prepared") return;
  if (review.sound(claim) !== undefined) return;
  review.add(
    claim,
    "required while bootstrap is prepared",
    "a PersistentVolumeClaim with the installed packages",
    review.remedies.set(claim, "clef-packages"),
  );
}

function checkModel(review: Review, model: Path): void {
  if (!isMap(review.sound(model))) return;
  checkSource(review, model);
  const namePath = [...model, "name"];
  const name = review.sound(namePath);
  if (typeof name !== "string" || Object.hasOwn(MODELS, name)) return;
  if (review.raw([...model, "figures"]) !== undefined) return;
  const known = Object.keys(MODELS);
  review.add(
    namePath,
    "not in the model table, and figures is not set",
    `${known.join(" | ")}, or any name with figures`,
    review.remedies.set(namePath, nearest(name, known)),
  );
}

function checkSource(review: Review, model: Path): void {
  const path = [...model, "source"];
  const source = review.sound(path);
  if (!isMap(source)) return;
  const stated = keysOf(fieldAt(path)).filter((kind) => source[kind] !== undefined);
  const allowed = "exactly one of hub, folder, gguf";
  const gguf = [...path, "gguf"];
  if (stated.length === 0) {
    const remedy = review.remedies.set(gguf, String(hintOf(fieldAt(gguf)).example));
    review.add(path, "no source is set", allowed, remedy);
  } else if (stated.length > 1) {
    const remedy = `keep one of them in ${review.remedies.file}`;
    review.add(path, `${stated.join(" and ")} are set`, allowed, remedy);
  }
  const isq = [...model, "isq"];
  if (source.gguf !== undefined && review.sound(isq) !== undefined) {
    review.add(
      isq,
      "a GGUF file is quantised already, and candle-vllm panics",
      "isq only with hub or folder",
      review.remedies.remove(isq),
    );
  }
}

/** Refuses the second of two equal texts in a list, or in one key of its entries. */
function checkDistinct(review: Review, list: Path, below: Path): void {
  const entries = review.sound(list);
  if (!Array.isArray(entries)) return;
  const seen = new Set<unknown>();
  for (const at of entries.keys()) {
    const path = [...list, at, ...below];
    const value = review.sound(path);
    if (typeof value === "string" && seen.has(value)) {
      const remedy = `change or remove one of them in ${review.remedies.file}`;
      review.add(path, "listed twice", "each once", remedy);
    }
    seen.add(value);
  }
}
