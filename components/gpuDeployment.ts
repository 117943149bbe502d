import { createHash } from "node:crypto";
import type * as pulumi from "@pulumi/pulumi";
import { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import type { input } from "@pulumi/kubernetes/types/index.js";
import { deadlines, probePeriodSeconds } from "../gpu/deadlines.ts";
import { shmGiB } from "../gpu/devices.ts";
import {
  CONTAINER_PORT,
  labelsOf,
  NAMESPACE,
  NOT_AWAITED_BY_PROVIDER,
  ownershipAnnotations,
  RUN_AS_ID,
  TEMPLATE_ANNOTATION,
} from "./names.ts";

/** What every workload states, whatever it runs. Plain numbers: sums over them must be exact in the preview. */
export interface WorkloadArgs {
  /** Name of the owning stack, for the annotation `llm-serving/stack`. */
  readonly stack: string;
  /** Pods; 0 = parked. */
  readonly replicas: number;
  /** Full image reference. Absent only while parked. */
  readonly image?: string | undefined;
  /** The node's label kubernetes.io/hostname. */
  readonly node: string;
  /** Seconds from the container's start to its first ready answer, 1..3600. */
  readonly coldStartSeconds: number;
  /** Seconds from SIGTERM to SIGKILL, preStop included, 1..600. */
  readonly graceSeconds: number;
  /** Allowance for pulling the image in seconds, where it is not the usual one. */
  readonly pullSeconds?: number;
  /** GiB of host memory: request and limit, /dev/shm included. */
  readonly hostMemoryGiB: number;
  /** CPU request in cores; no limit, since throttling stalls token generation. */
  readonly cpu: number;
  /** recreate: the old pods go first. surge: one more pod first, where its cards are free. */
  readonly rollout: "recreate" | "surge";
  /** Further environment variables of the serving container. */
  readonly env: Readonly<Record<string, string>>;
  /** Name of an existing image pull Secret. */
  readonly pullSecret?: string | undefined;
}

/** How one workload differs from the others. */
export interface GpuDeploymentArgs {
  readonly workload: WorkloadArgs;
  /** Cards of one pod, 1..16. */
  readonly cards: number;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly input.core.v1.EnvVar[];
  /** Path that answers 200 once the model is loaded. */
  readonly readyPath: string;
  /** Path of the liveness probe; without one it only opens the port. */
  readonly livePath?: string;
  /** Volumes and mounts beside home, tmp and /dev/shm. */
  readonly volumes?: readonly input.core.v1.Volume[];
  readonly volumeMounts?: readonly input.core.v1.VolumeMount[];
  /** Lets the pause container be PID 1, for a server without a signal handler. */
  readonly shareProcessNamespace?: boolean;
  /** A volume holds so many files that giving each to the pod's group at every start would take long. */
  readonly manyFiles?: boolean;
}

/** Stands for the image of a parked workload that names none; with 0 replicas nothing pulls it. */
const NO_IMAGE = "image-not-set.invalid/parked";

/** Where a container may write: its HOME. */
export const HOME = "/home/serving";

/** What no container here may do. */
export const CONTAINER_SECURITY: input.core.v1.SecurityContext = {
  allowPrivilegeEscalation: false,
  privileged: false,
  // NVIDIA's CDI hook writes into the container's root at start.
  readOnlyRootFilesystem: false,
  capabilities: { drop: ["ALL"] },
};

/** KServe's figure: endpoints are withdrawn everywhere before the server stops answering. */
const PRE_STOP_SECONDS = 15;

/**
 * The Deployment of a model server: one container on `cards` whole cards of one named node.
 * One number, `cards`, drives the card limit and the size of /dev/shm.
 * @param name Kubernetes name, Pulumi name and label `app` at once
 */
export function gpuDeployment(
  name: string,
  args: GpuDeploymentArgs,
  opts: pulumi.CustomResourceOptions,
): Deployment {
  const { workload } = args;
  return new Deployment(
    name,
    {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: labelsOf(name),
        annotations: {
          ...ownershipAnnotations(workload.stack),
          ...NOT_AWAITED_BY_PROVIDER,
          [TEMPLATE_ANNOTATION]: templateFingerprint(name, args),
        },
      },
      spec: {
        replicas: workload.replicas,
        // The default of 10 keeps dead ReplicaSets that nobody rolls back to by hand (derived).
        revisionHistoryLimit: 3,
        progressDeadlineSeconds: deadlines(workload).progressDeadlineSeconds,
        strategy: strategyOf(workload.rollout),
        selector: { matchLabels: { app: name } },
        template: podTemplate(name, args),
      },
    },
    opts,
  );
}

