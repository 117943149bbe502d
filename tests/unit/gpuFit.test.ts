import { expect } from "chai";
import fc from "fast-check";
import { splitExperts } from "../../gpu/experts.ts";
import { type Fit, type FitInput, memoryFit } from "../../gpu/fit.ts";
import { modelFigures, MODELS } from "../../gpu/models.ts";
import { figures } from "./gpuFixtures.ts";

/** Fit of a row of the model table on cards of 32 GiB, 32768 x 8 tokens wanted. */
function fit(name: string, tensorParallel: number, changes: Partial<FitInput> = {}): Fit {
  const row = MODELS[name];
  if (row === undefined) throw new Error(`${name} is not in the table`);
  return memoryFit({
    engine: "candle-vllm",
    figures: row.figures,
    tensorParallel,
    memoryGiB: 32,
    gguf: row.format !== "f16",
    contextTokens: 32768,
    maxSequences: 8,
    ...changes,
  });
}

const q4 = "qwen3-30b-a3b-q4_k_m";
const f16 = "qwen3-30b-a3b-f16";
const coderNext = "qwen3-coder-next-q4";

describe("MODELS", () => {
  it("states figures, a format and a source for each model", () => {
    expect(Object.keys(MODELS)).to.deep.equal([q4, f16, coderNext]);
    for (const [name, { figures: row, source }] of Object.entries(MODELS)) {
      expect(source, name).to.not.equal("");
      expect(row.heads % row.kvHeads, name).to.equal(0);
    }
  });

  it("holds 61 GB as 56.81 GiB", () => {
    expect(MODELS[f16]?.figures.weightsGiB).to.be.closeTo(56.81, 0.005);
  });

  it("lets the key heads decide for linear attention: the value heads are a multiple", () => {
    for (const { figures: row, linearValueHeads = 0 } of Object.values(MODELS)) {
      expect(linearValueHeads % (row.linearHeads ?? 1)).to.equal(0);
    }
  });

  it("yields to figures that the stack states, and knows no other name", () => {
    const own = figures();
    expect(modelFigures({ name: q4, source: {}, figures: own })).to.equal(own);
    expect(modelFigures({ name: "toString", source: {} })).to.equal(undefined);
  });
});

describe("memoryFit: worked examples", () => {
  it("puts the 30B model at Q4 on one card of 32 GiB and refuses 16 GiB", () => {
    const one = fit(q4, 1, { maxSequences: 2 });
    expect(one.verdict).to.equal("fits");
    expect(one.weightsGiB).to.be.closeTo(17.697, 0.001); // 17.35 x 1.02
    expect(one.overheadGiB).to.be.closeTo(3.18485, 0.00001); // 2.3 + 17.697 x 0.05
    // (32 - 20.88185) x 0.6 GiB at 96 KiB a token
    expect(one.kvTokens).to.equal(72863);
    expect(fit(q4, 1).verdict).to.equal("marginal");
    expect(fit(q4, 1, { memoryGiB: 16 }).verdict).to.equal("refused");
  });

  it("refuses the 30B model at f16 on one and two cards, and puts it on four", () => {
    expect([1, 2, 4].map((ranks) => fit(f16, ranks).verdict)).to.deep.equal([
      "refused",
      "refused",
      "fits",
    ]);
    expect(fit(f16, 4).kvTokens).to.equal(379818);
  });

  it("refuses Coder-Next on one card; two leave 290924 tokens under candle-vllm", () => {
    expect(fit(coderNext, 1).verdict).to.equal("refused");
    expect(fit(coderNext, 2)).to.include({
      verdict: "fits",
      kvTokens: 290924,
      wantedTokens: 262144,
      requantised: false,
    });
    expect(fit(coderNext, 2, { maxSequences: 9 }).verdict).to.equal("marginal");
    expect(fit(coderNext, 4)).to.include({ verdict: "fits", requantised: true });
  });

  it("leaves vLLM what is left of 84 % of a card: Coder-Next on two is marginal", () => {
    const two = fit(coderNext, 2, { engine: "vllm" });
    expect(two).to.include({ verdict: "marginal", kvTokens: 37482, wantedTokens: 262144 });
  });

  it("calls weights beyond 84 % but within the card marginal with 0 tokens, never refused", () => {
    const tight = { figures: figures({ weightsGiB: 26 }), engine: "vllm" as const };
    expect(fit(q4, 1, tight)).to.include({ verdict: "marginal", kvTokens: 0 });
  });

  it("refuses from the first byte beyond the card on", () => {
    // weights x 1.02 x 1.05 + 2.3 = 32
    const limit = (32 - 2.3) / (1.02 * 1.05);
    const wish = { contextTokens: 0, gguf: false };
    const weigh = (weightsGiB: number) => fit(q4, 1, { ...wish, figures: figures({ weightsGiB }) });
    expect(weigh(limit - 1e-9).verdict).to.equal("fits");
    expect(weigh(limit + 1e-9).verdict).to.equal("refused");
  });

  it("replicates KV heads where there are fewer than ranks", () => {
    const row = figures({ kvHeads: 2, weightsGiB: 0 });
    const tokens = [1, 2, 4].map((ranks) => fit(q4, ranks, { figures: row }).kvTokens);
    // 29.7 x 0.6 GiB at 32, 16 and again 16 KiB a token
    expect(tokens).to.deep.equal([583925, 1167851, 1167851]);
  });
});

