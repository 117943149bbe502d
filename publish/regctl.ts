import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolveTools, ToolchainError } from "../lab/toolchain.ts";
import { hostOf, isLoopback } from "./proxyRefusal.ts";
import { PublishError } from "./publishError.ts";

/** What a run of regctl did. */
export interface RegctlOutcome {
  /** undefined: it was ended, after its time or by somebody. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** regctl with settings of its own. */
export interface Regctl {
  /** @param seconds time after which it is ended */
  readonly run: (args: readonly string[], seconds?: number) => Promise<RegctlOutcome>;
}

/** How regctl sends. */
export interface RegctlSettings {
  /** Registries that it speaks to, host first. */
  readonly prefixes: readonly string[];
  /** Larger layers go in chunks; undefined: every layer goes whole. */
  readonly wholeUpToBytes: number | undefined;
  readonly chunkBytes: number;
}

/**
 * Makes regctl ready. It reads Docker's logins, and none of the user's own settings of regctl.
 * @param folder an empty folder of this run, for its settings
 * @throws {PublishError} when it can neither be found nor built
 */
export async function regctlFor(settings: RegctlSettings, folder: string): Promise<Regctl> {
  const path = await regctlPath();
  const { prefixes, wholeUpToBytes = -1, chunkBytes } = settings;
  const config = join(folder, "regctl.json");
  const hosts = prefixes.map((prefix) => {
    const host = hostOf(prefix);
    const tls = isLoopback(host) ? { tls: "disabled" } : {};
    return [host, { ...tls, blobMax: wholeUpToBytes, blobChunk: chunkBytes }] as const;
  });
  writeFileSync(config, JSON.stringify({ hosts: Object.fromEntries(hosts) }));
  return {
    run: (args, seconds = 600) =>
      runToEnd(path, args, { ...process.env, REGCTL_CONFIG: config }, seconds),
  };
}

async function regctlPath(): Promise<string> {
  try {
    return (await resolveTools(["regctl"])).regctl;
  } catch (error) {
    throw error instanceof ToolchainError ? new PublishError(error.message) : error;
  }
}

async function runToEnd(
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  seconds: number,
): Promise<RegctlOutcome> {
  const child = spawn(path, args, {
    env,
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
  });
  // An interrupted `make image` does not leave a push behind that nobody waits for.
  const kill = (): void => void child.kill("SIGKILL");
  process.prependOnceListener("exit", kill);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  process.removeListener("exit", kill);
  return { code: code ?? undefined, stdout, stderr };
}
