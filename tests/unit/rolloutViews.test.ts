import { expect } from "chai";
import type { LivePod } from "../../cluster/facts.ts";
import { deploymentView, podView } from "../../rollout/views.ts";
import { livePod, podOf, secondsAgo } from "./clusterFixtures.ts";

describe("deploymentView", () => {
  it("counts what the server leaves out as 0", () => {
    const view = deploymentView({
      metadata: { name: "reasoning", generation: 3 },
      spec: { replicas: 0, selector: {}, template: {} },
    });
    expect(view).to.deep.equal({
      name: "reasoning",
      generation: 3,
      observedGeneration: 0,
      wanted: 0,
      pods: 0,
      updated: 0,
      available: 0,
      replicaFailure: undefined,
    });
  });

  it("has ReplicaFailure only while it is true, with its message and since when", () => {
    const lastTransitionTime = secondsAgo(7);
    const failing = (status: string) => {
      const condition = { type: "ReplicaFailure", status, message: "exceeded quota" };
      return deploymentView({ status: { conditions: [{ ...condition, lastTransitionTime }] } })
        .replicaFailure;
    };
    const since = lastTransitionTime.getTime();
    expect(failing("True")).to.deep.equal({ message: "exceeded quota", since });
    expect(failing("False")).to.equal(undefined);
  });
});

describe("podView", () => {
  const created = secondsAgo(100);

  it("is of an app only in namespace llm-serving", () => {
    expect(podView(podOf("clef-serve", 1))).to.deep.include({ app: "clef-serve", cards: 1 });
    const labels = { app: "clef-serve" };
    const metadata = { name: "notebook", namespace: "default", labels };
    expect(podView(livePod("default", "notebook", 2, { metadata }))).to.deep.include({
      app: undefined,
      cards: 2,
    });
  });

  it("reads times from a list, which has Dates, and from a watch, which has text", () => {
    const metadata = (time: Date | string) =>
      ({ metadata: { creationTimestamp: time, deletionTimestamp: time } }) as LivePod;
    const expected = { createdAt: created.getTime(), deletedAt: created.getTime() };
    expect(podView(metadata(created))).to.deep.include(expected);
    expect(podView(metadata(created.toISOString()))).to.deep.include(expected);
  });

  it("counts a deletion from its begin: the timestamp is the end of the grace", () => {
    const metadata = { deletionTimestamp: created, deletionGracePeriodSeconds: 60 };
    expect(podView({ metadata }).deletedAt).to.equal(created.getTime() - 60_000);
  });

  it("has why a container does not run, how often it crashed, and why its pod failed", () => {
    const status = (containerStatuses: unknown[], rest: object = {}) =>
      podView({ status: { phase: "Pending", containerStatuses, ...rest } } as LivePod);
    const waiting = { reason: "ImagePullBackOff", message: "back-off" };
    expect(status([{ restartCount: 2, state: { waiting } }])).to.deep.include({
      waiting,
      restarts: 2,
      failure: undefined,
    });
    const rejected = { phase: "Failed", reason: "UnexpectedAdmissionError", message: "no devices" };
    expect(status([], rejected).failure).to.equal("UnexpectedAdmissionError no devices");
    const terminated = { exitCode: 1, reason: "Error", message: "panicked" };
    expect(
      status([{ restartCount: 0, state: { terminated } }], { phase: "Failed" }).failure,
    ).to.equal("Error panicked");
  });
});
