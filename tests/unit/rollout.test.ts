import { expect } from "chai";
import {
  type DeploymentView,
  type PodView,
  rolloutState,
  type Snapshot,
} from "../../rollout/state.ts";
import { waitForRollouts } from "../../rollout/wait.ts";

const NOW = 1_000_000_000;
const TARGET = { name: "candle-vllm", replicas: 1, graceSeconds: 60, deadlineSeconds: 1000 };
const RUN = { since: NOW - 100_000, longestGraceSeconds: 60 };

const deployment = (over: Partial<DeploymentView> = {}): DeploymentView => ({
  name: "candle-vllm",
  generation: 2,
  observedGeneration: 2,
  wanted: 1,
  pods: 1,
  updated: 1,
  available: 1,
  ...over,
});
const pod = (over: Partial<PodView> = {}): PodView => ({
  name: "candle-vllm-a",
  namespace: "llm-serving",
  app: "candle-vllm",
  node: "worker-1",
  wantsNode: "worker-1",
  cards: 1,
  phase: "Running",
  ready: true,
  createdAt: NOW - 20_000,
  restarts: 0,
  ...over,
});
const pending = (over: Partial<PodView> = {}): PodView =>
  pod({
    node: undefined,
    phase: "Pending",
    ready: false,
    unschedulable: "Insufficient nvidia.com/gpu",
    ...over,
  });
const donor = pod({
  name: "clef-serve-b",
  app: "clef-serve",
  deletedAt: NOW - 12_000,
});
const state = (view: DeploymentView, ...pods: PodView[]) =>
  rolloutState({ ...TARGET, replicas: view.wanted }, { now: NOW, deployments: [view], pods }, RUN);
const starting = deployment({ available: 0 });

describe("rolloutState", () => {
  it("is done when every wanted pod is of the current template and available", () => {
    expect(state(deployment(), pod())).to.deep.equal({ kind: "done" });
    expect(state(deployment({ wanted: 0, pods: 0, updated: 0, available: 0 }))).to.deep.equal({
      kind: "done",
    });
  });

  it("fails when the cluster wants another number of pods than the stack, as after kubectl scale", () => {
    const scaled = deployment({ wanted: 0, pods: 0, updated: 0, available: 0 });
    expect(rolloutState(TARGET, { now: NOW, deployments: [scaled], pods: [] }, RUN)).to.deep.equal({
      kind: "failed",
      why:
        "candle-vllm: spec.replicas is 0 in the cluster, by a hand or an autoscaler, and 1 in the stack; a plain " +
        "`pulumi up` does not see that; `pulumi up --refresh --skip-preview` puts it back",
    });
  });

  it("is not done while the controller has not seen the newest generation", () => {
    expect(state(deployment({ observedGeneration: 1 }), pod()).kind).to.equal("waiting");
  });

  it("is not done while an old pod is left, as surge leaves one", () => {
    expect(state(deployment({ pods: 2 }), pod()).kind).to.equal("waiting");
    expect(state(deployment({ updated: 0 }), pod()).kind).to.equal("waiting");
  });

  it("is not done while a parked workload's pod still holds its card", () => {
    const parked = deployment({ wanted: 0, pods: 0, updated: 0, available: 0 });
    expect(state(parked, pod({ deletedAt: NOW - 3000 }))).to.deep.equal({
      kind: "waiting",
      why: "candle-vllm: draining; candle-vllm-a holds 1 card of worker-1, terminating for 3 s",
    });
  });

  it("C05 says whose card a pod waits for, and how long", () => {
    expect(state(starting, pending(), donor)).to.deep.equal({
      kind: "waiting",
      why:
        "candle-vllm-a waits for 1 card, 20 s; " +
        "clef-serve-b holds 1 card of worker-1, terminating for 12 s",
    });
  });

  it("fails a pod that is unschedulable beyond the longest grace and 30 s, with the scheduler's message", () => {
    expect(state(starting, pending({ createdAt: NOW - 90_000 })).kind).to.equal("waiting");
    expect(state(starting, pending({ createdAt: NOW - 91_000 }))).to.deep.equal({
      kind: "failed",
      why: "candle-vllm-a has no place for 91 s: Insufficient nvidia.com/gpu",
    });
  });

  it("waits for no card of another node", () => {
    const elsewhere = { ...donor, node: "worker-2" };
    expect(state(starting, pending(), elsewhere)).to.deep.equal({
      kind: "waiting",
      why: "candle-vllm-a has no place for 20 s: Insufficient nvidia.com/gpu",
    });
  });

  it("C07 fails after the third pod that a node rejected, with the last one's reason", () => {
    const failed = (name: string, seconds: number): PodView =>
      pod({
        name,
        phase: "Failed",
        ready: false,
        createdAt: NOW - seconds * 1000,
        failure: "UnexpectedAdmissionError no healthy devices",
      });
    const two = [failed("a", 30), failed("b", 20)];
    expect(state(starting, ...two).kind).to.equal("waiting");
    expect(state(starting, ...two, failed("c", 10))).to.deep.equal({
      kind: "failed",
      why: "candle-vllm: 3 pods failed, last c: UnexpectedAdmissionError no healthy devices",
    });
    // Left over from before this run: not its failures.
    expect(state(starting, ...two, failed("c", 101)).kind).to.equal("waiting");
  });

  it("C13 fails when no pod is made at all, and gives a terminating pod time to make place", () => {
    const quota = deployment({
      pods: 0,
      updated: 0,
      available: 0,
      replicaFailure: { message: "exceeded quota: gpu", since: NOW - 5000 },
    });
    expect(state(quota)).to.deep.equal({
      kind: "failed",
      why: "candle-vllm: no pod is made: exceeded quota: gpu",
    });
    expect(state(quota, pod({ deletedAt: NOW - 1000 })).kind).to.equal("waiting");
  });

  it("gives what failed before this run 30 s, for it may have been put right since", () => {
    const begun = (secondsAgo: number, view: DeploymentView, ...pods: PodView[]) =>
      rolloutState(
        TARGET,
        { now: NOW, deployments: [view], pods },
        { ...RUN, since: NOW - secondsAgo * 1000 },
      ).kind;
    const quota = deployment({
      ...{ pods: 0, updated: 0, available: 0 },
      replicaFailure: { message: "exceeded quota: gpu", since: NOW - 3_600_000 },
    });
    expect(begun(29, quota)).to.equal("waiting");
    expect(begun(31, quota)).to.equal("failed");
    const old = pending({ createdAt: NOW - 3_600_000 });
    expect(begun(90, starting, old, donor)).to.equal("waiting");
    expect(begun(91, starting, old)).to.equal("failed");
    const waiting = { reason: "ImagePullBackOff", message: "" };
    const pulling = pod({ ready: false, waiting, createdAt: NOW - 3_600_000 });
    expect(begun(30, starting, pulling)).to.equal("waiting");
    expect(begun(31, starting, pulling)).to.equal("failed");
  });

  it("fails an image that cannot be pulled after 30 s, and a crash loop after 3 restarts", () => {
    const waiting = { reason: "ImagePullBackOff", message: "not found" };
    const pulling = pod({ phase: "Pending", ready: false, waiting });
    expect(state(starting, pulling).kind).to.equal("waiting");
    expect(state(starting, { ...pulling, createdAt: NOW - 31_000 })).to.deep.equal({
      kind: "failed",
      why: "candle-vllm-a cannot start: ImagePullBackOff not found",
    });
    const crashing = pod({ ready: false, restarts: 3 });
    expect(state(starting, crashing)).to.deep.equal({
      kind: "failed",
      why: "candle-vllm-a has crashed 3 times; see kubectl logs --previous",
    });
    expect(state(starting, { ...crashing, restarts: 2 }).kind).to.equal("waiting");
  });

  it("D10 names the pod and what is missing while it runs and is never ready", () => {
    expect(state(starting, pod({ ready: false }))).to.deep.equal({
      kind: "waiting",
      why: "candle-vllm-a is starting on worker-1, 20 s: not ready yet",
    });
  });
});

