import { expect } from "chai";
import { BOOTSTRAP_TIMES } from "../../gpu/bootstrap.ts";
import { planGpus } from "../../gpu/plan.ts";
import type { LiveGpus } from "../../gpu/pool.ts";
import { coldStartWarnings, planWarnings } from "../../gpu/warnings.ts";
import type { Workload } from "../../gpu/workload.ts";
import {
  candleVllm,
  candleVllmNext,
  clefServe,
  figures,
  liveCards,
  prod,
  reasoning,
  worker1,
} from "./gpuFixtures.ts";

function warningsOf(workloads: readonly Workload[], live?: LiveGpus): readonly string[] {
  const plan = planGpus(workloads, [worker1], live);
  return planWarnings(plan, workloads, { coderBackend: "candle-vllm" });
}

/** A stack without a warning. */
const quiet = () => [clefServe(), candleVllm(), candleVllmNext({ replicas: 1 }), reasoning()];

describe("planWarnings", () => {
  it("says nothing about a full node whose models fit", () => {
    expect(warningsOf(quiet())).to.deep.equal([]);
  });

  it("names idle cards", () => {
    expect(warningsOf(prod())).to.deep.equal([
      "llm-serving:gpuNodes[0].cards = 4: 2 of the cards of worker-1 are idle",
    ]);
  });

  it("names the route that a parked clef-serve turns off", () => {
    const [, ...others] = quiet();
    expect(warningsOf([clefServe({ replicas: 0 }), ...others])).to.deep.equal([
      "llm-serving:clefServe.replicas = 0: clef-serve is parked, so route /v1/systemone is off",
      "llm-serving:gpuNodes[0].cards = 4: 1 of the cards of worker-1 is idle",
    ]);
  });

  it("names a parked backend of coder-predictor, and no other parked engine", () => {
    const stack = [clefServe(), candleVllm({ replicas: 0 }), candleVllmNext(), reasoning()];
    expect(warningsOf(stack)[0]).to.equal(
      "llm-serving:candleVllm.replicas = 0: candle-vllm is parked and is the backend of " +
        "coder-predictor, which then has no endpoint",
    );
    expect(warningsOf(stack)).to.have.length(2);
  });

  it("gives a marginal fit with its numbers", () => {
    expect(warningsOf([clefServe(), candleVllm({ maxSequences: 8 })])[0]).to.equal(
      "llm-serving:candleVllm.model.name = qwen3-30b-a3b-q4_k_m: marginal on 1 card of 32 GiB, " +
        "72863 KV tokens remain and 32768 x 8 = 262144 are wanted",
    );
  });

  it("says when the KV cache holds less than one context", () => {
    expect(warningsOf([clefServe(), candleVllm({ contextTokens: 131072 })])[0]).to.match(
      /72863 KV tokens remain and 131072 x 2 = 262144 are wanted, less than one context$/,
    );
  });

  it("warns of a parked model that its cards could never hold", () => {
    const parked = candleVllmNext({ tensorParallel: 1 });
    expect(warningsOf([clefServe(), candleVllm(), parked])[0]).to.equal(
      "llm-serving:candleVllmNext.tensorParallel = 1: parked, but qwen3-coder-next-q4 needs 50.6 " +
        "GiB on one card (weights 46 GiB, overhead 4.6 GiB) and a card of worker-1 has 32 GiB",
    );
  });

  it("warns of a download at each start where no claim is mounted", () => {
    const [, , ...others] = quiet();
    expect(
      warningsOf([clefServe(), candleVllm({ modelsClaim: undefined }), ...others]),
    ).to.deep.equal([
      "llm-serving:candleVllm.modelsClaim is not set: candle-vllm downloads its model at each start",
    ]);
  });

  it("warns of the unquantised 30B model on V100, and not once isq quantises it", () => {
    const model = (isq?: "q4k") => ({ name: "qwen3-30b-a3b-f16", source: { hub: "a/b" }, isq });
    const stack = (isq?: "q4k") => [
      candleVllm({ tensorParallel: 4, model: model(isq), maxSequences: 1 }),
    ];
    const caution =
      "llm-serving:candleVllm.model.name = qwen3-30b-a3b-f16: wrong output is reported for it " +
      "unquantised on V100";
    expect(warningsOf(stack())).to.deep.equal([caution]);
    expect(warningsOf(stack("q4k"))).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 4: the experts of qwen3-30b-a3b-f16 cannot be cut " +
        "at a block of 256, so candle-vllm turns them into Q8_0",
    ]);
  });

  it("warns of experts that split unevenly", () => {
    const model = { name: "qwen3-30b-a3b-f16", source: { hub: "a/b" }, isq: "q4k" as const };
    const two = [clefServe(), candleVllm({ tensorParallel: 2, model, maxSequences: 1 })];
    expect(warningsOf(two)[0]).to.equal(
      "llm-serving:candleVllm.tensorParallel = 2: the experts of qwen3-30b-a3b-f16 split " +
        "unevenly, the fullest card carries 67 % of them",
    );
  });

  it("warns of a GGUF file whose down projection becomes Q8_0", () => {
    const two = [clefServe(), reasoning({ replicas: 1 }), candleVllm({ tensorParallel: 2 })];
    expect(warningsOf(two)).to.deep.equal([
      "llm-serving:candleVllm.tensorParallel = 2: the experts of qwen3-30b-a3b-q4_k_m cannot be " +
        "cut at a block of 256, so candle-vllm turns their down projection into Q8_0",
    ]);
  });

  it("says when the cluster has another number of cards than the stack, above or below", () => {
    for (const allocatable of [8, 3]) {
      expect(warningsOf(quiet(), liveCards(allocatable))).to.deep.equal([
        `llm-serving:gpuNodes[0].cards = 4: worker-1 has 4 configured, ${allocatable} allocatable`,
      ]);
    }
    expect(warningsOf(quiet(), liveCards(4))).to.deep.equal([]);
  });

  it("leaves models alone whose figures the stack states", () => {
    const model = { name: "qwen3-30b-a3b-f16", source: { hub: "a/b" }, figures: figures() };
    expect(warningsOf([candleVllm({ tensorParallel: 4, model })])).to.deep.equal([]);
  });
});

