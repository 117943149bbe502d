import { createHash } from "node:crypto";
import { mergeOptions, type CustomResourceOptions } from "@pulumi/pulumi";
import { Job } from "@pulumi/kubernetes/batch/v1/job.js";
import type { input } from "@pulumi/kubernetes/types/index.js";
import { BOOTSTRAP_TIMES, type Bootstrap } from "../gpu/bootstrap.ts";
import { preparationDeadlines } from "../gpu/deadlines.ts";
import type { BootFiles } from "./bootFiles.ts";
import type { WorkloadArgs } from "./gpuDeployment.ts";
import { CONTAINER_SECURITY, podBasics } from "./gpuDeployment.ts";
import { CLEF_SERVE, labelsOf, NAMESPACE, ownershipAnnotations } from "./names.ts";

/** What a preparing Job's name follows from. */
export interface Preparation {
  readonly bootstrap: Bootstrap;
  readonly replicas: number;
  readonly image?: string | undefined;
  readonly bootFiles: BootFiles;
}

/** Arguments of {@link preparingJob}. */
export interface PreparingJobArgs {
  /** clef-serve: the Job runs on its node, from its image, with its environment. */
  readonly workload: WorkloadArgs & { readonly bootstrap: Bootstrap };
  /** Of {@link preparingJobName}; undefined: nothing is to be prepared. */
  readonly name: string | undefined;
  readonly command: readonly string[];
  /** GiB of host memory: request and limit. */
  readonly memoryGiB: number;
  /** What one attempt may take once the image is there, in seconds. */
  readonly workSeconds: number;
  readonly volumes: readonly input.core.v1.Volume[];
  readonly volumeMounts: readonly input.core.v1.VolumeMount[];
}

/** Label `app` of the Job's pods: with clef-serve's own they would stand behind its Service. */
const APP = `${CLEF_SERVE}-prepare`;

/**
 * The folder of packages on the volume. It is named by the hash of the lock and of the image: the same lock installs other
 * files for another Python.
 */
export function packagesFolder({ bootFiles, image }: Preparation): string {
  return `packages-${hashOf([bootFiles["requirements.txt"], image])}`;
}

/**
 * Name of the Job that prepares the next start: one for each folder or image, so that a new one never waits for an old
 * one, and an old one's result is never taken for a new one's. None while clef-serve is parked, or installs at each start.
 */
export function preparingJobName(preparation: Preparation): string | undefined {
  const { bootstrap, replicas, image } = preparation;
  if (replicas === 0 || bootstrap === "install") return undefined;
  const what = bootstrap === "prepared" ? packagesFolder(preparation) : `image-${hashOf([image])}`;
  return `${CLEF_SERVE}-${what}`;
}

function hashOf(parts: readonly (string | undefined)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/**
 * A Job that does before a rollout what a new pod would otherwise do while the old one is gone already (Recreate). The
 * Deployment depends on it and the provider waits for its end: when it fails, the update ends with its reason, and the
 * old pods serve on.
 *
 * It takes no card. It is kept when it is done: with a time to live it would be missing from the next refresh. The next
 * one's `up` deletes it.
 *
 * @returns the Job, or none where nothing is to be prepared
 */
export function preparingJob(args: PreparingJobArgs, opts: CustomResourceOptions): Job[] {
  const { workload, name } = args;
  if (name === undefined) return [];
  const { pullSeconds } = BOOTSTRAP_TIMES[workload.bootstrap];
  const { backoffLimit, activeDeadlineSeconds, pulumiTimeoutSeconds } = preparationDeadlines({
    pullSeconds,
    workSeconds: args.workSeconds,
  });
  const timeout = `${pulumiTimeoutSeconds}s`;
  const job = new Job(
    name,
    {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: labelsOf(APP),
        annotations: {
          ...ownershipAnnotations(workload.stack),
          // A Job that failed, or that an interrupted `up` left at work, is made anew by the next `up`.
          "pulumi.com/replaceUnready": "true",
        },
      },
      spec: {
        backoffLimit,
        activeDeadlineSeconds,
        template: { metadata: { labels: labelsOf(APP) }, spec: podSpec(args) },
      },
    },
    mergeOptions(opts, { customTimeouts: { create: timeout, update: timeout } }),
  );
  return [job];
}

function podSpec(args: PreparingJobArgs): input.core.v1.PodSpec {
  const { workload } = args;
  const memory = `${args.memoryGiB}Gi`;
  return {
    ...podBasics(workload, { manyFiles: true }),
    restartPolicy: "Never",
    containers: [
      {
        name: "prepare",
        image: workload.image ?? "",
        imagePullPolicy: "IfNotPresent",
        command: [...args.command],
        env: [
          { name: "HOME", value: "/tmp" },
          // Also what pip needs to know: PIP_INDEX_URL, a proxy.
          ...Object.entries(workload.env).map(([variable, value]) => ({ name: variable, value })),
        ],
        resources: { requests: { cpu: "1", memory }, limits: { memory } },
        terminationMessagePolicy: "FallbackToLogsOnError",
        securityContext: CONTAINER_SECURITY,
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }, ...args.volumeMounts],
      },
    ],
    volumes: [{ name: "tmp", emptyDir: {} }, ...args.volumes],
  };
}
