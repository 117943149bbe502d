// States of a stack between which transitions are generated: what decides who holds which cards, and nothing else.
import { stringify } from "yaml";
import { parseStackConfig } from "../../config/parse.ts";
import { PROJECT } from "../../config/schema.ts";
import type { StackConfig } from "../../config/types.ts";
import { labContext } from "../../lab/labFolder.ts";
import type { LabNode } from "../../lab/controlPlane.ts";
import { planStack } from "../../stackPlan.ts";

export const WORKLOADS = ["clefServe", "candleVllm", "candleVllmNext", "reasoning"] as const;
export type WorkloadKey = (typeof WORKLOADS)[number];

/** One node like worker-1 and a small one, so that engines can move. */
export const NODES: readonly LabNode[] = [
  { name: "worker-1", cards: 4 },
  { name: "worker-2", cards: 2 },
];

/** What an edit can change of a workload. */
export interface WorkloadState {
  readonly replicas: number;
  readonly node: string;
  /** Ignored for clef-serve, whose pods take one card. */
  readonly tensorParallel: number;
  readonly rollout: "recreate" | "surge";
  /** Ends up in the pod template. */
  readonly stamp: number;
}

/** A stack as far as transitions are concerned. */
export interface State {
  readonly workloads: Readonly<Record<WorkloadKey, WorkloadState>>;
  readonly backend: "candle-vllm" | "candle-vllm-next";
}

/**
 * Seconds. The graces are far enough apart that the lab's pods go in the order of reality, although the CLI takes a
 * moment between two updates that no time scale shortens.
 */
export const TIMES = {
  clefServe: { coldStartSeconds: 40, graceSeconds: 40 },
  candleVllm: { coldStartSeconds: 50, graceSeconds: 60 },
  candleVllmNext: { coldStartSeconds: 60, graceSeconds: 80 },
  reasoning: { coldStartSeconds: 30, graceSeconds: 20 },
} as const;

/** worker-1 is full, worker-2 is free. */
export const FIRST: State = {
  workloads: {
    clefServe: idle({ replicas: 1 }),
    candleVllm: idle({ replicas: 1 }),
    candleVllmNext: idle({ tensorParallel: 2 }),
    reasoning: idle({ replicas: 2 }),
  },
  backend: "candle-vllm",
};

function idle(more: Partial<WorkloadState>): WorkloadState {
  const rollout = "recreate";
  return { replicas: 0, node: "worker-1", tensorParallel: 1, rollout, stamp: 0, ...more };
}

const model = {
  name: "small",
  source: { hub: "org/small" },
  figures: { heads: 32, kvHeads: 4, weightsGiB: 1, kvKiBPerToken: 24 },
};

/** The stack's configuration; a state may be one that the plan refuses. */
export function configOf(state: State): StackConfig {
  return parseStackConfig(valuesOf(state), "dev");
}

/** Text of the stack file. */
export function textOf(state: State): string {
  const values = Object.entries(valuesOf(state));
  return stringify({
    config: Object.fromEntries(values.map(([key, value]) => [`${PROJECT}:${key}`, value])),
  });
}

function valuesOf({ workloads, backend }: State): Readonly<Record<string, unknown>> {
  const sections = WORKLOADS.map((key) => {
    const { tensorParallel, stamp, ...workload } = workloads[key];
    return [
      key,
      {
        ...workload,
        ...TIMES[key],
        image: "lab.invalid/server:1",
        // The nodes of a lab have memory and processors for anything; a small wish keeps it so.
        cpu: 1,
        env: { STAMP: String(stamp) },
        ...(key === "clefServe" ? {} : { tensorParallel, model }),
      },
    ] as const;
  });
  return {
    cluster: { context: labContext, lab: true },
    gpuNodes: NODES.map(({ name, cards }) => ({ name, cards, memoryGiB: 32 })),
    registry: { requireDigests: false },
    coderService: { backend },
    ...Object.fromEntries(sections),
  };
}

/** Whether the plan accepts a state. */
export function isValid(state: State): boolean {
  return planStack(configOf(state)).problems.length === 0;
}

/** Cards that a state holds on all nodes together. */
export function cardsUsed({ workloads }: State): number {
  return WORKLOADS.reduce((sum, key) => {
    const { replicas, tensorParallel } = workloads[key];
    return sum + replicas * (key === "clefServe" ? 1 : tensorParallel);
  }, 0);
}
