import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { Service } from "@pulumi/kubernetes/core/v1/service.js";
import type { EngineArgs, ModelSource } from "./engine.ts";
import { modelEnv, modelsMount, modelsVolume } from "./engine.ts";
import { gpuDeployment, type GpuDeploymentArgs } from "./gpuDeployment.ts";
import {
  ASSIGNED_BY_CLUSTER,
  CONTAINER_PORT,
  labelsOf,
  NAMESPACE,
  NOT_AWAITED_BY_PROVIDER,
  ownershipAnnotations,
  REASONING_SERVED_NAME,
  REASONING_SERVICE,
} from "./names.ts";

/** Arguments of {@link Reasoning}. */
export type ReasoningArgs = EngineArgs;

/**
 * The reasoning model on vLLM and its Service `reasoning-long`. vLLM runs on V100 up to 0.8.5, and only
 * with its older engine.
 */
export class Reasoning extends pulumi.ComponentResource {
  readonly deployment: Deployment;

  constructor(name: string, args: ReasoningArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:Reasoning", name, {}, opts);
    this.deployment = gpuDeployment(name, reasoningPod(args), { parent: this });
    new Service(
      REASONING_SERVICE,
      {
        metadata: {
          name: REASONING_SERVICE,
          namespace: NAMESPACE,
          labels: labelsOf(REASONING_SERVICE),
          annotations: { ...ownershipAnnotations(args.stack), ...NOT_AWAITED_BY_PROVIDER },
        },
        spec: {
          type: "ClusterIP",
          selector: { app: name },
          // One port, 80, like every other predictor Service here (derived).
          ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: CONTAINER_PORT }],
        },
      },
      { parent: this, ignoreChanges: ASSIGNED_BY_CLUSTER },
    );
    this.registerOutputs({});
  }
}

/** How the pods of reasoning differ from those of other workloads. */
export function reasoningPod(args: ReasoningArgs): GpuDeploymentArgs {
  return {
    workload: args,
    cards: args.tensorParallel,
    command: ["vllm", "serve"],
    args: [weights(args.model.source), ...flags(args)],
    // The V1 engine needs compute capability 8.0; V100 has 7.0.
    env: [{ name: "VLLM_USE_V1", value: "0" }, ...modelEnv(args)],
    readyPath: "/health",
    livePath: "/health",
    volumes: modelsVolume(args.modelsClaim),
    volumeMounts: modelsMount(args.modelsClaim),
  };
}

/** vLLM's positional argument: a hub id, a folder or a GGUF file. */
function weights(source: ModelSource): string {
  if ("gguf" in source) return source.gguf;
  return "folder" in source ? source.folder : source.hub;
}

function flags({ tensorParallel, contextTokens, maxSequences }: ReasoningArgs): string[] {
  return [
    ...["--host", "0.0.0.0"],
    ...["--port", String(CONTAINER_PORT)],
    // A constant: clients name it, whatever file is behind it.
    ...["--served-model-name", REASONING_SERVED_NAME],
    ...["--tensor-parallel-size", String(tensorParallel)],
    ...["--max-model-len", String(contextTokens)],
    ...["--max-num-seqs", String(maxSequences)],
    // V100 has no bf16, and CUDA graphs of this version fail on it.
    ...["--dtype", "half"],
    "--enforce-eager",
  ];
}
