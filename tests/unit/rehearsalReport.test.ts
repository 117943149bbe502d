import { expect } from "chai";
import { compared } from "../../rehearse/comparison.ts";
import type { RouteFate } from "../../rehearse/outages.ts";
import { hopeless, isSettled, type Recording, World } from "../../rehearse/recording.ts";
import { rehearsalReport, type Rehearsed } from "../../rehearse/report.ts";
import { rehearsalMarkdown } from "../../review/rehearsalMarkdown.ts";
import { timelineSvg } from "../../review/timelineSvg.ts";
import { NO_CARD, Script, TIMES } from "./rehearsalFixtures.ts";

function reportOf(recording: Recording, more: Partial<Rehearsed> = {}) {
  return rehearsalReport({
    ...{ stack: "prod", base: "HEAD", commit: "0123456", edits: [], times: TIMES, recording },
    workloads: ["clef-serve", "candle-vllm", "reasoning"],
    surging: new Set<string>(),
    ...{ limitSeconds: undefined, settled: true, refusal: undefined, forecast: undefined },
    ...more,
  });
}

/** candle-vllm restarts: 240.65 s without an endpoint. */
function restart(): Script {
  return new Script()
    .goes("candle-vllm-old", 100, 1100)
    .comes("candle-vllm-new", 1200, 1200, 5700)
    .service(0, "coder-predictor", "candle-vllm")
    .endpoints(0, "coder-predictor", "candle-vllm-old")
    .endpoints(1050, "coder-predictor")
    .endpoints(5750, "coder-predictor", "candle-vllm-new");
}

/** reasoning waits for the card of clef-serve from the edit to `bound`. */
function waiting(bound: number | undefined): Script {
  const script = new Script()
    .service(0, "coder-predictor", "candle-vllm")
    .goes("clef-serve-old", 100, 1100);
  if (bound !== undefined) return script.comes("reasoning-new", 100, bound, bound + 4000, NO_CARD);
  return script.pod(100, "reasoning-new", { node: undefined, unschedulable: NO_CARD });
}

