import * as z from "zod";
import {
  choice,
  CONTEXT,
  count,
  countOr,
  flagOr,
  hints,
  HUB_ID,
  image,
  LABEL,
  MODEL_NAME,
  modelPath,
  objectName,
  repositories,
  size,
  text,
  UUID,
  VARIABLE_NAME,
} from "./forms.ts";

/** Project and namespace of every key that this program reads. */
export const PROJECT = "llm-serving";

const cluster = z
  .strictObject({
    context: text(
      CONTEXT,
      "a context of the kubeconfig",
      "Kubeconfig context of the cluster. The ambient one is never used.",
      "platform-onprem",
    ),
    uid: text(
      UUID,
      "a UUID in lower case",
      "Uid of the namespace kube-system: any other cluster is refused. Exactly one of uid and lab.",
      "<uid of the namespace kube-system>",
    ).optional(),
    lab: z
      .literal(true)
      .describe("Only a cluster that is marked as a lab is accepted. Exactly one of uid and lab.")
      .register(hints, { allowed: "true, or leave it out and state uid", remove: true })
      .optional(),
    admissionGuard: flagOr(
      true,
      "Install the in-cluster policy that denies deleting coder-predictor and the namespace.",
    ),
  })
  .meta({ oneOf: [{ required: ["uid"] }, { required: ["lab"] }] })
  .describe("The one cluster that this stack may touch.")
  .register(hints, { example: "{context: platform-onprem, uid: <uid of kube-system>}" });

const gpuNode = z
  .strictObject({
    name: objectName("Value of the node's label kubernetes.io/hostname, unique.", "worker-1"),
    cards: count(1, 16, 4, "GPUs of the node, 1..16. The smaller of this and allocatable counts."),
    memoryGiB: count(1, 192, 32, "Memory of one card in GiB, 1..192."),
  })
  .describe("One node with GPUs.");

const MAX_NODES = 16;

const gpuNodes = z
  .array(gpuNode)
  .min(1)
  .max(MAX_NODES)
  .describe("The nodes whose cards this stack shares out, 1..16, unique names.")
  .register(hints, {
    allowed: `a list of 1..${MAX_NODES} nodes`,
    example: "[{name: worker-1, cards: 4, memoryGiB: 32}]",
  });

const workload = (imageName: string) => ({
  replicas: count(0, 16, 1, "Pods, 0..16. 0 parks the workload: its objects stay, its cards go."),
  image: image(imageName).optional(),
  node: objectName(
    "Node that the pods select, a name of gpuNodes. Default: the only one; required if several.",
    "worker-1",
  ).optional(),
  coldStartSeconds: countOr(
    240,
    1,
    3600,
    "Seconds from container start to the first answer, 1..3600. The startup budget is 2.5 times " +
      "that, at least 600 s; the rollout deadlines follow it.",
  ),
  graceSeconds: countOr(60, 1, 600, "terminationGracePeriodSeconds, 1..600."),
  hostMemoryGiB: countOr(
    16,
    1,
    1024,
    "Host memory of a pod in GiB, request and limit, /dev/shm included, 1..1024.",
  ),
  cpu: countOr(4, 1, 128, "CPU request of a pod in cores, 1..128. There is no limit."),
  rollout: choice(
    ["recreate", "surge"],
    "recreate: the old pod goes first. surge: the new one comes first and needs free cards.",
  ).default("recreate"),
  env: z
    .record(z.string(), z.string().register(hints, { allowed: "text in quotes", example: "text" }))
    .meta({
      propertyNames: { pattern: `^(?!.*_VISIBLE_DEVICES$)${VARIABLE_NAME.source.slice(1)}` },
    })
    .describe(
      "Extra environment variables {NAME: text}. *_VISIBLE_DEVICES and secrets are refused.",
    )
    .register(hints, { allowed: "a map of {NAME: text}", example: '{NAME: "text"}' })
    .default({}),
});

const figures = z
  .strictObject({
    heads: count(1, 1024, 32, "Attention heads, 1..1024. tensorParallel must divide them."),
    kvHeads: count(1, 1024, 4, "Key/value heads, 1..1024."),
    linearHeads: count(1, 1024, 32, "Heads of linear attention layers, 1..1024.").optional(),
    moeIntermediate: count(
      1,
      1_048_576,
      768,
      "Intermediate size of one expert (moe_intermediate_size), 1..1048576.",
    ).optional(),
    weightsGiB: size(4096, 17.35, "Size of the weights in GiB, above 0, at most 4096."),
    kvKiBPerToken: size(65_536, 96, "Key/value cache of one token in KiB, above 0, at most 65536."),
  })
  .describe("Figures of a model that the table (gpu/models.ts) does not know.");

const source = z
  .strictObject({
    hub: text(HUB_ID, "org/name", "Hugging Face id, org/name.", "Qwen/Qwen3-30B-A3B").optional(),
    folder: modelPath("Folder with safetensors below /models.", "/models/coder").optional(),
    gguf: modelPath("GGUF file below /models.", "/models/coder.gguf").optional(),
  })
  .meta({ oneOf: [{ required: ["hub"] }, { required: ["folder"] }, { required: ["gguf"] }] })
  .describe("Where the weights come from: exactly one of hub, folder, gguf.")
  .register(hints, { example: "{gguf: /models/coder.gguf}" });

