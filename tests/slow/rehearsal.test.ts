import { expect } from "chai";
import { KubeConfig } from "@kubernetes/client-node";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../../lab/labLifecycle.ts";
import { processesOf } from "../../lab/labProcesses.ts";
import type { EndpointsState, Recording } from "../../rehearse/recording.ts";
import { Recorder } from "../../rehearse/recorder.ts";
import type { RehearsalReport } from "../../rehearse/report.ts";
import { apply, kubectl, useLab } from "../support/lab.ts";
import { stackCopy } from "../support/stackCopy.ts";

describe("recorder of a rehearsal", function () {
  this.timeout(300_000);
  // 1 s of the lab for 60 s.
  const lab = useLab("test-recorder", {
    coldStartSeconds: { "*": 60 },
    terminationSeconds: { "*": 60, "stops-at-once": 90 },
    stopServingAtOnce: ["stops-at-once"],
    timeScale: 60,
  });
  let recording: Recording;

  before(async () => {
    const apps = ["serves-on", "stops-at-once"];
    await kubectl(lab(), "create", "namespace", "llm-serving");
    await apply(lab(), apps.flatMap(podAndService));
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(lab().kubeconfig);
    const first = await Recorder.start(kubeConfig);
    const serving = await first.until(
      (world) =>
        apps.every((app) =>
          world
            .all("endpoints")
            .some((each) => each.service === app && statesOf(each) === "serving"),
        ),
      20_000,
    );
    expect(serving).to.equal(true);
    first.stop();
    const second = await Recorder.start(kubeConfig);
    await kubectl(lab(), "delete", "pods", "--namespace=llm-serving", "--all", "--wait=false");
    expect(await second.until((world) => world.all("pod").length === 0, 20_000)).to.equal(true);
    // The slice follows the pod.
    await second.until(
      (world) => world.all("endpoints").every(({ endpoints }) => endpoints.length === 0),
      5000,
    );
    recording = second.stop();
  });

  const sliceOf = (service: string) =>
    recording.changes.flatMap(({ state }) =>
      state.kind === "endpoints" && state.service === service ? [statesOf(state)] : [],
    );
  const lifeOf = (app: string) => {
    const changes = recording.changes.filter(
      ({ state }) => state.kind === "pod" && state.app === app,
    );
    const deleted = changes.find(({ state }) => state.kind === "pod" && state.deleting);
    const gone = changes.find((change) => change.gone);
    return ((gone?.at ?? 0) - (deleted?.at ?? 0)) / 1000;
  };

  it("sees a terminating pod serve until it is gone", () => {
    expect(sliceOf("serves-on")).to.deep.equal(["serving", "serving, terminating", ""]);
  });

  it("sees a pod that stops serving at once terminate without serving", () => {
    const states = sliceOf("stops-at-once");
    expect(states[0]).to.equal("serving");
    expect(states.slice(-2)).to.deep.equal(["terminating", ""]);
  });

  it("holds each pod for the termination time of its app, at the lab's time scale", () => {
    expect(lifeOf("serves-on")).to.be.within(0.9, 1.4);
    expect(lifeOf("stops-at-once")).to.be.within(1.4, 1.9);
  });

  it("begins with what is there and counts from then on", () => {
    const there = recording.changes.filter(({ at }) => at === 0).map(({ state }) => state.kind);
    expect(there.filter((kind) => kind === "pod")).to.have.length(2);
    expect(there.filter((kind) => kind === "service")).to.have.length(2);
  });
});

/** "serving, terminating" of a slice with one endpoint; "" of an empty one. */
function statesOf({ endpoints }: EndpointsState): string {
  return endpoints
    .flatMap(({ serving, terminating }) => [
      ...(serving ? ["serving"] : []),
      ...(terminating ? ["terminating"] : []),
    ])
    .join(", ");
}

