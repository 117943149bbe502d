import { expect } from "chai";
import fc from "fast-check";
import { budgetEdits, type Edit, peakCards, sumOf, surgePods } from "../../gpu/budget.ts";
import { works } from "../../gpu/engineRules.ts";
import { planGpus } from "../../gpu/plan.ts";
import { nodePools } from "../../gpu/pool.ts";
import { type PodCount, rollingUpdateBounds } from "../../gpu/rollout.ts";
import type { Workload } from "../../gpu/workload.ts";
import {
  arbitraryWorkloads,
  candleVllm,
  candleVllmNext,
  clefServe,
  reasoning,
  worker1,
} from "./gpuFixtures.ts";

describe("rollingUpdateBounds", () => {
  const table: readonly (readonly [PodCount, PodCount, readonly (readonly number[])[]])[] = [
    // surge and unavailable for 1, 2, 3 and 4 replicas
    [
      "25%",
      "25%",
      [
        [1, 0],
        [1, 0],
        [1, 0],
        [1, 1],
      ],
    ],
    [
      "50%",
      "50%",
      [
        [1, 0],
        [1, 1],
        [2, 1],
        [2, 2],
      ],
    ],
    [
      "100%",
      0,
      [
        [1, 0],
        [2, 0],
        [3, 0],
        [4, 0],
      ],
    ],
    [
      "0%",
      "25%",
      [
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 1],
      ],
    ],
    [
      0,
      0,
      [
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 1],
      ],
    ],
    [
      1,
      0,
      [
        [1, 0],
        [1, 0],
        [1, 0],
        [1, 0],
      ],
    ],
  ];
  for (const [maxSurge, maxUnavailable, bounds] of table) {
    bounds.forEach(([surge, unavailable], index) => {
      const replicas = index + 1;
      it(`C02 lets ${replicas} replicas at ${maxSurge}/${maxUnavailable} surge by ${surge ?? 0}`, () => {
        expect(rollingUpdateBounds(replicas, maxSurge, maxUnavailable)).to.deep.equal({
          surge,
          unavailable,
        });
      });
    });
  }

  it("throws on a count that is not a number of pods", () => {
    expect(() => rollingUpdateBounds(1, NaN, 0)).to.throw(RangeError);
    expect(() => rollingUpdateBounds(1, -1, 0)).to.throw(RangeError);
    expect(() => rollingUpdateBounds(Infinity, "25%", 0)).to.throw(RangeError);
  });
});

describe("planGpus: surge", () => {
  const surging = (make: typeof candleVllm, changes: Partial<Workload> = {}) =>
    make({ rollout: "surge", ...changes });

  for (const replicas of [1, 2, 3, 4]) {
    it(`C02 counts one pod more than ${replicas} replicas under surge, none under recreate`, () => {
      const stack = (rollout: "surge" | "recreate", cards: number) =>
        planGpus([clefServe({ replicas, rollout })], [{ ...worker1, cards }]).problems.length;
      expect(stack("recreate", replicas)).to.equal(0);
      expect(stack("surge", replicas)).to.equal(1);
      expect(stack("surge", replicas + 1)).to.equal(0);
    });
  }

  it("C02 needs no surge for a parked workload", () => {
    expect(surgePods({ replicas: 0, rollout: "surge" })).to.equal(0);
    expect(planGpus([surging(candleVllmNext)], [{ ...worker1, cards: 2 }]).problems).to.deep.equal(
      [],
    );
  });

  it("C02 names the rollout when only the surge does not fit", () => {
    const stack = [clefServe(), surging(candleVllm), candleVllmNext({ replicas: 1 })];
    expect(planGpus(stack, [worker1]).problems).to.deep.equal([
      "llm-serving:candleVllm.rollout = surge: worker-1 is asked for 5 cards, clef-serve 1 x 1 = 1 " +
        "+ candle-vllm 1 x 1 = 1 + candle-vllm-next 1 x 2 = 2 + candle-vllm surge 1 x 1 = 1, and " +
        "has 4 configured (at most 4); set llm-serving:candleVllm.rollout to recreate, set " +
        "llm-serving:clefServe.replicas to 0, set llm-serving:candleVllm.replicas to 0 or set " +
        "llm-serving:candleVllmNext.replicas to 0",
    ]);
  });

  it("C02 adds up the surges of workloads that change at once", () => {
    const one = [clefServe(), surging(candleVllm), reasoning({ replicas: 1 })];
    expect(planGpus(one, [worker1]).problems).to.deep.equal([]);
    const two = [surging(clefServe), surging(candleVllm), reasoning({ replicas: 1 })];
    expect(planGpus(two, [worker1]).problems).to.have.length(1);
    expect(planGpus(two, [{ ...worker1, cards: 5 }]).problems).to.deep.equal([]);
  });
});

