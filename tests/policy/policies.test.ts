import { expect } from "chai";
import { digests } from "../../policy/digests.ts";
import { neverUnprotected } from "../../policy/neverUnprotected.ts";
import { noPlainSecret } from "../../policy/noPlainSecret.ts";
import { oneCoderPredictor } from "../../policy/oneCoderPredictor.ts";
import { oneWorkloadPerService } from "../../policy/oneWorkloadPerService.ts";
import { completed, runProgram, stackFile } from "../support/program.ts";
import { type Judged, object, UNKNOWN, violations } from "./judged.ts";

const DIGEST = `registry.example/llm/x@sha256:${"0".repeat(64)}`;
const CANARY = "canary123";
const UNJUDGED = /can't be known during preview, so that this rule cannot be judged/;

const service = (name: string, app?: string) =>
  object("core/v1:Service", name, { spec: app === undefined ? {} : { selector: { app } } });

/** A Deployment with one container. */
const deployment = (name: string, container: object = {}, replicas = 1) =>
  object("apps/v1:Deployment", name, {
    spec: {
      replicas,
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "server", image: DIGEST, ...container }] },
      },
    },
  });

describe("policy pack", () => {
  const all = [neverUnprotected, oneCoderPredictor, oneWorkloadPerService, digests, noPlainSecret];
  for (const stack of ["dev", "prod"]) {
    it(`has nothing against the program on ${stack}`, async () => {
      const { resources } = await runProgram(stack, completed(stackFile(stack)));
      expect(resources.filter(({ urn }) => urn.includes("$kubernetes:"))).not.to.be.empty;
      for (const policy of all) {
        expect(await violations(policy, resources), policy.name).to.deep.equal([]);
      }
    });
  }
});

describe("policy never-unprotected", () => {
  const namespace = object("core/v1:Namespace", "llm-serving", {});
  const guarded = [service("coder-predictor", "candle-vllm"), namespace];

  it("refuses coder-predictor and its namespace without protect", async () => {
    const found = await violations(neverUnprotected, guarded);
    expect(found).to.have.length(2);
    expect(found[0]).to.match(/^coder-predictor: protect = false: a later edit could delete/);
    expect(found[1]).to.match(/^llm-serving: protect = false: /);
  });

  it("accepts both with protect, and other Services without", async () => {
    const options = { protect: true } as const;
    const resources = [
      ...guarded.map((resource) => ({ ...resource, options })),
      service("clef-serve", "clef-serve"),
    ];
    expect(await violations(neverUnprotected, resources)).to.deep.equal([]);
  });

  it("refuses a name that is not known", async () => {
    const unnamed = object("core/v1:Service", "x", { metadata: { name: UNKNOWN } });
    expect((await violations(neverUnprotected, [unnamed])).join()).to.match(UNJUDGED);
  });
});

describe("policy one-coder-predictor", () => {
  const one = service("coder-predictor", "candle-vllm");

  it("accepts exactly one", async () => {
    expect(await violations(oneCoderPredictor, [one, service("other")])).to.deep.equal([]);
  });

  it("refuses none, a second one, and one in another namespace", async () => {
    const elsewhere = object("core/v1:Service", "coder-predictor", {
      metadata: { namespace: "default" },
    });
    for (const resources of [[], [elsewhere], [service("renamed")]]) {
      expect(await violations(oneCoderPredictor, resources)).to.deep.equal([
        "Service llm-serving/coder-predictor: the stack has 0 of it (exactly 1); undo the edit that renames, removes or " +
          "doubles it",
      ]);
    }
    const second: Judged = { ...one, urn: one.urn.replace(/::coder-predictor$/, "::second") };
    expect((await violations(oneCoderPredictor, [one, second])).join()).to.include(
      "the stack has 2 of it (coder-predictor, second) (exactly 1)",
    );
  });

  it("refuses a Service whose name is not known", async () => {
    const unnamed = object("core/v1:Service", "x", { metadata: { name: UNKNOWN } });
    expect((await violations(oneCoderPredictor, [one, unnamed])).join()).to.match(UNJUDGED);
  });
});

