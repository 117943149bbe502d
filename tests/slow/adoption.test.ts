import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { eventually, kubectl, pulumi, useLab } from "../support/lab.ts";
import {
  adopt,
  applyEqualCandle,
  declared,
  forgetState,
  identities,
  liveObject,
  liveObjects,
  managersOf,
  podUids,
  startFrom,
  versions,
} from "../fixtures/adoption/adoption.ts";

/** Objects of the fixture and of {@link applyEqualCandle}; the program has more. */
const applied = [
  "Namespace/llm-serving",
  "Deployment/candle-vllm",
  "Deployment/clef-serve",
  "Service/clef-serve",
  "Service/coder-predictor",
  "Service/reasoning-long",
];

describe("adoption of a namespace made by kubectl apply -k", function () {
  this.timeout(300_000);
  const lab = useLab("test-adopt");
  const fresh: string[] = [];
  let folder: string;
  let first: Readonly<Record<string, string>>;
  let coderPods: readonly string[];
  let clefPods: readonly string[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "adoption-"));
    for (const verb of ["plan", "adopt"] as const) fresh.push((await adopt(lab(), verb)).stdout);
    await startFrom(lab(), "plain");
    await applyEqualCandle(lab());
    await kubectl(lab(), "rollout", "status", "deployment/clef-serve", "--namespace=llm-serving");
    await kubectl(lab(), "rollout", "status", "deployment/candle-vllm", "--namespace=llm-serving");
    first = await identities(lab());
    coderPods = await podUids(lab(), "candle-vllm");
    clefPods = await podUids(lab(), "clef-serve");
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** What the plan says under one object: its own line, then one a difference. */
  function linesOf(plan: string, title: string): string[] {
    const lines = plan.split("\n");
    const start = lines.findIndex((line) => line.startsWith(`${title}: `));
    const end = lines.findIndex((line, index) => index > start && !line.startsWith("  "));
    return lines.slice(start, end).map((line) => line.trim());
  }

  it("leaves a cluster without any of the objects to a plain up", () => {
    for (const stdout of fresh) {
      expect(stdout).to.contain(
        "\nNothing to adopt: none of these objects exists; `pulumi up --stack dev` creates them.\n",
      );
    }
  });

  it("plans each difference by its path without defaults, and changes nothing", async () => {
    const versionsBefore = await versions(lab());
    const { code, stdout } = await adopt(lab(), "plan");
    expect(code).to.equal(1);
    const service = linesOf(stdout, "Service/coder-predictor");
    expect(service.map((line) => line.replace(/: .*/, ""))).to.deep.equal([
      "Service/coder-predictor",
      "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
      "metadata.annotations[llm-serving/stack]",
      "metadata.annotations[pulumi.com/patchFieldManager]",
      "metadata.annotations[pulumi.com/skipAwait]",
    ]);
    expect(linesOf(stdout, "Deployment/candle-vllm").slice(6)).to.deep.equal([
      'spec.strategy.rollingUpdate: {"maxSurge":"25%","maxUnavailable":"25%"} -> (none)',
      'spec.strategy.type: "RollingUpdate" -> "Recreate"',
    ]);
    expect(stdout).to.contain("Deployment/reasoning: does not exist, will be created\n");
    expect(stdout).to.contain(
      "Pods:\n  clef-serve: 1 pod, restarted; clef-serve (/v1/systemone) out for up to 270 s " +
        "(30 s grace of the old pods, 240 s cold start)\n",
    );
    expect(stdout).to.contain("! spec.template.spec.terminationGracePeriodSeconds: 30 -> 60\n");
    expect(stdout).to.contain('\n      - "spec.template.spec.terminationGracePeriodSeconds"\n');
    expect(await versions(lab())).to.deep.equal(versionsBefore);
    expect((await pulumi(lab(), ["stack", "export"])).stdout).not.to.contain('"resources"');
  });

  it("refuses to adopt what is not declared, and changes nothing", async () => {
    const versionsBefore = await versions(lab());
    const { code, stderr } = await adopt(lab(), "adopt");
    expect(code).to.equal(1);
    expect(stderr).to.contain("Nothing was changed: the plan has refused or undeclared lines");
    expect(await versions(lab())).to.deep.equal(versionsBefore);
  });

  it("accepts the same plan once its differences are declared", async () => {
    const { code, stdout } = await adopt(lab(), "plan", `--declared=${declared}`);
    expect(code).to.equal(0);
    expect(stdout).to.contain("\nTo do this: make adopt STACK=dev\n");
  });

  it("A01 A04 adopts: same uid and ClusterIP, equal pods kept, kubectl's fields and managers gone", async () => {
    const { code, stdout, stderr } = await adopt(lab(), "adopt", `--declared=${declared}`);
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.match(/\nService\/coder-predictor +same +10\.96\.\d+\.\d+ +-\n/);
    expect(stdout).to.match(/\nDeployment\/candle-vllm +same +- +kept\n/);
    expect(stdout).to.match(/\nDeployment\/clef-serve +same +- +restarted as planned\n/);
    expect(stdout).to.contain("\nAdopted; the next preview is empty.\n");

    const objects = await liveObjects(lab());
    const now = await identities(lab());
    for (const title of applied) {
      expect(now[title], title).to.equal(first[title]);
      const live = objects[title];
      expect(live && managersOf(live), title).to.deep.equal(["llm-serving/Apply"]);
      expect(live?.metadata.annotations, title).to.include({
        "llm-serving/stack": "dev",
        "pulumi.com/patchFieldManager": "llm-serving",
      });
      expect(live?.metadata.annotations, title).not.to.have.property(
        "kubectl.kubernetes.io/last-applied-configuration",
      );
    }
    expect(Object.keys(now)).to.include.members([
      "Deployment/reasoning",
      "Deployment/candle-vllm-next",
    ]);
    expect(await podUids(lab(), "candle-vllm")).to.deep.equal(coderPods);
    expect(await podUids(lab(), "clef-serve"))
      .to.have.lengthOf(1)
      .and.not.deep.equal(clefPods);
  });

  it("A09 has switched the default RollingUpdate to Recreate", async () => {
    const { spec } = await liveObject(lab(), "Deployment/candle-vllm");
    expect(spec.strategy).to.deep.equal({ type: "Recreate" });
  });

  it("leaves an empty preview, and says so when asked again", async () => {
    const versionsBefore = await versions(lab());
    const preview = await pulumi(lab(), ["preview", "--stack=dev", "--expect-no-changes"]);
    expect(preview.code, preview.stdout).to.equal(0);
    const again = await adopt(lab(), "adopt");
    expect(again.code).to.equal(0);
    expect(again.stdout).to.contain("\nNothing to adopt.\n");
    expect(await versions(lab())).to.deep.equal(versionsBefore);
  });

  it("lets a later change preview and apply plainly", async () => {
    const text = await readFile("Pulumi.dev.yaml", "utf8");
    const configFile = join(folder, "Pulumi.dev.yaml");
    await writeFile(
      configFile,
      text.replace("backend: candle-vllm", "backend: candle-vllm-next\n    acceptUnready: true"),
    );
    const preview = await pulumi(lab(), ["preview", "--stack=dev"], { configFile });
    expect(preview.code, preview.stdout).to.equal(0);
    expect(preview.stdout).to.match(/~ 1 to update\n +18 unchanged/);
    const up = await pulumi(lab(), ["up", "--stack=dev", "--yes"], { configFile });
    expect(up.code, up.stdout).to.equal(0);
    const { spec } = await liveObject(lab(), "Service/coder-predictor");
    expect(spec.selector).to.deep.equal({ app: "candle-vllm-next" });
    expect(await identities(lab())).to.include(
      Object.fromEntries(applied.map((title) => [title, first[title]])),
    );
  });

  it("A14 restores a hand's edit of an adopted object with up --refresh", async () => {
    const patch = '[{"op":"replace","path":"/spec/ports/0/targetPort","value":8081}]';
    const target = ["coder-predictor", "--namespace=llm-serving", "--type=json"];
    await kubectl(lab(), "patch", "service", ...target, `--patch=${patch}`);
    const up = await pulumi(lab(), ["up", "--stack=dev", "--yes", "--skip-preview", "--refresh"]);
    expect(up.code, up.stdout).to.equal(0);
    const live = await liveObject(lab(), "Service/coder-predictor");
    expect(live.spec.ports).to.have.nested.property("[0].targetPort", 8080);
    expect(managersOf(live)).to.deep.equal(["llm-serving/Apply"]);
  });

  it("A07 takes back what kubectl scale took, once that is declared", async () => {
    await kubectl(
      lab(),
      "scale",
      "deployment/candle-vllm",
      "--replicas=2",
      "--namespace=llm-serving",
    );
    await eventually(async () =>
      (await podUids(lab(), "candle-vllm")).length === 2 ? true : undefined,
    );
    const plan = await adopt(lab(), "plan");
    expect(plan.code).to.equal(1);
    expect(plan.stdout).to.contain(
      "Deployment/candle-vllm: managed, takes over from kubectl\n  ! spec.replicas: 2 -> 1\n",
    );
    const { code, stdout, stderr } = await adopt(lab(), "adopt", `--declared=${declared}`);
    expect(code, stdout + stderr).to.equal(0);
    const live = await liveObject(lab(), "Deployment/candle-vllm");
    expect(live.spec.replicas).to.equal(1);
    expect(managersOf(live)).to.deep.equal(["llm-serving/Apply"]);
  });

  it("adopts again after the state is lost, and no pod notices", async () => {
    const pods = [await podUids(lab(), "candle-vllm"), await podUids(lab(), "clef-serve")];
    const identitiesBefore = await identities(lab());
    await forgetState(lab());
    const { code, stdout, stderr } = await adopt(lab(), "adopt");
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.contain("\nPods: all keep running.\n");
    expect(stdout).to.contain("\nService/coder-predictor: will be adopted, no difference\n");
    expect(await identities(lab())).to.deep.equal(identitiesBefore);
    expect([await podUids(lab(), "candle-vllm"), await podUids(lab(), "clef-serve")]).to.deep.equal(
      pods,
    );
  });
});
