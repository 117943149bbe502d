// Which processes a killed run has left, told by what the kernel says of them. Linux has /proc; elsewhere `ps` answers
// the one question that matters for a lock.
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** The Kubernetes provider, which the CLI starts as a process of its own. */
const PROVIDER = "pulumi-resource-kubernetes";

/** What tells one stack's runs from another's: variables that lead a provider to a cluster and a state. */
const IDENTIFYING = ["KUBECONFIG", "PULUMI_BACKEND_URL"] as const;

/** A process of this machine. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Arguments, the program first. */
  readonly command: readonly string[];
}

/** Whether a process is the Pulumi CLI. */
export function isPulumi({ command: [program = ""] }: Process): boolean {
  return basename(program) === "pulumi";
}

/** A process by its id; undefined when there is none. */
export async function processOf(pid: number): Promise<Process | undefined> {
  if (process.platform !== "linux") return fromPs(pid);
  try {
    const [status, commandLine] = await Promise.all([
      readFile(`/proc/${pid}/status`, "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
    ]);
    const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
    return { pid, parent, command: commandLine.split("\0").slice(0, -1) };
  } catch {
    return undefined;
  }
}

/**
 * Providers whose CLI is gone, that ran in `folder` with this process's own kubeconfig and backend. Whatever is in
 * doubt, such as a process of another user, is not among them. Empty where there is no /proc.
 */
export async function orphanedProviders(folder: string): Promise<Process[]> {
  if (process.platform !== "linux") return [];
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(
    pids.map(async (pid) => {
      const found = await processOf(pid);
      return found !== undefined && (await isOrphan(found, folder)) ? [found] : [];
    }),
  );
  return all.flat();
}

async function isOrphan(found: Process, folder: string): Promise<boolean> {
  if (basename(found.command[0] ?? "") !== PROVIDER) return false;
  const [cwd, environ, parent] = await Promise.all([
    readlink(`/proc/${found.pid}/cwd`).catch(() => ""),
    readFile(`/proc/${found.pid}/environ`, "utf8").catch(() => undefined),
    processOf(found.parent),
  ]);
  if (cwd !== folder || environ === undefined) return false;
  if (parent !== undefined && isPulumi(parent)) return false;
  const variables = new Map(
    environ.split("\0").map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
  return IDENTIFYING.every((name) => variables.get(name) === process.env[name]);
}

/**
 * Ends processes: asked first, killed after 5 seconds.
 * @throws Error when one survives that too, or may not be ended
 */
export async function endAll(processes: readonly Process[]): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const { pid } of processes) send(pid, signal);
    if (await allGone(processes, 5000)) return;
  }
  throw new Error(`these do not end: ${processes.map(({ pid }) => `pid ${pid}`).join(", ")}`);
}

async function allGone(processes: readonly Process[], milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const found = await Promise.all(processes.map(async ({ pid }) => processOf(pid)));
    // A zombie has no command line any more.
    if (found.every((each) => each === undefined || each.command.length === 0)) return true;
    if (Date.now() > deadline) return false;
    await sleep(50);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function fromPs(pid: number): Promise<Process | undefined> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-p", `${pid}`, "-o", "ppid=,command="]);
    const [parent = "", ...command] = stdout.trim().split(/\s+/);
    return { pid, parent: Number(parent), command };
  } catch {
    return undefined;
  }
}
