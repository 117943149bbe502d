// How a lab is found, made and removed; the caller holds its lock.
import {
  access,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import {
  checkComponents,
  PortTakenError,
  inspect,
  populate,
  startControlPlane,
  type ControlPlaneOptions,
} from "./controlPlane.ts";
import {
  envFileText,
  labVariables,
  parsedRecord,
  type LabPaths,
  type LabRecord,
} from "./labFolder.ts";
import { endProcesses, missingComponents } from "./labProcesses.ts";
import { run } from "./run.ts";
import type { Toolchain } from "./toolchain.ts";

/** The clone that this file is part of. */
export const repository = resolve(import.meta.dirname, "..");

/**
 * Looks for a healthy lab that was made with the same options and tools.
 * @returns its record, or why there is none: empty when nothing is there at all
 */
export async function findLab(
  options: ControlPlaneOptions,
  fingerprint: string,
): Promise<LabRecord | string> {
  const { name, paths, signal } = options;
  if (!(await exists(paths.folder))) return "";
  const record = parsedRecord(await readFile(paths.record, "utf8").catch(() => ""));
  if (record === undefined) return "a start did not finish";
  if (record.fingerprint !== fingerprint) return "other options than it was made with";
  const missing = await missingComponents(paths.folder);
  if (missing.length > 0) return `${missing.join(", ")} not running`;
  try {
    const { uid, mark, ready } = await inspect(options);
    if (uid !== record.clusterUid || mark !== name)
      return "its kubeconfig leads to another cluster";
    return ready ? record : "a node is not Ready";
  } catch (error) {
    signal.throwIfAborted();
    const [cause] = messageOf(error).split("\n");
    return `its API server does not answer as it should (${cause ?? ""})`;
  }
}

/** Makes the lab in an empty place; on any error nothing is left of it. */
export async function makeLab(
  options: ControlPlaneOptions,
  fingerprint: string,
  log: (line: string) => void,
): Promise<LabRecord> {
  const { name, paths, toolchain, signal } = options;
  const begin = performance.now();
  try {
    log(`lab ${name}: starting etcd, API server, controller manager, scheduler and kwok`);
    const record = { fingerprint, ...(await makeOnFreePorts(options, log)) };
    await writeFile(paths.env, envText(paths, toolchain));
    await writeAtomically(paths.record, JSON.stringify(record));
    log(`lab ${name}: ready after ${((performance.now() - begin) / 1000).toFixed(1)} s`);
    return record;
  } catch (error) {
    await removeLab(paths);
    signal.throwIfAborted();
    throw new Error(
      [
        `lab ${name} did not start, nothing of it is left: ${messageOf(error)}`,
        `Run \`make lab NAME=${name}\` again once the cause is gone.`,
      ].join("\n"),
      { cause: error },
    );
  }
}

/** A port can be taken between its choice and its use, by the last component too. */
async function makeOnFreePorts(
  options: ControlPlaneOptions,
  log: (line: string) => void,
): Promise<Omit<LabRecord, "fingerprint">> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeOnce(options);
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === 3) throw error;
      log(`lab ${options.name}: ${error.message}; trying others`);
      await removeLab(options.paths);
    }
  }
}

async function makeOnce(options: ControlPlaneOptions): Promise<Omit<LabRecord, "fingerprint">> {
  const { paths, toolchain, signal } = options;
  await mkdir(paths.state, { recursive: true });
  const apiServerPort = await startControlPlane(options);
  const both = [populate(options), makeDevStack(paths, toolchain, signal)] as const;
  // Both to their end, so that neither writes into a folder that is being removed.
  await Promise.allSettled(both);
  const [clusterUid] = await Promise.all(both);
  await checkComponents(paths, true);
  return { clusterUid, apiServerPort };
}

/**
 * Makes stack dev in the lab's backend, beside a copy of Pulumi.yaml: `stack init` would write into
 * the clone's Pulumi.dev.yaml.
 */
async function makeDevStack(
  paths: LabPaths,
  toolchain: Toolchain,
  signal: AbortSignal,
): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), "llm-serving-stack-"));
  try {
    await copyFile(join(repository, "Pulumi.yaml"), join(copy, "Pulumi.yaml"));
    await run(
      toolchain.paths.pulumi,
      ["stack", "init", "dev", "--no-select", "--non-interactive", `--cwd=${copy}`],
      {
        ...labVariables(paths, toolchain.pulumiHome),
        PATH: toolchain.binFolder,
        HOME: paths.folder,
      },
      signal,
    );
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Ends whatever runs of the lab and removes its folder. */
export async function removeLab(paths: LabPaths): Promise<void> {
  await endProcesses(paths.folder);
  await rm(paths.folder, { recursive: true, force: true });
}

/** Text of the lab's env file. */
export function envText(paths: LabPaths, toolchain: Toolchain): string {
  return envFileText(pathPrefix(toolchain), labVariables(paths, toolchain.pulumiHome));
}

/** What a lab puts in front of PATH. */
export function pathPrefix(toolchain: Toolchain): readonly string[] {
  return [join(repository, "node_modules", ".bin"), toolchain.binFolder];
}

/** Writes `text` so that a reader sees all of it or the file as it was. */
export async function writeAtomically(file: string, text: string): Promise<void> {
  const partial = join(dirname(file), `.${process.pid}.partial`);
  await writeFile(partial, text);
  await rename(partial, file);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
