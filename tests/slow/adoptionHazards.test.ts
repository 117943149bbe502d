import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect } from "chai";
import type { Lab } from "../../lab/lab.ts";
import { clusterIdentityOf, eventually, kubectl, pulumi, useLab } from "../support/lab.ts";
import {
  adopt,
  declared,
  identities,
  liveObject,
  managersOf,
  startFrom,
  versions,
} from "../fixtures/adoption/adoption.ts";

const repository = resolve(import.meta.dirname, "..", "..");

describe("adoption of what cannot be adopted as it is", function () {
  this.timeout(300_000);
  const lab = useLab("test-adopt-hazards");
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "adoption-"));
    await startFrom(lab(), "messy");
    await scaled(lab(), "candle-vllm", 2);
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** Plans and adopts: both must say `reason`, and nothing may have been written. */
  async function refused(reason: string): Promise<void> {
    const versionsBefore = await versions(lab());
    for (const verb of ["plan", "adopt"] as const) {
      const { code, stdout } = await adopt(lab(), verb, `--declared=${declared}`);
      expect(code).to.equal(1);
      expect(stdout).to.contain(`\nRefused:\n  ${reason}`);
    }
    expect(await versions(lab())).to.deep.equal(versionsBefore);
  }

  it("refuses a Deployment that an autoscaler scales, and names the way out", async () => {
    await refused(
      "Deployment/candle-vllm: spec.replicas: HorizontalPodAutoscaler candle-vllm sets it, and the stack file would " +
        "set it back at each update; remove it with `kubectl delete hpa candle-vllm --namespace llm-serving`",
    );
    await kubectl(lab(), "delete", "hpa", "candle-vllm", "--namespace=llm-serving");
    expect((await adopt(lab(), "plan", `--declared=${declared}`)).code).to.equal(0);
  });

  it("refuses another field manager until it is declared", async () => {
    const label = ["coder-predictor", "team=platform", "--field-manager=helm"];
    await kubectl(lab(), "label", "service", ...label, "--namespace=llm-serving");
    await refused("Service/coder-predictor: field manager helm: another tool set fields here");
    const file = join(folder, "declared.yaml");
    await writeFile(file, `takeOver: [helm]\n${await readFile(declared, "utf8")}`);
    const { code, stdout } = await adopt(lab(), "plan", `--declared=${file}`);
    expect(code).to.equal(0);
    expect(stdout).to.contain(
      "Service/coder-predictor: will be adopted, takes over from kubectl-client-side-apply, helm\n",
    );
    expect(stdout).to.contain('    metadata.labels[team]: "platform" -> (none)\n');
    await kubectl(lab(), "label", "service", "coder-predictor", "team-", "--namespace=llm-serving");
  });

  it("refuses an object with ownerReferences, which would be deleted with its owner", async () => {
    const { uid } = await clusterIdentityOf(lab(), "clef-serve");
    const owner = { apiVersion: "v1", kind: "Service", name: "clef-serve", uid };
    await patch("service/coder-predictor", { metadata: { ownerReferences: [owner] } });
    await refused("Service/coder-predictor: ownerReferences: it belongs to Service/clef-serve");
    await patch("service/coder-predictor", { metadata: { ownerReferences: null } });
  });

  it("refuses an object of another stack", async () => {
    const annotation = (value: string | null) => ({
      metadata: { annotations: { "llm-serving/stack": value } },
    });
    await patch("deployment/clef-serve", annotation("prod"));
    await refused("Deployment/clef-serve: annotation llm-serving/stack = prod: it belongs to that");
    await patch("deployment/clef-serve", annotation(null));
  });

  it("A09 adopts the messy namespace: what hands had added is gone, Recreate is in", async () => {
    // Three cards in all and one for the surge: a rolling restart on a full pool would be stuck.
    await kubectl(
      lab(),
      "scale",
      "deployment/candle-vllm",
      "--replicas=1",
      "--namespace=llm-serving",
    );
    await scaled(lab(), "candle-vllm", 1);
    await kubectl(lab(), "rollout", "restart", "deployment/clef-serve", "--namespace=llm-serving");
    await kubectl(
      lab(),
      "scale",
      "deployment/clef-serve",
      "--replicas=2",
      "--namespace=llm-serving",
    );
    await scaled(lab(), "clef-serve", 2);
    const identitiesBefore = await identities(lab());
    const { code, stdout, stderr } = await adopt(lab(), "adopt", `--declared=${declared}`);
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.contain(
      "\n  clef-serve: 2 -> 1 pod, restarted; clef-serve (/v1/systemone) out",
    );
    expect(await identities(lab())).to.include(identitiesBefore);
    const { spec, metadata } = await liveObject(lab(), "Deployment/clef-serve");
    expect(spec)
      .to.include({ replicas: 1 })
      .and.deep.include({ strategy: { type: "Recreate" } });
    expect(metadata.labels).to.deep.equal({
      app: "clef-serve",
      "app.kubernetes.io/part-of": "llm-serving",
    });
    expect(spec).not.to.have.nested.property("template.metadata.annotations");
    expect(spec).to.have.deep.nested.property("template.spec.nodeSelector", {
      "kubernetes.io/hostname": "worker-1",
    });
    expect(JSON.stringify(spec)).not.to.contain("CLEF_DEBUG");
    for (const title of Object.keys(identitiesBefore)) {
      expect(managersOf(await liveObject(lab(), title)), title).to.deep.equal([
        "llm-serving/Apply",
      ]);
    }
  });

  it("A10 returns in seconds when nothing but the strategy is to change", async () => {
    const rolling = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await patch("deployment/candle-vllm", { spec: { strategy: rolling } });
    const { code, stdout, stderr, seconds } = await adopt(lab(), "adopt");
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.match(/\nDeployment\/candle-vllm +same +- +kept\n/);
    expect(seconds).to.be.below(60);
    const { spec } = await liveObject(lab(), "Deployment/candle-vllm");
    expect(spec.strategy).to.deep.equal({ type: "Recreate" });
  });

  async function patch(target: string, change: object): Promise<void> {
    const text = JSON.stringify(change);
    await kubectl(
      lab(),
      "patch",
      target,
      "--namespace=llm-serving",
      "--type=merge",
      `--patch=${text}`,
    );
  }
});

