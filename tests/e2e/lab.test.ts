import { execFile, spawn } from "node:child_process";
import { access, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { startLab, stopLab, labStatus, type Lab } from "../../lab/lab.ts";
import { components, processesOf } from "../../lab/labProcesses.ts";
import { labStages, type Stage } from "../../lab/stages.ts";
import {
  apply,
  cardsBound,
  eventually,
  kubectl,
  kubectlJson,
  memoryMiBOf,
  useLab,
} from "../support/lab.ts";

const repository = resolve(import.meta.dirname, "..", "..");

function deployment(app: string, cards: number): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "default" },
    spec: {
      strategy: { type: "Recreate" },
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: {
          containers: [
            {
              name: app,
              image: "lab.invalid/any:1",
              resources: { limits: { "nvidia.com/gpu": cards } },
            },
          ],
        },
      },
    },
  };
}

function service(app: string): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: app, namespace: "default" },
    spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

const fileExists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function pidOf(lab: Lab, component: (typeof components)[number]): Promise<number> {
  const found = (await processesOf(lab.folder)).find(({ name }) => name === component);
  if (found === undefined) throw new Error(`${component} is not running`);
  return found.pid;
}

describe("a lab", function () {
  this.timeout(60_000);
  const lab = useLab("test-lab", { coldStartSeconds: { "clef-serve": 3 } });

  it("has worker-1 with four cards, Ready", async () => {
    const { items } = (await kubectlJson(lab(), "get", "nodes")) as {
      items: {
        metadata: { labels: Record<string, string> };
        status: { allocatable: Record<string, string>; capacity: Record<string, string> };
      }[];
    };
    expect(items).to.have.length(1);
    expect(items[0]?.metadata.labels["kubernetes.io/hostname"]).to.equal("worker-1");
    expect(items[0]?.status.allocatable["nvidia.com/gpu"]).to.equal("4");
    expect(items[0]?.status.capacity["nvidia.com/gpu"]).to.equal("4");
  });

  it("is marked on kube-system, by its name", async () => {
    const { metadata } = (await kubectlJson(lab(), "get", "namespace", "kube-system")) as {
      metadata: { labels: Record<string, string> };
    };
    expect(metadata.labels["llm-serving/lab"]).to.equal("test-lab");
  });

  it("gives clef-serve its start-up time, then an endpoint", async () => {
    const begin = Date.now();
    await apply(lab(), [deployment("clef-serve", 1), service("clef-serve")]);
    const address = (): Promise<string> =>
      kubectl(
        lab(),
        "get",
        "endpointslices",
        "-l=kubernetes.io/service-name=clef-serve",
        "-o=jsonpath={.items[*].endpoints[*].addresses[*]}",
      );
    await eventually(async () =>
      (await cardsBound(lab()))["worker-1"] === undefined ? undefined : true,
    );
    expect(await cardsBound(lab())).to.deep.equal({ "worker-1": { "clef-serve": 1 } });
    expect(
      await kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=clef-serve",
        "-o=jsonpath={.items[*].status.phase}{.items[*].status.podIP}",
      ),
    ).to.equal("Pending");
    expect(await address()).to.equal("");
    await eventually(async () => ((await address()) === "" ? undefined : true));
    expect((Date.now() - begin) / 1000).to.be.within(3, 6);
    expect(
      await kubectl(
        lab(),
        "get",
        "deployment",
        "clef-serve",
        "-o=jsonpath={.status.readyReplicas}",
      ),
    ).to.equal("1");
  });

  it("keeps a pod Pending that asks for more cards than are free", async () => {
    await apply(lab(), [deployment("big", 4)]);
    const conditions = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=big",
        "-o=jsonpath={.items[*].status.conditions[*].message}",
      );
    expect(await eventually(async () => (await conditions()) || undefined)).to.match(
      /Insufficient nvidia.com\/gpu/,
    );
    await kubectl(lab(), "delete", "deployment", "big");
  });

  it("lets a deleted pod hold its card for the termination time", async () => {
    await kubectl(lab(), "delete", "deployment", "clef-serve", "--wait=false");
    const pods = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=clef-serve",
        "-o=jsonpath={.items[*].metadata.deletionTimestamp}{.items[*].metadata.name}",
      );
    await eventually(async () => ((await pods()).includes("Z") ? true : undefined));
    expect(await cardsBound(lab())).to.deep.equal({});
    const begin = Date.now();
    await eventually(async () => ((await pods()) === "" ? true : undefined));
    expect((Date.now() - begin) / 1000).to.be.within(0.5, 3);
  });

  it("fails a pod on request, and its Deployment replaces it", async () => {
    await apply(lab(), [deployment("candle-vllm", 1)]);
    const running = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=candle-vllm",
        "--field-selector=status.phase=Running",
        "-o=jsonpath={.items[*].metadata.name}",
      );
    const first = await eventually(async () => (await running()) || undefined);
    await kubectl(lab(), "annotate", "pod", first, "llm-serving-lab/fail=true");
    const second = await eventually(async () => (await running()).replace(first, "") || undefined);
    expect(second).not.to.equal(first);
    expect(await kubectl(lab(), "get", "pod", first, "-o=jsonpath={.status.phase}")).to.equal(
      "Failed",
    );
    expect(await cardsBound(lab())).to.deep.equal({ "worker-1": { "candle-vllm": 1 } });
  });

  it("takes less than 1 GiB of memory", async function () {
    if (process.platform !== "linux") this.skip();
    expect(await memoryMiBOf(lab())).to.be.within(100, 1024);
  });

  it("listens on 127.0.0.1 only", async function () {
    if (process.platform !== "linux") this.skip();
    const pids = new Set((await processesOf(lab().folder)).map(({ pid }) => pid));
    const { stdout } = await promisify(execFile)("ss", ["-Htlnp"]);
    const ours = stdout
      .split("\n")
      .filter((line) => [...line.matchAll(/pid=(\d+)/g)].some(([, pid]) => pids.has(Number(pid))));
    expect(ours).to.have.length(6);
    expect(ours.filter((line) => !/ 127\.0\.0\.1:\d+ /.test(line))).to.deep.equal([]);
  });

  it("is usable in sh by its env file alone, and its stack dev is there", async () => {
    const script = `. ${join(lab().folder, "env")} && kubectl config current-context && kubectl get nodes -o name && pulumi stack ls --json`;
    const { stdout } = await promisify(execFile)("/bin/sh", ["-euc", script], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
    });
    const [context, node, ...stacks] = stdout.split("\n");
    expect([context, node]).to.deep.equal(["llm-lab", "node/worker-1"]);
    expect(
      (JSON.parse(stacks.join("\n")) as { name: string }[]).map(({ name }) => name),
    ).to.deep.equal(["dev"]);
  });

  it("is reused when the same is asked again, in less than half a second", async () => {
    const begin = performance.now();
    const again = await startLab({ name: "test-lab", coldStartSeconds: { "clef-serve": 3 } });
    const seconds = (performance.now() - begin) / 1000;
    expect([again.reused, again.apiServerPort]).to.deep.equal([true, lab().apiServerPort]);
    expect(seconds).to.be.below(0.5);
  });

  it("runs beside another one", async () => {
    const other = await startLab({
      name: "test-lab-other",
      nodes: [{ name: "worker-2", cards: 2 }],
    });
    try {
      expect(await kubectl(other, "get", "nodes", "-o=name")).to.equal("node/worker-2\n");
      expect(await kubectl(lab(), "get", "nodes", "-o=name")).to.equal("node/worker-1\n");
    } finally {
      await stopLab("test-lab-other");
    }
    expect(await processesOf(other.folder)).to.deep.equal([]);
    expect(await processesOf(lab().folder)).to.have.length(5);
  });
});

