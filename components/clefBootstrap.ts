import type * as pulumi from "@pulumi/pulumi";
import type { input } from "@pulumi/kubernetes/types/index.js";
import { BOOTSTRAP_TIMES } from "../gpu/bootstrap.ts";
import { deadlines } from "../gpu/deadlines.ts";
import { BOOT_FOLDER, bootConfigMap, bootConfigMapName } from "./bootFiles.ts";
import type { ClefServeArgs } from "./clefServe.ts";
import type { GpuDeploymentArgs } from "./gpuDeployment.ts";
import { HOME } from "./gpuDeployment.ts";
import { packagesFolder, preparingJob, preparingJobName } from "./preparingJob.ts";

/** What a way to start adds to clef-serve's Deployment. */
export interface ClefBootstrap {
  readonly pod: Pick<
    GpuDeploymentArgs,
    "command" | "args" | "env" | "volumes" | "volumeMounts" | "manyFiles"
  >;
  /** What must be there before a pod of the Deployment is replaced. */
  readonly dependsOn: readonly pulumi.Resource[];
}

/** Where pip installs at each boot: an emptyDir. */
const INSTALLED = `${HOME}/packages`;

/** Where the volume with prepared packages is mounted, in the Job as in the pods: byte code names its folder. */
const PREPARED = "/packages";

/** Host memory of a Job's pod in GiB (derived: pip unpacks file by file, and what it wrote is cache that can go). */
const INSTALL_MEMORY_GIB = 4;

/** Makes what clef-serve's start needs beside its Deployment, by the stack's choice of `bootstrap`. */
export function clefBootstrap(
  args: ClefServeArgs,
  opts: pulumi.CustomResourceOptions,
): ClefBootstrap {
  switch (args.bootstrap) {
    case "install":
      return installed(args, opts);
    case "prepared":
      return prepared(args, opts);
    case "image":
      return pulled(args, opts);
  }
}

/** pip at each start, about four minutes: today's way. */
function installed(args: ClefServeArgs, opts: pulumi.CustomResourceOptions): ClefBootstrap {
  const files = bootConfigMap(args.stack, args.bootFiles, opts);
  return {
    pod: {
      command: ["/bin/sh", "-c"],
      // exec: the server becomes PID 1 and gets SIGTERM itself.
      args: [
        `pip install --no-cache-dir --target ${INSTALLED} -r ${BOOT_FOLDER}/requirements.txt ` +
          `&& exec python ${BOOT_FOLDER}/server.py`,
      ],
      env: [{ name: "PYTHONPATH", value: INSTALLED }],
      volumes: [bootVolume(args)],
      volumeMounts: [bootMount],
    },
    dependsOn: [files],
  };
}

/** Packages on a volume: a Job fills a folder of it once per lock file, while the old pods still serve. */
function prepared(args: ClefServeArgs, opts: pulumi.CustomResourceOptions): ClefBootstrap {
  const files = bootConfigMap(args.stack, args.bootFiles, opts);
  const folder = packagesFolder(args);
  const script = ["python", `${BOOT_FOLDER}/packages.py`];
  const volumes = [
    bootVolume(args),
    { name: "packages", persistentVolumeClaim: { claimName: args.packagesClaim ?? "" } },
  ];
  const packages = { name: "packages", mountPath: PREPARED };
  const job = preparingJob(
    {
      workload: args,
      name: preparingJobName(args),
      command: [...script, "fill", PREPARED, folder, `${BOOT_FOLDER}/requirements.txt`],
      memoryGiB: INSTALL_MEMORY_GIB,
      // An install has as long as it would have in a pod that starts with one.
      workSeconds: deadlines({ ...args, ...BOOTSTRAP_TIMES.install }).startupBudgetSeconds,
      volumes,
      volumeMounts: [bootMount, packages],
    },
    { ...opts, dependsOn: [files] },
  );
  return {
    pod: {
      // It holds the folder against the next Job's cleaning, then becomes the server: PID 1 gets SIGTERM itself.
      command: [...script, "run", PREPARED, folder, `${BOOT_FOLDER}/server.py`],
      env: [{ name: "PYTHONPATH", value: `${PREPARED}/${folder}` }],
      volumes,
      // The mount alone: a volume that is attached read-only could not serve the Job on the same node.
      volumeMounts: [bootMount, { ...packages, readOnly: true }],
      manyFiles: true,
    },
    dependsOn: [files, ...job],
  };
}

/** Packages in the image: a Job pulls it to the node while the old pods still serve. */
function pulled(args: ClefServeArgs, opts: pulumi.CustomResourceOptions): ClefBootstrap {
  const job = preparingJob(
    {
      workload: args,
      name: preparingJobName(args),
      command: ["python", "--version"],
      memoryGiB: 1,
      workSeconds: 0,
      volumes: [],
      volumeMounts: [],
    },
    opts,
  );
  // No command: the image's own starts the server.
  return { pod: {}, dependsOn: job };
}

function bootVolume({ bootFiles }: ClefServeArgs): input.core.v1.Volume {
  return { name: "bootstrap", configMap: { name: bootConfigMapName(bootFiles) } };
}

const bootMount: input.core.v1.VolumeMount = {
  name: "bootstrap",
  mountPath: BOOT_FOLDER,
  readOnly: true,
};
