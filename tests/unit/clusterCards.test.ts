import { expect } from "chai";
import type { LiveContainer, LiveNode, LivePod } from "../../cluster/facts.ts";
import { cardsOf, deploymentOf, quantity } from "../../cluster/pods.ts";
import {
  facts,
  judged,
  live,
  liveNode,
  livePod,
  neverReady,
  podOf,
  secondsAgo,
  stackConfig,
} from "./clusterFixtures.ts";

function container(cards: number, changes: Partial<LiveContainer> = {}): LiveContainer {
  return { name: "c", resources: { limits: { "nvidia.com/gpu": String(cards) } }, ...changes };
}

function sidecar(cards: number): LiveContainer {
  return container(cards, { restartPolicy: "Always" });
}

describe("cards of a pod", () => {
  const cases: readonly [string, LiveContainer[], LiveContainer[], number][] = [
    ["adds its containers", [], [container(1), container(2)], 3],
    ["is none without a limit", [], [{ name: "c" }], 0],
    [
      "takes the largest init container, not the sum",
      [container(3), container(2)],
      [container(1)],
      3,
    ],
    ["takes the containers when they are more", [container(1)], [container(2)], 2],
    ["adds sidecars to the containers", [sidecar(1)], [container(2)], 3],
    ["adds earlier sidecars to an init container", [sidecar(1), container(3)], [container(1)], 4],
    ["does not add later sidecars to it", [container(3), sidecar(1)], [container(1)], 3],
  ];
  for (const [title, initContainers, containers, cards] of cases) {
    it(title, () => {
      expect(cardsOf({ spec: { initContainers, containers } })).to.equal(cards);
    });
  }

  it("counts a request where no limit is stated", () => {
    const resources = { requests: { "nvidia.com/gpu": "2" } };
    expect(cardsOf({ spec: { containers: [{ name: "c", resources }] } })).to.equal(2);
  });

  it("reads the API server's short form of thousands", () => {
    expect([quantity("4"), quantity("2k"), quantity(undefined)]).to.deep.equal([4, 2000, 0]);
  });
});

describe("owner of a pod", () => {
  it("is the Deployment whose ReplicaSet carries the pod's template hash", () => {
    expect(deploymentOf(podOf("candle-vllm-next", 1))).to.equal("candle-vllm-next");
  });

  it("is nobody in another namespace, without a controller, or of another kind", () => {
    const { metadata } = podOf("candle-vllm", 1);
    const job = [
      { apiVersion: "batch/v1", kind: "Job", name: "x-5d9c7", uid: "1", controller: true },
    ];
    for (const other of [
      { ...metadata, namespace: "default" },
      { ...metadata, ownerReferences: [] },
      { ...metadata, ownerReferences: job },
      { ...metadata, labels: {} },
    ]) {
      expect(deploymentOf({ metadata: other })).to.equal(undefined);
    }
  });
});

