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
const remade = (plans: readonly SurgePlan[], name: string): readonly SurgePlan[] =>
  plans.map((each) => (each.name === name ? { ...each, rollout: "recreate" } : each));
const unchanged = (plans: readonly SurgePlan[]): readonly SurgePlan[] =>
  plans.map((each) => ({ ...each, templateChanges: false }));

describe("surgeProblems", () => {
  it("accepts a surge whose old and new pods have room beside all others", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("clef", 2, 1)];
    expect(problems(plans, [pod("coder", 1), pod("clef", 1)])).to.deep.equal([]);
  });

  it("refuses a narrower shape while another takes the cards that its old pod still keeps", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("clef", 2, 1)];
    expect(problems(plans, [pod("coder", 2), pod("clef", 1)])).to.deep.equal([
      "llm-serving:coder.rollout = surge: worker-1 is asked for up to 6 cards, as old pods keep theirs until the new " +
        "ones are Ready (coder 2 cards; at most 4); set llm-serving:coder.rollout to recreate",
    ]);
  });

  it("refuses a move to another node while another takes the cards that it leaves behind", () => {
    const plans = [plan("coder", 1, 2, { ...SURGE, node: "worker-2" }), plan("clef", 3, 1)];
    const pods = [pod("coder", 2), pod("clef", 1)];
    const both = ["worker-1", "worker-2"];
    expect(problems(plans, pods, both)).to.deep.equal([
      "llm-serving:coder.rollout = surge: worker-1 is asked for up to 5 cards, as old pods keep theirs until the new " +
        "ones are Ready (coder 2 cards; at most 4); set llm-serving:coder.rollout to recreate or edit coder in an " +
        "update of its own before the others",
    ]);
    // Both remedies help: the second in two updates.
    expect(problems(remade(plans, "coder"), pods, both)).to.deep.equal([]);
    expect(problems([...plans.slice(0, 1), plan("clef", 1, 1)], pods, both)).to.deep.equal([]);
    const moved = [pod("coder", 2, "worker-2"), pod("clef", 1)];
    expect(problems(unchanged(plans), moved, both)).to.deep.equal([]);
  });

  it("has one message for two that surge at once, with what helps", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("next", 1, 1, SURGE)];
    // The coder's live pod is wider than planned: its surge alone is what the node has no room for.
    const pods = [pod("coder", 2), pod("next", 1)];
    expect(problems(plans, pods)).to.deep.equal([
      "llm-serving:coder.rollout = surge: worker-1 is asked for up to 6 cards, as old pods keep theirs until the new " +
        "ones are Ready (coder 2 cards, next 1 card; at most 4); set llm-serving:coder.rollout to recreate",
    ]);
    expect(problems(remade(plans, "coder"), pods)).to.deep.equal([]);
    expect(problems(remade(plans, "next"), pods)).to.have.length(1);
    const wide = [pod("coder", 3), pod("next", 3)];
    expect(problems(plans, wide)[0]).to.match(
      /; set llm-serving:coder.rollout to recreate and set llm-serving:next.rollout to recreate$/,
    );
    expect(problems(remade(remade(plans, "coder"), "next"), wide)).to.deep.equal([]);
  });

  it("leaves to the plan what the plan refuses: surges that ask for too many cards by themselves", () => {
    const plans = [plan("coder", 1, 1, SURGE), plan("next", 1, 1, SURGE), plan("clef", 1, 1)];
    expect(problems(plans, [pod("coder", 1), pod("next", 1), pod("clef", 1)])).to.deep.equal([]);
    const one = [plan("coder", 1, 1, SURGE), plan("clef", 3, 1)];
    expect(problems(one, [pod("coder", 1), pod("clef", 1)])).to.deep.equal([]);
  });

  it("has no word on a surge whose template stays, that is parked, or that has no pod yet", () => {
    const pods = [pod("coder", 4)];
    expect(problems([plan("coder", 1, 4, { rollout: "surge" })], pods)).to.deep.equal([]);
    expect(problems([plan("coder", 0, 4, SURGE), plan("clef", 4, 1)], pods)).to.deep.equal([]);
    expect(problems([plan("coder", 1, 4, SURGE)], [])).to.deep.equal([]);
  });
});
