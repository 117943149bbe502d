import { HOSTNAME_LABEL, type LiveDeployment, type LivePod } from "../cluster/facts.ts";
import { cardsOf } from "../cluster/pods.ts";
import { deploymentView } from "../rollout/views.ts";
import type { ObjectState } from "./recording.ts";

/** A Kubernetes object's fields that a rehearsal looks at, as a watch's JSON has them. */
export interface WatchedObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}

interface WatchedPod extends WatchedObject {
  readonly spec: NonNullable<LivePod["spec"]>;
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

interface WatchedEndpointSlice extends WatchedObject {
  readonly endpoints?: readonly {
    readonly targetRef?: { readonly name: string };
    readonly conditions?: { readonly serving?: boolean; readonly terminating?: boolean };
  }[];
}

interface WatchedService extends WatchedObject {
  readonly spec: {
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
  };
}

interface WatchedEvent extends WatchedObject {
  readonly involvedObject: { readonly name?: string };
  readonly reason?: string;
  readonly message?: string;
}

/** The collections of namespace llm-serving that are watched, with what is kept of their objects. */
export const watched: readonly {
  /** Path below the API server's address, with `{namespace}` in it. */
  readonly path: string;
  readonly stateOf: (object: WatchedObject) => ObjectState;
}[] = [
  {
    path: "/api/v1/namespaces/{namespace}/pods",
    stateOf: (object) => podState(object as WatchedPod),
  },
  {
    path: "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
    stateOf: (object) => endpointsState(object),
  },
  {
    path: "/api/v1/namespaces/{namespace}/services",
    stateOf: (object) => serviceState(object as WatchedService),
  },
  {
    path: "/apis/apps/v1/namespaces/{namespace}/deployments",
    stateOf: (object) => ({
      kind: "deployment",
      ...deploymentView(object as unknown as LiveDeployment),
    }),
  },
  {
    path: "/api/v1/namespaces/{namespace}/events",
    stateOf: (object) => eventState(object as WatchedEvent),
  },
];

function podState({ metadata, spec, status }: WatchedPod): ObjectState {
  const condition = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const scheduled = condition("PodScheduled");
  return {
    kind: "pod",
    uid: metadata.uid,
    name: metadata.name,
    app: metadata.labels?.app ?? "",
    node: spec.nodeName,
    wantsNode: spec.nodeSelector?.[HOSTNAME_LABEL],
    cards: cardsOf({ spec }),
    graceSeconds: spec.terminationGracePeriodSeconds ?? 30,
    deleting: metadata.deletionTimestamp !== undefined,
    ready: condition("Ready")?.status === "True",
    unschedulable: scheduled?.status === "False" ? scheduled.message : undefined,
  };
}

function endpointsState({ metadata, endpoints }: WatchedEndpointSlice): ObjectState {
  return {
    kind: "endpoints",
    name: metadata.name,
    service: metadata.labels?.["kubernetes.io/service-name"] ?? "",
    endpoints: (endpoints ?? []).map(({ targetRef, conditions }) => ({
      pod: targetRef?.name ?? "",
      serving: conditions?.serving === true,
      terminating: conditions?.terminating === true,
    })),
  };
}

function serviceState({ metadata, spec }: WatchedService): ObjectState {
  return {
    kind: "service",
    name: metadata.name,
    uid: metadata.uid,
    clusterIP: spec.clusterIP ?? "",
    selects: spec.selector?.app ?? "",
  };
}

function eventState({ metadata, involvedObject, reason, message }: WatchedEvent): ObjectState {
  return {
    kind: "event",
    name: metadata.name,
    about: involvedObject.name ?? "",
    reason: reason ?? "",
    message: message ?? "",
  };
}
