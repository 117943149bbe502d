import { expect } from "chai";
import { type RouteFate, routeFates } from "../../rehearse/outages.ts";
import { podLives } from "../../rehearse/podLives.ts";
import { realLives } from "../../rehearse/realTime.ts";
import { fromFirstChange, type Recording } from "../../rehearse/recording.ts";
import { timelines } from "../../rehearse/timeline.ts";
import { NO_CARD, Script, TIMES } from "./rehearsalFixtures.ts";

/** Names of pods with their moments, to the hundredth of a second. */
function realTimes(recording: Recording, surging: readonly string[] = []) {
  const lives = realLives(podLives(recording), TIMES, new Set(surging));
  return Object.fromEntries(
    lives.map(({ name, real }) => [
      name,
      Object.fromEntries(
        Object.entries(real).map(([moment, at]) => [moment, Math.round(at * 100) / 100]),
      ),
    ]),
  );
}

function fateOf(recording: Recording, route: string, end: number): RouteFate {
  const lives = realLives(podLives(recording), TIMES, new Set());
  const fate = routeFates(recording, lives, end).find((each) => each.route === route);
  if (fate === undefined) throw new Error(`no route ${route}`);
  return fate;
}

describe("real times of a rehearsal", () => {
  it("counts termination and cold start in full and everything else as measured", () => {
    const script = new Script().goes("candle-vllm-old", 100, 1150);
    script.comes("candle-vllm-new", 1350, 1400, 5450);
    expect(realTimes(script.recording(5500))).to.deep.equal({
      // 1.05 s of the lab: 1 s stands for 60 s, 0.05 s is real.
      "candle-vllm-old": { deleted: 0.1, gone: 60.15 },
      // 0.2 s of a controller, 0.05 s of the scheduler, then 4.05 s: 240 s and 0.05 s.
      "candle-vllm-new": { created: 60.35, bound: 60.4, ready: 300.45 },
    });
  });

  it("lets a receiver wait for its donor's whole termination, less what its own edit came later", () => {
    const script = new Script().goes("clef-serve-old", 100, 1100);
    script.comes("reasoning-new", 500, 1200, 5200, NO_CARD);
    const { "reasoning-new": receiver } = realTimes(script.recording(5300));
    // Made 0.5 s after the edit, bound 0.1 s after the donor has gone at 60.1 s.
    expect(receiver).to.deep.equal({ created: 0.5, bound: 60.2, ready: 300.2 });
  });

  it("does not let a pod wait for a card that it never lacked", () => {
    const script = new Script().goes("clef-serve-old", 100, 1100);
    script.comes("reasoning-new", 1000, 1200, 5200);
    expect(realTimes(script.recording(5300))["reasoning-new"]).to.deep.equal({
      ...{ created: 1, bound: 1.2, ready: 241.2 },
    });
  });

  it("lets a pod wait in reality that came after the lab's short termination, if it needs the card", () => {
    const script = new Script()
      .goes("clef-serve-old", 1, 1001)
      .pod(0, "reasoning-a", { ready: true, cards: 2 });
    script.comes("candle-vllm-new", 1500, 1510, 5510);
    const bound = (cards: number) => {
      const times = { ...TIMES, nodeCards: new Map([["worker-1", cards]]) };
      const [life] = realLives(podLives(script.recording(5600)), times, new Set()).slice(-1);
      return [life?.waitedForCard, Math.round((life?.real.bound ?? 0) * 100) / 100];
    };
    // Made 1.5 s after the edit; its donor goes 60 s after it.
    expect(bound(3)).to.deep.equal([true, 60]);
    expect(bound(4)).to.deep.equal([false, 1.51]);
  });

  it("does not let a pod wait for cards that another one takes only later in reality", () => {
    // Both restart on two cards. In the lab the engine with the longer grace is bound first, since it was edited first.
    const script = new Script().goes("candle-vllm-old", 1, 1001).goes("reasoning-old", 900, 1400);
    script.comes("candle-vllm-new", 1010, 1020, 5020).comes("reasoning-new", 1410, 1420, 5420);
    const graces = (app: string) => (app === "reasoning" ? 30 : 60);
    const times = { ...TIMES, terminationSeconds: graces, nodeCards: new Map([["worker-1", 2]]) };
    const lives = realLives(podLives(script.recording(5600)), times, new Set());
    const found = lives.find(({ name }) => name === "reasoning-new");
    expect([found?.waitedForCard, Math.round((found?.real.bound ?? 0) * 10) / 10]).to.deep.equal([
      false,
      30.9,
    ]);
  });

  it("lets a surge's old pod go only after the cold start of the new one", () => {
    const script = new Script().comes("clef-serve-new", 100, 150, 4150);
    script.goes("clef-serve-old", 4200, 5200);
    const recording = script.recording(5300);
    expect(realTimes(recording, ["clef-serve"])["clef-serve-old"]).to.deep.equal({
      ...{ deleted: 240.2, gone: 300.2 },
    });
    // The same recording, read as if the edit itself had deleted the pod.
    expect(realTimes(recording)["clef-serve-old"]?.deleted).to.equal(4.2);
  });

  it("counts from the first change, whatever the CLI took to get there", () => {
    const script = new Script().goes("clef-serve-old", 9100, 10_100);
    const { changes, lasted } = fromFirstChange(script.recording(11_100));
    expect(changes.map(({ at }) => at)).to.deep.equal([0, 1, 1001]);
    expect(lasted).to.equal(2001);
  });
});

