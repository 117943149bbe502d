// The previews that golden reports are made of: what is edited, and in what state the lab is.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DISARM, STRIKES } from "../../attacks/edits.ts";
import { type Edit, NAMESPACE_FLAG, type Victim } from "../../attacks/victim.ts";
import { apply, eventually, kubectl, kubectlJson } from "../../support/lab.ts";

/** One preview to record. */
export interface Scenario {
  readonly name: string;
  /** Edits of the stack file that are applied before, on top of {@link FULL}. */
  readonly applied?: Readonly<Record<string, unknown>>;
  /** Edits of the stack file that are previewed, on top of both. */
  readonly edits?: Readonly<Record<string, unknown>>;
  /** Edits of the program that are previewed. */
  readonly program?: readonly Edit[];
  /** What others do on the lab before. */
  readonly prepare?: (victim: Victim) => Promise<void>;
  readonly env?: (victim: Victim) => Promise<Readonly<Record<string, string>>>;
  /** Whether the policy pack runs too. */
  readonly policies?: boolean;
}

/** Every card is taken: clef-serve 1, the coder 2, reasoning 1. */
export const FULL = { "candleVllm.tensorParallel": 2, "reasoning.replicas": 1 };

/** A variable whose value is a secret; assembled, so that no scanner takes this file for a leak. */
export const CANARY = ["hf", "canary123", "canary123"].join("_");

/** A port on which nothing listens. */
const DEAD_SERVER = "127.0.0.1:65123";

const twoHundred = Object.fromEntries(
  Array.from({ length: 200 }, (_, at) => [`OPTION_${String(at).padStart(3, "0")}`, String(at)]),
);

export const scenarios: readonly Scenario[] = [
  { name: "nothing", policies: true },
  { name: "scale", applied: { "reasoning.replicas": 0 }, edits: { "clefServe.replicas": 2 } },
  { name: "move-a-card", edits: { "candleVllm.tensorParallel": 1, "reasoning.replicas": 2 } },
  {
    name: "handoff-too-early",
    applied: { "reasoning.replicas": 0, "candleVllm.tensorParallel": 1 },
    edits: { "candleVllmNext.replicas": 1, "coderService.backend": "candle-vllm-next" },
  },
  {
    name: "handoff-unready",
    applied: { "reasoning.replicas": 0, "candleVllm.tensorParallel": 1 },
    edits: {
      "candleVllmNext.replicas": 1,
      "coderService.backend": "candle-vllm-next",
      "coderService.acceptUnready": true,
    },
  },
  { name: "park-the-coder", edits: { "candleVllm.replicas": 0 } },
  { name: "restart", edits: { "clefServe.coldStartSeconds": 200, "clefServe.graceSeconds": 30 } },
  { name: "swap", edits: { "candleVllm.tensorParallel": 1, "reasoning.tensorParallel": 2 } },
  { name: "park", edits: { "clefServe.replicas": 0 } },
  {
    name: "handoff",
    applied: {
      "reasoning.replicas": 0,
      "candleVllm.tensorParallel": 1,
      "candleVllmNext.replicas": 1,
    },
    edits: { "coderService.backend": "candle-vllm-next" },
  },
  { name: "too-many-cards", edits: { "reasoning.replicas": 2 } },
  { name: "renamed-service", program: [STRIKES.renamed] },
  {
    name: "blocked-replace",
    program: [STRIKES.renamed, DISARM.check, DISARM.protect, DISARM.hook],
  },
  { name: "removed-service", program: [STRIKES.removed] },
  { name: "dropped-protect", program: [DISARM.protect] },
  {
    name: "policy-failure",
    program: [DISARM.protect],
    policies: true,
  },
  {
    name: "unreachable",
    edits: { "candleVllm.tensorParallel": 1 },
    env: async ({ folder, lab }) => {
      const path = join(folder, "dead-kubeconfig");
      const live = JSON.stringify(await kubectlJson(lab, "config", "view", "--raw"));
      await writeFile(path, live.replace(/127\.0\.0\.1:\d+/, DEAD_SERVER));
      return { KUBECONFIG: path };
    },
  },
  {
    name: "offline",
    edits: { "candleVllm.tensorParallel": 1 },
    env: () => Promise.resolve({ LLM_SERVING_OFFLINE: "1" }),
  },
  { name: "secrets", edits: { "candleVllm.env": { HF_TOKEN: CANARY, PROXY_NAME: CANARY } } },
  {
    name: "secrets-past-the-program",
    // What the program refuses today, seen by the report alone.
    program: [
      {
        file: "components/gpuDeployment.ts",
        from: '      { name: "HOME", value: HOME },\n',
        to: `      { name: "HOME", value: HOME },\n      { name: "HF_TOKEN", value: "plain-canary123" },\n      { name: "PROXY", value: "${CANARY}" },\n`,
      },
    ],
  },
  {
    name: "200-changes",
    edits: { "clefServe.env": { CLEF_MODEL: "clef_flash:load", ...twoHundred } },
  },
  {
    name: "unmanaged-holder",
    applied: { "reasoning.replicas": 0 },
    edits: { "clefServe.replicas": 0 },
    prepare: async ({ lab }) => {
      await apply(lab, [notebook, notes]);
      await eventually(async () => {
        const pod = (await kubectlJson(lab, "get", "pod", "notebook")) as {
          readonly spec: { readonly nodeName?: string };
        };
        if (pod.spec.nodeName === undefined) throw new Error("notebook is not bound yet");
        return true;
      });
    },
  },
  {
    // The last one: no `up` passes on this lab afterwards.
    name: "scaled-by-hand",
    prepare: async ({ lab }) => {
      await kubectl(lab, "scale", "deployment/candle-vllm", "--replicas=0", NAMESPACE_FLAG);
    },
  },
];

const notebook = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "notebook", namespace: "default" },
  spec: {
    nodeSelector: { "kubernetes.io/hostname": "worker-1" },
    tolerations: [{ operator: "Exists" }],
    containers: [
      {
        name: "main",
        image: "lab.invalid/notebook:1",
        resources: { limits: { "nvidia.com/gpu": "1" } },
      },
    ],
  },
};

const notes = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "notes", namespace: "llm-serving" },
  data: { text: "not of this stack" },
};
