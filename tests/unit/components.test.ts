import { expect } from "chai";
import { CandleVllm } from "../../components/candleVllm.ts";
import { ClefServe } from "../../components/clefServe.ts";
import { CoderPredictor } from "../../components/coderPredictor.ts";
import { Reasoning } from "../../components/reasoning.ts";
import { ServingNamespace } from "../../components/servingNamespace.ts";
import type { EngineArgs } from "../../components/engine.ts";
import { MOCK_CLUSTER_IP, registered } from "../support/mocks.ts";
import {
  deploymentSpec,
  envOf,
  objectOf,
  podSpecOf,
  serverOf,
  serviceSpec,
} from "../support/objects.ts";
import { ENGINE, WORKLOAD } from "../support/workloads.ts";

const OWNED = { "llm-serving/stack": "test", "pulumi.com/patchFieldManager": "llm-serving" };
const NOT_AWAITED = { ...OWNED, "pulumi.com/skipAwait": "true" };
const urn = (path: string, name: string): string =>
  `urn:pulumi:test::llm-serving::${path}::${name}`;

const candle = (args: Partial<EngineArgs>) =>
  registered("test", () => {
    new CandleVllm("candle-vllm", { ...ENGINE, ...args });
  });
const reasoning = (args: Partial<EngineArgs> = {}) =>
  registered("test", () => {
    new Reasoning("reasoning", { ...ENGINE, ...args });
  });
const clefServe = (
  bootFiles: Record<string, string> = { "server.py": "", "requirements.txt": "" },
) =>
  registered("test", () => {
    new ClefServe("clef-serve", { ...WORKLOAD, bootstrap: "install", bootFiles });
  });
const coderPredictor = (backend: "candle-vllm" | "candle-vllm-next") =>
  registered("test", () => {
    new CoderPredictor("coder-predictor", { stack: "test", backend });
  });
const servingNamespace = (clients: readonly string[], admissionGuard = false) =>
  registered("test", () => {
    new ServingNamespace("llm-serving", { stack: "test", clients, admissionGuard });
  });

describe("ServingNamespace", () => {
  it("registers the protected namespace alone when no clients are stated and the guard is off", async () => {
    const resources = await servingNamespace([]);
    expect(resources.map((resource) => resource.urn)).to.deep.equal([
      urn("llm-serving:index:ServingNamespace", "llm-serving"),
      urn("llm-serving:index:ServingNamespace$kubernetes:core/v1:Namespace", "llm-serving"),
    ]);
    const namespace = objectOf(resources, "kubernetes:core/v1:Namespace", "llm-serving");
    expect(namespace.options).to.deep.include({ protect: true, retainOnDelete: true });
    expect(namespace.inputs.metadata).to.deep.equal({
      name: "llm-serving",
      labels: { "app.kubernetes.io/part-of": "llm-serving" },
      annotations: OWNED,
    });
  });

  it("registers the admission guard, protected, when it is on", async () => {
    const resources = await servingNamespace([], true);
    expect(resources).to.have.length(4);
    for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]) {
      const type = `kubernetes:admissionregistration.k8s.io/v1:${kind}`;
      const { inputs, options } = objectOf(resources, type, "llm-serving-delete-guard");
      expect(options, kind).to.include({ protect: true });
      expect(inputs.metadata, kind).to.deep.equal({
        name: "llm-serving-delete-guard",
        annotations: OWNED,
      });
    }
  });

  it("admits the stated clients alone, on the containers' port", async () => {
    const resources = await servingNamespace(["poimen", "gateway"]);
    const policy = objectOf(
      resources,
      "kubernetes:networking.k8s.io/v1:NetworkPolicy",
      "llm-serving-clients",
    );
    expect(policy.inputs.spec).to.deep.equal({
      podSelector: { matchLabels: { "app.kubernetes.io/part-of": "llm-serving" } },
      policyTypes: ["Ingress"],
      ingress: [
        {
          from: ["poimen", "gateway"].map((name) => ({
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
          })),
          ports: [{ protocol: "TCP", port: 8080 }],
        },
      ],
    });
  });
});

