import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sourceFolder } from "./cache.ts";
import { diagnose, diagnoseWrite, ToolchainError, type Diagnosis } from "./failure.ts";
import { checkGo, GoTool } from "./goTool.ts";
import { acquireLock, isAlive, type Owner } from "./lock.ts";
import { buildArguments, pins, providerModule, type BinaryName } from "./pins.ts";
import { formatDuration, type Progress } from "./progress.ts";

/** What to run after a failure. Any command that needs the tools goes on where the build stopped. */
const runAgain = "then run the same again: it goes on from here, finished binaries are kept";

/** Where a build takes place. */
export interface BuildContext {
  readonly env: NodeJS.ProcessEnv;
  /** The project's cache of tools. */
  readonly root: string;
  /** Where each binary lies once it is built. */
  readonly targets: Readonly<Record<BinaryName, string>>;
  readonly progress: Progress;
}

function title(name: BinaryName, among: readonly BinaryName[]): string {
  return `[${among.indexOf(name) + 1}/${among.length}] ${name} ${pins[name].version}`;
}

function failure(step: string, { cause, fix }: Diagnosis, logFile?: string): ToolchainError {
  const log = logFile === undefined ? "" : `; log: ${logFile}`;
  return new ToolchainError(`${step}: ${cause}\n  To do: ${fix}${log};\n  ${runAgain}`);
}

/** How to have these binaries without a build. */
function installHint(names: readonly BinaryName[]): string {
  const tools = names
    .filter((name) => name !== "pulumi-resource-kubernetes")
    .map((name) => {
      const { version, laterFits } = pins[name];
      return laterFits ? `${name} ${version} or later (the official one)` : `${name} ${version}`;
    });
  const provider = names.includes("pulumi-resource-kubernetes")
    ? `run \`pulumi plugin install resource kubernetes ${pins["pulumi-resource-kubernetes"].version}\``
    : "";
  const path = tools.length === 0 ? "" : `put on PATH: ${tools.join(", ")}`;
  return `or ${[path, provider].filter((part) => part !== "").join("; and ")}`;
}

/** Removes what a killed build left. Only the holder of the lock may call this. */
function removeLeftovers(root: string): void {
  for (const entry of readdirSync(root)) {
    const pid = /^work-(\d+)$/.exec(entry)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) {
      rmSync(join(root, entry), { recursive: true, force: true });
    }
  }
}

/**
 * Writes the two files that the provider embeds, which its module carries only unfinished.
 * @param folder private copy of lab/toolchain/provider: two builds at once never share these files
 */
async function generateProviderFiles(go: GoTool, folder: string, logFile: string): Promise<string> {
  const result = await go.run(["mod", "download", "-json", providerModule], {
    cwd: folder,
    logFile,
  });
  if (result.code !== 0) return result.output;
  const { Dir } = JSON.parse(result.stdout) as { Dir: string };
  const sources = join(Dir, "cmd", "pulumi-resource-kubernetes");
  mkdirSync(join(folder, "generated"));
  for (const file of ["schema.json", "terraform-mapping.json"]) {
    const content = JSON.parse(readFileSync(join(sources, file), "utf8")) as { version?: string };
    if (file === "schema.json") content.version = pins["pulumi-resource-kubernetes"].version;
    writeFileSync(join(folder, "generated", file), JSON.stringify(content));
  }
  return "";
}

async function buildOne(
  name: BinaryName,
  among: readonly BinaryName[],
  go: GoTool,
  work: string,
  { root, targets, progress }: BuildContext,
): Promise<void> {
  const pin = pins[name];
  const step = title(name, among);
  const start = Date.now();
  const logFile = join(root, "logs", `${name}.log`);
  mkdirSync(dirname(logFile), { recursive: true });
  rmSync(logFile, { force: true });
  const folder = join(work, "sources", pin.module);
  const temporary = join(work, "tmp");
  mkdirSync(temporary, { recursive: true });
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true });
    for (const file of ["go.mod", "go.sum", "main.go"].filter((file) =>
      existsSync(join(sourceFolder, pin.module, file)),
    )) {
      cpSync(join(sourceFolder, pin.module, file), join(folder, file));
    }
  }

  const output = join(work, name);
  const describe = (elapsed: string): string => {
    const activity = go.activity === "" ? "" : `, ${go.activity.replace(/^go: /, "")}`;
    return `${step}: building${elapsed}${activity}`;
  };
  const failed = await progress.during(describe, async () => {
    if (pin.module === "provider") {
      const problem = await generateProviderFiles(go, folder, logFile);
      if (problem !== "") return problem;
    }
    const [verb = "build", ...rest] = buildArguments(pin);
    const result = await go.run([verb, "-o", output, ...rest], {
      cwd: folder,
      logFile,
      // The linker's files too lie where an interruption removes them.
      variables: { GOTMPDIR: temporary },
    });
    return result.code === 0 ? "" : result.output;
  });
  if (failed !== "") throw failure(`${step} failed`, diagnose(failed), logFile);

  mkdirSync(dirname(targets[name]), { recursive: true });
  chmodSync(output, 0o755);
  renameSync(output, targets[name]);
  progress.line(`${step}: built in ${formatDuration(Date.now() - start)}`);
}

/** Calls `cleanUp` and ends the process with exit code 130 when it is interrupted. */
function onInterruption(cleanUp: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const stop = (): void => {
    cleanUp();
    process.stderr.write(`\ninterrupted: the unfinished build is removed; ${runAgain}\n`);
    process.exit(130);
  };
  for (const signal of signals) process.once(signal, stop);
  return () => {
    for (const signal of signals) process.removeListener(signal, stop);
  };
}

/**
 * Builds binaries from their pinned Go modules into the cache, one process at a time. An interruption
 * (Ctrl-C, SIGTERM) leaves nothing half-written and ends the process with exit code 130.
 * @param names what may be missing; what another process built in the meantime is not built again
 * @throws ToolchainError that names the step, the cause, the log and the next command
 */
export async function build(names: readonly BinaryName[], context: BuildContext): Promise<void> {
  const { env, root, targets, progress } = context;
  const isMissing = (name: BinaryName): boolean => !existsSync(targets[name]);
  const work = join(root, `work-${process.pid}`);
  const go = new GoTool(env);
  try {
    let holder: Owner | undefined;
    const lock = await progress.during(
      (elapsed) => holder && `waiting for process ${holder.pid}, which ${holder.doing}${elapsed}`,
      () =>
        acquireLock(join(root, "lock"), "prepares a build", (owner) => {
          holder = owner ?? holder;
        }),
    );
    const cleanUp = (): void => {
      go.kill();
      rmSync(work, { recursive: true, force: true, maxRetries: 5 });
      lock.release();
    };
    const ignoreInterruption = onInterruption(cleanUp);
    try {
      const missing = names.filter(isMissing);
      if (missing.length === 0) return;
      removeLeftovers(root);
      mkdirSync(work, { recursive: true });
      const modules = [...new Set(missing.map((name) => join(sourceFolder, pins[name].module)))];
      const problem = await checkGo(go, modules, installHint(missing));
      if (problem !== undefined) throw failure("preparing the build failed", diagnose(problem));
      for (const name of missing) {
        lock.describe(`builds ${name}`);
        await buildOne(name, names, go, work, context);
      }
    } finally {
      ignoreInterruption();
      cleanUp();
    }
  } catch (error) {
    if (error instanceof ToolchainError) throw error;
    throw failure("building the tools failed", diagnoseWrite(error, root));
  }
}
