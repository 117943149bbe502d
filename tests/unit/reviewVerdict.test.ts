import { DiffKind, type StepEventMetadata } from "@pulumi/pulumi/automation/events.js";
import { expect } from "chai";
import type { Forecast } from "../../gpu/forecast.ts";
import { exitCodeOf, type Review, reviewOf } from "../../review/reviewOf.ts";
import { deployment, eventLog, previewFactsOf, step } from "./reviewFixtures.ts";

function review(
  steps: readonly StepEventMetadata[],
  { facts = previewFactsOf(), printed = "", result = "succeeded" } = {},
): Review {
  return reviewOf({
    stack: "prod",
    events: eventLog(steps, result),
    facts,
    printed,
    edits: [],
    baseWarnings: [],
    provenance: {
      ...{ commit: "1", dirty: false, base: "HEAD", baseCommit: "1", changedFiles: [], cli: "3" },
    },
  });
}

const SERVICE = "Service coder-predictor";
const guarded = { protect: true, retainOnDelete: true };
const kept = step("same", SERVICE, { old: guarded, new: guarded });
const selector = (app: string) => ({ ...guarded, inputs: { spec: { selector: { app } } } });

describe("verdict on coder-predictor", () => {
  it("is unchanged, or updated in place", () => {
    expect(review([kept]).coderService).to.equal("unchanged");
    const updated = step("update", SERVICE, {
      old: selector("candle-vllm"),
      new: selector("candle-vllm-next"),
    });
    const { coderService, verdict } = review([updated]);
    expect({ coderService, verdict }).to.deep.equal({
      coderService: "updated in place",
      verdict: "safe",
    });
  });

  const strikes: readonly (readonly [string, StepEventMetadata])[] = [
    ["deleted", step("delete", SERVICE, { old: guarded })],
    ["replaced", step("replace", SERVICE, { old: guarded, new: guarded })],
    ["created anew", step("create", SERVICE, { new: guarded })],
  ];
  for (const [how, strike] of strikes) {
    it(`blocks that it is ${how} on a stack that runs`, () => {
      const running = step("same", "Deployment candle-vllm", {
        old: deployment(1),
        new: deployment(1),
      });
      const { verdict, coderService, blockers } = review([running, strike]);
      expect({ verdict, coderService }).to.deep.equal({
        verdict: "blocked",
        coderService: "BLOCKED",
      });
      expect(blockers).to.have.length(1);
      expect(blockers[0]).to.match(new RegExp(`^Service coder-predictor would be ${how}`));
    });
  }

  it("lets a first installation create it", () => {
    const { verdict, coderService } = review([step("create", SERVICE, { new: guarded })]);
    expect({ verdict, coderService }).to.deep.equal({ verdict: "safe", coderService: "created" });
  });

  it("lets an adoption import it", () => {
    const running = step("same", "Deployment candle-vllm", {
      old: deployment(1),
      new: deployment(1),
    });
    const imported = step("import", SERVICE, { new: guarded });
    expect(review([running, imported]).coderService).to.equal("adopted");
  });

  for (const guard of ["protect", "retainOnDelete"] as const) {
    it(`blocks an edit that drops ${guard}, which the engine calls no change`, () => {
      const dropped = step("same", SERVICE, { old: guarded, new: { ...guarded, [guard]: false } });
      const { verdict, blockers } = review([dropped]);
      expect(verdict).to.equal("blocked");
      expect(blockers.join()).to.include(`Service coder-predictor would lose \`${guard}\``);
    });
  }

  it("holds the namespace to the same, and no other object", () => {
    const lost = step("delete", "Namespace llm-serving", { old: guarded });
    expect(review([kept, lost]).verdict).to.equal("blocked");
    const other = step("replace", "Service clef-serve", { old: {}, new: {} });
    expect(review([kept, other]).verdict).to.equal("safe");
  });

  it("names the fields that force a replacement", () => {
    const address = { "spec.clusterIP": { diffKind: DiffKind.updateReplace, inputDiff: false } };
    const sides = { old: guarded, new: guarded };
    const replaced = step("replace", SERVICE, sides, { detailedDiff: address });
    expect(review([replaced]).blockers[0]).to.include("would be replaced for spec.clusterIP: ");
    const byKeys = step("replace", SERVICE, sides, { keys: ["metadata"] });
    expect(review([byKeys]).blockers[0]).to.include("would be replaced for metadata: ");
  });
});

