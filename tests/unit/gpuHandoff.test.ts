import { expect } from "chai";
import type { PodNow } from "../../gpu/forecast.ts";
import { type HandoffArgs, handoffProblems } from "../../gpu/handoff.ts";

const pod = (workload: string, changes: Partial<PodNow> = {}): PodNow => ({
  ...{ workload, cards: 1, node: "worker-1", graceSeconds: 60, readySeconds: 0 },
  ...changes,
});
const workloads = (replicas: Readonly<Record<string, number>>): HandoffArgs["workloads"] =>
  new Map(
    Object.entries({ "candle-vllm": 1, "candle-vllm-next": 1, reasoning: 0, ...replicas }).map(
      ([name, count]) => [name, { key: `llm-serving:${name}`, replicas: count }],
    ),
  );

/** A handoff from candle-vllm to candle-vllm-next, both Ready, or a change of it. */
const problems = (changes: Partial<HandoffArgs> = {}): readonly string[] =>
  handoffProblems({
    backend: "candle-vllm-next",
    selected: "candle-vllm",
    acceptUnready: false,
    pods: [pod("candle-vllm"), pod("candle-vllm-next")],
    workloads: workloads({}),
    route: { route: "coder-predictor", effect: "stays", seconds: 0, waitsForCardSeconds: 0 },
    ...changes,
  });
const STARTING = [pod("candle-vllm"), pod("candle-vllm-next", { readySeconds: 100 })];
const RUNNING_REASONING = {
  selected: "candle-vllm-next",
  pods: [pod("reasoning"), pod("candle-vllm-next", { readySeconds: 100 })],
};

describe("handoffProblems", () => {
  it("lets a handoff pass to an engine that has a Ready pod and keeps it", () => {
    expect(problems()).to.deep.equal([]);
  });

  it("lets a backend pass that does not change, Ready or not, and a first install", () => {
    expect(problems({ selected: "candle-vllm-next", pods: STARTING })).to.deep.equal([]);
    expect(problems({ selected: undefined, pods: [] })).to.deep.equal([]);
  });

  it("refuses a handoff to an engine without a Ready pod", () => {
    expect(problems({ pods: STARTING })).to.deep.equal([
      "llm-serving:coderService.backend = candle-vllm-next: no pod of candle-vllm-next is Ready, so coder-predictor " +
        "would be without a serving endpoint (only an engine with a Ready pod that this update leaves alone); leave " +
        "the backend at candle-vllm until `up` has brought candle-vllm-next to Ready, then hand over, or accept it " +
        "with llm-serving:coderService.acceptUnready: true",
    ]);
  });

  it("takes a Ready pod that is going for none", () => {
    const pods = [pod("candle-vllm"), pod("candle-vllm-next", { goneSeconds: 30 })];
    expect(problems({ pods })[0]).to.include("no pod of candle-vllm-next is Ready");
  });

  it("refuses a handoff to an engine that the same edit parks or restarts", () => {
    expect(problems({ workloads: workloads({ "candle-vllm-next": 0 }) })[0]).to.include(
      "llm-serving:candle-vllm-next.replicas = 0",
    );
    const route = {
      route: "coder-predictor",
      effect: "stays",
      seconds: 240,
      waitsForCardSeconds: 0,
    } as const;
    expect(problems({ route })[0]).to.include("this update restarts candle-vllm-next");
  });

  it("refuses to park reasoning while no Ready pod stands behind the coder", () => {
    expect(problems(RUNNING_REASONING)).to.deep.equal([
      "llm-serving:reasoning.replicas = 0: reasoning stays until the coder answers, and no pod of candle-vllm-next is " +
        "Ready (1 or more until then); park reasoning once candle-vllm-next is Ready, or accept it with " +
        "llm-serving:coderService.acceptUnready: true",
    ]);
  });

  it("lets reasoning be parked once the coder answers, stay, or go on being parked", () => {
    const ready = {
      selected: "candle-vllm-next",
      pods: [pod("reasoning"), pod("candle-vllm-next")],
    };
    expect(problems(ready)).to.deep.equal([]);
    expect(
      problems({ ...RUNNING_REASONING, workloads: workloads({ reasoning: 1 }) }),
    ).to.deep.equal([]);
    const going = [pod("reasoning", { goneSeconds: 10 })];
    expect(problems({ ...RUNNING_REASONING, pods: going })).to.deep.equal([]);
  });

  it("accepts both with acceptUnready", () => {
    expect(problems({ pods: STARTING, acceptUnready: true })).to.deep.equal([]);
    expect(problems({ ...RUNNING_REASONING, acceptUnready: true })).to.deep.equal([]);
  });

  it("accepts acceptUnready where this edit parks or restarts the backend", () => {
    const loud = { acceptUnready: true, selected: "candle-vllm-next" };
    const parked = workloads({ "candle-vllm-next": 0 });
    expect(problems({ ...loud, workloads: parked })).to.deep.equal([]);
    const route = { route: "coder-predictor", effect: "stays", waitsForCardSeconds: 0 } as const;
    expect(problems({ ...loud, route: { ...route, seconds: 240 } })).to.deep.equal([]);
  });

  it("refuses acceptUnready where the backend answers anyway", () => {
    expect(problems({ acceptUnready: true })).to.deep.equal([
      "llm-serving:coderService.acceptUnready = true: not needed, as candle-vllm-next has a Ready pod and keeps it " +
        "(only where coder-predictor may be without one); remove it",
    ]);
  });
});
