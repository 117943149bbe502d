import { expect } from "chai";
import type { LiveNode, LiveTaint } from "../../cluster/facts.ts";
import { facts, judged, liveNode, stackConfig } from "./clusterFixtures.ts";

const tainted = (...taints: LiveTaint[]) =>
  facts({ nodes: [liveNode("worker-1", { spec: { taints } })] });

describe("nodes of the cluster", () => {
  it("C08 are refused when no node has the hostname, naming the label and the nodes with cards", () => {
    const bare: LiveNode = { metadata: { name: "cp", labels: { "kubernetes.io/hostname": "cp" } } };
    const state = judged(facts({ nodes: [liveNode("gpu-7"), bare] }));
    expect(state.problems).to.deep.equal([
      "llm-serving:gpuNodes[0].name = worker-1: no node of the cluster has this label kubernetes.io/hostname (with cards: gpu-7); set it to one of these",
    ]);
    // The plan does not ask to park what a typo hit.
    expect(state.gpus.allocatable.get("worker-1")).to.equal(4);
  });

  it("C08 are known by the label, whatever the node's name is", () => {
    expect(judged(facts()).problems).to.deep.equal([]);
    const unlabelled: LiveNode = { ...liveNode(), metadata: { name: "worker-1" } };
    expect(judged(facts({ nodes: [unlabelled] })).problems[0]).to.match(
      /\(no node has nvidia\.com\/gpu\); let the GPU operator's device plugin run first$/,
    );
  });

  for (const value of ["true", "present", undefined]) {
    it(`C08 may have the taint nvidia.com/gpu=${value ?? ""}`, () => {
      const taint = { key: "nvidia.com/gpu", effect: "NoSchedule" };
      const state = judged(tainted(value === undefined ? taint : { ...taint, value }));
      expect(state.problems).to.deep.equal([]);
    });
  }

  it("are refused for a taint that the pods do not tolerate", () => {
    const state = judged(
      tainted(
        { key: "dedicated", value: "ml", effect: "NoSchedule" },
        { key: "nvidia.com/gpu", effect: "NoExecute" },
        { key: "spot", effect: "PreferNoSchedule" },
      ),
    );
    expect(state.problems).to.deep.equal([
      "llm-serving:gpuNodes[0].name = worker-1: its taint dedicated=ml:NoSchedule keeps clef-serve, candle-vllm off (tolerated: nvidia.com/gpu with NoSchedule); remove it with `kubectl taint nodes node-of-worker-1 dedicated=ml:NoSchedule-` or name another node",
      "llm-serving:gpuNodes[0].name = worker-1: its taint nvidia.com/gpu:NoExecute keeps clef-serve, candle-vllm off (tolerated: nvidia.com/gpu with NoSchedule); remove it with `kubectl taint nodes node-of-worker-1 nvidia.com/gpu:NoExecute-` or name another node",
    ]);
  });

  it("may have any taint while nothing runs there", () => {
    const config = stackConfig();
    const parked = {
      ...config,
      clefServe: { ...config.clefServe, replicas: 0 },
      candleVllm: { ...config.candleVllm, replicas: 0 },
    };
    const state = judged(tainted({ key: "dedicated", effect: "NoSchedule" }), parked);
    expect(state.problems).to.deep.equal([]);
  });

  it("are a warning while they are cordoned or not Ready, since that passes", () => {
    const node = liveNode("worker-1", {
      spec: {
        unschedulable: true,
        taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }],
      },
      status: {
        allocatable: { "nvidia.com/gpu": "4" },
        conditions: [{ type: "Ready", status: "Unknown" }],
      },
    });
    const state = judged(facts({ nodes: [node] }));
    expect(state.problems).to.deep.equal([]);
    expect(state.warnings).to.deep.equal([
      "llm-serving:gpuNodes[0].name = worker-1: is not Ready and cordoned, so no new pod starts there for now",
    ]);
  });
});
