import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect } from "chai";
import { clusterIdentityOf, kubectl, pulumi, runIn, useLab } from "../support/lab.ts";
import { type StackCopy, stackCopy } from "../support/stackCopy.ts";

describe("recovery from a killed run", function () {
  this.timeout(300_000);
  const lab = useLab("test-recover");
  let file: StackCopy;
  before(async () => {
    file = stackCopy("dev");
    const up = await stack("up", "--yes", "--skip-preview");
    expect(up.code, up.stdout + up.stderr).to.equal(0);
  });
  after(() => {
    file.remove();
  });

  const stack = (...args: string[]) =>
    pulumi(lab(), [...args, "--stack=dev"], { configFile: file.path });
  const recover = (...args: string[]) =>
    runIn(lab(), process.execPath, ["recover/recover.ts", "--stack=dev", ...args]);
  const lockFolder = () =>
    join(lab().folder, "state", ".pulumi", "locks", "organization", "llm-serving", "dev");
  const locks = async () =>
    (await readdir(lockFolder()).catch((): string[] => [])).filter((name) =>
      name.endsWith(".json"),
    );

  /** Whether the state on disk says that an update has begun and not ended. */
  const isPending = async (): Promise<boolean> => {
    const state = join(lab().folder, "state", ".pulumi", "stacks", "llm-serving", "dev.json");
    return /"type":\s*"updating"/.test(await readFile(state, "utf8").catch(() => ""));
  };

  /**
   * An `up` in the middle of its update. The CLI prints before it writes its state, so the state is what is
   * asked, and often: the provider may return within 0.1 s.
   */
  async function upInTheMiddle(image: string) {
    file.edit({ "clefServe.image": image });
    const args = ["up", "--yes", "--skip-preview", "--stack=dev", `--config-file=${file.path}`];
    const child = spawn("pulumi", args, { env: lab().env, stdio: "ignore" });
    while (!(await isPending())) {
      if (child.exitCode !== null) throw new Error("up ended before its update was seen");
      await setTimeout(2);
    }
    return child;
  }

  it("says that there is nothing to do, and changes nothing", async () => {
    const { code, stdout } = await recover();
    expect(code).to.equal(0);
    expect(stdout).to.equal("Nothing to recover in stack dev.\n");
  });

  it("leaves a living run and its lock alone, and names it", async () => {
    const child = await upInTheMiddle("lab.invalid/python:3.13");
    const ended = once(child, "close");
    const { code, stderr } = await recover("--yes");
    expect(code).to.equal(1);
    expect(stderr).to.match(/^Nothing was changed:\n {2}pulumi of .*@.*, pid \d+, since \S+/);
    expect(stderr).to.include(`pid ${child.pid}, `).and.include("is still running");
    expect((await ended)[0]).to.equal(0);
  });

  it("clears after a yes alone what a SIGKILL left, and one up converges", async () => {
    const before = await clusterIdentityOf(lab(), "coder-predictor");
    const child = await upInTheMiddle("lab.invalid/python:3.14");
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
    expect(await locks()).to.have.length(1);

    const asked = await recover();
    expect(asked.code).to.equal(1);
    expect(asked.stdout).to.match(
      new RegExp(`^stale lock: pulumi of .*, pid ${child.pid}, .* is dead`, "m"),
    );
    expect(asked.stdout).to.match(/^orphaned provider: pid \d+ \(.*pulumi-resource-kubernetes /m);
    expect(asked.stdout).to.match(/^pending operation: updating .*Deployment::clef-serve/m);
    expect(asked.stderr).to.equal(
      "Nothing was changed: this asks before it acts, and there is no terminal.\n",
    );
    expect(await locks()).to.have.length(1);

    const recovered = await recover("--yes");
    expect(recovered.code, recovered.stdout + recovered.stderr).to.equal(0);
    expect(recovered.stdout).to.include("\nRecovered. Next: ");
    expect(await locks()).to.have.length(0);

    const up = await stack("up", "--yes", "--skip-preview");
    expect(up.code, up.stdout + up.stderr).to.equal(0);
    const preview = await stack("preview", "--expect-no-changes");
    expect(preview.code, preview.stdout).to.equal(0);
    expect(await clusterIdentityOf(lab(), "coder-predictor")).to.deep.equal(before);
    expect((await recover()).stdout).to.equal("Nothing to recover in stack dev.\n");
  });

  it("creates a lost Service on its old address by the runbook's own commands", async () => {
    const before = await clusterIdentityOf(lab(), "coder-predictor");
    const service = ["service", "coder-predictor", "--namespace=llm-serving"];
    await kubectl(lab(), "annotate", ...service, `llm-serving/allow-delete=${before.uid}`);
    await kubectl(lab(), "delete", ...service);
    const missing = await stack("preview");
    expect(missing.stdout)
      .to.include("coder-predictor does not exist")
      .and.include("docs/recover.md");

    const [, commands] = /```sh\n([^]*?)```/.exec(await readFile("docs/recover.md", "utf8")) ?? [];
    const run = await runIn(lab(), "bash", ["-euo", "pipefail", "-c", commands ?? "exit 9"], {
      // Stands for the person who says yes.
      env: { STACK: "dev", PULUMI_SKIP_CONFIRMATIONS: "true" },
    });
    expect(run.code, run.stdout + run.stderr).to.equal(0);
    const after = await clusterIdentityOf(lab(), "coder-predictor");
    expect(after.clusterIP).to.equal(before.clusterIP);
    expect(after.uid).to.not.equal(before.uid);
    const preview = await pulumi(lab(), ["preview", "--stack=dev", "--expect-no-changes"]);
    expect(preview.code, preview.stdout).to.equal(0);
    expect(preview.stdout).to.not.include("coder-predictor:");
  });
});
