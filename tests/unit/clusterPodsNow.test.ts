import { expect } from "chai";
import { forecastStack } from "../../stackForecast.ts";
import { planStack } from "../../stackPlan.ts";
import {
  facts,
  judged,
  live,
  livePod,
  neverReady,
  podOf,
  secondsAgo,
  stackConfig,
} from "./clusterFixtures.ts";

const podsOf = (...pods: ReturnType<typeof podOf>[]) => judged(facts({ pods })).pods;

describe("this stack's pods as a forecast takes them", () => {
  it("has node, cards and grace of each, Ready ones at once", () => {
    const pod = podOf("candle-vllm", 2, { spec: { containers: [] } });
    const spec = { ...podOf("candle-vllm", 2).spec, terminationGracePeriodSeconds: 60 };
    expect(podsOf({ ...pod, spec: { ...spec, containers: spec.containers ?? [] } })).to.deep.equal([
      { workload: "candle-vllm", node: "worker-1", cards: 2, graceSeconds: 60, readySeconds: 0 },
    ]);
  });

  it("leaves out strangers", () => {
    expect(podsOf(livePod("default", "notebook", 1))).to.deep.equal([]);
  });

  it("expects a starting pod after the rest of its cold start, and a late one never", () => {
    const started = (seconds: number) =>
      podsOf(podOf("candle-vllm", 1, { status: neverReady(seconds) }))[0]?.readySeconds;
    expect(started(100)).to.equal(200);
    expect(started(301)).to.equal(Infinity);
  });

  it("expects a Terminating pod to be gone when its grace ends", () => {
    const deleted = (seconds: number) =>
      podsOf(podOf("candle-vllm", 1, { metadata: { deletionTimestamp: secondsAgo(-seconds) } }))[0]
        ?.goneSeconds;
    expect(deleted(40)).to.equal(40);
    expect(deleted(-5), "any moment now").to.equal(1);
  });
});

describe("a workload that left the program", () => {
  const old = live("Deployment", "old-engine", "dev");
  const problems = (pods: ReturnType<typeof podOf>[]) =>
    judged(facts({ pods, objects: [...facts().objects, old] })).problems;

  it("is refused while its pods hold cards, with the two edits to make instead", () => {
    expect(problems([podOf("old-engine", 2)])).to.deep.equal([
      "Deployment llm-serving/old-engine: removed from the program while its pods hold 2 cards of worker-1 (deletes " +
        "run last, so whoever takes these cards would wait for ever); put it back with replicas 0 and run `up`, then " +
        "remove it",
    ]);
  });

  it("is let go once it is parked", () => {
    expect(problems([])).to.deep.equal([]);
  });
});

describe("forecastStack", () => {
  const forecastOf = (selector: string, config = stackConfig()) => {
    const cluster = judged(
      facts({ coderService: { spec: { selector: { app: selector } } } }),
      config,
    );
    return forecastStack(config, planStack(config, cluster.gpus), cluster, new Map());
  };

  it("takes the live selector for where coder-predictor is now", () => {
    expect(forecastOf("candle-vllm").problems).to.deep.equal([]);
    const [line] = forecastOf("candle-vllm-next").problems;
    expect(line).to.equal(undefined);
    const next = {
      ...stackConfig(),
      coderService: { backend: "candle-vllm-next", acceptUnready: false },
    } as const;
    expect(forecastOf("candle-vllm", next).problems[0]).to.match(/backend = candle-vllm-next: /);
  });

  it("expects a restart where the live fingerprint is another", () => {
    const config = stackConfig();
    const annotated = {
      ...live("Deployment", "candle-vllm", "dev"),
      metadata: {
        name: "candle-vllm",
        annotations: { "llm-serving/stack": "dev", "llm-serving/template": "old" },
      },
    };
    const cluster = judged(facts({ objects: [annotated] }), config);
    const restarts = (template: string) =>
      forecastStack(
        config,
        planStack(config, cluster.gpus),
        cluster,
        new Map([["candle-vllm", template]]),
      ).forecast.restarts;
    expect(restarts("old")).to.deep.equal([]);
    expect(restarts("new")).to.deep.equal(["candle-vllm"]);
  });
});
