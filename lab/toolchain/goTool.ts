import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { hasCode, ToolchainError } from "./failure.ts";

/** What a finished `go` command said. `output` is the end of stdout and stderr together. */
export interface GoResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly output: string;
}

/** Characters of output that are kept for the diagnosis; the log file has all. */
const keptCharacters = 20_000;

/** Runs `go` in process groups of their own, so that an interruption ends the compilers as well. */
export class GoTool {
  readonly #env: NodeJS.ProcessEnv;
  #group: number | undefined;
  /** The last line that `go` printed: what it does now. */
  activity = "";

  constructor(env: NodeJS.ProcessEnv) {
    // A go.work around the clone would replace the pinned modules; cgo would need a C compiler.
    this.#env = { ...env, CGO_ENABLED: "0", GOWORK: "off" };
  }

  /** @throws Error with code ENOENT where there is no `go` on PATH */
  async run(
    args: readonly string[],
    options: {
      readonly cwd: string;
      readonly logFile?: string;
      readonly variables?: Readonly<Record<string, string>>;
    },
  ): Promise<GoResult> {
    const log = options.logFile === undefined ? undefined : openSync(options.logFile, "a");
    let stdout = "";
    let output = "";
    const take = (data: Buffer): string => {
      const text = data.toString();
      output = (output + text).slice(-keptCharacters);
      this.activity = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
      if (log !== undefined) writeToLog(log, data);
      return text;
    };
    try {
      const child = spawn("go", args, {
        cwd: options.cwd,
        env: { ...this.#env, ...options.variables },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      this.#group = child.pid;
      child.stdout.on("data", (data: Buffer) => (stdout += take(data)));
      child.stderr.on("data", take);
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", resolve);
      });
      return { code, stdout, output };
    } finally {
      this.#group = undefined;
      this.activity = "";
      if (log !== undefined) closeSync(log);
    }
  }

  /** Ends what runs now, compilers included, at once. */
  kill(): void {
    if (this.#group === undefined) return;
    try {
      process.kill(-this.#group, "SIGKILL");
    } catch (error) {
      if (!hasCode(error, "ESRCH")) throw error;
    }
  }
}

function writeToLog(log: number, data: Buffer): void {
  try {
    writeSync(log, data);
  } catch {
    // On a full disk the build fails as well, and says so in the output that is kept.
  }
}

/** The version that a go.mod file asks for, such as 1.26.6. */
export function requiredGoVersion(moduleFolder: string): string {
  const match = /^go (\S+)$/m.exec(readFileSync(join(moduleFolder, "go.mod"), "utf8"));
  return match?.[1] ?? "1.26.0";
}

function versionNumbers(version: string): readonly [number, number] {
  const match = /1\.(\d+)(?:\.(\d+))?/.exec(version);
  return [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
}

/** Negative when Go version a (go1.25, 1.26.6) is before b, 0 when they are the same. */
export function compareGoVersions(a: string, b: string): number {
  const [minorA, patchA] = versionNumbers(a);
  const [minorB, patchB] = versionNumbers(b);
  return minorA - minorB || patchA - patchB;
}

/**
 * Checks that Go can build these modules, before anything is built. Where Go may switch to a later
 * version of itself (GOTOOLCHAIN=auto, the default), this downloads it.
 * @param hint what to install instead of Go
 * @throws ToolchainError when Go is missing or too old
 * @returns what `go` printed when it failed for another reason, such as no network
 */
export async function checkGo(
  go: GoTool,
  moduleFolders: readonly string[],
  hint: string,
): Promise<string | undefined> {
  const newest = [...moduleFolders]
    .sort((a, b) => compareGoVersions(requiredGoVersion(a), requiredGoVersion(b)))
    .at(-1);
  if (newest === undefined) return undefined;
  const needed = requiredGoVersion(newest);
  const advice = `install Go ${needed} or later (https://go.dev/dl), ${hint}`;
  let result: GoResult;
  try {
    result = await go.run(["env", "GOVERSION"], { cwd: newest });
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    throw new ToolchainError(`Go is not installed (no \`go\` on PATH); ${advice}`);
  }
  // A `go` from before 1.21 cannot even read the go.mod, and fails here.
  const isUnreadable = /invalid go version|unknown (?:directive|block)|requires go >=/.test(
    result.output,
  );
  if (result.code !== 0 && !isUnreadable) return result.output;
  const found = result.stdout.trim();
  if (isUnreadable || compareGoVersions(found, needed) < 0) {
    throw new ToolchainError(
      `Go ${found.replace(/^go/, "") || "on PATH"} is too old: ${needed} is needed; ${advice}`,
    );
  }
  return undefined;
}
