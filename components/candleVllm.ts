import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { deviceList } from "../gpu/devices.ts";
import type { EngineArgs, ModelSource } from "./engine.ts";
import { modelEnv, modelsMount, modelsVolume } from "./engine.ts";
import { gpuDeployment, type GpuDeploymentArgs } from "./gpuDeployment.ts";
import { CONTAINER_PORT } from "./names.ts";

/** Arguments of {@link CandleVllm}. */
export type CandleVllmArgs = EngineArgs;

/**
 * One candle-vllm engine (version 0.8.9): a Deployment whose name is also its label `app`, by which
 * coder-predictor selects it.
 */
export class CandleVllm extends pulumi.ComponentResource {
  readonly deployment: Deployment;

  constructor(name: string, args: CandleVllmArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:CandleVllm", name, {}, opts);
    this.deployment = gpuDeployment(name, candleVllmPod(args), { parent: this });
    this.registerOutputs({});
  }
}

/** How the pods of a candle-vllm engine differ from those of other workloads. */
export function candleVllmPod(args: CandleVllmArgs): GpuDeploymentArgs {
  return {
    workload: args,
    cards: args.tensorParallel,
    args: flags(args),
    env: modelEnv(args),
    // It listens only once the model is loaded, and has no /health. No livePath: /v1/models takes
    // the engine's lock, so a busy engine would be killed; opening the port is enough (derived).
    readyPath: "/v1/models",
    // Without a signal handler it would ignore SIGTERM as PID 1 and burn the whole grace (derived).
    shareProcessNamespace: true,
    volumes: modelsVolume(args.modelsClaim),
    volumeMounts: modelsMount(args.modelsClaim),
  };
}

/** Only flags that its parser knows: `--max-gen-tokens` stands in the README alone and fails the start. */
function flags({ tensorParallel, maxSequences, model }: CandleVllmArgs): string[] {
  return [
    // It listens on 2000 unless told.
    ...["--p", String(CONTAINER_PORT)],
    // Without --d it uses device 0 alone, whatever the pod holds. Ids count within the container.
    ...["--d", deviceList(tensorParallel)],
    // V100 has no bf16.
    ...["--dtype", "f16"],
    ...["--max-num-seqs", String(maxSequences)],
    ...(model.isq === undefined ? [] : ["--isq", model.isq]),
    ...weightFlags(model.source),
  ];
}

function weightFlags(source: ModelSource): string[] {
  if ("gguf" in source) return ["--f", source.gguf];
  // It appends file names to this path as it stands, so the path must end in a slash.
  if ("folder" in source) return ["--w", source.folder.replace(/\/*$/, "/")];
  return ["--m", source.hub];
}
