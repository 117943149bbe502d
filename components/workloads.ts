import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import type { Registration } from "../gpu/moves.ts";
import { CandleVllm, type CandleVllmArgs, candleVllmPod } from "./candleVllm.ts";
import { ClefServe, type ClefServeArgs, clefServePod } from "./clefServe.ts";
import { templateFingerprint } from "./gpuDeployment.ts";
import { CLEF_SERVE } from "./names.ts";
import { Reasoning, type ReasoningArgs, reasoningPod } from "./reasoning.ts";

/** Arguments of every workload of a stack. */
export interface WorkloadsArgs {
  readonly clefServe: ClefServeArgs;
  readonly candleVllm: CandleVllmArgs;
  readonly candleVllmNext: CandleVllmArgs;
  readonly reasoning: ReasoningArgs;
}

/** Fingerprint of each workload's pod template, by its name; known before anything is registered. */
export function templateFingerprints(args: WorkloadsArgs): ReadonlyMap<string, string> {
  const pods = {
    [CLEF_SERVE]: clefServePod(args.clefServe),
    "candle-vllm": candleVllmPod(args.candleVllm),
    "candle-vllm-next": candleVllmPod(args.candleVllmNext),
    reasoning: reasoningPod(args.reasoning),
  };
  return new Map(
    Object.entries(pods).map(([name, pod]) => [name, templateFingerprint(name, pod)] as const),
  );
}

/**
 * Registers every workload, each only after those that give cards up for it.
 * @param order one entry for each workload
 */
export function registerWorkloads(
  args: WorkloadsArgs,
  order: readonly Registration[],
  opts: pulumi.ComponentResourceOptions,
): readonly Deployment[] {
  const made = new Map<string, ClefServe | CandleVllm | Reasoning>();
  for (const { name, after } of order) {
    const donors = [...made].filter(([donor]) => after.includes(donor)).map(([, each]) => each);
    made.set(name, register(name, args, pulumi.mergeOptions(opts, { dependsOn: donors })));
  }
  return [...made.values()].map(({ deployment }) => deployment);
}

function register(name: string, args: WorkloadsArgs, opts: pulumi.ComponentResourceOptions) {
  switch (name) {
    case CLEF_SERVE:
      return new ClefServe(name, args.clefServe, opts);
    case "candle-vllm":
      return new CandleVllm(name, args.candleVllm, opts);
    case "candle-vllm-next":
      return new CandleVllm(name, args.candleVllmNext, opts);
    default:
      return new Reasoning(name, args.reasoning, opts);
  }
}
