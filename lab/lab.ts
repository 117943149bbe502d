// A local Kubernetes with a real control plane and simulated nodes:
// `node lab/lab.ts start|stop|status`.
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import type { LabNode } from "./controlPlane.ts";
import { interrupt } from "./interrupt.ts";
import {
  checkedLabName,
  fingerprintOf,
  labContext,
  labOfBackend,
  labPaths,
  labVariables,
  parsedRecord,
  prependedPath,
  type LabPaths,
} from "./labFolder.ts";
import {
  envText,
  findLab,
  makeLab,
  pathPrefix,
  removeLab,
  repository,
  writeAtomically,
} from "./labLifecycle.ts";
import { components, missingComponents, processesOf } from "./labProcesses.ts";
import { withFileLock } from "./lock.ts";
import { labStages, type Stage, type StageTimes } from "./stages.ts";
import { resolveToolchain, type Toolchain } from "./toolchain.ts";

/** The lab of `make lab`; only this one is also reached by `.lab/env`. */
export const defaultLabName = "llm-lab";

const defaultRoot = join(repository, ".lab");

/** What a lab can be asked to be; everything has a default. */
export interface LabOptions extends Partial<StageTimes> {
  /** DNS label, default `llm-lab`. */
  readonly name?: string;
  /** Default: worker-1 with 4 cards. */
  readonly nodes?: readonly LabNode[];
  /** Default false: every authenticated client may do everything. */
  readonly authorization?: boolean;
  /** More kwok stages, for a test that needs a pod to do something special. */
  readonly extraStages?: readonly Stage[];
  /** Folder of all labs, default `.lab` of this clone. */
  readonly root?: string;
  /** Progress for a person; default silent. */
  readonly log?: (line: string) => void;
  /** Ends a start early and removes what it made. */
  readonly signal?: AbortSignal;
}

/** A running lab. */
export interface Lab {
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  readonly kubeconfig: string;
  readonly context: typeof labContext;
  /** On 127.0.0.1. */
  readonly apiServerPort: number;
  /** For a child process: this one's environment, with PATH, KUBECONFIG and PULUMI_* of the lab. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a healthy lab with the same options was already there. */
  readonly reused: boolean;
}

/** 4 s stand for clef-serve's 240 s, and 1 s for a grace of 60 s. */
const defaultColdStartSeconds = { "*": 1, "clef-serve": 4 };
const defaultTerminationSeconds = { "*": 1 };

/**
 * Starts the lab, or returns the healthy one that runs with the same options. A half-dead lab, or
 * one with other options, is rebuilt together with its stack state. The user's own kubeconfig,
 * clusters and Pulumi home are neither read nor written.
 * @throws Error with the cause and the next command; nothing half-made is left
 */
export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const name = checkedLabName(options.name ?? defaultLabName);
  const log = options.log ?? (() => undefined);
  const signal = options.signal ?? new AbortController().signal;
  const toolchain = await resolveToolchain({ log });
  const settings = {
    nodes: options.nodes ?? [{ name: "worker-1", cards: 4 }],
    stages: [
      ...labStages({
        coldStartSeconds: { ...defaultColdStartSeconds, ...options.coldStartSeconds },
        terminationSeconds: { ...defaultTerminationSeconds, ...options.terminationSeconds },
        stopServingAtOnce: options.stopServingAtOnce ?? [],
        timeScale: options.timeScale ?? 1,
      }),
      ...(options.extraStages ?? []),
    ],
    authorization: options.authorization ?? false,
  };
  const fingerprint = fingerprintOf([settings, toolchain]);
  return locked({ name, root: options.root, log, signal }, async (paths) => {
    const wanted = { ...settings, name, paths, toolchain, signal };
    const found = await findLab(wanted, fingerprint);
    if (typeof found === "string") {
      if (found !== "") log(`lab ${name}: ${found}; it is rebuilt, and its stack state with it`);
      await removeLab(paths);
    }
    const record = typeof found === "string" ? await makeLab(wanted, fingerprint, log) : found;
    if (name === defaultLabName) await writeAtomically(sharedEnv(paths), envText(paths, toolchain));
    return {
      name,
      folder: paths.folder,
      kubeconfig: paths.kubeconfig,
      context: labContext,
      apiServerPort: record.apiServerPort,
      env: childEnv(paths, toolchain),
      reused: record === found,
    };
  });
}

/**
 * Ends the processes of the lab and removes its folder; nothing happens when there is none.
 * @returns whether there was one
 * @throws Error when a process does not end
 */
export async function stopLab(
  name: string = defaultLabName,
  root: string = defaultRoot,
): Promise<boolean> {
  checkedLabName(name);
  // Not even a lock is left of a name that no lab ever had.
  if (!existsSync(join(root, lockName(name))) && !existsSync(join(root, name))) return false;
  return locked({ name, root }, async (paths) => {
    const wasThere = existsSync(paths.folder) || (await processesOf(paths.folder)).length > 0;
    await removeLab(paths);
    if (name === defaultLabName) await rm(sharedEnv(paths), { force: true });
    return wasThere;
  });
}

/** Whether the lab runs, and one line on it: running, absent, or what is wrong. */
export async function labStatus(
  name: string = defaultLabName,
  root: string = defaultRoot,
): Promise<{ readonly running: boolean; readonly text: string }> {
  const paths = labPaths(join(await realpath(root).catch(() => root), checkedLabName(name)));
  const record = parsedRecord(await readFile(paths.record, "utf8").catch(() => ""));
  const missing = await missingComponents(paths.folder);
  if (record === undefined) {
    const absent = missing.length === components.length && !existsSync(paths.folder);
    return { running: false, text: absent ? "not there" : "half made; start rebuilds it" };
  }
  if (missing.length > 0) {
    const text = `half-dead (${missing.join(", ")} not running); start rebuilds it`;
    return { running: false, text };
  }
  const server = `https://127.0.0.1:${record.apiServerPort}`;
  return { running: true, text: `running, API server at ${server}, folder ${paths.folder}` };
}