describe("adoption that is killed halfway", function () {
  this.timeout(300_000);
  const lab = useLab("test-adopt-killed");

  it("goes on in a second run, after the dead run's lock is gone", async () => {
    await startFrom(lab(), "plain");
    await scaled(lab(), "clef-serve", 1);
    const identitiesBefore = await identities(lab());
    await killedAdoption(lab(), /coder-predictor updating/);

    const locked = await adopt(lab(), "adopt", `--declared=${declared}`);
    expect(locked.code).to.equal(1);
    expect(locked.stderr).to.contain("`pulumi cancel --stack dev` first");
    expect(await identities(lab())).to.include(identitiesBefore);

    expect((await pulumi(lab(), ["cancel", "--stack=dev", "--yes"])).code).to.equal(0);
    const second = await adopt(lab(), "adopt", `--declared=${declared}`);
    expect(second.code, second.stdout + second.stderr).to.equal(0);
    expect(await identities(lab())).to.include(identitiesBefore);
    const preview = await pulumi(lab(), ["preview", "--stack=dev", "--expect-no-changes"]);
    expect(preview.code, preview.stdout).to.equal(0);
    expect((await adopt(lab(), "adopt")).stdout).to.contain("\nNothing to adopt.\n");
  });
});

/** Waits until a Deployment has as many ready pods. */
async function scaled(lab: Lab, name: string, pods: number): Promise<void> {
  await eventually(async () => {
    const path = "jsonpath={.status.readyReplicas} {.status.replicas} {.status.observedGeneration}";
    const target = [`deployment/${name}`, "--namespace=llm-serving"];
    const [ready, all] = (await kubectl(lab, "get", ...target, `-o=${path}`)).split(" ");
    return ready === String(pods) && all === ready ? true : undefined;
  }, 120);
}

/** Starts an adoption and kills everything of it, SIGKILL, once its output matches. */
async function killedAdoption(lab: Lab, moment: RegExp): Promise<void> {
  const args = ["adopt/adopt.ts", "--stack=dev", `--declared=${declared}`];
  const child = spawn("node", args, { cwd: repository, env: { ...lab.env }, stdio: "pipe" });
  const ended = once(child, "close");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`ended by itself: ${output}`);
    return Promise.resolve(moment.test(output) ? true : undefined);
  }, 180);
  for (const pid of [child.pid ?? 0, ...(await descendants(child.pid ?? 0))]) {
    process.kill(pid, "SIGKILL");
  }
  await ended;
}

/** Process ids below one, by /proc: the provider and the program have process groups of their own. */
async function descendants(root: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      return [Number(pid), Number(/\) \S (\d+)/.exec(stat)?.[1])] as const;
    }),
  );
  const below = (of: number): number[] =>
    parents.filter(([, parent]) => parent === of).flatMap(([pid]) => [pid, ...below(pid)]);
  return below(root);
}
