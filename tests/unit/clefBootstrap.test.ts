import { expect } from "chai";
import { wantedObjects } from "../../cluster/wanted.ts";
import { ClefServe, type ClefServeArgs } from "../../components/clefServe.ts";
import { parseStackConfig } from "../../config.ts";
import { deadlines, preparationDeadlines } from "../../gpu/deadlines.ts";
import { rolloutTargets } from "../../rollout/rollouts.ts";
import { type Registered, registered } from "../support/mocks.ts";
import {
  deploymentSpec,
  envOf,
  only,
  type PodSpec,
  podSpecOf,
  serverOf,
  serviceSpec,
} from "../support/objects.ts";
import { completed, runProgram, stackFile } from "../support/program.ts";
import { WORKLOAD } from "../support/workloads.ts";
import { forecastStack } from "../../stackForecast.ts";
import { planStack } from "../../stackPlan.ts";
import { facts, judged, stackConfig } from "./clusterFixtures.ts";
import { DIGEST, smallStack } from "./configFixtures.ts";

const FILES = { "packages.py": "", "requirements.txt": "torch==2.7.1", "server.py": "" };
const PREPARED = { bootstrap: "prepared", packagesClaim: "packages" } as const;

const clefServe = (args: Partial<ClefServeArgs> = {}) =>
  registered("test", () => {
    new ClefServe("clef-serve", { ...WORKLOAD, ...PREPARED, bootFiles: FILES, ...args });
  });