const vllmModel = z
  .strictObject({
    name: text(
      MODEL_NAME,
      "letters, digits, . _ and -",
      "A name of the model table (gpu/models.ts), or any name when figures is given.",
      "qwen3-30b-a3b-q4_k_m",
    ),
    source,
    isq: z
      .never()
      .describe("Not for vLLM: quantising while loading is a feature of candle.")
      .register(hints, {
        allowed: "for candle only",
        wrong: () => "vLLM does not quantise while loading",
        remove: true,
      })
      .optional(),
    figures: figures.optional(),
  })
  .describe("The model that the engine serves.");

const candleModel = vllmModel
  .extend({
    isq: choice(
      ["q4k", "q8_0"],
      "Quantise while loading. Refused with gguf, which is quantised.",
    ).optional(),
  })
  .describe("The model that the engine serves.");

const engine = (imageName: string) => ({
  ...workload(imageName),
  tensorParallel: z
    .literal([1, 2, 4])
    .describe("Cards of one pod: 1, 2 or 4, at most the node's, as model and engine allow.")
    .register(hints, { example: 1 }),
  contextTokens: countOr(
    32_768,
    1024,
    1_048_576,
    "Longest sequence in tokens, 1024..1048576: for the memory fit, and --max-model-len of vLLM.",
  ),
  maxSequences: countOr(8, 1, 256, "Sequences at a time, 1..256."),
  modelsClaim: objectName(
    "PersistentVolumeClaim mounted read-only at /models. Without it the engine downloads at each " +
      "start.",
    "models",
  ).optional(),
  hfTokenSecret: z
    .strictObject({
      name: objectName("Name of an existing Secret.", "hf-token"),
      key: text(/^[\w.-]{1,253}$/, "a key of the Secret", "Key in that Secret.", "token"),
    })
    .describe("Where the engine's Hugging Face token lies; never the token itself.")
    .optional(),
});

const clefServe = z
  .strictObject({
    ...workload("clef-serve"),
    coldStartSeconds: count(
      1,
      3600,
      240,
      "Seconds from container start to the first answer, 1..3600, default 240 where bootstrap is install, else 60. The " +
        "startup budget is 2.5 times that, at least 600 s; the rollout deadlines follow it.",
    ).optional(),
    bootstrap: choice(
      ["install", "prepared", "image"],
      "install: pip at each start. prepared: packages from packagesClaim. image: all in the image.",
    ).default("install"),
    packagesClaim: objectName(
      "PersistentVolumeClaim that a Job fills with the packages; required when bootstrap is prepared.",
      "clef-packages",
    ).optional(),
  })
  .describe("clef-serve, which answers /v1/systemone: one card a replica.");

const candleEngine = (description: string) =>
  z.strictObject({ ...engine("candle-vllm"), model: candleModel }).describe(description);

const registry = z
  .strictObject({
    pull: repositories(
      "Repository prefix that the nodes pull from.",
      "registry.example/llm",
    ).optional(),
    push: repositories(
      "Repository prefix that builds push to. Default: pull.",
      "registry-direct/llm",
    ).optional(),
    pullSecret: objectName("An existing Secret of type dockerconfigjson.", "pull").optional(),
    maxLayerMiB: countOr(100, 1, 10_240, "Largest layer that the registry takes in MiB, 1..10240."),
    requireDigests: flagOr(true, "Refuse images by tag: a tag can change under a running pod."),
  })
  .describe("Where images come from.");

const access = z
  .strictObject({
    reviewer: flagOr(false, "Create a read-only ServiceAccount for previews."),
    clients: z
      .array(
        text(LABEL, "a namespace name", "A namespace whose pods may connect.", "poimen-memory"),
      )
      .max(64)
      .describe("Namespaces that may connect, at most 64. Empty: anyone, no NetworkPolicy.")
      .register(hints, { allowed: "a list of at most 64 namespaces", example: "[poimen-memory]" })
      .default([]),
  })
  .describe("Who may connect, and who may look.");

/** Every key of a stack, without the prefix `llm-serving:`. The JSON Schema is made from it. */
export const stackSchema = z.strictObject({
  cluster,
  gpuNodes,
  clefServe,
  candleVllm: candleEngine("Deployment candle-vllm, the coder's engine."),
  candleVllmNext: candleEngine(
    "Deployment candle-vllm-next, the other half of a handoff. Park it with 0, never remove it.",
  ),
  reasoning: z
    .strictObject({ ...engine("vllm"), model: vllmModel })
    .describe("Deployment reasoning (vLLM) behind Service reasoning-long."),
  coderService: z
    .strictObject({
      backend: choice(
        ["candle-vllm", "candle-vllm-next"],
        "The engine that coder-predictor selects; nothing else of the Service changes.",
      ),
      acceptUnready: flagOr(false, "Select a backend that is not Ready: an outage, on purpose."),
    })
    .describe("Service coder-predictor."),
  registry: registry.prefault({}),
  access: access.prefault({}),
});