describe("verdict of a rehearsal", () => {
  it("passes a restart within the limit, and names the workload", () => {
    const report = reportOf(restart().recording(5800), { limitSeconds: 241 });
    expect(report.failures).to.deep.equal([]);
    expect(report.restarted).to.deep.equal(["candle-vllm"]);
  });

  it("fails an outage over the limit", () => {
    const { failures } = reportOf(restart().recording(5800), { limitSeconds: 240 });
    expect(failures).to.deep.equal([
      "LIMIT = 240: coder-predictor is out for 241 s (at most 240); raise LIMIT or make another edit",
    ]);
  });

  it("passes a pod that waits no longer than its donor's grace and 30 s", () => {
    const { cardWaits, failures } = reportOf(waiting(31_000).recording(40_000));
    expect(failures).to.deep.equal([]);
    expect(cardWaits).to.have.length(1);
    // The donor goes at 60.1 s; 29.9 s more are the scheduler's.
    expect(cardWaits[0]?.seconds).to.be.closeTo(89.9, 0.001);
  });

  it("fails a pod that waits longer than that", () => {
    const { cardWaits, failures } = reportOf(waiting(31_300).recording(40_000));
    expect(cardWaits[0]?.stuck).to.equal(true);
    expect(failures).to.deep.equal([
      "reasoning-new waited 90 s for a card: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    ]);
  });

  it("fails a pod that never gets a card", () => {
    const recording = waiting(undefined).recording(4200);
    expect(reportOf(recording, { settled: false }).failures).to.deep.equal([
      "reasoning-new never gets a card: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
      "not every rollout came to its end",
    ]);
  });

  it("passes a pod of the old template that the controller makes and takes back, and says so", () => {
    const recording = waiting(undefined)
      .pod(160, "reasoning-new", { node: undefined, unschedulable: NO_CARD, deleting: true }, true)
      .recording(4200);
    const report = reportOf(recording);
    expect(report.failures).to.deep.equal([]);
    expect(report.cardWaits).to.have.length(1);
    expect(report.cardWaits[0]).to.include({ end: "withdrawn", stuck: false });
    expect(rehearsalMarkdown(report, "x.svg")).to.include(
      "reasoning-new, 0 s until it was withdrawn",
    );
  });

  it("fails one that it takes back only after longer than that", () => {
    const gone = { node: undefined, unschedulable: NO_CARD, deleting: true };
    const recording = waiting(undefined).pod(95_000, "reasoning-new", gone, true).recording(99_000);
    expect(reportOf(recording).failures).to.deep.equal([
      "reasoning-new waited 95 s for a card: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    ]);
  });

  it("passes on what the CLI complained of", () => {
    const refusal = "pulumi up failed: error: no";
    expect(reportOf(restart().recording(5800), { refusal }).failures).to.deep.equal([refusal]);
  });

  for (const [what, uid, clusterIP] of [
    ["uid", "2", "10.96.0.1"],
    ["ClusterIP", "1", "10.96.0.2"],
  ] as const) {
    it(`fails another ${what} of coder-predictor`, () => {
      const script = restart().service(700, "coder-predictor", "candle-vllm", uid, clusterIP);
      const { coderPredictor, failures } = reportOf(script.recording(5800));
      expect(coderPredictor.kept).to.equal(false);
      expect(failures).to.deep.equal(["Service coder-predictor was replaced"]);
    });
  }
});

describe("end of a rehearsal", () => {
  const worldOf = ({ changes }: Recording) => {
    const world = new World();
    for (const change of changes) world.apply(change);
    return world;
  };
  const counts = { kind: "deployment", name: "reasoning", wanted: 1, pods: 1, updated: 1 } as const;
  const deployment = { ...counts, generation: 2, observedGeneration: 2, available: 1 };

  it("is settled when every Deployment has its pods and none is going", () => {
    const world = worldOf(new Script().comes("reasoning-a", 1, 2, 3).recording(4));
    expect(isSettled(world)).to.equal(false);
    world.apply({ at: 4, gone: false, state: deployment });
    expect(isSettled(world)).to.equal(true);
    world.apply({ at: 5, gone: false, state: { ...deployment, generation: 3 } });
    expect(isSettled(world)).to.equal(false);
  });

  it("is settled beside the pod of a Job, which never is Ready again", () => {
    const world = worldOf(new Script().pod(1, "clef-serve-prepare-a", { cards: 0 }).recording(4));
    world.apply({
      at: 4,
      gone: false,
      state: { ...deployment, wanted: 0, pods: 0, updated: 0, available: 0 },
    });
    expect(isSettled(world)).to.equal(true);
  });

  it("is not settled while a pod terminates", () => {
    const world = worldOf(new Script().goes("reasoning-a", 1, 9).recording(9));
    world.apply({
      at: 9,
      gone: false,
      state: { ...deployment, wanted: 0, pods: 0, updated: 0, available: 0 },
    });
    expect(isSettled(world)).to.equal(true);
    world.apply({ at: 10, gone: false, state: podGoing() });
    expect(isSettled(world)).to.equal(false);
  });

  it("is hopeless only when a pod waits for a card and no other pod goes or starts", () => {
    const script = new Script().pod(1, "reasoning-a", { node: undefined, unschedulable: NO_CARD });
    const world = worldOf(script.recording(2));
    expect(hopeless(world)).to.deep.equal(["reasoning-a"]);
    world.apply({ at: 3, gone: false, state: podGoing() });
    expect(hopeless(world)).to.deep.equal([]);
    const other = new Script().pod(1, "reasoning-a", {
      node: undefined,
      unschedulable: "1 Insufficient cpu",
    });
    expect(hopeless(worldOf(other.recording(2)))).to.deep.equal([]);
  });

  function podGoing() {
    const [change] = new Script()
      .pod(1, "reasoning-z", { deleting: true, ready: true })
      .recording(1).changes;
    if (change === undefined) throw new Error("no pod");
    return change.state;
  }
});

describe("pages of a rehearsal", () => {
  const edits = [{ path: "llm-serving:candleVllm.image", before: "a|b<c>", after: "d" }];
  const waitsForCardSeconds = 0;
  const forecast = {
    restarts: ["candle-vllm"],
    routes: [
      { route: "coder-predictor", effect: "stays", seconds: 240, waitsForCardSeconds },
      { route: "reasoning-long", effect: "on", seconds: 100, waitsForCardSeconds },
    ],
    settledSeconds: 300,
  } as const;
  const report = reportOf(restart().recording(5800), { edits, limitSeconds: 100, forecast });

  it("say on the Markdown page what fails, what was edited and how long which route is out", () => {
    const text = rehearsalMarkdown(report, "picture.svg");
    expect(text).to.include("**Failed.**").and.include("](picture.svg)");
    expect(text).to.include("| `llm-serving:candleVllm.image` | `a\\|b<c>` | `d` |");
    expect(text).to.include("| coder-predictor | 4 min 0 s | 4 min 1 s | 0 s |");
    expect(text).to.include("Not as forecast: reasoning-long: predicted on, measured none.");
    expect(text).to.include("Pods restart: candle-vllm.");
  });

  it("draw the gap of the route, and escape what a stack file says", () => {
    const svg = timelineSvg(report);
    expect(svg).to.include("no endpoint 4 min 1 s").and.include("outage 4 min 1 s");
    expect(svg).to.include("a|b&lt;c&gt;").and.not.include("<c>");
    expect(svg.match(/class="starting"/g)).to.have.length(2);
    expect(svg).not.to.match(/NaN|Infinity|undefined/);
  });
});

describe("a forecast beside what was measured", () => {
  const route = { route: "coder-predictor", effect: "stays", waitsForCardSeconds: 0 } as const;
  const fate = (outageSeconds: number): RouteFate => ({
    ...{ route: "coder-predictor", before: true, after: true, serving: [], gaps: [] },
    ...{ outageSeconds, waitingSeconds: 0 },
  });
  const missesOf = (predicted: number, measured: number) => {
    const routes = [{ ...route, seconds: predicted }];
    return compared({ restarts: [], routes, settledSeconds: 0 }, [], [fate(measured)]).misses;
  };

  it("holds within 10 % of itself or 2 s, whichever is more", () => {
    expect(
      [missesOf(240, 264), missesOf(240, 216), missesOf(10, 12), missesOf(0, 2)].flat(),
    ).to.deep.equal([]);
  });

  it("is missed beyond that, either way", () => {
    expect(missesOf(240, 264.2)).to.deep.equal([
      "coder-predictor (stays): predicted 240.0 s, measured 264.2 s",
    ]);
    expect(missesOf(240, 215.8)).to.have.length(1);
    expect(missesOf(10, 12.1)).to.have.length(1);
  });

  it("is missed by another restart, and by a route that fares otherwise", () => {
    const parked = { ...fate(0), after: false };
    const forecast = { restarts: ["a"], routes: [{ ...route, seconds: 0 }], settledSeconds: 0 };
    expect(compared(forecast, ["b"], [parked]).misses).to.deep.equal([
      "restarts: predicted [a], measured [b]",
      "coder-predictor: predicted stays, measured off",
    ]);
  });

  it("is missed when it sees no end and there was one", () => {
    const { misses, deviations } = compared(
      { restarts: [], routes: [route], settledSeconds: 0 },
      [],
      [fate(100)],
    );
    expect([misses.length, deviations.length]).to.deep.equal([1, 0]);
  });
});