describe("waitForRollouts", () => {
  const snapshots = (first: Snapshot, ...more: Snapshot[]) => {
    const looks = [first, ...more];
    let next = 0;
    return {
      look: () => Promise.resolve(looks[next++] ?? first),
      change: () => Promise.resolve(),
      looks: () => next,
    };
  };
  const snapshot = (view: DeploymentView, ...pods: PodView[]): Snapshot => ({
    now: NOW,
    deployments: [view],
    pods,
  });

  const after = (seconds: number, then: Snapshot): Snapshot => ({
    ...then,
    now: NOW + seconds * 1000,
  });

  it("repeats a line that goes on after 30 s", async () => {
    const wait = snapshot(starting, pod({ ready: false }));
    const reader = snapshots(
      wait,
      ...[1, 2, 30, 31, 32].map((seconds) => after(seconds, wait)),
      after(33, snapshot(deployment(), pod())),
    );
    const lines: string[] = [];
    await waitForRollouts([TARGET], reader, NOW, (line) => lines.push(line));
    expect(lines).to.deep.equal([
      "candle-vllm-a is starting on worker-1, 21 s: not ready yet",
      "candle-vllm-a is starting on worker-1, 51 s: not ready yet",
      "candle-vllm: done after 33 s",
    ]);
  });

  it("looks until every rollout is done and reports each new state once", async () => {
    const lagging = deployment({ updated: 0 });
    const reader = snapshots(
      snapshot(starting, pending(), donor),
      after(1, snapshot(starting, pending(), donor)),
      after(2, snapshot(starting, pending(), donor)),
      after(3, snapshot(starting, pod({ ready: false }))),
      after(5, snapshot(starting, pod({ ready: false }))),
      after(6, snapshot(lagging, pod())),
      after(6, snapshot(deployment(), pod())),
    );
    const lines: string[] = [];
    const failures = await waitForRollouts([TARGET], reader, NOW, (line) => lines.push(line));
    expect(failures).to.deep.equal([]);
    expect(reader.looks()).to.equal(7);
    expect(lines).to.deep.equal([
      "candle-vllm-a waits for 1 card, 21 s; clef-serve-b holds 1 card of worker-1, terminating for 13 s",
      "candle-vllm-a is starting on worker-1, 25 s: not ready yet",
      "candle-vllm: done after 6 s",
    ]);
  });

  it("ends at once with the cluster's reason when one cannot end", async () => {
    const reader = snapshots(snapshot(starting, pending({ createdAt: NOW - 600_000 })));
    const failures = await waitForRollouts([TARGET], reader, NOW - 600_000, () => undefined);
    expect(failures).to.deep.equal([
      "candle-vllm-a has no place for 600 s: Insufficient nvidia.com/gpu",
    ]);
  });

  it("ends at the deadline with the pod's name and state, not with a bare time-out", async () => {
    const reader = snapshots(snapshot(starting, pod({ ready: false })));
    const target = { ...TARGET, deadlineSeconds: -1 };
    const failures = await waitForRollouts([target], reader, NOW, () => undefined);
    expect(failures).to.deep.equal([
      "candle-vllm-a is starting on worker-1, 20 s: not ready yet (waited 0 s, the deadline of candle-vllm)",
    ]);
  });
});