describe("timeline of a rehearsal", () => {
  it("shows waiting apart from starting, and a pod that never got a card to the end", () => {
    const script = new Script().goes("clef-serve-old", 0.5, 1000.5);
    script.pod(100, "reasoning-new", { node: undefined, unschedulable: NO_CARD });
    const lives = realLives(podLives(script.recording(2000)), TIMES, new Set());
    const [clef, reasoning] = timelines(lives, ["clef-serve", "reasoning"], 90);
    expect(clef?.pods[0]?.spans.map(({ phase }) => phase)).to.deep.equal(["serving", "draining"]);
    expect(reasoning?.pods[0]?.spans).to.deep.equal([
      { phase: "waiting for a card", from: 0.1, to: 90 },
    ]);
  });

  it("has no waiting for a pod whose card is free", () => {
    const script = new Script().comes("reasoning-new", 100, 120, 4120);
    const lives = realLives(podLives(script.recording(5000)), TIMES, new Set());
    expect(timelines(lives, ["reasoning"], 250)[0]?.pods[0]?.spans).to.deep.equal([
      { phase: "starting", from: 0.1, to: 240.12 },
      { phase: "serving", from: 240.12, to: 250 },
    ]);
  });
});

describe("outages of a rehearsal", () => {
  /** A restart under Recreate; the slice is told of up to 50 ms before and after the pod. */
  const restart = (waited?: string) =>
    new Script()
      .goes("candle-vllm-old", 100, 1100)
      .comes("candle-vllm-new", 1200, waited === undefined ? 1200 : 1700, 5700, waited)
      .service(0, "coder-predictor", "candle-vllm")
      .endpoints(0, "coder-predictor", "candle-vllm-old")
      .endpoints(1050, "coder-predictor")
      .endpoints(5750, "coder-predictor", "candle-vllm-new");

  it("lasts from the last serving endpoint to the next one", () => {
    const script = restart();
    const fate = fateOf(script.recording(5800), "coder-predictor", 310);
    expect([fate.before, fate.after, fate.gaps.length]).to.deep.equal([true, true, 1]);
    // 0.1 s of the controller, 240 s and 0.5 s of the start, 0.05 s of the slice.
    expect(fate.outageSeconds).to.be.closeTo(240.65, 0.001);
    expect(fate.waitingSeconds).to.equal(0);
  });

  it("tells how much of it was waiting for a card", () => {
    const script = restart(NO_CARD);
    script.goes("reasoning-old", 600, 1600);
    const fate = fateOf(script.recording(5800), "coder-predictor", 310);
    // Made at 60.2 s; the donor has gone at 60.6 s, and the scheduler took 0.1 s more.
    expect(fate.waitingSeconds).to.be.closeTo(0.5, 0.001);
    expect(fate.outageSeconds).to.be.closeTo(240.65, 0.001);
  });

  it("sees none in a handoff that one change of the slice makes", () => {
    const script = new Script()
      .pod(0, "candle-vllm-a", { ready: true })
      .pod(0, "candle-vllm-next-b", { ready: true })
      .service(0, "coder-predictor", "candle-vllm")
      .endpoints(0, "coder-predictor", "candle-vllm-a")
      .service(300, "coder-predictor", "candle-vllm-next")
      .endpoints(320, "coder-predictor", "candle-vllm-next-b");
    const fate = fateOf(script.recording(400), "coder-predictor", 1);
    expect([fate.before, fate.after, fate.gaps]).to.deep.equal([true, true, []]);
  });

  it("ends with the pod that starts when the handoff comes too early", () => {
    const script = new Script()
      .pod(0, "candle-vllm-a", { ready: true })
      .comes("candle-vllm-next-b", 100, 150, 4150)
      .service(0, "coder-predictor", "candle-vllm")
      .endpoints(0, "coder-predictor", "candle-vllm-a")
      .service(300, "coder-predictor", "candle-vllm-next")
      .endpoints(320, "coder-predictor")
      .endpoints(4160, "coder-predictor", "candle-vllm-next-b");
    const fate = fateOf(script.recording(4200), "coder-predictor", 250);
    // From the edit of the selector at 0.32 s to the new pod at 240.15 s, and 0.01 s of the slice.
    expect(fate.outageSeconds).to.be.closeTo(240.16 - 0.32, 0.001);
  });

  it("is none for a route that is parked or unparked", () => {
    const script = new Script()
      .goes("clef-serve-old", 100, 1100)
      .endpoints(0, "clef-serve", "clef-serve-old")
      .endpoints(1110, "clef-serve")
      .comes("reasoning-new", 100, 120, 4120)
      .endpoints(4130, "reasoning-long", "reasoning-new");
    const recording = script.recording(4200);
    const off = fateOf(recording, "/v1/systemone", 250);
    const on = fateOf(recording, "reasoning-long", 250);
    expect([off.before, off.after, off.outageSeconds]).to.deep.equal([true, false, 0]);
    expect([on.before, on.after, on.outageSeconds]).to.deep.equal([false, true, 0]);
    expect(on.serving[0]?.from).to.be.closeTo(240.13, 0.001);
  });
});
