import { expect } from "chai";
import { chunkBytes, chunkNotes, largestRequest, tooLargeWhole } from "../../publish/layers.ts";

const MIB = 2 ** 20;
const layer = (letter: string, bytes: number) => ({ digest: `sha256:${letter.repeat(64)}`, bytes });

describe("layers of an image", () => {
  const layers = [layer("a", 100 * MIB), layer("b", 100 * MIB + 1), layer("c", 2713 * MIB)];

  it("go in chunks a tenth below the limit, of 64 MiB at most", () => {
    expect([1, 10, 71, 72, 100, 10_240].map(chunkBytes)).to.deep.equal([
      943_718,
      9 * MIB,
      67_004_006,
      64 * MIB,
      64 * MIB,
      64 * MIB,
    ]);
  });

  it("E01: are named with size and limit when they do not fit one request, all of them at once", () => {
    const lines = tooLargeWhole(layers, 100).map((line) => line.slice(0, line.indexOf(";")));
    expect(lines).to.deep.equal([
      "llm-serving:registry.maxLayerMiB = 100: layer 2 of 3, sha256:bbbbbbbbbbbb, is 100.1 MiB compressed (at most " +
        "100 MiB in one request)",
      "llm-serving:registry.maxLayerMiB = 100: layer 3 of 3, sha256:cccccccccccc, is 2713 MiB compressed (at most " +
        "100 MiB in one request)",
    ]);
    expect(tooLargeWhole(layers.slice(0, 1), 100)).to.deep.equal([]);
  });

  it("say how a large one goes nevertheless", () => {
    expect(chunkNotes(layers.slice(2), 100)).to.deep.equal([
      "layer 1 of 1, sha256:cccccccccccc, is 2713 MiB, above registry.maxLayerMiB = 100: goes in 43 chunks of 64 MiB",
    ]);
    expect(chunkNotes(layers.slice(0, 1), 100)).to.deep.equal([]);
  });

  it("tell the largest request of the push", () => {
    expect(largestRequest(layers, 100, true)).to.equal(100 * MIB);
    expect(largestRequest(layers.slice(1), 100, true)).to.equal(64 * MIB);
    expect(largestRequest(layers, 100, false)).to.equal(2713 * MIB);
    expect(largestRequest([], 100, true)).to.equal(0);
  });
});