describe("budgetEdits", () => {
  const worker2 = { name: "worker-2", cards: 4, memoryGiB: 32 };
  const pools = nodePools([worker1, worker2]);
  const pool = (name: string) => {
    const found = pools.get(name);
    if (found === undefined) throw new Error(`no pool ${name}`);
    return found;
  };

  function applied(workloads: readonly Workload[], edits: readonly Edit[]): readonly Workload[] {
    return workloads.map((workload) =>
      edits
        .filter(({ path }) => path.startsWith(`${workload.key}.`))
        .reduce((edited, { path, value }) => {
          return { ...edited, [path.slice(workload.key.length + 1)]: value };
        }, workload),
    );
  }

  it("offers nothing when nothing is too much", () => {
    expect(budgetEdits(pool("worker-1"), [clefServe()])).to.deep.equal([]);
  });

  it("offers fewer ranks only where the model still fits", () => {
    const hungry = [candleVllm({ tensorParallel: 4 }), reasoning({ replicas: 1 })];
    expect(budgetEdits(pool("worker-1"), hungry)).to.deep.include([
      { path: "llm-serving:candleVllm.tensorParallel", value: 2 },
    ]);
    const next = [candleVllmNext({ replicas: 2 }), reasoning({ replicas: 1 })];
    expect(budgetEdits(pool("worker-1"), next)).to.deep.equal([
      [{ path: "llm-serving:reasoning.replicas", value: 0 }],
      [{ path: "llm-serving:candleVllmNext.replicas", value: 1 }],
    ]);
  });

  it("offers the other node first when it has room", () => {
    const five = [candleVllmNext({ replicas: 2 }), reasoning({ replicas: 1 })];
    const elsewhere = { pool: pool("worker-2"), spare: 1 };
    expect(budgetEdits(pool("worker-1"), five, elsewhere)[0]).to.deep.equal([
      { path: "llm-serving:reasoning.node", value: "worker-2" },
    ]);
  });

  it("parks several, the largest first, when no single edit is enough", () => {
    const all = [
      clefServe({ replicas: 4 }),
      candleVllm({ replicas: 5 }),
      reasoning({ replicas: 6 }),
    ];
    expect(budgetEdits(pool("worker-1"), all)).to.deep.equal([
      [
        { path: "llm-serving:reasoning.replicas", value: 0 },
        { path: "llm-serving:candleVllm.replicas", value: 0 },
      ],
    ]);
  });

  it("never parks the backend of coder-predictor, which would then have no endpoint", () => {
    const full = [clefServe(), candleVllm({ tensorParallel: 2 }), reasoning({ replicas: 2 })];
    const parked = { path: "llm-serving:candleVllm.replicas", value: 0 };
    expect(budgetEdits(pool("worker-1"), full).flat()).to.deep.include(parked);
    expect(budgetEdits(pool("worker-1"), full, undefined, "candle-vllm")).to.deep.equal([
      [{ path: "llm-serving:clefServe.replicas", value: 0 }],
      [{ path: "llm-serving:candleVllm.tensorParallel", value: 1 }],
      [{ path: "llm-serving:reasoning.replicas", value: 1 }],
    ]);
  });

  it("takes from the backend of coder-predictor last, and never all, when no single edit is enough", () => {
    const all = [
      clefServe({ replicas: 4 }),
      candleVllm({ replicas: 9 }),
      reasoning({ replicas: 6 }),
    ];
    expect(budgetEdits(pool("worker-1"), all, undefined, "candle-vllm")).to.deep.equal([
      [
        { path: "llm-serving:reasoning.replicas", value: 0 },
        { path: "llm-serving:clefServe.replicas", value: 0 },
        { path: "llm-serving:candleVllm.replicas", value: 4 },
      ],
    ]);
  });

  it("offers only edits that work, whatever is asked for", () => {
    fc.assert(
      fc.property(arbitraryWorkloads, (generated) => {
        const workloads = generated.map((workload) => ({ ...workload, node: "worker-1" }));
        const elsewhere = { pool: pool("worker-2"), spare: 4 };
        const excess = sumOf(workloads, peakCards) - 4;
        const alternatives = budgetEdits(pool("worker-1"), workloads, elsewhere);
        expect(alternatives.length > 0).to.equal(excess > 0);
        const sparing = budgetEdits(pool("worker-1"), workloads, elsewhere, "candle-vllm");
        expect(sparing.flat()).to.not.deep.include({
          path: "llm-serving:candleVllm.replicas",
          value: 0,
        });
        for (const edits of [...alternatives, ...sparing]) {
          const edited = applied(workloads, edits);
          const here = edited.filter(({ node }) => node === "worker-1");
          expect(sumOf(here, peakCards)).to.be.at.most(4);
          expect(sumOf(edited, peakCards) - sumOf(here, peakCards)).to.be.at.most(4);
          edited.forEach((workload, index) => {
            const before = workloads[index];
            if (workload.tensorParallel === before?.tensorParallel) return;
            expect(works(workload, worker1, workload.tensorParallel)).to.equal(true);
          });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