describe("a lab that is not healthy", function () {
  this.timeout(60_000);
  const name = "test-lab-broken";
  let lab: Lab;
  before(async () => {
    await stopLab(name);
  });
  beforeEach(async () => {
    lab = await startLab({ name });
  });
  after(async () => {
    await stopLab(name);
  });

  /** Starts again and returns what a person is told. */
  async function startAgain(): Promise<string[]> {
    const lines: string[] = [];
    const { reused } = await startLab({ name, log: (line) => lines.push(line) });
    expect(reused).to.equal(false);
    return lines.filter((line) => line.startsWith("lab "));
  }

  for (const component of components) {
    it(`is rebuilt with its stack state when ${component} is dead`, async () => {
      const marker = join(lab.folder, "state", "marker");
      await writeFile(marker, "");
      process.kill(await pidOf(lab, component), "SIGKILL");
      await eventually(async () =>
        (await processesOf(lab.folder)).length === 4 ? true : undefined,
      );
      expect((await labStatus(name)).text).to.equal(
        `half-dead (${component} not running); start rebuilds it`,
      );
      expect((await startAgain())[0]).to.equal(
        `lab ${name}: ${component} not running; it is rebuilt, and its stack state with it`,
      );
      expect(await fileExists(marker)).to.equal(false);
    });
  }

  it("is rebuilt when its folder is half-written", async () => {
    await writeFile(join(lab.folder, "lab.json"), "{");
    expect((await startAgain())[0]).to.match(/a start did not finish; it is rebuilt/);
  });

  it("is rebuilt when its kubeconfig leads elsewhere", async () => {
    await writeFile(
      join(lab.folder, "kubeconfig"),
      (await readFile(lab.kubeconfig, "utf8")).replace(/127\.0\.0\.1:\d+/, "127.0.0.1:1"),
    );
    expect((await startAgain())[0]).to.match(/its API server does not answer/);
  });

  it("is rebuilt when other options are asked for", async () => {
    const lines: string[] = [];
    await startLab({ name, terminationSeconds: 3, log: (line) => lines.push(line) });
    expect(lines[0]).to.match(/other options than it was made with; it is rebuilt/);
  });

  it("leaves a foreign process alone that a stale pid file names", async () => {
    const foreign = spawn("sleep", ["60"], { stdio: "ignore" });
    try {
      await writeFile(
        join(lab.folder, "kwok", "clusters", "lab", "pids", "etcd.pid"),
        String(foreign.pid),
      );
      process.kill(await pidOf(lab, "etcd"), "SIGKILL");
      await startAgain();
      await stopLab(name);
      expect([foreign.exitCode, foreign.signalCode]).to.deep.equal([null, null]);
    } finally {
      foreign.kill();
    }
  });

  it("leaves no process and no folder when it is stopped", async () => {
    await stopLab(name);
    expect(await processesOf(lab.folder)).to.deep.equal([]);
    expect(await fileExists(lab.folder)).to.equal(false);
    expect((await labStatus(name)).text).to.equal("not there");
  });
});