describe("memoryFit: quantised while loading", () => {
  const isq = (ranks: number, kind: "q4k" | "q8_0") => fit(f16, ranks, { isq: kind });

  it("shrinks full precision to 5.1875 bits for q4k and 8.5 for q8_0", () => {
    expect(isq(1, "q4k").weightsGiB).to.be.closeTo(((61e9 / 2 ** 30) * 1.02 * 5.1875) / 16, 1e-9);
    expect(isq(1, "q8_0").weightsGiB).to.be.closeTo(((61e9 / 2 ** 30) * 1.02 * 8.5) / 16, 1e-9);
    expect(isq(1, "q8_0").verdict).to.equal("refused");
  });

  it("lets rank 0 of two carry two thirds of the 30B model at q4k", () => {
    const two = isq(2, "q4k");
    expect(two.share).to.equal(2 / 3);
    expect(two.weightsGiB).to.be.closeTo((isq(1, "q4k").weightsGiB * 2) / 3, 1e-9);
    expect(two.requantised).to.equal(false);
  });

  it("turns the 30B model into Q8_0 on four cards, the same as asking for q8_0", () => {
    const four = isq(4, "q4k");
    expect(four).to.include({ share: 1 / 4, requantised: true });
    expect(four.weightsGiB).to.equal(isq(4, "q8_0").weightsGiB);
  });

  it("does not shrink weights that are quantised already", () => {
    const hub = { gguf: false, isq: "q4k" as const, quantised: true };
    expect(fit(coderNext, 2, hub).weightsGiB).to.be.closeTo((45.1 * 1.02) / 2, 1e-9);
  });

  it("turns the down projection of a GGUF file into Q8_0 where it is cut inside a block", () => {
    const growth = 1 + (8.5 / 4.5 - 1) / 3;
    expect(fit(q4, 1).requantised).to.equal(false);
    expect(fit(q4, 2).requantised).to.equal(true); // 768 / 2 = 384
    expect(fit(q4, 2).weightsGiB).to.be.closeTo((17.35 * 1.02 * growth) / 2, 1e-9);
    expect(fit(q4, 2, { engine: "vllm" }).requantised).to.equal(false);
  });
});

