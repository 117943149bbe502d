import type * as pulumi from "@pulumi/pulumi";
import type { input } from "@pulumi/kubernetes/types/index.js";
import { BOOTSTRAP_TIMES } from "../gpu/bootstrap.ts";
import { deadlines } from "../gpu/deadlines.ts";
import { fillCommand, installCommand, runCommand } from "./bootCommands.ts";
import { BOOT_FOLDER, bootConfigMap, bootConfigMapName } from "./bootFiles.ts";
import type { ClefServeArgs } from "./clefServe.ts";
import type { GpuDeploymentArgs } from "./gpuDeployment.ts";
import { HOME } from "./gpuDeployment.ts";
import { packagesFolder, preparingJob, preparingJobName } from "./preparingJob.ts";

/** What a way to start adds to the pods of clef-serve. */
export type BootstrapPod = Pick<
  GpuDeploymentArgs,
  "command" | "args" | "env" | "volumes" | "volumeMounts" | "manyFiles"
>;

/** Where pip installs at each boot: an emptyDir. */
const INSTALLED = `${HOME}/packages`;

/** Where the volume with prepared packages is mounted, in the Job as in the pods: byte code names its folder. */
const PREPARED = "/packages";

const packagesMount: input.core.v1.VolumeMount = { name: "packages", mountPath: PREPARED };

/** Host memory of a Job's pod in GiB (derived: pip unpacks file by file, and what it wrote is cache that can go). */
const INSTALL_MEMORY_GIB = 4;

/** How clef-serve's pods come by their packages, by the stack's choice of `bootstrap`. */
export function bootstrapPod(args: ClefServeArgs): BootstrapPod {
  switch (args.bootstrap) {
    case "install":
      return installedPod(args);
    case "prepared":
      return preparedPod(args);
    case "image":
      // No command: the image's own starts the server.
      return {};
  }
}

/** Makes what must be there before a pod of clef-serve is replaced. */
export function bootstrapResources(
  args: ClefServeArgs,
  opts: pulumi.CustomResourceOptions,
): readonly pulumi.Resource[] {
  switch (args.bootstrap) {
    case "install":
      return [bootConfigMap(args.stack, args.bootFiles, opts)];
    case "prepared":
      return preparedPackages(args, opts);
    case "image":
      return pulledImage(args, opts);
  }
}

/** pip at each start, about four minutes: today's way. */
function installedPod(args: ClefServeArgs): BootstrapPod {
  const [shell, flag, ...script] = installCommand(BOOT_FOLDER, INSTALLED);
  return {
    command: [shell, flag],
    args: script,
    env: [{ name: "PYTHONPATH", value: INSTALLED }],
    volumes: [bootVolume(args)],
    volumeMounts: [bootMount],
  };
}

/** Packages on a volume, which a Job has filled. */
function preparedPod(args: ClefServeArgs): BootstrapPod {
  const folder = packagesFolder(args);
  return {
    command: runCommand(BOOT_FOLDER, PREPARED, folder),
    env: [{ name: "PYTHONPATH", value: `${PREPARED}/${folder}` }],
    volumes: [bootVolume(args), packagesVolume(args)],
    // The mount alone: a volume that is attached read-only could not serve the Job on the same node.
    volumeMounts: [bootMount, { ...packagesMount, readOnly: true }],
    manyFiles: true,
  };
}

/** A Job fills a folder of the volume once per lock file, while the old pods still serve. */
function preparedPackages(
  args: ClefServeArgs,
  opts: pulumi.CustomResourceOptions,
): readonly pulumi.Resource[] {
  const files = bootConfigMap(args.stack, args.bootFiles, opts);
  const job = preparingJob(
    {
      workload: args,
      name: preparingJobName(args),
      command: fillCommand(BOOT_FOLDER, PREPARED, packagesFolder(args)),
      memoryGiB: INSTALL_MEMORY_GIB,
      // An install has as long as it would have in a pod that starts with one.
      workSeconds: deadlines({ ...args, ...BOOTSTRAP_TIMES.install }).startupBudgetSeconds,
      volumes: [bootVolume(args), packagesVolume(args)],
      volumeMounts: [bootMount, packagesMount],
    },
    { ...opts, dependsOn: [files] },
  );
  return [files, ...job];
}

/** A Job pulls the image, with the packages in it, to the node while the old pods still serve. */
function pulledImage(
  args: ClefServeArgs,
  opts: pulumi.CustomResourceOptions,
): readonly pulumi.Resource[] {
  return preparingJob(
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
}

function packagesVolume({ packagesClaim = "" }: ClefServeArgs): input.core.v1.Volume {
  return { name: "packages", persistentVolumeClaim: { claimName: packagesClaim } };
}

function bootVolume({ bootFiles }: ClefServeArgs): input.core.v1.Volume {
  return { name: "bootstrap", configMap: { name: bootConfigMapName(bootFiles) } };
}

const bootMount: input.core.v1.VolumeMount = {
  name: "bootstrap",
  mountPath: BOOT_FOLDER,
  readOnly: true,
};
