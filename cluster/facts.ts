import type {
  V1Container,
  V1ContainerStatus,
  V1Deployment,
  V1Node,
  V1ObjectMeta,
  V1Pod,
  V1Taint,
} from "@kubernetes/client-node";
import type { LiveGuard } from "../components/admissionGuard.ts";
import type { MonitoringKind } from "../components/names.ts";
import type { ManagedFields } from "./byHand.ts";
import type { LiveCoderService } from "./coderService.ts";

/** The client's models are classes; facts are plain data, so that a test can write them down. */
type Plain<T> = T extends Date
  ? Date
  : T extends readonly (infer E)[]
    ? readonly Plain<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Plain<T[K]> }
      : T;

export type LiveNode = Plain<V1Node>;
export type LivePod = Plain<V1Pod>;
export type LiveDeployment = Plain<V1Deployment>;
export type LiveContainer = Plain<V1Container>;
export type LiveContainerStatus = Plain<V1ContainerStatus>;
export type LiveTaint = Plain<V1Taint>;

/** Kinds of which existence and metadata are read; never their content, but for what {@link LiveObject} names. */
export type LiveKind =
  | "Namespace"
  | "Deployment"
  | "StatefulSet"
  | "DaemonSet"
  | "Job"
  | "Service"
  | "ConfigMap"
  | "NetworkPolicy"
  | "PersistentVolumeClaim"
  | "Secret";

/** Kind and name of an object in namespace llm-serving, or of that namespace. */
export interface ObjectName {
  readonly kind: LiveKind;
  readonly name: string;
}

/** One object that exists. */
export interface LiveObject {
  readonly kind: LiveKind;
  readonly metadata: Pick<Plain<V1ObjectMeta>, "name" | "annotations" | "ownerReferences">;
  /** Of a PersistentVolumeClaim: its phase, Pending, Bound or Lost, and what it wants of its volume. */
  readonly claim?: { readonly phase: string; readonly accessModes: readonly string[] } | undefined;
  /** Of a Deployment: its spec.replicas. */
  readonly replicas?: number | undefined;
  /** Of a Deployment: who set which fields. */
  readonly managedFields?: readonly ManagedFields[] | undefined;
}

/** What the live cluster says, as read in one moment. */
export interface ClusterFacts {
  /** URL of the API server. */
  readonly server: string;
  /** uid of Namespace kube-system, which names a cluster for its whole life. */
  readonly uid: string;
  /** The lab's name, where the cluster is marked as a lab. */
  readonly lab: string | undefined;
  readonly nodes: readonly LiveNode[];
  /** Pods of all namespaces that are neither Succeeded nor Failed, bound or not. */
  readonly pods: readonly LivePod[];
  /** Namespace llm-serving, what is in it, and of its Secrets those that the stack refers to. */
  readonly objects: readonly LiveObject[];
  /** Kinds that this identity may not read. */
  readonly unread: ReadonlySet<LiveKind>;
  /** Whether this identity may patch in llm-serving, which the provider's dry run needs; undefined: unknown. */
  readonly mayPatch: boolean | undefined;
  /** Kinds of the Prometheus operator that the cluster has. */
  readonly monitoringKinds: readonly MonitoringKind[];
  /** The admission guard as it stands; absent while the namespace does not exist. */
  readonly guard?: LiveGuard;
  /** Service coder-predictor as it stands; absent while the namespace does not exist, or may not be read. */
  readonly coderService?: LiveCoderService | undefined;
}

/** What is wrong with the cluster, or with the way to it, in one line. */
export class ClusterError extends Error {}

/** Label on Namespace kube-system that marks a lab; its value is the lab's name. */
export const LAB_LABEL = "llm-serving/lab";

/** Label by which pods select their node, and `gpuNodes` name it. */
export const HOSTNAME_LABEL = "kubernetes.io/hostname";

/** The extended resource of the cards. */
export const GPU_RESOURCE = "nvidia.com/gpu";

/** "1 card", "2 cards". */
export function cardCount(cards: number): string {
  return `${cards} card${cards === 1 ? "" : "s"}`;
}
