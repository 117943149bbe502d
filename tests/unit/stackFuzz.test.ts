import { expect } from "chai";
import { checkRemedy } from "../fuzz/remedies.ts";
import { configViolations } from "../fuzz/ruleOracle.ts";
import {
  assertBalanced,
  compareVerdicts,
  describeStacks,
  fuzzStacks,
  sweepSlips,
} from "../fuzz/stackFuzz.ts";
import type { Raw } from "../fuzz/violation.ts";
import { smallStack, withValue } from "./configFixtures.ts";

describe("generated stacks against the oracles", function () {
  this.timeout(300_000);

  it("judges 1000 whole stacks as the oracles do, and names the same keys", () => {
    const counts = fuzzStacks(1000, 4);
    expect(counts.generated).to.equal(1000);
    assertBalanced(counts);
    console.log(`      ${describeStacks(counts)}`);
  });

  it("judges every slip at every key as the oracles do", () => {
    expect(sweepSlips()).to.be.greaterThan(5000);
  });

  const line = "llm-serving:gpuNodes[0].cards = 4: too many pods (at most 4); set it to 8";
  const violation = { reason: "cards", keys: ["gpuNodes[0].cards"] };

  it("lets agreement pass: both accept, or both name the key", () => {
    compareVerdicts([], []);
    compareVerdicts([line], [violation]);
  });

  it("reports what the program accepts and an oracle forbids", () => {
    expect(() => {
      compareVerdicts([], [violation]);
    }).to.throw("accepted although forbidden");
  });

  it("reports what the program refuses and an oracle allows", () => {
    expect(() => {
      compareVerdicts([line], []);
    }).to.throw("refused although allowed");
  });

  it("reports a line that names another key", () => {
    expect(() => {
      compareVerdicts([line], [{ ...violation, keys: ["clefServe.rollout"] }]);
    }).to.throw("accepted although forbidden");
  });

  it("reports a line without a remedy", () => {
    expect(() => {
      compareVerdicts(["llm-serving:gpuNodes[0].cards = 4: too many pods"], [violation]);
    }).to.throw("not a clear line");
  });

  it("reports a run in which one verdict hardly occurs", () => {
    const counts = { generated: 100, accepted: 70, byReason: {} };
    assertBalanced({ ...counts, refused: { configuration: 15, plan: 15 } });
    expect(() => {
      assertBalanced({ ...counts, refused: { configuration: 28, plan: 2 } });
    }).to.throw("only 2 of 100 stacks: plan");
  });

  it("takes a bare text among the nodes for no name", () => {
    const [node] = smallStack().gpuNodes as readonly Raw[];
    const stack = withValue(smallStack(), ["gpuNodes"], [node?.name, node]);
    const reasons = configViolations(stack).map(({ reason }) => reason);
    expect(reasons).to.include("value or key").and.not.include("listed twice");
    const twice = withValue(smallStack(), ["gpuNodes"], [node, node]);
    expect(configViolations(twice).map(({ reason }) => reason)).to.include("listed twice");
  });

  it("reports a remedy that does not help, and lets one pass that does", () => {
    const image = `x@sha256:${"5".repeat(64)}`;
    const stack = withValue(smallStack(), ["clefServe"], { replicas: 6, image });
    const told = (replicas: number) =>
      `llm-serving:gpuNodes[0].cards = 4: 6 are asked for (at most 4); set llm-serving:clefServe.replicas to ${replicas}`;
    checkRemedy(told(4), stack, undefined);
    expect(() => {
      checkRemedy(told(5), stack, undefined);
    }).to.throw('leaves [{"reason":"cards"');
  });
});
