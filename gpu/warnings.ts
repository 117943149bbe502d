import { BOOTSTRAP_TIMES, type Bootstrap } from "./bootstrap.ts";
import type { Fit } from "./fit.ts";
import { modelRow } from "./models.ts";
import type { GpuPlan } from "./plan.ts";
import { describePool } from "./pool.ts";
import { describeRefusal } from "./problems.ts";
import type { Workload } from "./workload.ts";

/** Names that warnings are about and that the plan itself does not know. */
export interface WarningContext {
  /** Workload behind coder-predictor, `coderService.backend`. */
  readonly coderBackend: string;
}

/** Workload that answers the gateway's route `/v1/systemone`. */
const systemOneWorkload = "clef-serve";

/**
 * What works but deserves a look in review: marginal memory, parked routes, idle cards, downloads at
 * each start. Each line starts with its config key, like the plan's problems.
 */
export function planWarnings(
  plan: GpuPlan,
  workloads: readonly Workload[],
  context: WarningContext,
): readonly string[] {
  return [
    ...workloads.flatMap((workload) => parkedWarnings(workload, context)),
    ...workloads.flatMap((workload) => modelWarnings(workload, plan)),
    ...Object.entries(plan.allocation).flatMap(([name, allocation]) =>
      nodeWarnings(name, allocation.free, plan),
    ),
  ];
}

/**
 * What a cold start that was measured with pip does to a stack whose pods no longer run it. Pure.
 * @param clefServe.coldStartSeconds of the stack, or what follows from the bootstrap where the stack states none
 */
export function coldStartWarnings(clefServe: {
  readonly bootstrap: Bootstrap;
  readonly coldStartSeconds: number;
}): readonly string[] {
  const { bootstrap, coldStartSeconds } = clefServe;
  const withPip = BOOTSTRAP_TIMES.install.coldStartSeconds;
  if (bootstrap === "install" || coldStartSeconds < withPip) return [];
  const without = BOOTSTRAP_TIMES[bootstrap].coldStartSeconds;
  return [
    `llm-serving:clefServe.coldStartSeconds = ${coldStartSeconds}: no less than the ${withPip} s of a start with pip, which ` +
      `bootstrap ${bootstrap} does not run; forecasts and alerts count it instead of ${without} s; remove it (pulumi ` +
      "config rm --path 'llm-serving:clefServe.coldStartSeconds'), or state what your model takes to load",
  ];
}

function parkedWarnings(workload: Workload, context: WarningContext): readonly string[] {
  const { name, key, replicas } = workload;
  if (replicas > 0) return [];
  const parked = `${key}.replicas = 0: ${name} is parked`;
  return [
    ...(name === systemOneWorkload ? [`${parked}, so route /v1/systemone is off`] : []),
    ...(name === context.coderBackend
      ? [`${parked} and is the backend of coder-predictor, which then has no endpoint`]
      : []),
  ];
}

function modelWarnings(workload: Workload, plan: GpuPlan): readonly string[] {
  const { name, key, model, modelsClaim, replicas, tensorParallel } = workload;
  if (model === undefined) return [];
  const warnings: string[] = [];
  const fit = plan.fits[name];
  const node = plan.pools.get(workload.node)?.node;
  if (fit?.verdict === "marginal")
    warnings.push(`${key}.model.name = ${describeMargin(workload, fit)}`);
  if (fit?.verdict === "refused" && replicas <= 0 && node !== undefined) {
    warnings.push(
      `${key}.tensorParallel = ${tensorParallel}: parked, but ${describeRefusal(workload, node, fit)}`,
    );
  }
  if (fit?.requantised === true) {
    warnings.push(
      `${key}.tensorParallel = ${tensorParallel}: the experts of ${model.name} cannot be cut at a block of 256, so candle-vllm turns ${
        model.source.gguf === undefined ? "them" : "their down projection"
      } into Q8_0`,
    );
  }
  if (fit !== undefined && fit.share * tensorParallel > 1) {
    warnings.push(
      `${key}.tensorParallel = ${tensorParallel}: the experts of ${model.name} split unevenly, the fullest card carries ${percent(fit.share)} of them`,
    );
  }
  const caution = modelRow(model)?.caution;
  if (caution !== undefined && model.isq === undefined) {
    warnings.push(`${key}.model.name = ${model.name}: ${caution}`);
  }
  if (modelsClaim === undefined) {
    warnings.push(`${key}.modelsClaim is not set: ${name} downloads its model at each start`);
  }
  return warnings;
}

function nodeWarnings(name: string, free: number, plan: GpuPlan): readonly string[] {
  const pool = plan.pools.get(name);
  if (pool === undefined) return [];
  const { node, index, allocatable } = pool;
  const path = `llm-serving:gpuNodes[${index}].cards = ${node.cards}`;
  const differs = allocatable !== undefined && allocatable !== node.cards;
  return [
    ...(differs ? [`${path}: ${name} has ${describePool(pool)}`] : []),
    ...(free > 0
      ? [`${path}: ${free} of the cards of ${name} ${free === 1 ? "is" : "are"} idle`]
      : []),
  ];
}

/** A marginal fit with its numbers. */
function describeMargin(workload: Workload, fit: Fit): string {
  const { model, contextTokens = 0, maxSequences = 0, tensorParallel } = workload;
  const cards = `${tensorParallel} card${tensorParallel === 1 ? "" : "s"} of ${fit.memoryGiB} GiB`;
  const wanted = `${contextTokens} x ${maxSequences} = ${fit.wantedTokens} are wanted`;
  const short = fit.kvTokens < contextTokens ? ", less than one context" : "";
  return `${model?.name ?? workload.name}: marginal on ${cards}, ${fit.kvTokens} KV tokens remain and ${wanted}${short}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
