import { NAMESPACE } from "../components/names.ts";
import { GPU_RESOURCE, type LiveContainer, type LivePod } from "./facts.ts";

/**
 * Cards that a pod holds, or waits for. Init containers run before the others and give their cards back,
 * except sidecars (restartPolicy Always), which stay.
 * @see https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
 */
export function cardsOf({ spec }: LivePod): number {
  let sidecars = 0;
  let starting = 0;
  for (const container of spec?.initContainers ?? []) {
    const cards = containerCards(container);
    if (container.restartPolicy === "Always") sidecars += cards;
    starting = Math.max(
      starting,
      container.restartPolicy === "Always" ? sidecars : sidecars + cards,
    );
  }
  const serving = (spec?.containers ?? []).reduce((sum, each) => sum + containerCards(each), 0);
  return Math.max(starting, sidecars + serving);
}

/** Limit and request of an extended resource are equal; either may be the one that is stated. */
function containerCards({ resources }: LiveContainer): number {
  return quantity(resources?.limits?.[GPU_RESOURCE] ?? resources?.requests?.[GPU_RESOURCE]);
}

/** A whole number as the API server writes it: "4", and "2k" for 2000. */
export function quantity(text = "0"): number {
  return text.endsWith("k") ? Number(text.slice(0, -1)) * 1000 : Number(text);
}

/**
 * Name of the Deployment of namespace llm-serving that a pod belongs to. A ReplicaSet is named after its
 * Deployment and the pod's template hash, so that ReplicaSets need not be read.
 */
export function deploymentOf({ metadata }: LivePod): string | undefined {
  if (metadata?.namespace !== NAMESPACE) return undefined;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const ending = `-${metadata.labels?.["pod-template-hash"] ?? ""}`;
  if (owner?.kind !== "ReplicaSet" || ending === "-" || !owner.name.endsWith(ending)) {
    return undefined;
  }
  return owner.name.slice(0, -ending.length);
}

/** Conditions and start are written in one go; anything later is a change of its own. */
const SAME_MOMENT_MS = 5000;

/** Since when a bound pod has served nothing. */
export interface Unready {
  readonly since: Date;
  /** Whether it was Ready at some time before. */
  readonly before: boolean;
}

/** Since when a bound pod has not been Ready; undefined while it is, or goes. */
export function unreadyOf({ metadata, status }: LivePod): Unready | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const start = status?.startTime ?? metadata?.creationTimestamp;
  if (
    ready?.status === "True" ||
    metadata?.deletionTimestamp !== undefined ||
    start === undefined
  ) {
    return undefined;
  }
  const changed = ready?.lastTransitionTime ?? start;
  const before = changed.getTime() - start.getTime() > SAME_MOMENT_MS;
  return { since: before ? changed : start, before };
}

/** What the scheduler said last of a pod that it could not place, without its remarks on preemption. */
export function unscheduledReason({ status }: LivePod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False" ? scheduled.message?.split(" preemption:")[0] : undefined;
}
