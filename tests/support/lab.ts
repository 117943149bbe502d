// A lab for a test file, and what a test asks of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startLab, stopLab, type Lab, type LabOptions } from "../../lab/lab.ts";
import { processesOf } from "../../lab/labProcesses.ts";

const repository = resolve(import.meta.dirname, "..", "..");

/** What a program did; `seconds` is its wall-clock time. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

/**
 * Starts a fresh lab before the tests of the enclosing `describe` and stops it after them.
 * @param name a name of this test file's own, so that files can run side by side
 * @returns the lab, for use inside tests
 */
export function useLab(name: string, options: Omit<LabOptions, "name"> = {}): () => Lab {
  let lab: Lab | undefined;
  before(async function () {
    this.timeout(180_000);
    await stopLab(name, options.root);
    lab = await startLab({ ...options, name });
  });
  after(async function () {
    this.timeout(120_000);
    await stopLab(name, options.root);
  });
  return () => {
    if (lab === undefined) throw new Error(`lab ${name} is used before it runs`);
    return lab;
  };
}

/** Runs a program in this clone with the lab's environment; the caller judges its exit code. */
export async function runIn(
  lab: Lab,
  program: string,
  args: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly input?: string;
  } = {},
): Promise<Outcome> {
  const begin = performance.now();
  const child = spawn(program, args, {
    cwd: options.cwd ?? repository,
    env: { ...lab.env, ...options.env },
    stdio: "pipe",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => undefined).end(options.input ?? "");
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? -1, stdout, stderr, seconds: (performance.now() - begin) / 1000 };
}

/**
 * @returns what kubectl printed on stdout
 * @throws Error when kubectl fails
 */
export async function kubectl(lab: Lab, ...args: readonly string[]): Promise<string> {
  return stdoutOf(await runIn(lab, "kubectl", args), `kubectl ${args.join(" ")}`);
}

/** Applies manifests: kubectl's JSON or YAML text, or objects. */
export async function apply(lab: Lab, manifests: string | readonly object[]): Promise<void> {
  const input =
    typeof manifests === "string"
      ? manifests
      : JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
  stdoutOf(await runIn(lab, "kubectl", ["apply", "-f", "-"], { input }), "kubectl apply");
}

/** The parsed answer of `kubectl ... -o json`; the caller states its form. */
export async function kubectlJson(lab: Lab, ...args: readonly string[]): Promise<unknown> {
  return JSON.parse(await kubectl(lab, ...args, "-o=json"));
}

/** Runs `pulumi` without prompts; `configFile` replaces the stack's own, which it may write to. */
export async function pulumi(
  lab: Lab,
  args: readonly string[],
  options: {
    readonly configFile?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
  } = {},
): Promise<Outcome> {
  const { configFile, ...rest } = options;
  const file = configFile === undefined ? [] : [`--config-file=${configFile}`];
  return runIn(lab, "pulumi", [...args, ...file, "--non-interactive", "--color=never"], rest);
}

/** What must never change of a Service. */
export interface ServiceIdentity {
  readonly uid: string;
  readonly clusterIP: string;
}

/** Identity of a Service in namespace llm-serving. */
export async function clusterIdentityOf(lab: Lab, service: string): Promise<ServiceIdentity> {
  const { metadata, spec } = (await kubectlJson(
    lab,
    "get",
    "service",
    service,
    "--namespace=llm-serving",
  )) as {
    metadata: { uid: string };
    spec: { clusterIP: string };
  };
  return { uid: metadata.uid, clusterIP: spec.clusterIP };
}

interface Pod {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly {
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
  readonly status: { readonly phase: string };
}

/** Cards by node and label `app` of bound pods that are neither Terminating nor at their end. */
export async function cardsBound(lab: Lab): Promise<Record<string, Record<string, number>>> {
  const { items } = (await kubectlJson(lab, "get", "pods", "--all-namespaces")) as {
    items: readonly Pod[];
  };
  const bound: Record<string, Record<string, number>> = {};
  for (const { metadata, spec, status } of items) {
    const cards = spec.containers.reduce(
      (sum, { resources }) => sum + Number(resources?.limits?.["nvidia.com/gpu"] ?? 0),
      0,
    );
    const gone =
      metadata.deletionTimestamp !== undefined || ["Succeeded", "Failed"].includes(status.phase);
    if (spec.nodeName === undefined || cards === 0 || gone) continue;
    const node = (bound[spec.nodeName] ??= {});
    const app = metadata.labels?.app ?? "";
    node[app] = (node[app] ?? 0) + cards;
  }
  return bound;
}

/**
 * Asks again until `check` is content.
 * @param check throws or returns undefined while it is not
 * @throws what `check` threw last, after `seconds`
 */
export async function eventually<T>(check: () => Promise<T | undefined>, seconds = 60): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    try {
      const answer = await check();
      if (answer !== undefined) return answer;
      if (Date.now() > deadline) throw new Error(`not after ${seconds} s`);
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(100);
  }
}

/** Memory of all processes of the lab in MiB, shared pages counted once; Linux only. */
export async function memoryMiBOf(lab: Lab): Promise<number> {
  const kiB = await Promise.all(
    (await processesOf(lab.folder)).map(async ({ pid }) =>
      Number(/^Pss:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]),
    ),
  );
  return kiB.reduce((sum, each) => sum + each, 0) / 1024;
}

function stdoutOf({ code, stdout, stderr }: Outcome, command: string): string {
  if (code === 0) return stdout;
  throw new Error(`${command} failed (exit code ${code}): ${stderr.trim()}`);
}
