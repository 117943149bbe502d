import { expect } from "chai";
import type { PodNow } from "../../gpu/forecast.ts";
import { type SurgePlan, surgeProblems } from "../../gpu/surge.ts";

const pod = (workload: string, cards: number, node = "worker-1"): PodNow => ({
  ...{ workload, cards, node, graceSeconds: 60, readySeconds: 0 },
});
const plan = (name: string, replicas: number, cards: number, more: Partial<SurgePlan> = {}) => ({
  ...{ name, replicas, cards, key: `llm-serving:${name}`, node: "worker-1", graceSeconds: 60 },
  ...{ coldStartSeconds: 240, rollout: "recreate" as const, templateChanges: false },
  ...more,
});
const SURGE = { rollout: "surge", templateChanges: true } as const;
const problems = (plans: readonly SurgePlan[], pods: readonly PodNow[], nodes = ["worker-1"]) =>
  surgeProblems(plans, pods, new Map(nodes.map((name) => [name, 4])));

describe("surgeProblems", () => {
  it("accepts a surge whose old and new pods have room beside all others", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("clef", 2, 1)];
    expect(problems(plans, [pod("coder", 1), pod("clef", 1)])).to.deep.equal([]);
  });

  it("refuses a narrower shape while another takes the cards that its old pod still keeps", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("clef", 2, 1)];
    expect(problems(plans, [pod("coder", 2), pod("clef", 1)])).to.deep.equal([
      "llm-serving:coder.rollout = surge: coder keeps 2 cards of worker-1 until its new pods are Ready, and worker-1 " +
        "is asked for up to 6 cards meanwhile (at most 4); set it to recreate, or make this edit in an update of its " +
        "own before the others",
    ]);
  });

  it("refuses a move to another node while another takes the cards that it leaves behind", () => {
    const plans = [plan("coder", 1, 2, { ...SURGE, node: "worker-2" }), plan("clef", 3, 1)];
    const pods = [pod("coder", 2), pod("clef", 1)];
    expect(problems(plans, pods, ["worker-1", "worker-2"])).to.have.length(1);
    expect(problems([plans[0] ?? plan("", 0, 0)], pods, ["worker-1", "worker-2"])).to.deep.equal(
      [],
    );
  });

  it("refuses each of two that surge at once where only one of them has room", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("next", 1, 1, SURGE), plan("clef", 1, 1)];
    const found = problems(plans, [pod("coder", 1), pod("next", 1), pod("clef", 1)]);
    expect(found.map((line) => line.split(":")[1])).to.deep.equal([
      "coder.rollout = surge",
      "next.rollout = surge",
    ]);
  });

  it("has no word on a surge whose template stays, that is parked, or that has no pod yet", () => {
    const pods = [pod("coder", 4)];
    expect(problems([plan("coder", 1, 4, { rollout: "surge" })], pods)).to.deep.equal([]);
    expect(problems([plan("coder", 0, 4, SURGE), plan("clef", 4, 1)], pods)).to.deep.equal([]);
    expect(problems([plan("coder", 1, 4, SURGE)], [])).to.deep.equal([]);
  });
});
