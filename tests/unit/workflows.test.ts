import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { resolveTools } from "../../lab/toolchain.ts";

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly if?: string; readonly steps: readonly Step[] }>
  >;
}

const repository = resolve(import.meta.dirname, "..", "..");
const folder = join(repository, ".github", "workflows");
const files = readdirSync(folder);

/** The steps of one workflow, of all jobs. */
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps);

describe("workflows of CI", function () {
  this.timeout(300_000); // the first run builds actionlint
  const workflowOf = (file: string) => parse(readFileSync(join(folder, file), "utf8")) as Workflow;
  const review = workflowOf("review.yml");
  const drift = workflowOf("drift.yml");

  async function lint(...paths: readonly string[]): Promise<string> {
    const { actionlint } = await resolveTools(["actionlint"]);
    const { stdout } = spawnSync(actionlint, ["-shellcheck=", "-pyflakes=", ...paths], {
      cwd: repository,
      encoding: "utf8",
    });
    return stdout;
  }

  it("pass actionlint", async () => {
    expect(files).to.have.members(["review.yml", "drift.yml"]);
    expect(await lint()).to.equal("");
  });

  it("would not with an unknown secret, context or key", async () => {
    const broken = readFileSync(join(folder, "drift.yml"), "utf8")
      .replace("github.workspace", "github.workspaces")
      .replace("timeout-minutes", "timeout-minute");
    const copy = mkdtempSync(join(tmpdir(), "workflow-"));
    try {
      const path = join(copy, "drift.yml");
      writeFileSync(path, broken);
      const found = await lint(path);
      expect(found).to.include('property "workspaces" is not defined');
      expect(found).to.include('unexpected key "timeout-minute"');
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it("do nothing but call make targets that exist, so that a laptop does the same", () => {
    const makefile = readFileSync(join(repository, "Makefile"), "utf8");
    for (const file of files) {
      for (const { run } of stepsOf(workflowOf(file)).filter((step) => step.run !== undefined)) {
        const [, target = ""] = /^make ([a-z-]+)( [A-Z]+=[\w.]+)*$/.exec(run ?? "") ?? [];
        expect(makefile, `${file}: ${run ?? ""}`).to.match(new RegExp(`^${target}:.*## `, "m"));
      }
    }
    const targets = (workflow: Workflow) => stepsOf(workflow).flatMap(({ run }) => run ?? []);
    expect(targets(review)).to.include.members([
      "make preview STACK=dev",
      "make review STACK=prod",
      "make rehearse STACK=prod",
      "make comment STACK=prod",
    ]);
    expect(targets(drift)).to.include("make drift STACK=prod");
  });

  it("pin every action by its commit, with the version beside it", () => {
    for (const file of files) {
      const uses = readFileSync(join(folder, file), "utf8").match(/uses: .*/g) ?? [];
      expect(uses).not.to.be.empty;
      for (const line of uses) {
        expect(line).to.match(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      }
    }
  });

  it("hand secrets to no change of a fork, and may write comments alone", () => {
    expect(Object.keys(review.on)).to.deep.equal(["pull_request"]);
    expect(review.permissions).to.deep.equal({ contents: "read", "pull-requests": "write" });
    expect(drift.permissions).to.deep.equal({ contents: "read" });
    for (const [name, job] of Object.entries(review.jobs)) {
      if (!JSON.stringify(job).includes("secrets.")) continue;
      expect(job.if, name).to.equal(
        "github.event.pull_request.head.repo.full_name == github.repository",
      );
    }
    expect(JSON.stringify(review.jobs.dev)).not.to.include("secrets.");
  });
});

describe("make ci-kubeconfig", () => {
  const made = (env: Readonly<Record<string, string>>) =>
    spawnSync("make", ["ci-kubeconfig"], {
      cwd: repository,
      env: { PATH: process.env.PATH ?? "", ...env },
      encoding: "utf8",
    });

  it("writes the secret to a file for this user alone, and prints nothing of it", () => {
    const target = mkdtempSync(join(tmpdir(), "kubeconfig-"));
    try {
      const path = join(target, "kubeconfig");
      const content = "users: [{name: a, user: {token: canary123}}]\nkind: 'Config'";
      const { status, stdout, stderr } = made({ KUBECONFIG: path, REVIEWER_KUBECONFIG: content });
      expect(status, stderr).to.equal(0);
      expect(readFileSync(path, "utf8")).to.equal(`${content}\n`);
      expect(spawnSync("stat", ["-c", "%a", path], { encoding: "utf8" }).stdout).to.equal("600\n");
      expect(stdout + stderr).not.to.include("canary123");
    } finally {
      rmSync(target, { recursive: true });
    }
  });

  it("names the secret that is missing", () => {
    const { status, stderr } = made({ KUBECONFIG: "/nowhere/kubeconfig" });
    expect(status).not.to.equal(0);
    expect(stderr).to.include("REVIEWER_KUBECONFIG: is not set: a secret of the repository");
  });
});