describe("CoderPredictor", () => {
  it("registers the Service with every field of the change that introduced it", async () => {
    const resources = await coderPredictor("candle-vllm");
    const service = objectOf(resources, "kubernetes:core/v1:Service", "coder-predictor");
    expect(service.inputs.metadata).to.deep.equal({
      name: "coder-predictor",
      namespace: "llm-serving",
      labels: { app: "coder-predictor", "app.kubernetes.io/part-of": "llm-serving" },
      annotations: NOT_AWAITED,
    });
    expect(service.inputs.spec).to.deep.equal({
      type: "ClusterIP",
      selector: { app: "candle-vllm" },
      ports: [
        { name: "http", protocol: "TCP", port: 80, targetPort: 8080 },
        { name: "http-8080", protocol: "TCP", port: 8080, targetPort: 8080 },
      ],
    });
    expect(service.options).to.deep.equal({
      protect: true,
      retainOnDelete: true,
      ignoreChanges: ["spec.clusterIP", "spec.clusterIPs"],
    });
  });

  it("changes nothing but the selector when the backend changes", async () => {
    const [before, after] = [
      await coderPredictor("candle-vllm"),
      await coderPredictor("candle-vllm-next"),
    ];
    const change = (resources: typeof before) => {
      const { selector, ...rest } = serviceSpec(resources, "coder-predictor");
      return { selector, rest };
    };
    expect(change(after).selector).to.deep.equal({ app: "candle-vllm-next" });
    expect(change(after).rest).to.deep.equal(change(before).rest);
  });

  it("hands out the ClusterIP that the cluster assigned", async () => {
    let clusterIp: unknown;
    await registered("test", () => {
      const { clusterIp: output } = new CoderPredictor("coder-predictor", {
        stack: "test",
        backend: "candle-vllm",
      });
      output.apply((value) => {
        clusterIp = value;
      });
    });
    expect(clusterIp).to.equal(MOCK_CLUSTER_IP);
  });
});

describe("CandleVllm", () => {
  it("registers one Deployment below the component", async () => {
    const resources = await candle({});
    expect(resources.map((resource) => resource.urn)).to.deep.equal([
      urn("llm-serving:index:CandleVllm", "candle-vllm"),
      urn("llm-serving:index:CandleVllm$kubernetes:apps/v1:Deployment", "candle-vllm"),
    ]);
  });

  it("passes exactly the flags that 0.8.9 parses, for one card and a GGUF file", async () => {
    expect(serverOf(await candle({}), "candle-vllm").args).to.deep.equal(
      "--p 8080 --d 0 --dtype f16 --max-num-seqs 8 --f /models/coder.gguf".split(" "),
    );
  });

  it("ends a folder in a slash, since the engine appends file names to it", async () => {
    const model = { source: { folder: "/models/qwen3" }, isq: "q4k" } as const;
    expect(serverOf(await candle({ model }), "candle-vllm").args).to.deep.equal(
      "--p 8080 --d 0 --dtype f16 --max-num-seqs 8 --isq q4k --w /models/qwen3/".split(" "),
    );
  });

  it("downloads from the hub only where the source is the hub", async () => {
    const server = serverOf(
      await candle({ model: { source: { hub: "Qwen/Qwen3" } } }),
      "candle-vllm",
    );
    expect(server.args?.slice(-2)).to.deep.equal(["--m", "Qwen/Qwen3"]);
    expect(envOf(server)).to.not.have.property("HF_HUB_OFFLINE");
    expect(envOf(serverOf(await candle({}), "candle-vllm"))).to.include({ HF_HUB_OFFLINE: "1" });
  });

  for (const tensorParallel of [1, 2, 4]) {
    it(`D02 derives limit, request and device list from tensorParallel ${tensorParallel}`, async () => {
      const { args = [], resources } = serverOf(await candle({ tensorParallel }), "candle-vllm");
      const devices = args[args.indexOf("--d") + 1]?.split(",");
      expect(devices).to.deep.equal(["0", "1", "2", "3"].slice(0, tensorParallel));
      expect(resources?.limits?.["nvidia.com/gpu"]).to.equal(String(tensorParallel));
      expect(resources?.requests?.["nvidia.com/gpu"]).to.equal(String(tensorParallel));
    });
  }

  it("D06 mounts 4 GiB of memory at /dev/shm when there is more than one card, else none", async () => {
    const two = await candle({ tensorParallel: 2 });
    const shm = podSpecOf(two, "candle-vllm").volumes?.filter(({ emptyDir }) => emptyDir?.medium);
    expect(shm).to.deep.equal([{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "4Gi" } }]);
    expect(serverOf(two, "candle-vllm").volumeMounts).to.deep.include({
      name: "shm",
      mountPath: "/dev/shm",
    });
    expect(JSON.stringify(podSpecOf(await candle({}), "candle-vllm"))).to.not.include("shm");
  });

  it("mounts the models' claim read-only, and no claim when there is none", async () => {
    const pod = podSpecOf(await candle({ modelsClaim: "models" }), "candle-vllm");
    expect(pod.volumes).to.deep.include({
      name: "models",
      persistentVolumeClaim: { claimName: "models", readOnly: true },
    });
    expect(pod.containers[0]?.volumeMounts).to.deep.include({
      name: "models",
      mountPath: "/models",
      readOnly: true,
    });
    expect(JSON.stringify(podSpecOf(await candle({}), "candle-vllm"))).to.not.include("Claim");
  });

  it("takes the hub's token from a Secret by reference", async () => {
    const hfTokenSecret = { name: "hf", key: "token" };
    expect(envOf(serverOf(await candle({ hfTokenSecret }), "candle-vllm")).HF_TOKEN).to.deep.equal({
      secretKeyRef: { name: "hf", key: "token" },
    });
  });

  it("is not PID 1, asks /v1/models when it starts and only opens the port to see that it lives", async () => {
    const pod = podSpecOf(await candle({}), "candle-vllm");
    const server = pod.containers[0];
    const ready = { path: "/v1/models", port: 8080 };
    expect(pod.shareProcessNamespace).to.equal(true);
    expect(server?.startupProbe).to.deep.equal({
      httpGet: ready,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 60,
    });
    expect(server?.readinessProbe?.httpGet).to.deep.equal(ready);
    expect(server?.livenessProbe?.tcpSocket).to.deep.equal({ port: 8080 });
  });
});