/** Tells one pod template from another: where it differs from that of the running pods, they restart. */
export function templateFingerprint(name: string, args: GpuDeploymentArgs): string {
  const text = JSON.stringify(podTemplate(name, args));
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function podTemplate(name: string, args: GpuDeploymentArgs) {
  return { metadata: { labels: labelsOf(name) }, spec: podSpec(args) };
}

/** Every card is allocated, so a rolling update's new pod would wait for a card that the old pod still holds. */
function strategyOf(rollout: WorkloadArgs["rollout"]): input.apps.v1.DeploymentStrategy {
  return rollout === "recreate"
    ? { type: "Recreate" }
    : { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
}

/** What the pods of a workload and those that prepare its start have in common: place, identity, pull Secret. */
export function podBasics(
  workload: WorkloadArgs,
  { manyFiles = false }: Pick<GpuDeploymentArgs, "manyFiles">,
): Omit<input.core.v1.PodSpec, "containers"> {
  return {
    nodeSelector: { "kubernetes.io/hostname": workload.node },
    // Exists, not Equal: the GPU operator's taint has had more than one value.
    tolerations: [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }],
    // A Service named clef-serve would inject CLEF_SERVE_PORT=tcp://..., which servers read as their port.
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: RUN_AS_ID,
      runAsGroup: RUN_AS_ID,
      fsGroup: RUN_AS_ID,
      ...(manyFiles ? { fsGroupChangePolicy: "OnRootMismatch" } : {}),
      seccompProfile: { type: "RuntimeDefault" },
    },
    ...(workload.pullSecret === undefined
      ? {}
      : { imagePullSecrets: [{ name: workload.pullSecret }] }),
  };
}

function podSpec(args: GpuDeploymentArgs): input.core.v1.PodSpec {
  const { workload } = args;
  return {
    ...podBasics(workload, args),
    ...(args.shareProcessNamespace === true ? { shareProcessNamespace: true } : {}),
    terminationGracePeriodSeconds: workload.graceSeconds,
    containers: [container(args)],
    volumes: [
      { name: "home", emptyDir: {} },
      { name: "tmp", emptyDir: {} },
      ...shmVolumes(args.cards),
      ...(args.volumes ?? []),
    ],
  };
}

function container(args: GpuDeploymentArgs): input.core.v1.Container {
  const { workload } = args;
  const cards = { "nvidia.com/gpu": String(args.cards) };
  const memory = `${workload.hostMemoryGiB}Gi`;
  const ready = { path: args.readyPath, port: CONTAINER_PORT };
  return {
    name: "server",
    image: workload.image ?? NO_IMAGE,
    imagePullPolicy: "IfNotPresent",
    ...(args.command === undefined ? {} : { command: [...args.command] }),
    ...(args.args === undefined ? {} : { args: [...args.args] }),
    env: [
      { name: "HOME", value: HOME },
      ...(args.env ?? []),
      ...Object.entries(workload.env).map(([name, value]) => ({ name, value })),
    ],
    ports: [{ name: "http", containerPort: CONTAINER_PORT, protocol: "TCP" }],
    resources: {
      requests: { cpu: String(workload.cpu), memory, ...cards },
      limits: { memory, ...cards },
    },
    startupProbe: {
      httpGet: ready,
      periodSeconds: probePeriodSeconds,
      timeoutSeconds: 5,
      failureThreshold: deadlines(workload).failureThreshold,
    },
    readinessProbe: { httpGet: ready, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
    livenessProbe: {
      ...(args.livePath === undefined
        ? { tcpSocket: { port: CONTAINER_PORT } }
        : { httpGet: { path: args.livePath, port: CONTAINER_PORT } }),
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    ...preStop(workload.graceSeconds),
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: "home", mountPath: HOME },
      { name: "tmp", mountPath: "/tmp" },
      ...shmMounts(args.cards),
      ...(args.volumeMounts ?? []),
    ],
  };
}

/** A short grace keeps a quarter of itself for this wait, the rest for the server (derived). */
function preStop(graceSeconds: number): Pick<input.core.v1.Container, "lifecycle"> {
  const seconds = Math.min(PRE_STOP_SECONDS, Math.floor(graceSeconds / 4));
  return seconds === 0 ? {} : { lifecycle: { preStop: { sleep: { seconds } } } };
}

/** NCCL exchanges between ranks through /dev/shm; the container runtime's default is 64 MiB. */
function shmVolumes(cards: number): input.core.v1.Volume[] {
  const sizeGiB = shmGiB(cards);
  return sizeGiB === 0
    ? []
    : [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: `${sizeGiB}Gi` } }];
}

function shmMounts(cards: number): input.core.v1.VolumeMount[] {
  return shmGiB(cards) === 0 ? [] : [{ name: "shm", mountPath: "/dev/shm" }];
}
