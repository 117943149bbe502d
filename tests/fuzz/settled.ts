import type { V1Pod } from "@kubernetes/client-node";
import type { Node } from "./arbitraryPlan.ts";
import type { Manifest } from "./renderedDeployments.ts";

/** As first applied, and after a change of every template. */
export type Round = "steady" | "rollout";

/** Which pods of a cluster make up a plan. */
export interface PlanOnLane {
  readonly namespace: string;
  readonly plan: string;
  readonly round: Round;
  readonly nodes: readonly Node[];
  readonly deployments: readonly Manifest[];
}

/**
 * What the scheduler says of each pod that it could not place, once nothing is left to happen: every
 * expected pod exists, nobody else's is on the nodes, and no unplaced pod has room. The last one counts,
 * because the scheduler looks again when cards become free.
 *
 * @returns undefined as long as something is left to happen
 */
export function unplacedPods(
  pods: readonly V1Pod[],
  { namespace, plan, round, nodes, deployments }: PlanOnLane,
): string[] | undefined {
  const here = pods.filter(({ metadata }) => metadata?.namespace === namespace);
  const foreign = here.filter(
    ({ metadata }) =>
      metadata?.annotations?.["fuzz/plan"] !== plan || metadata.deletionTimestamp !== undefined,
  );
  if (foreign.length > 0 || !areComplete(here, round, deployments)) return undefined;
  const waiting = here.filter(({ spec }) => spec?.nodeName === undefined);
  const hopeless = waiting.every((pod) => {
    const name = pod.spec?.nodeSelector?.["kubernetes.io/hostname"];
    const bound = here.filter(({ spec }) => spec?.nodeName === name);
    const cards = nodes.find((node) => node.name === name)?.cards ?? 0;
    const free = bound.reduce((left, other) => left - cardsOf(other), cards);
    return messageOf(pod) !== undefined && free < cardsOf(pod);
  });
  return hopeless ? waiting.map((pod) => messageOf(pod) ?? "") : undefined;
}

/** Whether exactly the pods exist that the controllers are to make. */
function areComplete(
  pods: readonly V1Pod[],
  round: Round,
  deployments: readonly Manifest[],
): boolean {
  const wanted = deployments.flatMap(({ metadata: { name }, spec: { replicas, strategy } }) => {
    const surges = strategy.type === "RollingUpdate" && round === "rollout" && replicas > 0;
    const all = Array.from({ length: replicas }, () => `${name} ${surges ? "steady" : round}`);
    return surges ? [...all, `${name} rollout`] : all;
  });
  const made = pods.map(
    ({ metadata }) =>
      `${metadata?.labels?.app ?? ""} ${metadata?.annotations?.["fuzz/round"] ?? ""}`,
  );
  return wanted.sort().join() === made.sort().join();
}

function cardsOf({ spec }: V1Pod): number {
  return (spec?.containers ?? []).reduce(
    (sum, { resources }) => sum + Number(resources?.limits?.["nvidia.com/gpu"] ?? 0),
    0,
  );
}

/** Why the scheduler did not place a pod; undefined while it has not said so. */
function messageOf({ status }: V1Pod): string | undefined {
  return status?.conditions?.find(
    ({ type, reason }) => type === "PodScheduled" && reason === "Unschedulable",
  )?.message;
}