describe("policy one-workload-per-service", () => {
  const engines = [deployment("candle-vllm"), deployment("candle-vllm-next")];

  it("accepts a selector that matches one workload", async () => {
    const resources = [...engines, service("coder-predictor", "candle-vllm")];
    expect(await violations(oneWorkloadPerService, resources)).to.deep.equal([]);
  });

  it("refuses a selector that matches none, no selector, and a workload of another namespace", async () => {
    const elsewhere = object("apps/v1:Deployment", "far", {
      metadata: { namespace: "default" },
      spec: { template: { metadata: { labels: { app: "far" } } } },
    });
    const resources = [
      ...engines,
      elsewhere,
      service("a", "nobody"),
      service("b"),
      service("c", "far"),
    ];
    const remedy = "(exactly one); correct the selector, or the labels of the pod template";
    expect(await violations(oneWorkloadPerService, resources)).to.deep.equal([
      `Service a: spec.selector = {app: nobody}: matches no workload ${remedy}`,
      `Service b: spec.selector = {}: matches no workload ${remedy}`,
      `Service c: spec.selector = {app: far}: matches no workload ${remedy}`,
    ]);
  });

  it("refuses a selector that matches two", async () => {
    const twin = { ...engines[0], urn: `${engines[0]?.urn ?? ""}-twin` } as Judged;
    const resources = [...engines, twin, service("coder-predictor", "candle-vllm")];
    expect((await violations(oneWorkloadPerService, resources)).join()).to.include(
      "matches candle-vllm and candle-vllm (exactly one)",
    );
  });

  it("refuses a selector that is not known", async () => {
    const resources = [...engines, service("coder-predictor", UNKNOWN)];
    expect((await violations(oneWorkloadPerService, resources)).join()).to.match(UNJUDGED);
  });
});

describe("policy digests", () => {
  const tagged = { image: "registry.example/llm/x:1.0" };

  it("accepts a digest, and a parked workload that has none", async () => {
    const parked = deployment("b", { image: "image-not-set.invalid/parked" }, 0);
    expect(await violations(digests, [deployment("a"), parked])).to.deep.equal([]);
  });

  it("E07 refuses a tag, no image, and a tag of an init container", async () => {
    const init = object("batch/v1:CronJob", "c", {
      spec: { jobTemplate: { spec: { template: { spec: { initContainers: [tagged] } } } } },
    });
    const pod = object("core/v1:Pod", "d", { spec: { containers: [{ name: "x", ...tagged }] } });
    const resources = [deployment("a", tagged), deployment("b", { image: undefined }), init, pod];
    const found = await violations(digests, resources);
    expect(found.map((line) => line.split(":", 4).join(":"))).to.deep.equal([
      "a: container server: image = registry.example/llm/x:1.0",
      "b: container server: image = : a tag can change under a running pod (repo@sha256",
      "c: container : image = registry.example/llm/x:1.0",
      "d: container x: image = registry.example/llm/x:1.0",
    ]);
  });

  it("takes the stack from the URN: the lab's pods run no image", async () => {
    const { urn, inputs } = deployment("a", tagged);
    const onLab = { inputs, urn: urn.replace(":prod::", ":dev::") };
    expect(await violations(digests, [onLab])).to.deep.equal([]);
    expect(await violations(digests, [{ inputs, urn }])).to.have.length(1);
  });

  it("refuses an image that is not known", async () => {
    const found = await violations(digests, [deployment("a", { image: UNKNOWN })]);
    expect(found.join()).to.match(UNJUDGED);
  });
});

describe("policy no-plain-secret", () => {
  // Assembled, so that no scanner takes this file for a leak.
  const credential = ["ghp", "abcdefghijklmnopqrstuvwxyz0123456789"].join("_");
  const variable = (name: string, value: string | undefined) =>
    deployment("a", { env: [value === undefined ? { name, valueFrom: {} } : { name, value }] });

  it("A19 refuses a Secret with content, without printing it", async () => {
    const secrets = [
      object("core/v1:Secret", "a", { data: { token: CANARY } }),
      object("core/v1:Secret", "b", { stringData: { token: CANARY } }),
    ];
    const found = await violations(noPlainSecret, secrets);
    expect(found).to.have.length(2);
    expect(found[0]).to.match(/^a: data\.token = \(hidden\): a Secret's content would stand in/);
    expect(found[1]).to.match(/^b: stringData\.token = \(hidden\): /);
    expect(found.join()).not.to.include(CANARY);
  });

  it("A19 refuses a variable with the name of a secret, unless a Secret holds its value", async () => {
    expect((await violations(noPlainSecret, [variable("HF_TOKEN", CANARY)])).join()).to.match(
      /^a: container server: env HF_TOKEN = \(hidden\): the name is a secret's \(a reference to/,
    );
    const fine = [variable("HF_TOKEN", undefined), variable("MAX_TOKENS", "512")];
    expect(await violations(noPlainSecret, fine)).to.deep.equal([]);
  });

  it("A19 refuses a credential by its form, wherever it stands, without printing it", async () => {
    const holders = [
      variable("PLAIN", credential),
      deployment("a", { args: ["--x", credential] }),
      deployment("a", { command: [credential] }),
      object("core/v1:ConfigMap", "a", { data: { file: `x = ${credential}` } }),
      object("core/v1:Service", "a", { metadata: { annotations: { note: credential } } }),
    ];
    for (const holder of holders) {
      const found = await violations(noPlainSecret, [holder]);
      expect(found).to.have.length(1);
      expect(found[0]).to.include("= (hidden): looks like a credential");
      expect(found[0]).not.to.include(credential);
    }
  });

  it("refuses a value that is not known", async () => {
    expect((await violations(noPlainSecret, [variable("PLAIN", UNKNOWN)])).join()).to.match(
      UNJUDGED,
    );
  });
});
