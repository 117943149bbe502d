import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect } from "chai";
import {
  cardsBound,
  clusterIdentityOf,
  kubectl,
  kubectlJson,
  runIn,
  type ServiceIdentity,
  useLab,
} from "../support/lab.ts";

const repository = resolve(import.meta.dirname, "..", "..");

/** One section of docs/runbooks.md and its blocks of commands. */
interface Runbook {
  readonly title: string;
  readonly blocks: readonly string[];
}

/** The sections with commands, in their order. */
function runbooks(): readonly Runbook[] {
  const text = readFileSync(join(repository, "docs", "runbooks.md"), "utf8");
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split("\n", 1)[0] ?? "",
      blocks: [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block),
    }))
    .filter(({ blocks }) => blocks.length > 0);
}

// Every command of docs/runbooks.md on a lab, as it stands there: a runbook that rots fails here.
describe("docs/runbooks.md", function () {
  this.timeout(300_000);
  const lab = useLab("test-runbooks");
  let clone = "";
  let identity: ServiceIdentity | undefined;
  before(() => {
    clone = copyOfClone();
  });
  after(() => {
    rmSync(clone, { recursive: true, force: true });
  });

  const cards = async () => (await cardsBound(lab()))["worker-1"];
  const previewed: string[] = [];
  const allocatable = (count: number) =>
    kubectl(
      lab(),
      ...["patch", "node", "worker-1", "--subresource=status", "--type=merge"],
      `--patch=${JSON.stringify({ status: { allocatable: { "nvidia.com/gpu": String(count) } } })}`,
    );

  /** What must be true after each block of a section; a section without an entry here fails. */
  const checks: Readonly<Record<string, readonly (() => Promise<void>)[]>> = {
    "First install": [
      async () => {
        expect(await cards()).to.deep.equal({ "clef-serve": 1, "candle-vllm": 1 });
        identity = await clusterIdentityOf(lab(), "coder-predictor");
      },
    ],
    "Move a card": [
      async () => {
        expect(await cards()).to.deep.equal({ "clef-serve": 1, "candle-vllm": 2 });
      },
    ],
    "Roll back": [
      async () => {
        expect(await cards()).to.deep.equal({ "clef-serve": 1, "candle-vllm": 1 });
      },
    ],
    "Add a new model": [
      async () => {
        const next = { "clef-serve": 1, "candle-vllm": 1, "candle-vllm-next": 1 };
        expect(await cards()).to.deep.equal(next);
      },
    ],
    "Hand the coder over": [
      async () => {
        const { spec } = (await kubectlJson(
          lab(),
          ...["get", "service", "coder-predictor", "--namespace=llm-serving"],
        )) as { spec: { selector: unknown } };
        expect(spec.selector).to.deep.equal({ app: "candle-vllm-next" });
      },
    ],
    "Park a model": [
      async () => {
        expect(await cards()).to.deep.equal({ "clef-serve": 1, "candle-vllm-next": 1 });
        await allocatable(3);
      },
    ],
    "A node loses a card": [
      () => {
        expect(previewed.at(-1)).to.match(/worker-1 +3\n/);
        expect(previewed.at(-1)).to.include("worker-1 has 4 configured, 3 allocatable");
        return Promise.resolve();
      },
      async () => {
        expect(await cards()).to.deep.equal({ "clef-serve": 1, "candle-vllm-next": 1 });
      },
    ],
    "Keep and restore the state": [
      async () => {
        // Meanwhile a hand changes what the state says.
        await kubectl(
          lab(),
          ...["scale", "deployment", "reasoning", "--namespace=llm-serving", "--replicas=0"],
        );
      },
      () => Promise.resolve(),
    ],
  };

  for (const { title, blocks } of runbooks()) {
    it(title, async () => {
      for (const [at, block] of blocks.entries()) {
        const done = await runIn(lab(), "bash", ["-euo", "pipefail", "-c", block], {
          cwd: clone,
          env: { STACK: "dev", PULUMI_SKIP_CONFIRMATIONS: "true" },
        });
        previewed.push(done.stdout + done.stderr);
        expect(done.code, `${block}\n${done.stdout}${done.stderr}`).to.equal(0);
        const check = checks[title]?.[at];
        expect(check, `no check for block ${at + 1} of "${title}"`).to.be.a("function");
        await check?.();
        expect(await clusterIdentityOf(lab(), "coder-predictor")).to.deep.equal(identity);
      }
    });
  }

  it("has a check for each section, and a section for each check", () => {
    expect(runbooks().map(({ title }) => title)).to.deep.equal(Object.keys(checks));
  });

  /** What git knows of this clone, edits included, with one commit: the runbooks commit and revert. */
  function copyOfClone(): string {
    const folder = mkdtempSync(join(tmpdir(), "llm-serving-runbooks-"));
    const git = (cwd: string, ...args: string[]) =>
      execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    for (const file of git(repository, "ls-files", "-z").split("\0").filter(Boolean)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(repository, file), join(folder, file));
    }
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
    git(folder, "init", "--quiet");
    git(folder, "config", "user.name", "runbook");
    git(folder, "config", "user.email", "runbook@example.invalid");
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--message", "the stack as it is");
    return folder;
  }
});
