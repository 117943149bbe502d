// A local Kubernetes with a real control plane and simulated nodes: `node lab/lab.ts start|stop|status`.
import { mkdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LabNode } from "./controlPlane.ts";
import {
  checkedLabName,
  fingerprintOf,
  labContext,
  labPaths,
  labVariables,
  parsedRecord,
  prependedPath,
  type LabPaths,
  type LabRecord,
} from "./labFolder.ts";
import {
  findLab,
  makeLab,
  pathPrefix,
  removeLab,
  repository,
  writeAtomically,
} from "./labLifecycle.ts";
import { components, processesOf } from "./labProcesses.ts";
import { withFileLock } from "./lock.ts";
import { labStages, type Stage, type StageTimes } from "./stages.ts";
import { resolveToolchain, type Toolchain } from "./toolchain.ts";

/** The lab of `make lab`; only this one is also reached by `.lab/env`. */
export const defaultLabName = "llm-lab";

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
  /** Environment for a child process: this process's, with PATH, KUBECONFIG and PULUMI_* of the lab. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a healthy lab with the same options was already there. */
  readonly reused: boolean;
}

/** 4 s stand for clef-serve's 240 s. */
const defaultColdStartSeconds = { "*": 1, "clef-serve": 4 };

/**
 * Starts the lab, or returns the healthy one that runs with the same options. A half-dead lab, or one with other options, is
 * rebuilt together with its stack state. The user's own kubeconfig, clusters and Pulumi home are neither read nor written.
 * @throws Error with the cause and the next command; nothing half-made is left
 */
export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const name = checkedLabName(options.name ?? defaultLabName);
  const log = options.log ?? (() => undefined);
  const signal = options.signal ?? new AbortController().signal;
  const toolchain = await resolveToolchain({ log });
  return locked(options.root, name, log, async (root) => {
    const paths = labPaths(join(root, name));
    const settings = {
      nodes: options.nodes ?? [{ name: "worker-1", cards: 4 }],
      stages: [
        ...labStages({
          coldStartSeconds: { ...defaultColdStartSeconds, ...options.coldStartSeconds },
          terminationSeconds: options.terminationSeconds ?? 1,
        }),
        ...(options.extraStages ?? []),
      ],
      authorization: options.authorization ?? false,
    };
    const fingerprint = fingerprintOf([settings, toolchain]);
    const found = await findLab(paths, name, fingerprint, toolchain, signal);
    if (typeof found !== "string") return labOf(name, paths, found, toolchain, true);
    if (found !== "") log(`lab ${name}: ${found}; it is rebuilt, and its stack state with it`);
    await removeLab(paths);
    const record = await makeLab({ ...settings, name, paths, toolchain, signal }, fingerprint, log);
    if (name === defaultLabName)
      await writeAtomically(join(root, "env"), await readFile(paths.env, "utf8"));
    return labOf(name, paths, record, toolchain, false);
  });
}

/**
 * Ends the processes of the lab and removes its folder; nothing happens when there is none.
 * @throws Error when a process does not end
 */
export async function stopLab(name: string = defaultLabName, root?: string): Promise<void> {
  await locked(
    root,
    checkedLabName(name),
    () => undefined,
    async (folder) => {
      await removeLab(labPaths(join(folder, name)));
      if (name === defaultLabName) await rm(join(folder, "env"), { force: true });
    },
  );
}

/** One line on the lab: running, absent, or what is wrong with it. */
export async function labStatus(
  name: string = defaultLabName,
  root?: string,
): Promise<{ running: boolean; text: string }> {
  const paths = labPaths(join(root ?? join(repository, ".lab"), checkedLabName(name)));
  const record = parsedRecord(await readFile(paths.record, "utf8").catch(() => ""));
  const running = await processesOf(paths.folder);
  if (record === undefined) {
    return {
      running: false,
      text: running.length === 0 ? "not there" : "half made; start rebuilds it",
    };
  }
  const missing = components.filter(
    (component) => !running.some((process) => process.name === component),
  );
  return missing.length === 0
    ? {
        running: true,
        text: `running, API server at https://127.0.0.1:${record.apiServerPort}, folder ${paths.folder}`,
      }
    : { running: false, text: `half-dead (${missing.join(", ")} not running); start rebuilds it` };
}

async function locked<T>(
  root: string = join(repository, ".lab"),
  name: string,
  log: (line: string) => void,
  action: (root: string) => Promise<T>,
): Promise<T> {
  await mkdir(root, { recursive: true });
  // Processes are known by this path, so one lab must not have two.
  const realRoot = await realpath(root);
  return withFileLock(
    join(realRoot, `.${name}.lock`),
    () => action(realRoot),
    () => {
      log(`lab ${name}: another start or stop is at work on it; waiting for its end`);
    },
    120,
  );
}

function labOf(
  name: string,
  paths: LabPaths,
  record: LabRecord,
  toolchain: Toolchain,
  reused: boolean,
): Lab {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    name,
    folder: paths.folder,
    kubeconfig: paths.kubeconfig,
    context: labContext,
    apiServerPort: record.apiServerPort,
    env: {
      ...Object.fromEntries(inherited),
      PATH: prependedPath(pathPrefix(toolchain), process.env.PATH),
      ...labVariables(paths, toolchain.pulumiHome),
    },
    reused,
  };
}

const usage =
  "usage: node lab/lab.ts start|stop|status [--name llm-lab] [--cold-start-seconds 4] [--termination-seconds 1] [--authorization]";

/** @returns the exit code: 0 done or running, 1 failed or not running, 2 wrong arguments, 130 ended by Ctrl-C */
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
  if (rest.length > 0) throw new TypeError(`unknown argument: ${rest.join(" ")}`);
  switch (verb) {
    case "start": {
      const interrupt = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        process.on(signal, () => {
          interrupt.abort();
        });
      }
      const lab = await startLab({
        name: values.name,
        coldStartSeconds: {
          "clef-serve": seconds("cold-start-seconds", values["cold-start-seconds"], 3600),
        },
        terminationSeconds: seconds("termination-seconds", values["termination-seconds"], 600),
        authorization: values.authorization,
        signal: interrupt.signal,
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
    case "stop":
      await stopLab(values.name);
      console.log(`lab ${values.name}: stopped, its folder and stack state are removed`);
      return 0;
    case "status": {
      const { running, text } = await labStatus(values.name);
      console.log(`lab ${values.name}: ${text}`);
      return running ? 0 : 1;
    }
    default:
      throw new TypeError(verb === undefined ? "what to do?" : `unknown command: ${verb}`);
  }
}

function seconds(option: string, text: string, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= most) return value;
  throw new TypeError(`--${option} = ${text}: not a number of seconds (0..${most})`);
}

if (import.meta.main) {
  try {
    process.exitCode = await command(process.argv.slice(2));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof TypeError) {
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
