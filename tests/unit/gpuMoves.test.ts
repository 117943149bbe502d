import { expect } from "chai";
import fc from "fast-check";
import { registrationOrder } from "../../gpu/moves.ts";

const NAMES = ["clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"];
type Cards = Readonly<Record<string, Readonly<Record<string, number>>>>;

const order = (held: Cards, planned: Cards) =>
  registrationOrder(
    Object.entries(held).map(([name, holders]) => ({
      name,
      cards: 4,
      holders: Object.entries(holders).map(([label, cards]) => ({ label, cards })),
    })),
    Object.fromEntries(
      Object.entries(planned).map(([name, used]) => [name, { cards: 4, used, free: 0 }]),
    ),
    NAMES,
  );
const afterOf = (held: Cards, planned: Cards) =>
  Object.fromEntries(
    order(held, planned).flatMap(({ name, after }) => (after.length > 0 ? [[name, after]] : [])),
  );

describe("registrationOrder", () => {
  it("keeps the given order where no card moves", () => {
    const cards = { "worker-1": { "clef-serve": 1, "candle-vllm": 2 } };
    expect(order(cards, cards)).to.deep.equal(NAMES.map((name) => ({ name, after: [] })));
    expect(order({}, {}).map(({ name }) => name)).to.deep.equal(NAMES);
  });

  it("registers the donor of a card before its receiver, in every direction", () => {
    const ours = { "worker-1": { "clef-serve": 2, "candle-vllm": 1, reasoning: 1 } };
    const theirs = { "worker-1": { "clef-serve": 1, "candle-vllm": 1, reasoning: 2 } };
    expect(afterOf(theirs, ours)).to.deep.equal({ "clef-serve": ["reasoning"] });
    expect(afterOf(ours, theirs)).to.deep.equal({ reasoning: ["clef-serve"] });
    expect(order(theirs, ours).map(({ name }) => name)).to.deep.equal([
      "reasoning",
      "clef-serve",
      "candle-vllm",
      "candle-vllm-next",
    ]);
  });

  it("goes by the pods that hold cards, whatever the last state wished", () => {
    // A stranger and a pod that was to be parked long ago, but still holds its card.
    const held = { "worker-1": { "default/notebook": 1, reasoning: 1, "clef-serve": 1 } };
    const planned = { "worker-1": { "clef-serve": 2 } };
    expect(afterOf(held, planned)).to.deep.equal({ "clef-serve": ["reasoning"] });
  });

  it("breaks the circle of two workloads that exchange nodes, and keeps one half", () => {
    const held = { "worker-1": { "clef-serve": 4 }, "worker-2": { reasoning: 4 } };
    const planned = { "worker-1": { reasoning: 4 }, "worker-2": { "clef-serve": 4 } };
    expect(afterOf(held, planned)).to.deep.equal({ reasoning: ["clef-serve"] });
  });

  it("has every workload once, each after its donors, whatever moves", () => {
    const cards = fc.dictionary(
      fc.constantFrom("worker-1", "worker-2", "worker-3"),
      fc.dictionary(fc.constantFrom(...NAMES), fc.integer({ min: 0, max: 4 })),
    );
    fc.assert(
      fc.property(cards, cards, (held, planned) => {
        const found = order(held, planned);
        const names = found.map(({ name }) => name);
        expect(names.toSorted()).to.deep.equal(NAMES.toSorted());
        for (const [at, { after }] of found.entries()) {
          expect(names.slice(0, at)).to.include.members([...after]);
        }
      }),
    );
  });
});
