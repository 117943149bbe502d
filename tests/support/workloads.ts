import type { EngineArgs } from "../../components/engine.ts";
import type { WorkloadArgs } from "../../components/gpuDeployment.ts";

/** A workload with every default of the stack configuration. */
export const WORKLOAD: WorkloadArgs = {
  stack: "test",
  replicas: 1,
  image: `registry.example/llm/image@sha256:${"0".repeat(64)}`,
  node: "worker-1",
  coldStartSeconds: 240,
  graceSeconds: 60,
  hostMemoryGiB: 16,
  cpu: 4,
  rollout: "recreate",
  env: {},
};

/** An engine with every default of the stack configuration, its weights in a GGUF file. */
export const ENGINE: EngineArgs = {
  ...WORKLOAD,
  tensorParallel: 1,
  model: { source: { gguf: "/models/coder.gguf" } },
  contextTokens: 32768,
  maxSequences: 8,
};
