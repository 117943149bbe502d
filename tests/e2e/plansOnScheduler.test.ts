import { expect } from "chai";
import { describePlans, laneLab, plansOnScheduler, verdictOf } from "../fuzz/plansOnScheduler.ts";
import { useLab } from "../support/lab.ts";

describe("generated plans on the real scheduler", function () {
  this.timeout(300_000);
  const lab = useLab("test-plans", laneLab);

  it("places every accepted plan and leaves a pod Pending in every refused one", async () => {
    const counts = await plansOnScheduler(lab(), 12, 4);
    expect(counts.mismatches).to.deep.equal([]);
    expect(counts.applied).to.equal(12);
    expect(Math.min(counts.placed, counts.pending, counts.pendingInSurge)).to.be.greaterThan(2);
    console.log(`      ${describePlans(counts)}`);
  });
});

describe("what the scheduler made of a plan", () => {
  const wanting = ["0/1 nodes are available: 1 Insufficient nvidia.com/gpu."];

  it("is the plan's verdict that its Pending pods stand for", () => {
    expect(verdictOf({ steady: [], rollout: [] })).to.equal("accepted");
    expect(verdictOf({ steady: wanting, rollout: [] })).to.equal("refused");
    expect(verdictOf({ steady: [], rollout: wanting })).to.equal("refused for its surge");
  });

  it("is no verdict when something else than cards is missing", () => {
    expect(verdictOf({ steady: ["1 Insufficient cpu"], rollout: [] })).to.equal(undefined);
  });
});