describe("Reasoning", () => {
  it("passes the flags and the environment that vLLM needs on a V100", async () => {
    const server = serverOf(await reasoning({ tensorParallel: 2 }), "reasoning");
    expect(server.command).to.deep.equal(["vllm", "serve"]);
    expect(server.args).to.deep.equal([
      "/models/coder.gguf",
      ...["--host", "0.0.0.0", "--port", "8080", "--served-model-name", "reasoning"],
      ...["--tensor-parallel-size", "2", "--max-model-len", "32768", "--max-num-seqs", "8"],
      ...["--dtype", "half", "--enforce-eager"],
    ]);
    expect(envOf(server)).to.include({ VLLM_USE_V1: "0" });
  });

  it("D11 serves under the constant name `reasoning` whatever the model's path", async () => {
    const { args = [] } = serverOf(
      await reasoning({ model: { source: { folder: "/models/other" } } }),
      "reasoning",
    );
    expect(args[0]).to.equal("/models/other");
    expect(args[args.indexOf("--served-model-name") + 1]).to.equal("reasoning");
  });

  it("puts Service reasoning-long in front of exactly its own pods", async () => {
    const resources = await reasoning();
    expect(serviceSpec(resources, "reasoning-long")).to.deep.equal({
      type: "ClusterIP",
      selector: { app: "reasoning" },
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
    });
    expect(deploymentSpec(resources, "reasoning").template.metadata.labels.app).to.equal(
      "reasoning",
    );
  });
});

