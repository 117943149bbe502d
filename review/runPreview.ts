import { spawn, type SpawnOptions } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACTS_FILE, factsIn } from "../factsFile.ts";
import type { PreviewFacts } from "../previewFacts.ts";
import { repository } from "./git.ts";

/** What a preview left behind. */
export interface PreviewRun {
  /** The CLI's event log, one event a line; empty where it failed before its first event. */
  readonly events: string;
  /** Absent when the program stopped before it had looked at the cluster. */
  readonly facts: PreviewFacts | undefined;
  /** What the CLI printed, on both streams, with its own diff. */
  readonly printed: string;
  /** Wall-clock time of the CLI. */
  readonly seconds: number;
}

/** What is previewed, and with what. */
export interface PreviewOptions {
  readonly stack: string;
  /** The caller's own environment by default. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Stack file instead of the stack's own. */
  readonly configFile?: string | undefined;
  /** Folder of the program, this clone by default. */
  readonly folder?: string | undefined;
  /** Folders of policy packs that run with it. */
  readonly policyPacks?: readonly string[] | undefined;
  /** Ends the CLI as Ctrl-C does. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `pulumi preview` with its event log, the way that Pulumi's Automation API does, and takes the program's facts.
 * Both lie in a folder that only this user can read and that is removed in the end.
 * @throws Error when the CLI cannot be started; AbortError when `signal` ended it, once it is gone
 */
export async function runPreview(options: PreviewOptions): Promise<PreviewRun> {
  const { stack, env = process.env, configFile, folder = repository, policyPacks = [] } = options;
  options.signal?.throwIfAborted();
  const left = await mkdtemp(join(tmpdir(), "llm-serving-review-"));
  const [log, facts] = [join(left, "events.jsonl"), join(left, "facts.json")];
  const args = [
    "preview",
    `--stack=${stack}`,
    "--diff",
    "--non-interactive",
    "--color=never",
    `--event-log=${log}`,
    ...(configFile === undefined ? [] : [`--config-file=${configFile}`]),
    ...policyPacks.map((pack) => `--policy-pack=${pack}`),
  ];
  try {
    const begin = performance.now();
    // The CLI hides --event-log from people: this variable shows it.
    const variables = { ...env, PULUMI_DEBUG_COMMANDS: "true", [FACTS_FILE]: facts };
    const printed = await printedBy(args, { cwd: folder, env: variables, signal: options.signal });
    const seconds = (performance.now() - begin) / 1000;
    return {
      events: await contentOf(log),
      facts: factsIn(facts),
      printed,
      seconds,
    };
  } finally {
    await rm(left, { recursive: true });
  }
}

/** @returns what it printed on both streams; whether it failed stands in the events */
async function printedBy(
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env" | "signal">,
): Promise<string> {
  const child = spawn("pulumi", args, {
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C reaches it from here alone, as the first of two would: at the second it gives up its plugins.
    ...{ detached: true, killSignal: "SIGINT" },
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
  let failure: Error | undefined;
  child.on("error", (error) => (failure = error));
  // Also after an abort: nothing writes into the folder any more when this has returned.
  await new Promise((done) => child.on("close", done));
  options.signal?.throwIfAborted();
  if (failure !== undefined) throw new Error(`pulumi: ${failure.message}; it must be on PATH`);
  return printed;
}

async function contentOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return "";
  }
}
