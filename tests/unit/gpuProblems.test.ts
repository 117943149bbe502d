import { expect } from "chai";
import { planGpus } from "../../gpu/plan.ts";
import type { GpuNode, Workload } from "../../gpu/workload.ts";
import {
  candleVllm,
  candleVllmNext,
  clefServe,
  figures,
  reasoning,
  worker1,
} from "./gpuFixtures.ts";

const problemsOf = (workloads: readonly Workload[], nodes: readonly GpuNode[] = [worker1]) =>
  planGpus(workloads, nodes).problems;

describe("planGpus: rules of a workload", () => {
  it("collects every problem instead of stopping at the first", () => {
    const problems = problemsOf([
      clefServe({ node: "worker-9" }),
      candleVllm({ tensorParallel: 3, hostMemoryGiB: 1 }),
      reasoning({ model: { name: "unknown", source: { hub: "org/unknown" } } }),
    ]);
    expect(problems.map((line) => line.split(":", 2).join(":"))).to.deep.equal([
      "llm-serving:clefServe.node = worker-9",
      "llm-serving:candleVllm.hostMemoryGiB = 1",
      "llm-serving:candleVllm.tensorParallel = 3",
      "llm-serving:reasoning.model.name = unknown",
    ]);
  });

  it("refuses more ranks than the node has cards, parked too", () => {
    const node = { ...worker1, cards: 2 };
    const model = { name: "small", source: { hub: "a/b" }, figures: figures() };
    expect(
      problemsOf([candleVllm({ replicas: 0, tensorParallel: 4, model })], [node]),
    ).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 4: worker-1 has 2 cards (1 or 2); set it to 1 or 2",
    ]);
  });

  it("refuses a model that is too big while it runs, and leaves a parked one to a warning", () => {
    const small = candleVllmNext({ tensorParallel: 1 });
    expect(problemsOf([{ ...small, replicas: 1 }])).to.deep.equal([
      "llm-serving:candleVllmNext.tensorParallel = 1: qwen3-coder-next-q4 needs 50.6 GiB on one " +
        "card (weights 46 GiB, overhead 4.6 GiB) and a card of worker-1 has 32 GiB (2 or 4); set " +
        "it to 2 or 4",
    ]);
    expect(problemsOf([small])).to.deep.equal([]);
  });

  it("says so when no number of cards works", () => {
    const node = { ...worker1, memoryGiB: 8 };
    expect(problemsOf([candleVllmNext({ replicas: 1 })], [node])[0]).to.match(
      /\(no number of cards works on worker-1\); choose another model or node$/,
    );
  });

  it("D06 counts /dev/shm in the host memory from two cards on", () => {
    const next = (hostMemoryGiB: number) => candleVllmNext({ hostMemoryGiB });
    expect(problemsOf([next(6)])).to.deep.equal([]);
    expect(problemsOf([next(5)])).to.deep.equal([
      "llm-serving:candleVllmNext.hostMemoryGiB = 5: 2 x 1 GiB of processes and 4 GiB of " +
        "/dev/shm do not fit (6 or more); set it to 6 or more",
    ]);
    expect(problemsOf([candleVllm({ hostMemoryGiB: 1 })])).to.deep.equal([]);
  });

  it("refuses isq on a GGUF file and under vLLM, and takes it on full precision", () => {
    const gguf = { name: "qwen3-30b-a3b-q4_k_m", source: { gguf: "/m.gguf" }, isq: "q4k" as const };
    const hub = { name: "qwen3-30b-a3b-f16", source: { hub: "a/b" }, isq: "q4k" as const };
    expect(problemsOf([candleVllm({ model: gguf })])).to.deep.equal([
      "llm-serving:candleVllm.model.isq = q4k: candle-vllm panics when it quantises a GGUF file " +
        "(absent); remove llm-serving:candleVllm.model.isq",
    ]);
    expect(problemsOf([reasoning({ model: hub })])).to.deep.equal([
      "llm-serving:reasoning.model.isq = q4k: candle-vllm only (absent); remove " +
        "llm-serving:reasoning.model.isq",
    ]);
    expect(problemsOf([candleVllm({ model: hub })])).to.deep.equal([]);
  });

  it("refuses experts that candle-vllm cannot cut at load", () => {
    const model = (isq?: "q4k") => ({
      name: "odd",
      source: { hub: "a/b" },
      isq,
      figures: figures({ moeIntermediate: 896 }),
    });
    expect(problemsOf([candleVllm({ tensorParallel: 2, model: model("q4k") })])).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 2: candle-vllm cannot cut the experts of odd, 896 " +
        "columns wide, into 2 ranks as q4k (4); set it to 4",
    ]);
    expect(problemsOf([candleVllm({ tensorParallel: 2, model: model() })])).to.deep.equal([]);
  });
});

