import type { input } from "@pulumi/kubernetes/types/index.js";
import type { WorkloadArgs } from "./gpuDeployment.ts";
import { HOME } from "./gpuDeployment.ts";

/** Where an engine's weights come from: exactly one of the three. */
export type ModelSource =
  { readonly hub: string } | { readonly folder: string } | { readonly gguf: string };

/** What both kinds of engine, candle-vllm and vLLM, state beside {@link WorkloadArgs}. */
export interface EngineArgs extends WorkloadArgs {
  /** Cards of one pod, one rank each: 1, 2 or 4. */
  readonly tensorParallel: number;
  readonly model: { readonly source: ModelSource; readonly isq?: "q4k" | "q8_0" | undefined };
  /** Tokens of one sequence, 1024..1048576. */
  readonly contextTokens: number;
  /** Sequences served at a time, 1..256. */
  readonly maxSequences: number;
  /** PersistentVolumeClaim mounted read-only at /models. */
  readonly modelsClaim?: string | undefined;
  /** An existing Secret that holds the hub's token. */
  readonly hfTokenSecret?: { readonly name: string; readonly key: string } | undefined;
}

const MODELS_FOLDER = "/models";

/** The volume of an engine's weights, if a claim holds them. Read-only: several engines share it. */
export function modelsVolume(claim: string | undefined): input.core.v1.Volume[] {
  return claim === undefined
    ? []
    : [{ name: "models", persistentVolumeClaim: { claimName: claim, readOnly: true } }];
}

/** The mount that belongs to {@link modelsVolume}. */
export function modelsMount(claim: string | undefined): input.core.v1.VolumeMount[] {
  return claim === undefined ? [] : [{ name: "models", mountPath: MODELS_FOLDER, readOnly: true }];
}

/**
 * Environment of the weights: a cache on the emptyDir of HOME (the models' mount is read-only and the
 * image's own folders may belong to another user), the hub's token by reference, and no calls to the hub
 * where the weights are local.
 */
export function modelEnv(args: EngineArgs): input.core.v1.EnvVar[] {
  const token = args.hfTokenSecret;
  return [
    { name: "HF_HOME", value: `${HOME}/huggingface` },
    ...("hub" in args.model.source ? [] : [{ name: "HF_HUB_OFFLINE", value: "1" }]),
    ...(token === undefined
      ? []
      : [{ name: "HF_TOKEN", valueFrom: { secretKeyRef: { name: token.name, key: token.key } } }]),
  ];
}
