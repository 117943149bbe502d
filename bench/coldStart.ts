// `make bench-coldstart`: clef-serve's start with pip at boot against the start from a prepared folder. Both run the
// pods' own commands on the real lock file, one after the other, and are timed from the process's start to the first
// answer on /health. The wheels come from a local folder, so that the network's speed is no part of the result: with a
// download, the install would only take longer.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillCommand, installCommand, runCommand } from "../components/bootCommands.ts";
import { packagesFolder } from "../components/preparingJob.ts";
import { freePorts } from "../lab/freePorts.ts";

const repository = resolve(import.meta.dirname, "..");
const SERVED = join(repository, "images", "clef-serve");

/** The goal of the prepared start: at most this share of the install, and below this many seconds. */
const GOAL = { share: 0.1, seconds: 30 };

/** Longest that a start may take, in seconds: the startup probe's budget. */
const MAX_START_SECONDS = 600;

type Variables = Readonly<Record<string, string>>;

/** Runs a program to its end. @throws Error with the end of its output when it fails */
async function run(program: string, args: readonly string[], env: Variables): Promise<string> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  }
  const [code] = (await once(child, "close")) as [number | null];
  if (code === 0) return text;
  throw new Error(`${program} ${args.join(" ")} failed (${code}):\n${text.slice(-2000)}`);
}

/** Starts a pod's command and ends it after its first answer. @returns seconds until then */
async function timedStart(
  command: readonly string[],
  env: Variables,
  log: string,
): Promise<number> {
  const [port = 0] = await freePorts(1);
  const [program = "", ...args] = command;
  const begin = performance.now();
  const child = spawn(program, args, {
    env: { ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = createWriteStream(log);
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  const ended = once(child, "close");
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) {
        throw new Error(`the server ended (${child.exitCode}):\n${await tailOf(log)}`);
      }
      const seconds = (performance.now() - begin) / 1000;
      if (seconds > MAX_START_SECONDS) throw new Error(`no answer after ${seconds.toFixed(0)} s`);
      await sleep(20);
    }
    return (performance.now() - begin) / 1000;
  } finally {
    child.kill();
    await ended;
    output.end();
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}

async function tailOf(file: string): Promise<string> {
  return (await readFile(file, "utf8")).slice(-2000);
}

async function timed<T>(work: Promise<T>): Promise<number> {
  const begin = performance.now();
  await work;
  return (performance.now() - begin) / 1000;
}

/** Takes a folder's files out of the page cache, as they are on a node that has just been started. */
const FORGET = `
import os, sys
os.sync()
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        file = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
`;

async function main(): Promise<void> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "llm-serving");
  await mkdir(cache, { recursive: true });
  // Not in /tmp, which may be memory: the packages are some gigabytes.
  const work = await mkdtemp(join(cache, "bench-coldstart-"));
  try {
    await measure(cache, work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function measure(cache: string, work: string): Promise<void> {
  const boot = join(work, "bootstrap");
  await mkdir(boot);
  for (const name of ["packages.py", "requirements.txt", "server.py"]) {
    await copyFile(join(SERVED, name), join(boot, name));
  }
  await copyFile(join(import.meta.dirname, "bench_model.py"), join(boot, "bench_model.py"));
  const lock = await readFile(join(boot, "requirements.txt"), "utf8");

  // A Python of its own: nothing that is installed on this machine is found instead.
  const { PATH = "" } = process.env;
  await run("python3", ["-m", "venv", join(work, "python")], { PATH });
  const env = {
    PATH: `${join(work, "python", "bin")}:${PATH}`,
    HOME: work,
    PIP_CONFIG_FILE: "/dev/null",
    CLEF_MODEL: "bench_model:load",
  };
  const wheels = join(cache, "wheels");
  console.log(`wheels of the lock file: ${wheels} (fetched once, 2.8 GB)`);
  const fetchArgs = ["-m", "pip", "download", "--quiet", "--require-hashes", "--dest", wheels];
  // pip's own settings apply to this step alone: which index, which certificates.
  const ownSettings = { ...processVariables("PIP_"), ...env, PIP_CONFIG_FILE: "" };
  await run("python", [...fetchArgs, "-r", join(boot, "requirements.txt")], ownSettings);
  const local = { ...env, PIP_NO_INDEX: "1", PIP_FIND_LINKS: wheels };

  console.log("install: pip at boot, then the server");
  const target = join(work, "installed");
  const installed = await timedStart(
    installCommand(boot, target),
    { ...local, PYTHONPATH: target },
    join(work, "install.log"),
  );
  await rm(target, { recursive: true });

  const volume = join(work, "volume");
  await mkdir(volume);
  const folder = packagesFolder({
    bootstrap: "prepared",
    replicas: 1,
    image: "",
    bootFiles: { "requirements.txt": lock },
  });
  console.log("prepared: the Job fills the folder, while the old pod would still serve");
  const [python = "", ...fill] = fillCommand(boot, volume, folder);
  const job = await timed(run(python, fill, local));
  const start = () =>
    timedStart(
      runCommand(boot, volume, folder),
      { ...env, PYTHONPATH: join(volume, folder) },
      join(work, "prepared.log"),
    );
  await run("python", ["-c", FORGET, join(volume, folder)], env);
  const cold = await start();
  const warm = await start();

  const share = cold / installed;
  const met = share <= GOAL.share && cold < GOAL.seconds;
  console.log(`
start to first answer on /health
  install               ${seconds(installed)}   (without the download)
  prepared              ${seconds(cold)}   (its files not in memory)
  prepared, once more   ${seconds(warm)}   (its files in memory)
  the Job before it     ${seconds(job)}   (the old pod serves meanwhile)
  prepared / install    ${share.toFixed(3)}       goal: at most ${GOAL.share}, and under ${GOAL.seconds} s: ${met ? "met" : "missed"}`);
}

/** This process's variables with a prefix. */
function processVariables(prefix: string): Record<string, string> {
  const all = Object.entries(process.env).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(all.map(([name, value]) => [name, value ?? ""]));
}

function seconds(value: number): string {
  return `${value.toFixed(1).padStart(6)} s`;
}

// Ctrl-C reaches what runs by itself; the folder with its gigabytes is removed on the way out.
process.on("SIGINT", () => undefined);
try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
