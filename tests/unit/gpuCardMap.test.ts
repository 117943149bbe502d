import { stripVTControlCharacters } from "node:util";
import { expect } from "chai";
import fc from "fast-check";
import { cardMap, type NodeCards, plannedCards } from "../../gpu/cardMap.ts";
import { seatPods } from "../../gpu/cardSlots.ts";
import { candleVllm, clefServe, liveCards, prod, worker1 } from "./gpuFixtures.ts";

const node = (cards: number, ...pods: readonly (readonly [string, number])[]): NodeCards => ({
  name: "worker-1",
  cards,
  holders: pods.map(([label, held]) => ({ label, cards: held })),
});

describe("plannedCards", () => {
  it("lists one holder a pod, none for a parked workload, and what others hold", () => {
    const live = liveCards(4, [{ owner: "default/notebook", node: "worker-1", cards: 1 }]);
    const workloads = [clefServe({ replicas: 2 }), candleVllm({ replicas: 0 })];
    expect(plannedCards(workloads, [worker1], live)).to.deep.equal([
      {
        name: "worker-1",
        cards: 4,
        holders: [
          { label: "clef-serve", cards: 1 },
          { label: "clef-serve", cards: 1 },
          { label: "default/notebook", cards: 1, unmanaged: true },
        ],
      },
    ]);
  });
});

describe("seatPods", () => {
  const labels = (...args: Parameters<typeof seatPods>) =>
    seatPods(...args).map((pod) => pod?.label);

  it("fills from the first card on", () => {
    expect(labels(node(4, ["a", 1], ["b", 2]))).to.deep.equal(["a", "b", "b", undefined]);
  });

  it("leaves a pod where it was when its neighbour goes", () => {
    const before = seatPods(node(4, ["a", 1], ["b", 2]));
    expect(labels(node(4, ["b", 2], ["c", 1]), before)).to.deep.equal(["c", "b", "b", undefined]);
  });

  it("moves a pod from behind the end of the node to cards that became idle", () => {
    const before = seatPods(node(2, ["a", 2], ["b", 1]));
    expect(labels(node(2, ["b", 1]), before)).to.deep.equal(["b", undefined]);
  });

  it("scatters a pod that has no run of idle cards", () => {
    const before = seatPods(node(4, ["a", 1], ["b", 1], ["c", 1], ["d", 1]));
    expect(labels(node(4, ["b", 1], ["d", 1], ["e", 2]), before)).to.deep.equal([
      "e",
      "b",
      "e",
      "d",
    ]);
  });

  it("keeps two pods apart that the caller states with one object", () => {
    const pod = { label: "a", cards: 1 };
    const [first, second] = seatPods({ name: "worker-1", cards: 2, holders: [pod, pod] });
    expect(first).to.deep.equal(second);
    expect(first).to.not.equal(second);
  });
});

