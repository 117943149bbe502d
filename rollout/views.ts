import {
  HOSTNAME_LABEL,
  type LiveContainerStatus,
  type LiveDeployment,
  type LivePod,
} from "../cluster/facts.ts";
import { cardsOf, unscheduledReason } from "../cluster/pods.ts";
import { NAMESPACE } from "../components/names.ts";
import type { DeploymentView, PodView } from "./state.ts";

/** What a rollout needs to know of a Deployment. */
export function deploymentView({ metadata, spec, status }: LiveDeployment): DeploymentView {
  const failure = status?.conditions?.find(({ type }) => type === "ReplicaFailure");
  return {
    name: metadata?.name ?? "",
    generation: metadata?.generation ?? 0,
    observedGeneration: status?.observedGeneration ?? 0,
    wanted: spec?.replicas ?? 1,
    pods: status?.replicas ?? 0,
    updated: status?.updatedReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
    replicaFailure:
      failure?.status === "True"
        ? {
            message: failure.message ?? "no reason given",
            since: milliseconds(failure.lastTransitionTime) ?? 0,
          }
        : undefined,
  };
}

/** What a rollout needs to know of a pod, its own or one that may hold its card. */
export function podView(pod: LivePod): PodView {
  const { metadata, spec, status } = pod;
  const namespace = metadata?.namespace ?? "";
  const containers = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ];
  const stopped = containers.find(({ state }) => state?.waiting !== undefined)?.state?.waiting;
  return {
    name: metadata?.name ?? "",
    namespace,
    app: namespace === NAMESPACE ? metadata?.labels?.app : undefined,
    node: spec?.nodeName,
    wantsNode: spec?.nodeSelector?.[HOSTNAME_LABEL],
    cards: cardsOf(pod),
    phase: status?.phase ?? "Pending",
    ready: status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false,
    createdAt: milliseconds(metadata?.creationTimestamp) ?? 0,
    deletedAt: deletedAt(pod),
    unschedulable: unscheduledReason(pod),
    ...(stopped === undefined
      ? {}
      : { waiting: { reason: stopped.reason ?? "waiting", message: stopped.message ?? "" } }),
    restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    failure: status?.phase === "Failed" ? failureOf(pod, containers) : undefined,
  };
}

function failureOf(
  { status }: LivePod,
  containers: readonly LiveContainerStatus[],
): string | undefined {
  const ended = containers.find(({ state }) => state?.terminated !== undefined)?.state?.terminated;
  const words = [status?.reason, status?.message, ended?.reason, ended?.message];
  const text = words.filter((word) => word !== undefined && word !== "").join(" ");
  return text === "" ? undefined : text;
}

/** A deletionTimestamp is the end of the grace, not its begin. */
function deletedAt({ metadata }: LivePod): number | undefined {
  const end = milliseconds(metadata?.deletionTimestamp);
  return end === undefined ? undefined : end - (metadata?.deletionGracePeriodSeconds ?? 0) * 1000;
}

/** A list has Dates; an event of a watch has the text that the server sent, whatever the client's types say. */
function milliseconds(time: Date | string | undefined): number | undefined {
  return time === undefined ? undefined : new Date(time).getTime();
}