describe("cards held on the cluster", () => {
  it("are nobody else's when only this stack's pods hold them", () => {
    const { gpus, cards, problems, warnings, notes } = judged(facts());
    expect([...gpus.allocatable]).to.deep.equal([["worker-1", 4]]);
    expect(gpus.unmanaged).to.deep.equal([]);
    expect(cards).to.deep.equal([
      {
        name: "worker-1",
        cards: 4,
        holders: [
          { label: "candle-vllm", cards: 1, unmanaged: false },
          { label: "clef-serve", cards: 1, unmanaged: false },
        ],
      },
    ]);
    expect([problems, warnings, notes]).to.deep.equal([[], [], []]);
  });

  it("name a stranger, Terminating or not, with its namespace", () => {
    const going = { metadata: { deletionTimestamp: secondsAgo(5) } };
    const pods = [livePod("default", "notebook", 2), livePod("ml", "old", 1, going)];
    expect(judged(facts({ pods })).gpus.unmanaged).to.deep.equal([
      { owner: "default/notebook", node: "worker-1", cards: 2 },
      { owner: "ml/old", node: "worker-1", cards: 1 },
    ]);
  });

  it("name a bare pod and a pod of an unowned Deployment in namespace llm-serving", () => {
    const pods = [livePod("llm-serving", "debug", 1), podOf("vllm-old", 1)];
    const state = judged(facts({ pods }));
    expect(state.gpus.unmanaged.map(({ owner }) => owner)).to.deep.equal([
      "llm-serving/debug",
      "llm-serving/vllm-old-5d9c7-abcde",
    ]);
  });

  it("C05 keep a Terminating pod of this stack on its card, and its own", () => {
    const pods = [podOf("candle-vllm", 2, { metadata: { deletionTimestamp: secondsAgo(5) } })];
    const state = judged(facts({ pods }));
    expect(state.gpus.unmanaged).to.deep.equal([]);
    expect(state.cards[0]?.holders).to.deep.equal([
      { label: "candle-vllm", cards: 2, unmanaged: false },
    ]);
  });

  it("are this stack's when the program no longer has the Deployment but the annotation says so", () => {
    const pods = [podOf("retired", 1)];
    const objects = [...facts().objects, live("Deployment", "retired", "dev")];
    expect(judged(facts({ pods, objects })).gpus.unmanaged).to.deep.equal([]);
  });

  it("leave out other nodes and pods without cards", () => {
    const elsewhere = { spec: { nodeName: "other", containers: [container(2)] } };
    const pods = [livePod("default", "web", 0), livePod("default", "far", 2, elsewhere)];
    const { gpus, cards } = judged(facts({ pods }));
    expect([gpus.unmanaged, cards[0]?.holders]).to.deep.equal([[], []]);
  });

  it("C09 follow allocatable, not capacity", () => {
    const status: LiveNode["status"] = {
      capacity: { "nvidia.com/gpu": "4" },
      allocatable: { "nvidia.com/gpu": "3" },
    };
    const { gpus } = judged(facts({ nodes: [liveNode("worker-1", { status })] }));
    expect(gpus.allocatable.get("worker-1")).to.equal(3);
  });
});

describe("cards that serve nothing", () => {
  const warned = (pod: LivePod) => judged(facts({ pods: [pod] })).warnings;

  it("are named with the time since which, for a pod that was never Ready", () => {
    expect(warned(podOf("candle-vllm", 2, { status: neverReady(3600) }))).to.deep.equal([
      "candle-vllm-5d9c7-abcde holds 2 cards of worker-1 and serves nothing since 2026-11-04T11:00:00Z: it has never been Ready",
    ]);
  });

  it("are expected within the workload's cold start", () => {
    expect(stackConfig().candleVllm.coldStartSeconds).to.equal(300);
    expect(warned(podOf("candle-vllm", 2, { status: neverReady(299) }))).to.deep.equal([]);
    expect(warned(podOf("candle-vllm", 2, { status: neverReady(301) }))).to.have.length(1);
  });

  it("are told at once of strangers, whose cold start nobody knows", () => {
    const [line] = warned(livePod("default", "predictor", 1, { status: neverReady(10) }));
    expect(line).to.match(/^default\/predictor holds 1 card of worker-1 and serves nothing since/);
  });

  it("are told at once of a pod that was Ready before", () => {
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime: secondsAgo(30) }];
    const status = { startTime: secondsAgo(3600), conditions };
    expect(warned(podOf("candle-vllm", 1, { status }))).to.deep.equal([
      "candle-vllm-5d9c7-abcde holds 1 card of worker-1 and serves nothing since 2026-11-04T11:59:30Z: it was Ready before",
    ]);
  });

  it("are not told of a pod that is Ready or goes", () => {
    expect(warned(podOf("candle-vllm", 1))).to.deep.equal([]);
    const going = { metadata: { deletionTimestamp: secondsAgo(1) }, status: neverReady(3600) };
    expect(warned(podOf("candle-vllm", 1, going))).to.deep.equal([]);
  });
});

describe("pods that wait for cards", () => {
  const message =
    "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available.";
  const unbound = (nodeSelector: Record<string, string> = {}) => {
    const spec = { containers: [container(2)], nodeSelector };
    const status = { conditions: [{ type: "PodScheduled", status: "False", message }] };
    const metadata = { namespace: "default", name: "notebook" };
    return judged(facts({ pods: [{ metadata, spec, status }] }));
  };

  it("are named with the scheduler's reason and hold nothing", () => {
    const { warnings, gpus } = unbound();
    expect(warnings).to.deep.equal([
      "default/notebook waits for 2 cards: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    ]);
    expect(gpus.unmanaged).to.deep.equal([]);
  });

  it("are left out when they select a node outside the stack", () => {
    expect(unbound({ "kubernetes.io/hostname": "other" }).warnings).to.deep.equal([]);
    expect(unbound({ "kubernetes.io/hostname": "worker-1" }).warnings).to.have.length(1);
  });
});