describe("planGpus: heads", () => {
  const stack = (
    heads: number,
    kvHeads: number,
    tensorParallel: number,
    engine = "candle-vllm",
  ) => [
    candleVllm({
      tensorParallel,
      engine: engine === "vllm" ? "vllm" : "candle-vllm",
      model: { name: "m", source: { hub: "a/b" }, figures: figures({ heads, kvHeads }) },
    }),
  ];

  for (const heads of [40, 52, 28]) {
    for (const kvHeads of [8, 4, 2]) {
      it(`D01 takes tensorParallel 1, 2 and 4 for ${heads} heads and ${kvHeads} KV heads`, () => {
        for (const ranks of [1, 2, 4]) {
          expect(problemsOf(stack(heads, kvHeads, ranks))).to.deep.equal([]);
          expect(problemsOf(stack(heads, kvHeads, ranks, "vllm"))).to.deep.equal([]);
        }
      });

      it(`D01 refuses tensorParallel 3 for ${heads} heads and ${kvHeads} KV heads`, () => {
        expect(problemsOf(stack(heads, kvHeads, 3))).to.deep.equal([
          "llm-serving:candleVllm.tensorParallel = 3: candle-vllm runs on a power of two of " +
            `cards, the ${heads} heads of m do not divide by 3, the ${kvHeads} KV heads of m neither ` +
            "divide by 3 nor divide it (1, 2 or 4); set it to 1, 2 or 4",
        ]);
      });
    }
  }

  it("D01 refuses tensorParallel 4 when the heads divide by 2 only", () => {
    expect(problemsOf(stack(30, 2, 4))).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 4: the 30 heads of m do not divide by 4 (1 or 2); " +
        "set it to 1 or 2",
    ]);
  });

  it("D01 refuses KV heads that neither divide nor replicate, and takes replicated ones", () => {
    expect(problemsOf(stack(12, 3, 2))).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 2: the 3 KV heads of m neither divide by 2 nor divide " +
        "it (1); set it to 1",
    ]);
    expect(problemsOf(stack(16, 2, 4))).to.deep.equal([]);
  });

  it("D01 refuses linear heads that do not divide", () => {
    const model = { name: "m", source: { hub: "a/b" }, figures: figures({ linearHeads: 6 }) };
    expect(problemsOf([candleVllm({ tensorParallel: 4, model })])).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 4: the 6 linear heads of m do not divide by 4 (1 or 2); " +
        "set it to 1 or 2",
    ]);
  });

  it("D01 refuses numbers of cards other than 1, 2 and 4 under either engine", () => {
    const sixteen = [{ ...worker1, cards: 16 }];
    expect(problemsOf(stack(32, 8, 8), sixteen)).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 8: a pod takes no other number of cards (1, 2 or " +
        "4); set it to 1, 2 or 4",
    ]);
    expect(problemsOf(stack(30, 3, 3, "vllm"), sixteen)).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 3: a pod takes no other number of cards (1); set it to 1",
    ]);
  });

  it("B12 refuses 0, negative and fractional numbers of cards", () => {
    for (const ranks of [0, -2, 0.5]) {
      expect(problemsOf(stack(32, 8, ranks))[0]).to.contain(
        `tensorParallel = ${ranks}: ${ranks} is not a number of cards (1, 2 or 4)`,
      );
    }
  });
});