describe("coldStartWarnings", () => {
  const withPip = BOOTSTRAP_TIMES.install.coldStartSeconds;

  for (const bootstrap of ["prepared", "image"] as const) {
    it(`names a cold start of install that is left behind by ${bootstrap}, and how to remove it`, () => {
      for (const coldStartSeconds of [withPip, withPip + 60]) {
        expect(coldStartWarnings({ bootstrap, coldStartSeconds })).to.deep.equal([
          `llm-serving:clefServe.coldStartSeconds = ${coldStartSeconds}: no less than the ${withPip} s of a start ` +
            `with pip, which bootstrap ${bootstrap} does not run; forecasts and alerts count it instead of ` +
            `${BOOTSTRAP_TIMES[bootstrap].coldStartSeconds} s; remove it (pulumi config rm --path ` +
            "'llm-serving:clefServe.coldStartSeconds'), or state what your model takes to load",
        ]);
      }
    });

    it(`says nothing about a shorter one of ${bootstrap}, stated or not`, () => {
      for (const coldStartSeconds of [withPip - 1, BOOTSTRAP_TIMES[bootstrap].coldStartSeconds]) {
        expect(coldStartWarnings({ bootstrap, coldStartSeconds })).to.deep.equal([]);
      }
    });
  }

  it("says nothing about install, however long it takes", () => {
    for (const coldStartSeconds of [withPip, 10 * withPip]) {
      expect(coldStartWarnings({ bootstrap: "install", coldStartSeconds })).to.deep.equal([]);
    }
  });
});
