import { expect } from "chai";
import { useDevStack } from "../support/devStack.ts";
import { apply, kubectl, kubectlJson, useLab } from "../support/lab.ts";

const NAMESPACE = "--namespace=llm-serving";

// What the program sees of a live cluster, through the real CLI, provider and API server.
describe("cluster facts", function () {
  this.timeout(300_000);
  const lab = useLab("test-facts");
  const { updated, accepted, refused } = useDevStack(lab);
  before(() => updated());

  it("prints the card map, the verdict and the warnings, and nothing of it in the update", async () => {
    const text = await accepted({ "reasoning.replicas": 1 });
    expect(text).to.match(/worker-1 {2}before {2}│ candle-vllm │ clef-serve {2}│ {4}idle {5}│/);
    expect(text).to.match(/ {10}after {3}│ candle-vllm │ clef-serve {2}│ {2}reasoning {2}│/);
    expect(text).to.include("3 of 4 cards used on worker-1, 1 free");
    expect(text).to.include(
      "llm-serving:access.clients = []: every pod of the cluster may connect",
    );
    expect(await updated()).not.to.match(/verdict:|points to look at/);
    await updated({ "reasoning.replicas": 0 });
  });

  describe("on the nodes", () => {
    const allocatable = (cards: number) =>
      kubectl(
        lab(),
        ...["patch", "node", "worker-1", "--subresource=status", "--type=merge"],
        `--patch={"status":{"allocatable":{"nvidia.com/gpu":"${cards}"}}}`,
      );
    const taint = (text: string) =>
      kubectl(lab(), "taint", "--overwrite", "nodes", "worker-1", text);

    it("C09 lets a dead card count: sum 4, capacity 4, allocatable 3", async () => {
      await allocatable(3);
      try {
        const text = await refused({ "candleVllm.tensorParallel": 2, "reasoning.replicas": 1 });
        expect(text).to.include(
          "llm-serving:gpuNodes[0].cards = 4: worker-1 is asked for 4 cards, clef-serve 1 x 1 = 1 + " +
            "candle-vllm 1 x 2 = 2 + reasoning 1 x 1 = 1, and has 4 configured, 3 allocatable (at most 3); set ",
        );
      } finally {
        await allocatable(4);
      }
    });

    it("C09 lets no time-slicing count: sum 5, cards 4, allocatable 8", async () => {
      await allocatable(8);
      try {
        const text = await refused({
          "candleVllm.tensorParallel": 2,
          "candleVllmNext.replicas": 1,
        });
        expect(text).to.match(
          /worker-1 is asked for 5 cards, .* has 4 configured, 8 allocatable \(at most 4\)/,
        );
      } finally {
        await allocatable(4);
      }
    });

    it("C08 lets pods bind under the taint nvidia.com/gpu, whatever its value", async () => {
      for (const value of ["true", "present"]) {
        await taint(`nvidia.com/gpu=${value}:NoSchedule`);
        await kubectl(lab(), "delete", "pods", NAMESPACE, "--selector=app=candle-vllm");
        await kubectl(
          lab(),
          "wait",
          "deployment",
          "candle-vllm",
          NAMESPACE,
          "--for=condition=Available",
        );
        await accepted();
      }
      await taint("nvidia.com/gpu-");
    });

    it("C08 refuses another taint and a wrong node name, naming the label", async () => {
      await taint("dedicated=ml:NoSchedule");
      try {
        expect(await refused()).to.include(
          "llm-serving:gpuNodes[0].name = worker-1: its taint dedicated=ml:NoSchedule keeps clef-serve, candle-vllm off",
        );
      } finally {
        await taint("dedicated-");
      }
      const nodes = [{ name: "worker-9", cards: 4, memoryGiB: 32 }];
      expect(await refused({ gpuNodes: nodes })).to.include(
        "llm-serving:gpuNodes[0].name = worker-9: no node of the cluster has this label kubernetes.io/hostname " +
          "(with cards: worker-1); set it to one of these",
      );
    });
  });

  it("takes the cards of a stranger off the budget and names it", async () => {
    const resources = { limits: { "nvidia.com/gpu": "2" } };
    const containers = [{ name: "main", image: "lab.invalid/notebook", resources }];
    const spec = { automountServiceAccountToken: false, containers };
    await apply(lab(), [{ apiVersion: "v1", kind: "Pod", metadata: { name: "notebook" }, spec }]);
    try {
      await kubectl(lab(), "wait", "pod", "notebook", "--for=condition=Ready");
      expect(await accepted()).to.include("unmanaged on worker-1: default/notebook, 2 cards");
      expect(await refused({ "reasoning.replicas": 1 })).to.include(
        "has 4 configured, 4 allocatable, 2 held by unmanaged default/notebook (at most 2)",
      );
    } finally {
      await kubectl(lab(), "delete", "pod", "notebook");
    }
  });

  describe("on objects of the namespace", () => {
    const service = async (...args: string[]) => kubectl(lab(), ...args, NAMESPACE);

    it("refuses an unowned one of a wanted name, with the way to adopt it", async () => {
      const policy = {
        metadata: { name: "llm-serving-clients", namespace: "llm-serving" },
        spec: { podSelector: {} },
      };
      await apply(lab(), [
        { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", ...policy },
      ]);
      try {
        expect(await accepted()).to.include(
          "but not of this stack: NetworkPolicy llm-serving-clients",
        );
        expect(await refused({ access: { clients: ["agents"] } })).to.include(
          "NetworkPolicy llm-serving/llm-serving-clients: exists already and no stack owns it " +
            "(annotation llm-serving/stack is absent); adopt it first: `make adopt-plan STACK=dev`",
        );
      } finally {
        await service("delete", "networkpolicy", "llm-serving-clients");
      }
    });

    it("refuses one that another stack owns", async () => {
      await service("annotate", "service", "clef-serve", "llm-serving/stack=prod", "--overwrite");
      try {
        expect(await refused()).to.include("Service llm-serving/clef-serve: belongs to stack prod");
      } finally {
        await service("annotate", "service", "clef-serve", "llm-serving/stack=dev", "--overwrite");
      }
    });

    it("refuses an own one that garbage collection would delete", async () => {
      await service("create", "configmap", "owner");
      const { metadata } = (await kubectlJson(lab(), "get", "configmap", "owner", NAMESPACE)) as {
        metadata: { uid: string };
      };
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: metadata.uid };
      const patch = (owners: readonly object[]) =>
        service(
          ...["patch", "service", "coder-predictor", "--type=merge"],
          `--patch=${JSON.stringify({ metadata: { ownerReferences: owners } })}`,
        );
      await patch([owner]);
      try {
        expect(await refused()).to.include(
          "Service llm-serving/coder-predictor: it has ownerReferences (ConfigMap/owner), so that garbage collection",
        );
      } finally {
        await patch([]);
        await service("delete", "configmap", "owner");
      }
    });

    it("refuses a claim and a Secret that a running workload needs and that do not exist", async () => {
      const needs = {
        "candleVllm.modelsClaim": "models",
        "candleVllm.hfTokenSecret": { name: "hub", key: "token" },
      };
      const text = await refused(needs);
      expect(text).to.include(
        "llm-serving:candleVllm.modelsClaim = models: namespace llm-serving has no such PersistentVolumeClaim",
      );
      expect(text).to.include(
        "llm-serving:candleVllm.hfTokenSecret.name = hub: namespace llm-serving has no such Secret",
      );
      const spec = { accessModes: ["ReadOnlyMany"], resources: { requests: { storage: "1Gi" } } };
      const claim = { metadata: { name: "models", namespace: "llm-serving" }, spec };
      await apply(lab(), [{ apiVersion: "v1", kind: "PersistentVolumeClaim", ...claim }]);
      await service("create", "secret", "generic", "hub", "--from-literal=token=t0p-s3cret");
      try {
        const text = await accepted(needs);
        expect(text).not.to.match(/not of this stack|t0p-s3cret/);
      } finally {
        await service("delete", "persistentvolumeclaim", "models", "--wait=false");
        await service("delete", "secret", "hub");
      }
    });
  });
});
