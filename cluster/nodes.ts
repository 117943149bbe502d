import { steadyCards } from "../gpu/budget.ts";
import type { GpuNode, Workload } from "../gpu/workload.ts";
import { GPU_RESOURCE, HOSTNAME_LABEL, type LiveNode, type LiveTaint } from "./facts.ts";
import { quantity } from "./pods.ts";

/** Taints that the control plane sets and takes away by itself: NotReady, cordoned, under pressure. */
const PASSING_TAINT = "node.kubernetes.io/";

/** The live nodes by their label kubernetes.io/hostname. */
export function nodesByHostname(nodes: readonly LiveNode[]): ReadonlyMap<string, LiveNode> {
  return new Map(
    nodes.flatMap((node) => {
      const hostname = node.metadata?.labels?.[HOSTNAME_LABEL];
      return hostname === undefined ? [] : [[hostname, node] as const];
    }),
  );
}

/** Cards that the scheduler may give away on a node. */
export function allocatableCards({ status }: LiveNode): number {
  return quantity(status?.allocatable?.[GPU_RESOURCE]);
}

/**
 * Nodes that do not exist, and taints that keep this stack's pods off for good. Every pod selects its node
 * and tolerates nvidia.com/gpu with effect NoSchedule alone.
 */
export function nodeProblems(
  gpuNodes: readonly GpuNode[],
  live: ReadonlyMap<string, LiveNode>,
  workloads: readonly Workload[],
): readonly string[] {
  return gpuNodes.flatMap(({ name }, index) => {
    const subject = `llm-serving:gpuNodes[${index}].name = ${name}`;
    const node = live.get(name);
    if (node === undefined) return [`${subject}: ${missingNode(live)}`];
    const running = runningOn(name, workloads);
    if (running === "") return [];
    return (node.spec?.taints ?? [])
      .filter((taint) => !isTolerated(taint) && !taint.key.startsWith(PASSING_TAINT))
      .map((taint) => {
        const text = taintText(taint);
        return (
          `${subject}: its taint ${text} keeps ${running} off ` +
          `(tolerated: ${GPU_RESOURCE} with NoSchedule); remove it with ` +
          `\`kubectl taint nodes ${node.metadata?.name ?? name} ${text}-\` or name another node`
        );
      });
  });
}

/** NotReady and cordoned pass, and an edit that parks a workload must work meanwhile: warnings. */
export function nodeWarnings(
  gpuNodes: readonly GpuNode[],
  live: ReadonlyMap<string, LiveNode>,
): readonly string[] {
  return gpuNodes.flatMap(({ name }, index) => {
    const node = live.get(name);
    const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
    const states = [
      ...(ready !== undefined && ready.status !== "True" ? ["not Ready"] : []),
      ...(node?.spec?.unschedulable === true ? ["cordoned"] : []),
    ];
    return states.length === 0
      ? []
      : [
          `llm-serving:gpuNodes[${index}].name = ${name}: is ${states.join(" and ")}, so no new pod starts there for now`,
        ];
  });
}

function missingNode(live: ReadonlyMap<string, LiveNode>): string {
  const withCards = [...live].filter(([, node]) => allocatableCards(node) > 0);
  const names = withCards.map(([hostname]) => hostname).join(", ");
  const wrong = `no node of the cluster has this label ${HOSTNAME_LABEL}`;
  return names === ""
    ? `${wrong} (no node has ${GPU_RESOURCE}); let the GPU operator's device plugin run first`
    : `${wrong} (with cards: ${names}); set it to one of these`;
}

function isTolerated({ key, effect }: LiveTaint): boolean {
  return effect === "PreferNoSchedule" || (key === GPU_RESOURCE && effect === "NoSchedule");
}

function taintText({ key, value, effect }: LiveTaint): string {
  return value === undefined || value === "" ? `${key}:${effect}` : `${key}=${value}:${effect}`;
}

function runningOn(node: string, workloads: readonly Workload[]): string {
  return workloads
    .filter((workload) => workload.node === node && steadyCards(workload) > 0)
    .map(({ name }) => name)
    .join(", ");
}