describe("splitExperts", () => {
  const table = [
    { columns: 768, ranks: 1, split: { isq: "q4k", columns: [768] } },
    { columns: 768, ranks: 2, split: { isq: "q4k", columns: [512, 256] } },
    { columns: 768, ranks: 4, split: { isq: "q8_0", columns: [192, 192, 192, 192] } },
    { columns: 512, ranks: 2, split: { isq: "q4k", columns: [256, 256] } },
    { columns: 512, ranks: 4, split: { isq: "q8_0", columns: [128, 128, 128, 128] } },
    { columns: 896, ranks: 2, split: undefined }, // rank 1 would hold 384
    { columns: 1280, ranks: 4, split: undefined }, // rank 3 would hold nothing
  ] as const;
  for (const { columns, ranks, split } of table) {
    it(`cuts ${columns} columns into ${ranks} at q4k: ${split?.columns.join(", ") ?? "stops"}`, () => {
      expect(splitExperts(columns, ranks, "q4k")).to.deep.equal(split);
    });
  }

  it("gives away every column once, in whole blocks", () => {
    const columns = fc.integer({ min: 1, max: 400 }).map((blocks) => blocks * 32);
    fc.assert(
      fc.property(columns, fc.constantFrom(2, 4, 8), (wide, ranks) => {
        const split = splitExperts(wide, ranks, "q4k");
        if (split === undefined) return;
        const block = split.isq === "q4k" ? 256 : 32;
        expect(split.columns).to.have.length(ranks);
        expect(split.columns.reduce((sum, part) => sum + part, 0)).to.equal(wide);
        for (const part of split.columns) expect(part % block).to.equal(0);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("memoryFit: properties", () => {
  const input: fc.Arbitrary<FitInput> = fc.record({
    engine: fc.constantFrom("candle-vllm" as const, "vllm" as const),
    figures: fc.record({
      heads: fc.integer({ min: 1, max: 128 }),
      kvHeads: fc.integer({ min: 1, max: 16 }),
      moeIntermediate: fc
        .option(fc.integer({ min: 1, max: 64 }), { nil: undefined })
        .map((blocks) => (blocks === undefined ? undefined : blocks * 128)),
      weightsGiB: fc.double({ min: 0, max: 500, noNaN: true }),
      kvKiBPerToken: fc.double({ min: 0, max: 500, noNaN: true }),
    }),
    tensorParallel: fc.constantFrom(1, 2, 4),
    memoryGiB: fc.integer({ min: 1, max: 192 }),
    gguf: fc.boolean(),
    isq: fc.constantFrom(undefined, "q4k" as const, "q8_0" as const),
    contextTokens: fc.integer({ min: 1024, max: 1048576 }),
    maxSequences: fc.integer({ min: 1, max: 256 }),
  });
  const rank = { refused: 0, marginal: 1, fits: 2 };

  it("never crashes, and the verdict follows from the numbers", () => {
    fc.assert(
      fc.property(input, (given) => {
        const result = memoryFit(given);
        const used = result.weightsGiB + result.overheadGiB;
        expect(result.verdict === "refused").to.equal(used > given.memoryGiB);
        if (result.verdict === "fits") expect(result.kvTokens).to.be.at.least(result.wantedTokens);
        expect(result.kvTokens).to.be.at.least(0);
        expect(result.share).to.be.within(1 / given.tensorParallel, 1);
      }),
      { numRuns: 2000 },
    );
  });

  it("gets no worse with more memory, lighter weights or a smaller wish", () => {
    fc.assert(
      fc.property(input, fc.integer({ min: 1, max: 64 }), (given, step) => {
        const verdict = rank[memoryFit(given).verdict];
        const weightsGiB = given.figures.weightsGiB / (1 + step);
        for (const easier of [
          { ...given, memoryGiB: given.memoryGiB + step },
          { ...given, figures: { ...given.figures, weightsGiB } },
          { ...given, contextTokens: Math.floor(given.contextTokens / (1 + step)) },
        ]) {
          expect(rank[memoryFit(easier).verdict]).to.be.at.least(verdict);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("throws a RangeError that names the number that is not finite", () => {
    for (const value of [NaN, Infinity, -Infinity]) {
      for (const name of ["tensorParallel", "memoryGiB", "contextTokens", "maxSequences"]) {
        expect(() => fit(q4, 1, { [name]: value })).to.throw(RangeError, name);
      }
      expect(() => fit(q4, 1, { figures: figures({ weightsGiB: value }) })).to.throw(
        RangeError,
        "weightsGiB",
      );
    }
    expect(() => fit(q4, 0)).to.throw(RangeError, "tensorParallel = 0");
    expect(() => fit(q4, 1.5)).to.throw(RangeError, "tensorParallel = 1.5");
  });
});