describe("ClefServe", () => {
  it("installs at boot from the ConfigMap, then becomes the server", async () => {
    const resources = await clefServe();
    const server = serverOf(resources, "clef-serve");
    expect(server.command).to.deep.equal(["/bin/sh", "-c"]);
    expect(server.args).to.deep.equal([
      "pip install --no-cache-dir --target /home/serving/packages -r /bootstrap/requirements.txt " +
        "&& exec python /bootstrap/server.py",
    ]);
    expect(envOf(server)).to.deep.equal({
      HOME: "/home/serving",
      PORT: "8080",
      PYTHONPATH: "/home/serving/packages",
      HF_HOME: "/home/serving/huggingface",
    });
    expect(server.livenessProbe?.httpGet).to.deep.equal({ path: "/health", port: 8080 });
    expect(server.resources?.limits).to.deep.equal({ memory: "16Gi", "nvidia.com/gpu": "1" });
  });

  it("names the ConfigMap by its content, so that an edit makes a new one", async () => {
    const name = async (content: string): Promise<string> => {
      const resources = await clefServe({ "server.py": content });
      const maps = resources.filter(({ urn: own }) => own.includes("core/v1:ConfigMap"));
      expect(maps).to.have.length(1);
      expect(maps[0]?.inputs).to.deep.include({ immutable: true, data: { "server.py": content } });
      const { volumes } = podSpecOf(resources, "clef-serve");
      const mapped = volumes?.find(({ configMap }) => configMap !== undefined)?.configMap?.name;
      expect(maps[0]?.urn.endsWith(`::${String(mapped)}`)).to.equal(true);
      return String(mapped);
    };
    const [first, again, other] = [await name("a"), await name("a"), await name("b")];
    expect(first).to.match(/^clef-serve-boot-[0-9a-f]{10}$/);
    expect(again).to.equal(first);
    expect(other).to.not.equal(first);
  });

  it("answers the gateway as Service clef-serve on port 80", async () => {
    expect(serviceSpec(await clefServe(), "clef-serve")).to.deep.equal({
      type: "ClusterIP",
      selector: { app: "clef-serve" },
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
    });
  });
});

