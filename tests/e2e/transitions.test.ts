import { expect } from "chai";
import { describe as described, transitions } from "../transitions/transitions.ts";

describe("generated transitions through the real CLI", function () {
  this.timeout(300_000);

  it("never get stuck with --parallel 1, 2 and the default, and go as their previews forecast", async () => {
    // Moves of cards on a full pool, one for each; `make transitions` does hundreds.
    const counts = await transitions(3, 1, 19, "test-transitions", new AbortController().signal);
    const text = described(counts);
    expect(counts.stuck, text).to.deep.equal([]);
    expect(counts.misses, text).to.deep.equal([]);
    expect(counts.applied).to.equal(3);
    expect([...counts.byParallel.keys()].sort()).to.deep.equal(["1", "2", "default"]);
    expect(Math.min(counts.waited, counts.fullPool, counts.deviations.length)).to.be.greaterThan(0);
    console.log(`      ${text.replaceAll("\n", "\n      ")}`);
  });
});
