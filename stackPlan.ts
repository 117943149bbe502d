import type { ClefServeConfig, EngineConfig, StackConfig } from "./config.ts";
import { BOOTSTRAP_TIMES } from "./gpu/bootstrap.ts";
import type { GpuPlan } from "./gpu/plan.ts";
import { planGpus } from "./gpu/plan.ts";
import type { LiveGpus } from "./gpu/pool.ts";
import type { Workload } from "./gpu/workload.ts";
import type { AlertRulesArgs } from "./components/alertRules.ts";
import { CLEF_SERVE, SYSTEMONE_ROUTE } from "./components/names.ts";

/** A workload of the plan with what the live cluster is held against. */
export interface StackWorkload
  extends
    Workload,
    Pick<ClefServeConfig, "coldStartSeconds" | "graceSeconds">,
    Partial<Pick<ClefServeConfig, "bootstrap" | "packagesClaim">>,
    Partial<Pick<EngineConfig, "hfTokenSecret">> {
  /** Allowance for pulling the image in seconds, where it is not the usual one. */
  readonly pullSeconds?: number;
}

/** The workloads of a stack as the GPU plan sees them, in the order of the stack file. */
export function workloadsOf(config: StackConfig): StackWorkload[] {
  const { clefServe, candleVllm, candleVllmNext, reasoning } = config;
  return [
    {
      ...clefServe,
      name: CLEF_SERVE,
      key: "llm-serving:clefServe",
      tensorParallel: 1,
      pullSeconds: BOOTSTRAP_TIMES[clefServe.bootstrap].pullSeconds,
    },
    {
      ...candleVllm,
      name: "candle-vllm",
      key: "llm-serving:candleVllm",
      engine: "candle-vllm",
    },
    {
      ...candleVllmNext,
      name: "candle-vllm-next",
      key: "llm-serving:candleVllmNext",
      engine: "candle-vllm",
    },
    { ...reasoning, name: "reasoning", key: "llm-serving:reasoning", engine: "vllm" },
  ];
}

/** The plan of a stack and the outputs that follow from its configuration alone. */
export interface StackPlan extends GpuPlan {
  readonly workloads: Readonly<Record<string, "running" | "parked">>;
  readonly routes: Readonly<Record<string, "on" | "off">>;
}

/**
 * Plans a stack. 0 replicas means parked, which is never called ready.
 * @param live facts of the cluster; without them the configured numbers alone count
 */
export function planStack(config: StackConfig, live?: LiveGpus): StackPlan {
  const workloads = workloadsOf(config);
  return {
    ...planGpus(workloads, config.gpuNodes, live, config.coderService.backend),
    workloads: Object.fromEntries(
      workloads.map(({ name, replicas }) => [name, replicas > 0 ? "running" : "parked"]),
    ),
    routes: { [SYSTEMONE_ROUTE]: config.clefServe.replicas > 0 ? "on" : "off" },
  };
}

/** What the alerts of a stack follow from. */
export function alertFacts(config: StackConfig): AlertRulesArgs {
  const { coderService, gpuNodes } = config;
  return { backend: coderService.backend, workloads: workloadsOf(config), gpuNodes };
}
