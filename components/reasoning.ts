import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import type { EngineArgs, ModelSource } from "./engine.ts";
import { modelEnv, modelsMount, modelsVolume } from "./engine.ts";
import { gpuDeployment, type GpuDeploymentArgs } from "./gpuDeployment.ts";
import { engineService } from "./engineService.ts";
import { CONTAINER_PORT, REASONING_SERVED_NAME, REASONING_SERVICE } from "./names.ts";

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
    engineService(REASONING_SERVICE, { stack: args.stack, app: name }, { parent: this });
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