describe("verdict", () => {
  const changed = (before: number, after: number, image = "a") =>
    step("update", "Deployment clef-serve", {
      old: deployment(before, { image: "a" }),
      new: deployment(after, { image }),
    });
  const verdicts: readonly (readonly [string, readonly StepEventMetadata[], string, 0 | 1 | 2])[] =
    [
      ["nothing that changes", [kept], "no change", 0],
      ["more pods of the same template", [kept, changed(1, 2)], "safe", 2],
      ["fewer of them", [kept, changed(2, 1)], "safe", 2],
      ["the first pods of a workload", [kept, changed(0, 1)], "safe", 2],
      ["a changed template of running pods", [kept, changed(1, 1, "b")], "restarts pods", 2],
      ["a changed template of a parked workload", [kept, changed(0, 0, "b")], "safe", 2],
      ["no pods any more", [kept, changed(1, 0, "b")], "ends pods", 2],
      ["a lost Service", [step("delete", SERVICE, { old: guarded })], "blocked", 1],
    ];
  for (const [what, steps, verdict, code] of verdicts) {
    it(`of ${what}: ${verdict}, exit code ${code}`, () => {
      const found = review(steps);
      expect(found.verdict).to.equal(verdict);
      expect(exitCodeOf(found)).to.equal(code);
    });
  }

  it("A12 blocks a preview that did without its cluster", () => {
    const { verdict, blockers } = review([kept], { facts: previewFactsOf({ server: undefined }) });
    expect(verdict).to.equal("blocked");
    expect(blockers.join()).to.include("LLM_SERVING_OFFLINE");
  });

  it("is blocked while a hand has made the cluster another one, whatever the engine has to change", () => {
    const drift =
      "Deployment llm-serving/candle-vllm: spec.replicas is 0 in the cluster, by a hand";
    const { verdict, blockers, standingWarnings } = review([kept], {
      facts: previewFactsOf({ drift: [drift], warnings: [drift, "another"] }),
    });
    expect({ verdict, blockers }).to.deep.equal({ verdict: "blocked", blockers: [drift] });
    expect(standingWarnings).to.deep.equal(["another"]);
  });

  const neverBegan = (printed: string): Review =>
    reviewOf({
      ...{ stack: "prod", events: '{"resourcePreEv', facts: undefined, printed },
      ...{ edits: [], baseWarnings: [] },
      provenance: {
        ...{ commit: "1", dirty: false, base: "HEAD", baseCommit: "1", changedFiles: [], cli: "3" },
      },
    });

  it("is blocked, with the CLI's last words, when the preview did not come to its end", () => {
    const { verdict, blockers } = neverBegan("error: incorrect passphrase\n");
    expect(verdict).to.equal("blocked");
    expect(blockers).to.deep.equal([
      "the preview did not come to its end",
      "error: incorrect passphrase",
    ]);
  });

  it("says what to do where the backend has no such stack, or none is chosen", () => {
    expect(neverBegan("error: no stack named 'prod' found\n").blockers.slice(1)).to.deep.equal([
      "error: no stack named 'prod' found",
      "this backend has no such stack: set PULUMI_BACKEND_URL to the one that has it, or run " +
        "`pulumi stack init prod` once (docs/state.md)",
    ]);
    const login =
      "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions";
    expect(neverBegan(login).blockers.slice(1)).to.deep.equal([
      login,
      "no state backend is chosen: set PULUMI_BACKEND_URL, or run `pulumi login` (docs/state.md)",
    ]);
  });
});

describe("outages of routes", () => {
  const stays = (seconds: number | undefined, waitsForCardSeconds = 0) =>
    [{ route: "coder-predictor", effect: "stays", seconds, waitsForCardSeconds }] as const;
  const factsWith = (routes: Forecast["routes"], coderBackend = "candle-vllm") =>
    previewFactsOf({ forecast: { restarts: [], routes, settledSeconds: 0 }, coderBackend });
  const restart = step("update", "Deployment candle-vllm", {
    old: deployment(1, { image: "a" }),
    new: deployment(1, { image: "b" }),
  });
  const handoff = step("update", SERVICE, {
    old: selector("candle-vllm"),
    new: selector("candle-vllm-next"),
  });

  it("are the program's forecast, with what happens to the workload behind the route", () => {
    const { outages } = review([kept, restart], { facts: factsWith(stays(300, 60)) });
    expect(outages).to.deep.equal([
      {
        ...{ route: "coder-predictor", effect: "stays", seconds: 300, waitsForCardSeconds: 60 },
        reason: "candle-vllm restarts",
      },
    ]);
  });

  it("tell of a route that stays up while its pods change, and of no other that does", () => {
    const { outages } = review([kept, restart], { facts: factsWith(stays(0)) });
    expect(outages.map(({ reason }) => reason)).to.deep.equal(["candle-vllm restarts"]);
    const scaled = step("update", "Deployment reasoning", {
      old: deployment(1),
      new: deployment(2),
    });
    expect(review([kept, scaled], { facts: factsWith(stays(0)) }).outages).to.deep.equal([]);
  });

  it("make a handoff safe where the route stays up, and an interruption where it does not", () => {
    const ready = review([handoff], { facts: factsWith(stays(0), "candle-vllm-next") });
    expect(ready.outages.map(({ reason }) => reason)).to.deep.equal([
      "handed from candle-vllm to candle-vllm-next",
    ]);
    expect(ready.verdict).to.equal("safe");
    const unready = review([handoff], { facts: factsWith(stays(240), "candle-vllm-next") });
    expect(unready.verdict).to.equal("interrupts a route");
    const unknown = review([handoff], { facts: factsWith(stays(undefined), "candle-vllm-next") });
    expect(unknown.verdict).to.equal("interrupts a route");
  });

  it("are not told where nothing changes: pods that still start are not the update's doing", () => {
    const { outages, verdict } = review([kept], { facts: factsWith(stays(100)) });
    expect({ outages, verdict }).to.deep.equal({ outages: [], verdict: "no change" });
  });
});