interface JobInputs {
  readonly metadata: { readonly name: string; readonly annotations: Record<string, string> };
  readonly spec: {
    readonly backoffLimit: number;
    readonly activeDeadlineSeconds: number;
    readonly ttlSecondsAfterFinished?: number;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

const jobsOf = (resources: readonly Registered[]) =>
  resources.filter(({ urn }) => urn.includes("$kubernetes:batch/v1:Job::"));

function jobOf(resources: readonly Registered[]): JobInputs {
  return only(jobsOf(resources), "Job").inputs as unknown as JobInputs;
}

const deploymentOf = (resources: readonly Registered[]) =>
  only(
    resources.filter(({ urn }) => urn.includes("$kubernetes:apps/v1:Deployment::")),
    "Deployment",
  );

describe("clefServe.bootstrap prepared", () => {
  it("makes a Job that fills the folder on the claim, from clef-serve's image, on its node, with its environment", async () => {
    const { metadata, spec } = jobOf(
      await clefServe({ pullSecret: "pull", env: { PIP_INDEX_URL: "https://mirror.example/" } }),
    );
    expect(metadata.name).to.match(/^clef-serve-packages-[0-9a-f]{16}$/);
    const folder = metadata.name.replace("clef-serve-", "");
    const pod = spec.template.spec;
    const container = only(pod.containers, "container");
    expect(container.command).to.deep.equal(
      `python /bootstrap/packages.py fill /packages ${folder} /bootstrap/requirements.txt`.split(
        " ",
      ),
    );
    expect(container.image).to.equal(WORKLOAD.image);
    expect(pod.nodeSelector).to.deep.equal({ "kubernetes.io/hostname": "worker-1" });
    expect(pod.imagePullSecrets).to.deep.equal([{ name: "pull" }]);
    expect(envOf(container)).to.deep.equal({
      HOME: "/tmp",
      PIP_INDEX_URL: "https://mirror.example/",
    });
    expect(container.volumeMounts).to.deep.include({ name: "packages", mountPath: "/packages" });
    expect(pod.volumes).to.deep.include({
      name: "packages",
      persistentVolumeClaim: { claimName: "packages" },
    });
  });

  it("starts the pod on that folder, mounted read-only, without installing anything", async () => {
    const resources = await clefServe();
    const folder = jobOf(resources).metadata.name.replace("clef-serve-", "");
    const server = serverOf(resources, "clef-serve");
    expect(server.command).to.deep.equal(
      `python /bootstrap/packages.py run /packages ${folder} /bootstrap/server.py`.split(" "),
    );
    expect(server.args).to.equal(undefined);
    expect(envOf(server)).to.include({ PYTHONPATH: `/packages/${folder}`, PORT: "8080" });
    expect(server.volumeMounts).to.deep.include({
      name: "packages",
      mountPath: "/packages",
      readOnly: true,
    });
  });

  it("replaces no pod before the Job has succeeded: the Deployment depends on it", async () => {
    const resources = await clefServe();
    expect(deploymentOf(resources).options.dependsOn).to.include(jobOf(resources).metadata.name);
  });

  it("takes no card, is not root, and no Service sends it requests", async () => {
    const resources = await clefServe();
    const { template } = jobOf(resources).spec;
    expect(JSON.stringify(template)).to.not.match(/"nvidia.com\/gpu":"/);
    expect(template.spec.securityContext).to.deep.equal({
      ...podSpecOf(resources, "clef-serve").securityContext,
    });
    expect(template.spec.securityContext).to.include({ runAsNonRoot: true, runAsUser: 10001 });
    expect(only(template.spec.containers, "container").securityContext).to.deep.equal(
      serverOf(resources, "clef-serve").securityContext,
    );
    const { selector } = serviceSpec(resources, "clef-serve");
    expect(template.metadata.labels.app).to.not.equal(selector.app);
    expect(deploymentSpec(resources, "clef-serve").selector.matchLabels.app).to.not.equal(
      template.metadata.labels.app,
    );
  });

  it("is bounded: two attempts within a deadline, which Pulumi outlasts; a failed Job is made anew", async () => {
    const resources = await clefServe();
    const { metadata, spec } = jobOf(resources);
    // 600 s of pull, two installs of 600 s, 60 s of slack; then 60 s more.
    expect([spec.backoffLimit, spec.activeDeadlineSeconds]).to.deep.equal([1, 1860]);
    expect(spec.template.spec.restartPolicy).to.equal("Never");
    expect(spec.ttlSecondsAfterFinished).to.equal(undefined);
    expect(only(jobsOf(resources), "Job").options.timeouts).to.deep.equal({
      create: "1920s",
      update: "1920s",
    });
    expect(metadata.annotations).to.deep.equal({
      "llm-serving/stack": "test",
      "pulumi.com/patchFieldManager": "llm-serving",
      "pulumi.com/replaceUnready": "true",
    });
  });

  it("names folder and Job by the lock and the image, and by nothing else", async () => {
    const name = async (args: Partial<ClefServeArgs>) => jobOf(await clefServe(args)).metadata.name;
    const first = await name({});
    const files = (changes: object) => ({ bootFiles: { ...FILES, ...changes } });
    expect(await name(files({ "server.py": "print()" }))).to.equal(first);
    expect(await name({ env: { A: "1" }, packagesClaim: "other" })).to.equal(first);
    const other = await name(files({ "requirements.txt": "torch==2.7.0" }));
    const image = await name({ image: "registry.example/python:3.13" });
    expect(new Set([first, other, image]).size).to.equal(3);
  });

  it("prepares nothing while clef-serve is parked, and needs no image for it", async () => {
    const resources = await clefServe({ replicas: 0, image: undefined });
    expect(jobsOf(resources)).to.deep.equal([]);
    expect(deploymentSpec(resources, "clef-serve").replicas).to.equal(0);
  });

  it("lets the kubelet leave the owner of many files alone, in the Job as in the pods", async () => {
    const resources = await clefServe();
    for (const { securityContext } of [
      podSpecOf(resources, "clef-serve"),
      jobOf(resources).spec.template.spec,
    ]) {
      expect(securityContext?.fsGroupChangePolicy).to.equal("OnRootMismatch");
    }
    const installing = await clefServe({ bootstrap: "install" });
    expect(podSpecOf(installing, "clef-serve").securityContext).to.not.have.property(
      "fsGroupChangePolicy",
    );
  });
});

describe("clefServe.bootstrap image", () => {
  it("lets the image start its own server, and brings no files", async () => {
    const resources = await clefServe({ bootstrap: "image" });
    const server = serverOf(resources, "clef-serve");
    expect([server.command, server.args]).to.deep.equal([undefined, undefined]);
    expect(envOf(server)).to.not.have.property("PYTHONPATH");
    expect(resources.filter(({ urn }) => urn.includes("core/v1:ConfigMap"))).to.deep.equal([]);
  });

  it("E09 pulls the image to the node before the old pod goes", async () => {
    const resources = await clefServe({ bootstrap: "image", pullSecret: "pull" });
    const { metadata, spec } = jobOf(resources);
    expect(metadata.name).to.match(/^clef-serve-image-[0-9a-f]{16}$/);
    const pod = spec.template.spec;
    expect(only(pod.containers, "container").image).to.equal(WORKLOAD.image);
    expect(pod.nodeSelector).to.deep.equal({ "kubernetes.io/hostname": "worker-1" });
    expect(pod.imagePullSecrets).to.deep.equal([{ name: "pull" }]);
    expect(deploymentOf(resources).options.dependsOn).to.deep.equal([metadata.name]);
    const next = await clefServe({ bootstrap: "image", image: `r.example/i${DIGEST}` });
    expect(jobOf(next).metadata.name).to.not.equal(metadata.name);
  });
});

describe("clefServe.bootstrap install", () => {
  it("prepares nothing", async () => {
    expect(jobsOf(await clefServe({ bootstrap: "install" }))).to.deep.equal([]);
  });
});

describe("what follows from clefServe.bootstrap", () => {
  const parsed = (clef: object) => parseStackConfig({ ...smallStack(), clefServe: clef }, "dev");
  const coldStart = (clef: object) => parsed({ replicas: 0, ...clef }).clefServe.coldStartSeconds;

  it("is the cold start, unless the stack states it", () => {
    expect(coldStart({})).to.equal(240);
    expect(coldStart({ bootstrap: "install" })).to.equal(240);
    expect(coldStart(PREPARED)).to.equal(60);
    expect(coldStart({ bootstrap: "image" })).to.equal(60);
    expect(coldStart({ ...PREPARED, coldStartSeconds: 400 })).to.equal(400);
  });

  it("is the outage that the preview predicts for /v1/systemone", () => {
    const outage = (bootstrap: ClefServeArgs["bootstrap"]) => {
      const config = stackConfig({
        clefServe: {
          replicas: 1,
          image: `r.example/i${DIGEST}`,
          bootstrap,
          packagesClaim: "packages",
        },
      });
      const cluster = judged(facts(), config);
      const templates = new Map([["clef-serve", "another than before"]]);
      const plan = planStack(config, cluster.gpus);
      const { routes } = forecastStack(config, plan, cluster, templates).forecast;
      return only(
        routes.filter(({ route }) => route === "/v1/systemone"),
        "route",
      ).seconds;
    };
    const [install = 0, prepared = 0, image = 0] = [
      outage("install"),
      outage("prepared"),
      outage("image"),
    ];
    expect(install - prepared).to.equal(240 - 60);
    expect(image).to.equal(prepared).and.be.at.least(60);
  });

  it("E09 is the time for the pull in the deadlines: pull included, and longer for an image with all packages", async () => {
    const chain = async (bootstrap: ClefServeArgs["bootstrap"]) => {
      const resources = await clefServe({ bootstrap });
      const { progressDeadlineSeconds, template } = deploymentSpec(resources, "clef-serve");
      const { failureThreshold = 0 } = template.spec.containers[0]?.startupProbe ?? {};
      const config = parsed({ replicas: 0, packagesClaim: "packages", bootstrap });
      const { deadlineSeconds } = only(
        rolloutTargets(config).filter(({ name }) => name === "clef-serve"),
        "target",
      );
      return [failureThreshold * 10, progressDeadlineSeconds, deadlineSeconds];
    };
    // 60 s of grace, the pull, the startup budget, 60 s of slack; then 60 s more.
    expect(await chain("install")).to.deep.equal([600, 1320, 1380]);
    expect(await chain("prepared")).to.deep.equal([600, 1320, 1380]);
    expect(await chain("image")).to.deep.equal([600, 1620, 1680]);
  });

  it("E09 keeps pull + work < the Job's deadline < Pulumi's timeout, for every pull and work", () => {
    for (const pullSeconds of [0, 600, 900, 7200]) {
      for (const workSeconds of [0, 600, 9000]) {
        const times = preparationDeadlines({ pullSeconds, workSeconds });
        const content = pullSeconds + (times.backoffLimit + 1) * workSeconds;
        expect(content).to.be.below(times.activeDeadlineSeconds);
        expect(times.activeDeadlineSeconds).to.be.below(times.pulumiTimeoutSeconds);
      }
    }
    expect(() => preparationDeadlines({ pullSeconds: NaN, workSeconds: 0 })).to.throw(
      RangeError,
      "pullSeconds = NaN",
    );
    expect(deadlines({ coldStartSeconds: 60, graceSeconds: 60 }).startupBudgetSeconds).to.equal(
      600,
    );
  });

  for (const bootstrap of ["prepared", "image"] as const) {
    it(`is one Job more in the program with ${bootstrap}, owned like everything, which the preview expects`, async () => {
      const file = completed(stackFile("dev"));
      file["llm-serving:clefServe"] = {
        ...file["llm-serving:clefServe"],
        bootstrap,
        packagesClaim: "packages",
      };
      const { resources } = await runProgram("dev", file);
      const { inputs, options } = only(jobsOf(resources), "Job");
      const { metadata } = inputs as unknown as JobInputs;
      expect(options.provider).to.equal("cluster");
      expect(metadata.annotations["llm-serving/stack"]).to.equal("dev");

      const plain = Object.entries(file).filter(([key]) => key.startsWith("llm-serving:"));
      const config = parseStackConfig(
        Object.fromEntries(plain.map(([key, value]) => [key.slice("llm-serving:".length), value])),
        "dev",
      );
      const maps = resources.filter(({ urn }) => urn.includes("core/v1:ConfigMap"));
      const [data = {}] = maps.map(({ inputs: map }) => map.data as Record<string, string>);
      const wanted = wantedObjects(config, data).map(({ kind, name }) => `${kind}/${name}`);
      expect(wanted).to.include(`Job/${metadata.name}`);
      expect(wanted.filter((name) => name.startsWith("ConfigMap/"))).to.have.length(maps.length);
      // The script goes where a Job runs it, and nowhere else.
      expect(Object.keys(data)).to.deep.equal(
        bootstrap === "prepared" ? ["packages.py", "requirements.txt", "server.py"] : [],
      );
    });
  }
});