function podAndService(app: string): object[] {
  const metadata = { name: app, namespace: "llm-serving", labels: { app } };
  return [
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata },
      spec: { containers: [{ name: "server", image: "lab.invalid/server:1" }] },
    },
    {
      ...{ apiVersion: "v1", kind: "Service", metadata },
      spec: { selector: { app }, ports: [{ port: 80 }] },
    },
  ];
}

describe("make rehearse", function () {
  this.timeout(300_000);

  it("measures a one-card move, and fails over the limit", async () => {
    const copy = stackCopy("dev");
    const output = mkdtempSync(join(tmpdir(), "llm-serving-rehearsal-"));
    try {
      copy.edit({
        "clefServe.replicas": 0,
        "candleVllm.tensorParallel": 2,
        "candleVllm.coldStartSeconds": 120,
      });
      const outcome = await rehearsed([
        "--stack=dev",
        `--config-file=${copy.path}`,
        `--output=${output}`,
        "--limit=100",
      ]);
      const text = outcome.stdout + outcome.stderr;
      expect(outcome.code, text).to.equal(1);
      const report = JSON.parse(
        readFileSync(join(output, "rehearsal.json"), "utf8"),
      ) as RehearsalReport;
      expect(report.failures, text).to.have.length(1);
      expect(report.failures[0]).to.match(/^LIMIT = 100: coder-predictor is out for 12\d s/);
      const coder = report.routes.find(({ route }) => route === "coder-predictor");
      // The cold start, and what controllers and scheduler take.
      expect(coder?.outageSeconds).to.be.within(120, 126);
      expect(report.restarted).to.deep.equal(["candle-vllm"]);
      expect(report.coderPredictor.kept).to.equal(true);
      expect(readFileSync(join(output, "rehearsal.svg"), "utf8")).to.include("no endpoint");
      expect(readFileSync(join(output, "rehearsal.md"), "utf8")).to.include("**Failed.**");
    } finally {
      copy.remove();
      rmSync(output, { recursive: true });
    }
  });

  it("leaves nothing of the lab after Ctrl-C while the state before is built", async () => {
    const copy = stackCopy("dev");
    try {
      copy.edit({ "clefServe.replicas": 0 });
      const args = ["--stack=dev", `--config-file=${copy.path}`];
      const { code, stderr } = await rehearsed(args, "building the state before the edit");
      expect(stderr).to.match(/building the state before the edit\ninterrupted; nothing of .*\n$/);
      expect(code).to.equal(130);
      const folder = join(repository, ".lab", "rehearse-dev");
      expect(await processesOf(folder)).to.deep.equal([]);
      expect(existsSync(folder)).to.equal(false);
    } finally {
      copy.remove();
    }
  });

  it("has nothing to rehearse where nothing was edited", async () => {
    const copy = stackCopy("dev");
    try {
      const outcome = await rehearsed(["--stack=dev", `--config-file=${copy.path}`]);
      expect(outcome.code, outcome.stderr).to.equal(0);
      expect(outcome.stdout).to.match(
        /^Pulumi\.dev\.yaml says the same in HEAD \(\w+\): nothing to rehearse/,
      );
    } finally {
      copy.remove();
    }
  });

  it("refuses a wrong stack and a wrong base with one line each", async () => {
    for (const [args, key] of [
      [["--stack=nowhere"], "STACK = nowhere:"],
      [["--base=nowhere"], "BASE = nowhere:"],
    ] as const) {
      const { code, stdout, stderr } = await rehearsed(args);
      expect([code, stdout, stderr.trim().split("\n").length]).to.deep.equal([1, "", 1]);
      expect(stderr).to.include(key);
    }
  });

  /** @param interruptedAt line at which the whole process group gets Ctrl-C, as from a terminal; default never */
  async function rehearsed(args: readonly string[], interruptedAt?: string) {
    const options = { cwd: repository, detached: true };
    const child = spawn("node", ["rehearse/rehearse.ts", ...args], options);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      if (interruptedAt === undefined || !text.includes(interruptedAt)) return;
      // Time for the CLI to be at work.
      setTimeout(() => {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
      }, 2000);
    });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout, stderr };
  }
});
