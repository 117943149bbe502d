import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { expect } from "chai";
import { AdoptionError } from "../../adopt/command.ts";
import { isDeclared, readDeclared } from "../../adopt/declared.ts";
import { ADOPT, adopting } from "../../adopt/imports.ts";
import type { KubernetesObject } from "../../adopt/kubernetesObject.ts";
import { refusals } from "../../adopt/refusals.ts";
import { restartText } from "../../adopt/report.ts";
import { restart } from "../../adopt/restarts.ts";

const shipped = resolve(import.meta.dirname, "..", "..", "adopt", "declared.yaml");

describe("declared differences", () => {
  const declared = {
    takeOver: [],
    differences: [
      { objects: ["Deployment/*"], fields: ["spec.strategy*", "spec.a[b.c]"], why: "x" },
    ],
  };

  it("match by object and path, with * for any text and everything else literally", () => {
    expect(isDeclared(declared, "Deployment/x", "spec.strategy.rollingUpdate")).to.equal(true);
    expect(isDeclared(declared, "Deployment/x", "spec.a[b.c]")).to.equal(true);
    expect(isDeclared(declared, "Deployment/x", "spec.a[bxc]")).to.equal(false);
    expect(isDeclared(declared, "Service/x", "spec.strategy.type")).to.equal(false);
    expect(isDeclared(declared, "Deployment/x", "xspec.strategy")).to.equal(false);
  });

  it("as shipped let ownership and Recreate pass, and nothing that restarts a pod", () => {
    const file = readDeclared(shipped);
    expect(file.takeOver).to.deep.equal([]);
    expect(isDeclared(file, "Service/x", "metadata.annotations[llm-serving/stack]")).to.equal(true);
    expect(isDeclared(file, "Deployment/x", "spec.strategy.type")).to.equal(true);
    for (const path of ["spec.template.spec.volumes", "spec.replicas", "metadata.labels[team]"]) {
      expect(isDeclared(file, "Deployment/x", path), path).to.equal(false);
    }
    expect(isDeclared(file, "Service/x", "spec.ports[80].targetPort")).to.equal(false);
  });

  it("refuse a file of another form, naming the key", () => {
    const folder = mkdtempSync(join(tmpdir(), "declared-"));
    try {
      const file = join(folder, "declared.yaml");
      writeFileSync(file, "differences: [{objects: [a], fields: [b], because: c}]");
      expect(() => readDeclared(file)).to.throw(AdoptionError, "because");
      expect(() => readDeclared(join(folder, "none.yaml"))).to.throw(AdoptionError, "ENOENT");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("refusals of an adoption", () => {
  const facts = { stack: "prod", autoscalers: [], takeOver: [] };
  const live = (metadata: object): KubernetesObject => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "clef-serve", ...metadata },
  });
  const scaler = (name: string) => ({
    metadata: { name: "scaler", namespace: "llm-serving" },
    spec: { scaleTargetRef: { kind: "Deployment", name } },
  });

  it("are none for an object of nobody or of this stack", () => {
    const own = { annotations: { "llm-serving/stack": "prod" } };
    expect(refusals({ ...facts, live: live({}) })).to.deep.equal([]);
    expect(refusals({ ...facts, live: live(own) })).to.deep.equal([]);
  });

  it("name each reason of one object", () => {
    const object = live({
      ownerReferences: [{ kind: "InferenceService", name: "ornith" }],
      deletionTimestamp: "2026-01-01T00:00:00Z",
      annotations: { "llm-serving/stack": "dev" },
    });
    const found = refusals({ ...facts, live: object, autoscalers: [scaler("clef-serve")] });
    expect(found.map((reason) => reason.split(":")[0])).to.deep.equal([
      "ownerReferences",
      "deletionTimestamp",
      "annotation llm-serving/stack = dev",
      "spec.replicas",
    ]);
    expect(found[0]).to.contain("remove InferenceService/ornith with --cascade=orphan");
  });

  it("do not mind an autoscaler of another Deployment", () => {
    const autoscalers = [scaler("clef")];
    expect(refusals({ ...facts, live: live({}), autoscalers })).to.deep.equal([]);
  });
});

describe("pods that an adoption restarts", () => {
  const deployment = (
    replicas: number,
    image: string,
    strategy = "Recreate",
  ): KubernetesObject => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "clef-serve" },
    spec: {
      replicas,
      strategy: { type: strategy },
      template: {
        metadata: { labels: { app: "clef-serve" } },
        spec: { image, terminationGracePeriodSeconds: 45 },
      },
    },
  });
  const services = ["clef-serve", "other"].map((name): KubernetesObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name } },
  }));
  const said = (live: KubernetesObject, after: KubernetesObject): string | undefined => {
    const found = restart(live, after, services, 240);
    return found === undefined ? undefined : restartText(found);
  };

  it("are none where template and count are equal, or where none runs", () => {
    expect(said(deployment(1, "a", "RollingUpdate"), deployment(1, "a"))).to.equal(undefined);
    expect(said(deployment(0, "a"), deployment(0, "b"))).to.equal(undefined);
  });

  it("mean the old pods' grace and the cold start under Recreate", () => {
    expect(said(deployment(1, "a"), deployment(1, "b"))).to.equal(
      "clef-serve: 1 pod, restarted; clef-serve (/v1/systemone) out for up to 285 s " +
        "(45 s grace of the old pods, 240 s cold start)",
    );
  });

  it("mean no outage under surge", () => {
    expect(said(deployment(2, "a"), deployment(2, "b", "RollingUpdate"))).to.equal(
      "clef-serve: 2 pods, restarted one by one, no outage",
    );
  });

  it("are told by their count alone when the template is equal or the workload is parked", () => {
    const behind = "behind clef-serve (/v1/systemone)";
    expect(said(deployment(3, "a"), deployment(1, "a"))).to.equal(
      `clef-serve: 3 -> 1 pod, ${behind}`,
    );
    expect(said(deployment(1, "a"), deployment(0, "b"))).to.equal(
      `clef-serve: 1 -> 0 pods, ${behind}`,
    );
  });
});

describe("the imports of a run", () => {
  const before = process.env[ADOPT];
  afterEach(() => {
    if (before === undefined) Reflect.deleteProperty(process.env, ADOPT);
    else process.env[ADOPT] = before;
  });

  it("are undefined unless the variable is there, which is then taken as it stands", () => {
    Reflect.deleteProperty(process.env, ADOPT);
    expect(adopting()).to.equal(undefined);
    process.env[ADOPT] = "{}";
    expect(adopting()).to.deep.equal({});
    process.env[ADOPT] = '{"kubernetes:core/v1:Service::a":"ns/a"}';
    expect(adopting()).to.deep.equal({ "kubernetes:core/v1:Service::a": "ns/a" });
  });

  for (const text of ["", "1", "[]", "null", '{"a":1}']) {
    it(`refuse ${JSON.stringify(text)}, which make adopt never sets`, () => {
      process.env[ADOPT] = text;
      expect(adopting).to.throw(pulumi.RunError, "`make adopt` alone sets it; unset it");
    });
  }
});
