import { spawn } from "node:child_process";
import { access, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect } from "chai";
import { labStatus, startLab, stopLab, type Lab } from "../../lab/lab.ts";
import { components, processesOf } from "../../lab/labProcesses.ts";
import { labStages, type Stage } from "../../lab/stages.ts";
import { eventually, kubectl } from "../support/lab.ts";

const repository = resolve(import.meta.dirname, "..", "..");

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

describe("a lab that is not healthy", function () {
  this.timeout(300_000);
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
    expect((await startAgain())[0]).to.match(/its API server does not answer as it should/);
  });

  it("is rebuilt when other options are asked for", async () => {
    const lines: string[] = [];
    await startLab({ name, terminationSeconds: { "*": 3 }, log: (line) => lines.push(line) });
    expect(lines[0]).to.match(/other options than it was made with; it is rebuilt/);
  });

  it("is rebuilt when its node is gone", async () => {
    await kubectl(lab, "delete", "node", "worker-1");
    expect((await startAgain())[0]).to.match(/API server does not answer as it should .*worker-1/);
  });

  it("leaves a foreign process alone that a stale pid file names", async () => {
    const foreign = spawn("sleep", ["60"], { stdio: "ignore" });
    try {
      await writeFile(
        join(lab.folder, ".kwok", "clusters", "lab", "pids", "etcd.pid"),
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
    expect(await stopLab(name)).to.equal(true);
    expect(await stopLab(name), "it is gone").to.equal(false);
    expect(await processesOf(lab.folder)).to.deep.equal([]);
    expect(await fileExists(lab.folder)).to.equal(false);
    expect((await labStatus(name)).text).to.equal("not there");
  });
});

describe("a start that is ended early or asked for twice", function () {
  this.timeout(300_000);
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
    const broken = { ...labStages({ coldStartSeconds: {}, terminationSeconds: {} })[0], spec: {} };
    const failure: unknown = await startLab({ name, extraStages: [broken as Stage] }).catch(
      (error: unknown) => error,
    );
    expect(String(failure).split("\n")).to.have.length(2);
    expect(String(failure)).to.match(/did not start, nothing of it is left: kwok-controller ended/);
    expect(String(failure)).to.match(/\nRun `make lab NAME=test-lab-hasty` again/);
    expect(await processesOf(join(repository, ".lab", name))).to.deep.equal([]);
    expect(await fileExists(join(repository, ".lab", name))).to.equal(false);
  });
});
