// Attacks by a crash: the CLI killed at a random moment, the API server killed under it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { processesOf } from "../../lab/labProcesses.ts";
import { eventually } from "../support/lab.ts";
import type { Attack } from "./attack.ts";
import { must, type Victim } from "./victim.ts";

/** Edits that give `up` something to do with the Service and with a Deployment that takes 4 s to become ready. */
async function somethingToDo(victim: Victim): Promise<void> {
  const file = "Pulumi.dev.yaml";
  await victim.edit({ file, from: "python:3.12", to: "python:3.13" });
  await victim.edit({
    file,
    from: "    backend: candle-vllm\n",
    to: "    backend: candle-vllm-next\n    acceptUnready: true\n",
  });
}

/**
 * What a person does after a crash: `make recover`, then one `up`.
 * @throws Error when that does not converge
 */
async function recovered(victim: Victim): Promise<void> {
  must(await victim.recover(), "recover");
  await victim.mustUp();
  must(await victim.preview("--expect-no-changes"), "preview after recovery");
}

function killed(index: number): Attack {
  // In every third run there is no state: everything is being created, and pending creations are left.
  const creating = index % 3 === 2;
  // Seconds of a whole run on a machine at rest; uniform, so that loading, registering and waiting are all hit.
  const delay = Math.random() * (creating ? 10 : 7);
  return {
    name: `up killed after ${delay.toFixed(1)} s${creating ? ", its state lost before" : ""}`,
    expected: "harmless",
    run: async (victim) => {
      await somethingToDo(victim);
      if (creating) await victim.forgetState();
      const child = started(victim);
      const ended = once(child, "close");
      await Promise.race([sleep(delay * 1000), ended]);
      child.kill("SIGKILL");
      await ended;
      await recovered(victim);
      return "harmless";
    },
  };
}

function started(victim: Victim) {
  return spawn("pulumi", ["up", "--yes", "--skip-preview", "--stack=dev", "--non-interactive"], {
    cwd: victim.folder,
    env: victim.lab.env,
    stdio: "ignore",
  });
}

/** The API server killed under an `up`. */
export const apiServerKilled: Attack = {
  name: "API server killed in the middle of an up",
  expected: "harmless",
  run: async (victim) => {
    await somethingToDo(victim);
    const child = started(victim);
    const ended = once(child, "close");
    await sleep(3000);
    await restartedApiServer(victim);
    await ended;
    await recovered(victim);
    return "harmless";
  },
};

/** Kills the lab's API server and starts it again with the same arguments two seconds later. */
async function restartedApiServer({ lab }: Victim): Promise<void> {
  const found = (await processesOf(lab.folder)).find(({ name }) => name === "kube-apiserver");
  if (found === undefined) throw new Error("the lab has no API server");
  const [commandLine, cwd] = await Promise.all([
    readFile(`/proc/${found.pid}/cmdline`, "utf8"),
    readlink(`/proc/${found.pid}/cwd`),
  ]);
  const [program = "", ...args] = commandLine.split("\0").slice(0, -1);
  process.kill(found.pid, "SIGKILL");
  await sleep(2000);
  // Detached: the lab ends it with its other processes.
  spawn(program, args, { cwd, env: lab.env, stdio: "ignore", detached: true }).unref();
  await eventually(async () => {
    const answer = await fetchReady(lab.env);
    return answer ? true : undefined;
  }, 60);
}

async function fetchReady(env: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn("kubectl", ["get", "--raw=/readyz"], { env, stdio: "ignore" });
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0;
}

/** @param kills how often `up` is killed, each time at another moment */
export function killAttacks(kills: number): readonly Attack[] {
  return Array.from({ length: kills }, (_, index) => killed(index));
}