/** Name of the lab of this clone whose env file the caller's shell has read; undefined without one. */
export async function labOfShell(): Promise<string | undefined> {
  const root = await realpath(defaultRoot).catch(() => defaultRoot);
  return labOfBackend(process.env.PULUMI_BACKEND_URL, root);
}

/**
 * Environment of a lab that runs, whatever options it was made with: unlike `startLab`, this rebuilds nothing.
 * @throws Error with the next command when it does not run
 */
export async function runningLabEnv(
  name: string,
  log: (line: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const { running, text } = await labStatus(name);
  if (!running) {
    throw new Error(
      `lab ${name}, whose environment this shell has: ${text}; run \`make lab NAME=${name}\`, or use a new shell for ${defaultLabName}`,
    );
  }
  const paths = labPaths(join(await realpath(defaultRoot), name));
  return childEnv(paths, await resolveToolchain({ log }));
}

interface LockedLab {
  readonly name: string;
  readonly root?: string | undefined;
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Runs `action` while nobody else starts or stops the lab. */
async function locked<T>(lab: LockedLab, action: (paths: LabPaths) => Promise<T>): Promise<T> {
  const { name, root = defaultRoot, log, signal } = lab;
  await mkdir(root, { recursive: true });
  // Processes are known by this path, so one lab must not have two.
  const realRoot = await realpath(root);
  return withFileLock(
    join(realRoot, lockName(name)),
    () => action(labPaths(join(realRoot, name))),
    {
      onWait: () =>
        log?.(`lab ${name}: another start or stop is at work on it; waiting for its end`),
      timeoutSeconds: 120,
      ...(signal === undefined ? {} : { signal }),
    },
  );
}

function lockName(name: string): string {
  return `.${name}.lock`;
}

/** `.lab/env`, which stands for the default lab's own. */
function sharedEnv(paths: LabPaths): string {
  return join(dirname(paths.folder), "env");
}

function childEnv(paths: LabPaths, toolchain: Toolchain): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    ...Object.fromEntries(inherited),
    PATH: prependedPath(pathPrefix(toolchain), process.env.PATH),
    ...labVariables(paths, toolchain.pulumiHome),
  };
}

const usage = `usage: node lab/lab.ts start|stop|status [--name ${defaultLabName}]
       start: [--cold-start-seconds 4] [--termination-seconds 1] [--authorization]
              --cold-start-seconds     from start to Ready of a pod of clef-serve (0..3600); every other pod's is ${defaultColdStartSeconds["*"]} s
              --termination-seconds    how long a deleted pod holds its cards (0..600)
              --authorization          RBAC as on a real cluster; without it every client may do everything`;

class UsageError extends Error {}

/** @returns the exit code: 0 done or running, 1 not running */
async function command(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      name: { type: "string", default: defaultLabName },
      "cold-start-seconds": {
        type: "string",
        default: String(defaultColdStartSeconds["clef-serve"]),
      },
      "termination-seconds": { type: "string", default: "1" },
      authorization: { type: "boolean", default: false },
    },
  });
  const [verb, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`unknown argument: ${rest.join(" ")}`);
  switch (verb) {
    case "start": {
      const lab = await startLab({
        name: values.name,
        coldStartSeconds: {
          "clef-serve": seconds("cold-start-seconds", values["cold-start-seconds"], 3600),
        },
        terminationSeconds: {
          "*": seconds("termination-seconds", values["termination-seconds"], 600),
        },
        authorization: values.authorization,
        signal: interrupt(),
        log: (line) => {
          console.error(line);
        },
      });
      const env = lab.name === defaultLabName ? ".lab/env" : `.lab/${lab.name}/env`;
      console.log(
        `lab ${lab.name}: ${lab.reused ? "already running" : "running"}; to use it: . ${env}`,
      );
      return 0;
    }
    case "stop": {
      const text = (await stopLab(values.name))
        ? "stopped, its folder and stack state are removed"
        : "there is no lab of that name, nothing was done";
      console.log(`lab ${values.name}: ${text}`);
      return 0;
    }
    case "status": {
      const { running, text } = await labStatus(values.name);
      console.log(`lab ${values.name}: ${text}`);
      return running ? 0 : 1;
    }
    default:
      throw new UsageError(verb === undefined ? "what to do?" : `unknown command: ${verb}`);
  }
}

function seconds(option: string, text: string, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= most) return value;
  throw new UsageError(`--${option} = ${text}: not a number of seconds (0..${most})`);
}

function isUsageError(error: unknown): boolean {
  // A DOMException has a number there.
  const { code } = error as { code?: unknown };
  const fromParseArgs = typeof code === "string" && code.startsWith("ERR_PARSE_ARGS");
  return error instanceof UsageError || fromParseArgs;
}

if (import.meta.main) {
  try {
    process.exitCode = await command(process.argv.slice(2));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (isUsageError(error)) {
      console.error(`${message}\n${usage}`);
      process.exitCode = 2;
    } else if (error instanceof Error && error.name === "AbortError") {
      console.error("interrupted; nothing of the lab is left");
      process.exitCode = 130;
    } else {
      console.error(message);
      process.exitCode = 1;
    }
  }
}
