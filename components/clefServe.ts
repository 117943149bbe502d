import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { BOOTSTRAP_TIMES, type Bootstrap } from "../gpu/bootstrap.ts";
import type { BootFiles } from "./bootFiles.ts";
import { bootstrapPod, bootstrapResources } from "./clefBootstrap.ts";
import type { GpuDeploymentArgs, WorkloadArgs } from "./gpuDeployment.ts";
import { gpuDeployment, HOME } from "./gpuDeployment.ts";
import { engineService } from "./engineService.ts";
import { CLEF_SERVE, CONTAINER_PORT } from "./names.ts";

/** Arguments of {@link ClefServe}. */
export interface ClefServeArgs extends WorkloadArgs {
  readonly bootFiles: BootFiles;
  /** How the pods come by their packages. */
  readonly bootstrap: Bootstrap;
  /** The PersistentVolumeClaim of the packages; needed where they are prepared. */
  readonly packagesClaim?: string | undefined;
}

/**
 * clef-serve on one card and the Service that the gateway's route addresses. Its image's layers are larger than the
 * registry's proxy lets through; the ways around that are in clefBootstrap.ts.
 */
export class ClefServe extends pulumi.ComponentResource {
  readonly deployment: Deployment;

  constructor(name: string, args: ClefServeArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:ClefServe", name, {}, opts);
    const dependsOn = [...bootstrapResources(args, { parent: this })];
    this.deployment = gpuDeployment(name, clefServePod(args), { parent: this, dependsOn });
    engineService(CLEF_SERVE, { stack: args.stack, app: name }, { parent: this });
    this.registerOutputs({});
  }
}

/** How the pods of clef-serve differ from those of other workloads. */
export function clefServePod(args: ClefServeArgs): GpuDeploymentArgs {
  const pod = bootstrapPod(args);
  const { pullSeconds } = BOOTSTRAP_TIMES[args.bootstrap];
  return {
    ...pod,
    workload: { ...args, pullSeconds },
    cards: 1,
    env: [
      { name: "PORT", value: String(CONTAINER_PORT) },
      ...(pod.env ?? []),
      { name: "HF_HOME", value: `${HOME}/huggingface` },
    ],
    readyPath: "/health",
    livePath: "/health",
  };
}
