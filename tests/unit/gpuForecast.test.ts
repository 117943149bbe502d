import { expect } from "chai";
import { type DeploymentPlan, forecast, type PodNow } from "../../gpu/forecast.ts";

const now = (workload: string, cards: number, changes: Partial<PodNow> = {}): PodNow => ({
  ...{ workload, cards, node: "worker-1", graceSeconds: 60, readySeconds: 0 },
  ...changes,
});
const then = (
  name: string,
  replicas: number,
  cards: number,
  changes: Partial<DeploymentPlan> = {},
): DeploymentPlan => ({
  ...{ name, replicas, cards, node: "worker-1", graceSeconds: 60, coldStartSeconds: 240 },
  ...{ rollout: "recreate", templateChanges: false },
  ...changes,
});
const RESTART = { templateChanges: true };

function changed(
  pods: readonly PodNow[],
  deployments: readonly DeploymentPlan[],
  handoff: { before: string; after: string } = { before: "coder", after: "coder" },
) {
  const routes = [
    { route: "systemone", before: "clef", after: "clef" },
    { route: "coder-predictor", ...handoff },
  ];
  const available = new Map([
    ["worker-1", 4],
    ["worker-2", 4],
  ]);
  const found = forecast({ pods, deployments, routes, available });
  return {
    ...found,
    routes: Object.fromEntries(
      found.routes.map(({ route, effect, seconds, waitsForCardSeconds }) => [
        route,
        [effect, seconds, waitsForCardSeconds],
      ]),
    ),
  };
}

describe("forecast", () => {
  it("expects nothing where nothing changes", () => {
    expect(
      changed([now("clef", 1), now("coder", 1)], [then("clef", 1, 1), then("coder", 1, 1)]),
    ).to.deep.equal({
      restarts: [],
      routes: { systemone: ["stays", 0, 0], "coder-predictor": ["stays", 0, 0] },
      settledSeconds: 0,
    });
  });

  it("expects a restart to cost its cold start: the old pod serves until its grace ends", () => {
    expect(changed([now("coder", 1)], [then("coder", 1, 2, RESTART)])).to.deep.equal({
      restarts: ["coder"],
      routes: { systemone: ["none", 0, 0], "coder-predictor": ["stays", 240, 0] },
      settledSeconds: 300,
    });
  });

  it("expects no restart of a workload that only scales, parks or starts", () => {
    const { restarts, routes } = changed(
      [now("clef", 1), now("coder", 1)],
      [then("clef", 0, 1, RESTART), then("coder", 2, 1), then("reasoning", 1, 1, RESTART)],
    );
    expect(restarts).to.deep.equal([]);
    expect(routes).to.deep.equal({ systemone: ["off", 0, 0], "coder-predictor": ["stays", 0, 0] });
  });

  it("tells a wait for a card from the rest: the donor's grace is longer than the receiver's", () => {
    const found = changed(
      [now("clef", 2, { graceSeconds: 100 }), now("coder", 2)],
      [then("clef", 0, 1), then("coder", 1, 4, RESTART)],
    );
    expect(found.routes["coder-predictor"]).to.deep.equal(["stays", 280, 40]);
    expect(found.settledSeconds).to.equal(340);
  });

  it("expects a route to begin after the donor's grace and its own cold start", () => {
    const found = changed([now("coder", 4)], [then("clef", 1, 1), then("coder", 0, 4)]);
    expect(found.routes).to.deep.equal({
      systemone: ["on", 300, 60],
      "coder-predictor": ["off", 0, 0],
    });
  });

  it("expects a swap on a full node to take one termination and one start for both", () => {
    const found = changed(
      [now("clef", 1), now("clef", 1), now("coder", 2)],
      [then("clef", 1, 1, RESTART), then("coder", 1, 3, RESTART)],
    );
    expect(found.routes).to.deep.equal({
      systemone: ["stays", 240, 0],
      "coder-predictor": ["stays", 240, 0],
    });
    expect(found.settledSeconds).to.equal(300);
  });

  it("expects an exchange of nodes to take the same", () => {
    const found = changed(
      [now("clef", 4), now("coder", 4, { node: "worker-2" })],
      [then("clef", 1, 4, { ...RESTART, node: "worker-2" }), then("coder", 1, 4, RESTART)],
    );
    expect(found.settledSeconds).to.equal(300);
  });

  it("expects no outage under surge, one pod after the other", () => {
    const surge = { ...RESTART, rollout: "surge" } as const;
    const found = changed([now("coder", 1), now("coder", 1)], [then("coder", 2, 1, surge)]);
    expect(found.routes["coder-predictor"]).to.deep.equal(["stays", 0, 0]);
    expect(found.restarts).to.deep.equal(["coder"]);
    // The second new pod starts when the first is Ready, the last old one goes a grace after that.
    expect(found.settledSeconds).to.equal(240 + 240 + 60);
  });

  it("expects a handoff between two Ready engines to leave no gap", () => {
    const pods = [now("coder", 1), now("next", 2)];
    const stay = [then("coder", 1, 1), then("next", 1, 2)];
    const handoff = { before: "coder", after: "next" };
    expect(changed(pods, stay, handoff).routes["coder-predictor"]).to.deep.equal(["stays", 0, 0]);
  });

  it("expects a handoff to an engine that still starts to take what is left of its start", () => {
    const pods = [now("coder", 1), now("next", 2, { readySeconds: 100 })];
    const stay = [then("coder", 1, 1), then("next", 1, 2)];
    const handoff = { before: "coder", after: "next" };
    expect(changed(pods, stay, handoff).routes["coder-predictor"]).to.deep.equal(["stays", 100, 0]);
  });

  it("knows no end where a pod has been starting for longer than it should", () => {
    const pods = [now("coder", 1, { readySeconds: Infinity })];
    const { routes } = changed(pods, [then("coder", 1, 1)]);
    expect(routes["coder-predictor"]).to.deep.equal(["on", undefined, 0]);
  });

  it("counts the cards of a pod that is Terminating already until it is gone", () => {
    const pods = [now("clef", 4, { goneSeconds: 20 })];
    const found = changed(pods, [then("coder", 1, 1)]);
    expect(found.routes["coder-predictor"]).to.deep.equal(["on", 260, 20]);
  });
});