describe("a start that is ended early or asked for twice", function () {
  this.timeout(60_000);
  const name = "test-lab-hasty";
  afterEach(async () => {
    await stopLab(name);
  });

  it("leaves nothing after Ctrl-C", async () => {
    const command = spawn(process.execPath, ["lab/lab.ts", "start", `--name=${name}`], {
      cwd: repository,
    });
    const folder = join(repository, ".lab", name);
    await eventually(async () => ((await processesOf(folder)).length > 2 ? true : undefined));
    command.kill("SIGINT");
    const code = await new Promise((resolve) => command.once("exit", resolve));
    expect(code).to.equal(130);
    expect(await processesOf(folder)).to.deep.equal([]);
    expect(await fileExists(folder)).to.equal(false);
  });

  it("lets the second of two starts wait and use the first one's lab", async () => {
    const lines: string[] = [];
    const labs = await Promise.all([
      startLab({ name, log: (line) => lines.push(line) }),
      startLab({ name, log: (line) => lines.push(line) }),
    ]);
    expect(labs.map(({ reused }) => reused).sort()).to.deep.equal([false, true]);
    expect(lines).to.include(
      `lab ${name}: another start or stop is at work on it; waiting for its end`,
    );
  });

  it("says why it failed, and leaves nothing, when a component does not start", async () => {
    const broken = { ...labStages({ coldStartSeconds: {}, terminationSeconds: 0 })[0], spec: {} };
    const failure: unknown = await startLab({ name, extraStages: [broken as Stage] }).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).to.match(
      /^Error: lab test-lab-hasty did not start, nothing of it is left: kwok-controller ended: .+\nRun `make lab NAME=test-lab-hasty` again/,
    );
    expect(await processesOf(join(repository, ".lab", name))).to.deep.equal([]);
    expect(await fileExists(join(repository, ".lab", name))).to.equal(false);
  });
});
