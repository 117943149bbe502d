// Which processes belong to a lab, decided by their command line alone: a pid file may be stale and
// name somebody else's process.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** The five processes of a healthy lab. */
export const components = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kwok-controller",
] as const;

/** `kwokctl` runs while a lab is made and must end with it: it would go on starting components. */
export type LabProcessName = (typeof components)[number] | "kwokctl";

/** A running process of a lab. */
export interface LabProcess {
  readonly pid: number;
  readonly name: LabProcessName;
}

const processNames: readonly LabProcessName[] = [...components, "kwokctl"];

/**
 * The lab process that a command line is, or undefined for everybody else's process.
 * @param commandLine the arguments separated by blanks or NULs
 * @param folder absolute path of the lab, without a slash at its end
 */
export function labProcessName(commandLine: string, folder: string): LabProcessName | undefined {
  const [program = "", ...options] = commandLine.replaceAll("\0", " ").split(/ (?=--)/);
  // Every component gets its files by `--option=<folder>/...`; who only looks at them has no such
  // option, or another name.
  const ours = options.some(
    (option) => /^--[a-z-]+=/.test(option) && option.includes(`=${folder}/`),
  );
  return ours ? processNames.find((name) => name === basename(program.trim())) : undefined;
}

/** Processes of the lab in `folder`; zombies have no command line and do not count. */
export async function processesOf(folder: string): Promise<readonly LabProcess[]> {
  return (await commandLines()).flatMap(({ pid, commandLine }) => {
    const name = labProcessName(commandLine, folder);
    return name === undefined ? [] : [{ pid, name }];
  });
}

/** Components of the lab in `folder` that do not run; empty for a lab that may be healthy. */
export async function missingComponents(folder: string): Promise<readonly string[]> {
  const running = new Set<string>((await processesOf(folder)).map(({ name }) => name));
  return components.filter((name) => !running.has(name));
}

/**
 * Ends the processes of the lab in `folder` and waits until they are gone. They are killed, not
 * asked: what they would save on the way out is deleted with the lab.
 * @throws Error when one survives for 10 seconds
 */
export async function endProcesses(folder: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const running = await processesOf(folder);
    if (running.length === 0) return;
    if (Date.now() > deadline) {
      const left = running.map(({ pid, name }) => `${name} (pid ${pid})`).join(", ");
      throw new Error(`processes of the lab in ${folder} do not end: ${left}`);
    }
    for (const { pid } of running) kill(pid);
    await sleep(50);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function commandLines(): Promise<readonly { pid: number; commandLine: string }[]> {
  if (process.platform !== "linux") return commandLinesFromPs();
  const pids = (await readdir("/proc")).map(Number).filter(Number.isInteger);
  return Promise.all(
    pids.map(async (pid) => ({
      pid,
      // A process may end between the two reads.
      commandLine: await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
    })),
  );
}

async function commandLinesFromPs(): Promise<readonly { pid: number; commandLine: string }[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,command="], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split("\n").flatMap((line) => {
    const [, pid, commandLine] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || commandLine === undefined
      ? []
      : [{ pid: Number(pid), commandLine }];
  });
}