describe("every GPU Deployment", () => {
  const all = async (args: Partial<typeof WORKLOAD> = {}) => [
    ["candle-vllm", await candle(args)] as const,
    ["reasoning", await reasoning(args)] as const,
    [
      "clef-serve",
      await registered("test", () => {
        new ClefServe("clef-serve", {
          ...WORKLOAD,
          ...args,
          bootstrap: "install",
          bootFiles: {},
        });
      }),
    ] as const,
  ];

  it("runs as a stated user and group, never as root, and writes to emptyDirs", async () => {
    for (const [name, resources] of await all()) {
      const pod = podSpecOf(resources, name);
      expect(pod.securityContext, name).to.deep.equal({
        runAsNonRoot: true,
        runAsUser: 10001,
        runAsGroup: 10001,
        fsGroup: 10001,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod.containers[0]?.securityContext, name).to.deep.equal({
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: false,
        capabilities: { drop: ["ALL"] },
      });
      expect(pod.volumes?.slice(0, 2), name).to.deep.equal([
        { name: "home", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ]);
      expect(pod.containers[0]?.volumeMounts?.slice(0, 2), name).to.deep.equal([
        { name: "home", mountPath: "/home/serving" },
        { name: "tmp", mountPath: "/tmp" },
      ]);
    }
  });

  it("D09 keeps the hub's cache on a writable mount", async () => {
    for (const [name, resources] of await all()) {
      const server = serverOf(resources, name);
      const cache = String(envOf(server).HF_HOME);
      const mount = server.volumeMounts?.find(({ mountPath }) => cache.startsWith(`${mountPath}/`));
      expect(mount, name).to.deep.equal({ name: "home", mountPath: "/home/serving" });
    }
  });

  it("D12 injects no Service links, and tolerates any value of the GPU taint", async () => {
    for (const [name, resources] of await all()) {
      const pod = podSpecOf(resources, name);
      expect(pod.enableServiceLinks, name).to.equal(false);
      expect(pod.tolerations, name).to.deep.equal([
        { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
      ]);
      expect(pod.nodeSelector, name).to.deep.equal({ "kubernetes.io/hostname": "worker-1" });
    }
  });

  it("D13 listens, is probed and is reached on 8080 alone", async () => {
    for (const [name, resources] of await all()) {
      const { ports, startupProbe, readinessProbe, livenessProbe } = serverOf(resources, name);
      expect(ports, name).to.deep.equal([{ name: "http", containerPort: 8080, protocol: "TCP" }]);
      for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
        expect(probe?.httpGet?.port ?? probe?.tcpSocket?.port, name).to.equal(8080);
      }
    }
  });

  it("follows the deadline chain in the probe and in the rollout", async () => {
    for (const [name, resources] of await all({ coldStartSeconds: 400, graceSeconds: 30 })) {
      const spec = deploymentSpec(resources, name);
      const startup = spec.template.spec.containers[0]?.startupProbe;
      // 2.5 x 400 s in periods of 10 s; then 30 s grace, 600 s pull and two slacks of 60 s on top.
      expect(startup?.failureThreshold, name).to.equal(100);
      expect(spec.progressDeadlineSeconds, name).to.equal(1690);
    }
  });

  it("stops within its grace: preStop takes 15 s, or a quarter of a shorter grace", async () => {
    const lifecycles = { 600: 15, 60: 15, 20: 5, 4: 1, 3: undefined, 1: undefined };
    for (const [grace, seconds] of Object.entries(lifecycles)) {
      const pod = podSpecOf(await candle({ graceSeconds: Number(grace) }), "candle-vllm");
      expect(pod.terminationGracePeriodSeconds, grace).to.equal(Number(grace));
      expect(pod.containers[0]?.lifecycle, grace).to.deep.equal(
        seconds === undefined ? undefined : { preStop: { sleep: { seconds } } },
      );
    }
  });

  it("C01 replaces old pods before new ones unless the stack asks for surge", async () => {
    for (const [name, resources] of await all()) {
      expect(deploymentSpec(resources, name).strategy, name).to.deep.equal({ type: "Recreate" });
    }
    for (const [name, resources] of await all({ rollout: "surge" })) {
      expect(deploymentSpec(resources, name).strategy, name).to.deep.equal({
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      });
    }
  });

  it("selects exactly its own pods and keeps ownership off the pod template", async () => {
    for (const [name, resources] of await all()) {
      const spec = deploymentSpec(resources, name);
      expect(spec.selector, name).to.deep.equal({ matchLabels: { app: name } });
      expect(spec.template.metadata, name).to.deep.equal({
        labels: { app: name, "app.kubernetes.io/part-of": "llm-serving" },
      });
      expect(annotationsOf(resources, name), name).to.include(NOT_AWAITED);
    }
  });

  const annotationsOf = (resources: Parameters<typeof objectOf>[0], name: string) => {
    const { metadata } = objectOf(resources, "apps/v1:Deployment", name).inputs;
    return (metadata as { annotations: Record<string, string | undefined> }).annotations;
  };

  it("writes the fingerprint of the pod template, and that of nothing else", async () => {
    const fingerprints = async (args: Partial<typeof WORKLOAD>) =>
      (await all(args)).map(([name, made]) => annotationsOf(made, name)["llm-serving/template"]);
    const found = await fingerprints({});
    expect(new Set(found)).to.have.length(3);
    expect(found.every((each) => /^[0-9a-f]{16}$/.test(each ?? ""))).to.equal(true);
    expect(await fingerprints({ replicas: 3, rollout: "surge", stack: "other" })).to.deep.equal(
      found,
    );
    for (const [at, other] of (await fingerprints({ graceSeconds: 61 })).entries()) {
      expect(other).not.to.equal(found[at]);
    }
  });

  it("parks without an image, and keeps its name when it does", async () => {
    for (const [name, resources] of await all({ replicas: 0, image: undefined })) {
      expect(deploymentSpec(resources, name).replicas, name).to.equal(0);
      expect(serverOf(resources, name).image, name).to.equal("image-not-set.invalid/parked");
    }
  });

  it("pulls with the stated Secret, and passes the stack's own environment on", async () => {
    for (const [name, resources] of await all({
      pullSecret: "pull",
      env: { NCCL_P2P_DISABLE: "1" },
    })) {
      expect(podSpecOf(resources, name).imagePullSecrets, name).to.deep.equal([{ name: "pull" }]);
      expect(envOf(serverOf(resources, name)), name).to.include({ NCCL_P2P_DISABLE: "1" });
    }
  });
});