describe("cardMap", () => {
  it("draws the prod stack on one line", () => {
    expect(cardMap(plannedCards(prod(), [worker1]))).to.equal(
      "worker-1  │ clef-serve  │ candle-vllm │    idle     │    idle     │  2 of 4 used, 2 free",
    );
  });

  it("draws before and after, a pod of two cards as one cell over both", () => {
    const before = [node(4, ["clef-serve", 1], ["candle-vllm", 1])];
    const after = [node(4, ["clef-serve", 1], ["candle-vllm", 2])];
    expect(cardMap(after, { before }).split("\n")).to.deep.equal([
      "worker-1  before  │ clef-serve  │ candle-vllm │    idle     │    idle     │  2 of 4 used, 2 free",
      "          after   │ clef-serve  │─────── candle-vllm ───────│    idle     │  3 of 4 used, 1 free",
    ]);
  });

  it("draws a node that does not change once", () => {
    const same = [node(1, ["clef-serve", 1])];
    expect(cardMap(same, { before: same })).to.equal(
      "worker-1  same  │ clef-serve │  1 of 1 used, full",
    );
  });

  it("keeps a node that leaves the stack, and one that joins it", () => {
    const before = [node(1, ["a", 1])];
    const after = [{ ...node(1), name: "worker-2" }];
    expect(cardMap(after, { before }).split("\n")).to.deep.equal([
      "worker-2  after   │ idle │  0 of 1 used, 1 free",
      "worker-1  before  │  a   │  1 of 1 used, full",
    ]);
  });

  it("marks pods of others and names them below", () => {
    const holders = [{ label: "default/notebook", cards: 1, unmanaged: true }];
    expect(cardMap([{ name: "worker-1", cards: 2, holders }]).split("\n")).to.deep.equal([
      "worker-1  │ unmanaged │   idle    │  1 of 2 used, 1 free",
      "",
      "unmanaged on worker-1: default/notebook, 1 card",
    ]);
  });

  it("puts what does not fit the node behind a double line", () => {
    expect(cardMap([node(2, ["a", 2], ["b", 1])])).to.equal(
      "worker-1  │───── a ─────║  b   │  3 of 2 used, 1 too many",
    );
  });

  it("takes letters with a legend where names do not fit", () => {
    expect(
      cardMap([node(8, ["clef-serve", 1], ["candle-vllm", 4])], { width: 80 }).split("\n"),
    ).to.deep.equal([
      "worker-1  │ A │────── B ──────│ · │ · │ · │  5 of 8 used, 3 free",
      "",
      " A  clef-serve   B  candle-vllm   · idle",
    ]);
  });

  it("gives each workload the same letter and colour on every map, whoever sits beside it", () => {
    const map = (...pods: readonly (readonly [string, number])[]) =>
      cardMap([node(8, ...pods)], { width: 60, colour: true });
    const reasoning = "\u001b[30;43m D \u001b[0m reasoning";
    expect(map(["reasoning", 1])).to.include(reasoning);
    const all = map(["reasoning", 1], ["candle-vllm", 2], ["clef-serve", 1]);
    expect(all).to.include(reasoning);
    expect(stripVTControlCharacters(all)).to.match(
      /A {2}clef-serve {3}B {2}candle-vllm {3}D {2}reasoning/,
    );
  });

  it("colours cells without moving them, and not unless asked", () => {
    const state = [node(4, ["clef-serve", 1], ["candle-vllm", 2])];
    const coloured = cardMap(state, { colour: true });
    const plain = stripVTControlCharacters(coloured);
    expect(coloured).to.not.equal(plain);
    expect(plain).to.equal(cardMap(state));
  });

  it("cuts long node names in the middle, but never so that two become equal", () => {
    const named = (...names: readonly string[]) =>
      cardMap(names.map((name) => ({ ...node(1), name })))
        .split("\n")
        .map((line) => line.split("  ")[0]);
    expect(
      named("gpu-node-1.rack-a.example.internal", "gpu-node-2.rack-a.example.internal"),
    ).to.deep.equal(["gpu-node-1….internal", "gpu-node-2….internal"]);
    const equal = ["gpu-node-0.rack-a.example.internal", "gpu-node-0.rack-b.example.internal"];
    expect(named(...equal)).to.deep.equal(equal);
  });

  it("is an empty text for no nodes", () => {
    expect(cardMap([])).to.equal("");
  });

  it("stays within 80 to 100 columns, with bars aligned, for 1 to 16 nodes of 1 to 16 cards", () => {
    const pod = fc.tuple(
      fc.constantFrom("clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"),
      fc.constantFrom(1, 2, 4),
    );
    const nodes = fc
      .array(fc.tuple(fc.integer({ min: 1, max: 16 }), fc.array(pod, { maxLength: 16 })), {
        minLength: 1,
        maxLength: 16,
      })
      .map((all) =>
        all.map(([cards, pods], index) => ({
          ...node(cards, ...pods),
          name: `worker-${index + 1}`,
        })),
      );
    fc.assert(
      fc.property(nodes, nodes, fc.integer({ min: 80, max: 100 }), (after, before, width) => {
        const lines = cardMap(after, { before, width }).split("\n");
        const rows = lines.filter((line) => line.includes("used"));
        expect(new Set(rows.map((line) => line.indexOf("│"))).size).to.equal(1);
        for (const line of lines) expect(line.length).to.be.at.most(width);
        const pods = [...after].flatMap(({ holders }) => holders);
        const total = pods.reduce((sum, { cards }) => sum + cards, 0);
        const used = rows
          .filter((line) => !line.includes("before"))
          .reduce((sum, line) => sum + Number(/(\d+) of \d+ used/.exec(line)?.[1]), 0);
        expect(used).to.equal(total);
      }),
      { numRuns: 300 },
    );
  });
});
