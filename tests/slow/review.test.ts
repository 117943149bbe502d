import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { objectVersions, useDevStack } from "../support/devStack.ts";
import { eventually, kubectlJson, type Outcome, runIn, useLab } from "../support/lab.ts";

/** What one review left. */
interface Reviewed extends Outcome {
  readonly report: string;
  /** Everything that it wrote or printed. */
  readonly everything: string;
}

// The script behind `make review`, with the real CLI, provider and API server.
describe("make review", function () {
  this.timeout(300_000);
  const lab = useLab("test-review");
  const { file, updated } = useDevStack(lab);
  let folder: string;
  const cpuTimes: number[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "llm-serving-review-test-"));
    await updated();
  });
  after(async () => rm(folder, { recursive: true }));

  /** Reviews edits of the stack file, and holds that nothing was changed by it. */
  async function reviewed(
    edits: Readonly<Record<string, unknown>>,
    options: { readonly args?: readonly string[]; readonly env?: Record<string, string> } = {},
  ): Promise<Reviewed> {
    file().edit(edits);
    const { args = [], env = {} } = options;
    const before = await objectVersions(lab());
    const all = ["--stack=dev", `--config-file=${file().path}`, `--output=${folder}`, ...args];
    const outcome = await runIn(lab(), "node", ["review/review.ts", ...all], { env });
    expect(await objectVersions(lab()), "a review changes nothing").to.equal(before);
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    cpuTimes.push(Number(/ beyond it \d+\.\d+ s, CPU (\d+\.\d+) s\)\n$/.exec(outcome.stdout)?.[1]));
    return {
      ...outcome,
      report: texts[names.indexOf("report.md")] ?? "",
      everything: [...texts, outcome.stdout, outcome.stderr].join("\n"),
    };
  }

  it("exits with 0 when nothing changes, and says so", async () => {
    const { code, report, stdout } = await reviewed({});
    expect(code, stdout).to.equal(0);
    expect(report).to.match(/^<!-- llm-serving review of dev -->\n## dev: no change\n/);
    expect(report).to.include("| coder-predictor | unchanged |");
    expect(stdout).to.match(/^dev: no change\n/);
  });

  it("exits with 2 on a change, and tells restarts, routes, cards and the edit of it", async () => {
    const edits = { "candleVllm.tensorParallel": 2, "clefServe.replicas": 0 };
    const { code, report, stdout } = await reviewed(edits);
    expect(code, stdout).to.equal(2);
    expect(report).to.include("## dev: restarts pods");
    expect(report).to.include("- **candle-vllm restarts** (1 pod)");
    expect(report).to.include("| `/v1/systemone` | goes off | clef-serve is parked |");
    expect(report).to.include("| `llm-serving:candleVllm.tensorParallel` | `1` | `2` |");
    // The same lines as the preview prints, from the same facts.
    const map =
      "after   │─────── candle-vllm ───────│    idle     │    idle     │  2 of 4 used, 2 free";
    expect(report.split(map).length - 1, "in the report and in what the CLI printed").to.equal(2);
    const pictures = (await readdir(folder)).filter((name) => name.endsWith(".svg")).sort();
    expect(pictures).to.deep.equal(["cards-dark.svg", "cards-light.svg"]);
  });

  it("exits with 1 when the preview is refused, with the program's reason first", async () => {
    const { code, report } = await reviewed({ "reasoning.replicas": 3 });
    expect(code).to.equal(1);
    expect(report.split("\n").slice(1, 4).join("\n")).to.match(
      /^## dev: blocked\n\n- llm-serving:gpuNodes.* worker-1 is asked for 5 cards/,
    );
  });

  it("A12 exits with 1 when the cluster does not answer, and when it was not asked", async () => {
    const live = JSON.stringify(await kubectlJson(lab(), "config", "view", "--raw"));
    const dead = join(folder, "kubeconfig");
    await writeFile(dead, live.replace(/127\.0\.0\.1:\d+/, "127.0.0.1:65123"));
    const unreachable = await reviewed({}, { env: { KUBECONFIG: dead } });
    await rm(dead);
    expect(unreachable.code).to.equal(1);
    expect(unreachable.report).to.include("does not answer");
    const offline = await reviewed({}, { env: { LLM_SERVING_OFFLINE: "1" } });
    expect(offline.code).to.equal(1);
    expect(offline.report).to.include("**not reached**");
  });

  it("A19 names the key of a token in plain text, and shows the token nowhere", async () => {
    const canary = ["hf", "canary123canary123"].join("_");
    const { code, report, everything } = await reviewed({
      "candleVllm.env": { HF_TOKEN: "canary123", NOT_NAMED_SO: canary },
    });
    expect(code).to.equal(1);
    expect(report).to.include(
      "llm-serving:candleVllm.env.HF\\_TOKEN = (hidden): the name looks like a secret's",
    );
    expect(everything).not.to.include("canary123");
  });

  it("A19 shows an encrypted token nowhere either", async () => {
    const config = ["config", "set", "--stack=dev", `--config-file=${file().path}`];
    const set = [
      ...config,
      "--secret",
      "--path",
      "llm-serving:candleVllm.env.GREETING",
      "canary123",
    ];
    expect((await runIn(lab(), "pulumi", set)).code).to.equal(0);
    const text = await readFile(file().path, "utf8");
    expect(text).to.include("secure:").and.not.to.include("canary123");
    const before = await objectVersions(lab());
    const args = [`--config-file=${file().path}`, `--output=${folder}`];
    const { code, stdout, stderr } = await runIn(lab(), "node", [
      "review/review.ts",
      "--stack=dev",
      ...args,
    ]);
    expect(code).to.equal(1);
    expect(await objectVersions(lab())).to.equal(before);
    const report = await readFile(join(folder, "report.md"), "utf8");
    expect(report).to.include("llm-serving:candleVllm");
    expect(report + stdout + stderr).not.to.include("canary123");
  });

  it("names a base that is no commit, and an unknown argument, before anything runs", async () => {
    const base = await runIn(lab(), "node", ["review/review.ts", "--stack=dev", "--base=nowhere"]);
    expect([base.code, base.stderr]).to.deep.equal([
      1,
      "BASE = nowhere: not a commit of this repository; name a branch, tag or commit\n",
    ]);
    const short = await runIn(lab(), "node", ["review/review.ts", "--stack=dev", "--limit=99"]);
    expect([short.code, short.stderr]).to.deep.equal([
      1,
      "--limit = 99: not a number of characters (1000..9999999); set it to 60000\n",
    ]);
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const)
    it(`leaves nothing after ${signal === "SIGINT" ? "Ctrl-C" : signal}`, async () => {
      const temporary = await mkdtemp(join(tmpdir(), "llm-serving-interrupted-"));
      try {
        const child = spawn("node", ["review/review.ts", "--stack=dev", `--output=${temporary}`], {
          env: { ...lab().env, TMPDIR: temporary },
          cwd: resolve(import.meta.dirname, "..", ".."),
          detached: true,
          stdio: ["ignore", "inherit", "pipe"],
        });
        let stderr = "";
        child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
        // The SDK keeps what it compiles in the same place.
        const folders = async () =>
          (await readdir(temporary)).filter((name) => name.startsWith("llm-serving-review-"));
        const log = async () => {
          const [left] = await folders();
          return left !== undefined && existsSync(join(temporary, left, "events.jsonl"))
            ? true
            : undefined;
        };
        // The CLI is at work.
        await eventually(log, 30);
        // Ctrl-C reaches the whole group, and a SIGTERM the process alone.
        const { pid = 0 } = child;
        process.kill(signal === "SIGINT" ? -pid : pid, signal);
        const [code] = (await once(child, "close")) as [number | null];
        expect([code, stderr]).to.deep.equal([130, "interrupted; nothing was changed\n"]);
        expect(await folders()).to.deep.equal([]);
      } finally {
        await rm(temporary, { recursive: true });
      }
    });

  it("B11 takes no stack for granted: one without a file, and one that the backend does not have", async () => {
    const none = await runIn(lab(), "node", ["review/review.ts"]);
    expect(none.code).to.equal(1);
    expect(none.stderr).to.match(/^usage: /);
    const foo = await runIn(lab(), "node", ["review/review.ts", "--stack=foo"]);
    expect(foo.code).to.equal(1);
    expect(foo.stderr).to.equal(
      "STACK = foo: there is no Pulumi.foo.yaml (dev | prod); set STACK=dev\n",
    );
    const prod = await runIn(lab(), "node", [
      "review/review.ts",
      "--stack=prod",
      `--output=${folder}`,
    ]);
    expect(prod.code).to.equal(1);
    expect(prod.stdout).to.include("no stack named 'prod' found");
    const stacks = await runIn(lab(), "pulumi", ["stack", "ls", "--json"]);
    expect((JSON.parse(stacks.stdout) as { name: string }[]).map(({ name }) => name)).to.deep.equal(
      ["dev"],
    );
  });

  it("takes less than 300 ms of CPU before and after the preview, whose own time hides the rest", () => {
    // On the clock it is the same on a machine that has nothing else to do; the tests' own has.
    expect(Math.min(...cpuTimes)).to.be.lessThan(0.3);
  });
});
