import { expect } from "chai";
import type { ClusterFacts } from "../../cluster/facts.ts";
import { previewFacts } from "../../previewFacts.ts";
import { previewReport } from "../../previewReport.ts";
import { forecastStack } from "../../stackForecast.ts";
import { planStack } from "../../stackPlan.ts";
import { facts, judged, liveNode, livePod, podOf, stackConfig } from "./clusterFixtures.ts";

/** The report of a stack on a cluster, or offline. */
function reported(of: ClusterFacts | undefined, config = stackConfig()) {
  const cluster = of === undefined ? undefined : judged(of, config);
  const plan = planStack(config, cluster?.gpus);
  const change = cluster && forecastStack(config, plan, cluster, new Map());
  return previewReport(previewFacts({ config, plan, cluster, change }));
}

const base = stackConfig();

describe("what the preview prints", () => {
  it("is the card map before and after, the verdict and what is parked", () => {
    const config = { ...base, reasoning: { ...base.reasoning, replicas: 1 } };
    expect(reported(facts(), config).summary.split("\n")).to.deep.equal([
      "cards now and as planned",
      "",
      "worker-1  before  │ candle-vllm │ clef-serve  │    idle     │    idle     │  2 of 4 used, 2 free",
      "          after   │ candle-vllm │ clef-serve  │  reasoning  │    idle     │  3 of 4 used, 1 free",
      "",
      "verdict: fits, with little memory for candle-vllm, reasoning: 3 of 4 cards used on worker-1, 1 free",
      "restarts: none",
      "routes: /v1/systemone stays up; coder-predictor stays up; reasoning-long is on after about 240 s",
      "parked: candle-vllm-next",
    ]);
  });

  it("says plainly that it fits when the memory does too", () => {
    const config = { ...base, candleVllm: { ...base.candleVllm, maxSequences: 1 } };
    expect(reported(facts(), config).summary).to.include(
      "\nverdict: fits: 2 of 4 cards used on worker-1, 2 free\n",
    );
  });

  it("counts strangers and draws the cards that exist", () => {
    const status = { allocatable: { "nvidia.com/gpu": "3" } };
    const pods = [...facts().pods, livePod("default", "notebook", 1)];
    const { summary, warnings } = reported(
      facts({ pods, nodes: [liveNode("worker-1", { status })] }),
    );
    expect(summary).to.include("3 of 3 cards used on worker-1, 0 free");
    expect(summary).to.include("unmanaged on worker-1: default/notebook, 1 card");
    expect(warnings.join("\n")).to.include(
      "worker-1 has 4 configured, 3 allocatable, 1 held by unmanaged default/notebook",
    );
  });

  it("shows too much as refused, with the map", () => {
    const pods = [
      podOf("clef-serve", 1),
      podOf("candle-vllm", 1),
      livePod("default", "notebook", 3),
    ];
    const { summary } = reported(facts({ pods }));
    expect(summary).to.include("5 of 4 used, 1 too many");
    expect(summary).to.include("\nverdict: refused, see the error\n");
  });

  it("warns of a cold start of install that the switch to prepared has left behind", () => {
    const prepared = { bootstrap: "prepared", packagesClaim: "packages" } as const;
    for (const [coldStartSeconds, warns] of [
      [240, true],
      [60, false],
    ] as const) {
      const config = { ...base, clefServe: { ...base.clefServe, ...prepared, coldStartSeconds } };
      const text = reported(facts(), config).warnings.join("\n");
      expect(text.includes("llm-serving:clefServe.coldStartSeconds = 240: no less")).to.equal(
        warns,
      );
    }
  });

  it("gathers all warnings in one message, cluster first", () => {
    const { warnings } = reported(facts({ objects: [] }));
    expect(warnings).to.have.length(1);
    const [title, ...lines] = warnings[0]?.split("\n") ?? [];
    expect(title).to.equal(`${lines.length} points to look at`);
    expect(lines[0]).to.match(/^ {2}llm-serving:candleVllm\.modelsClaim = models: namespace/);
    expect(lines.at(-1)).to.match(
      /^ {2}llm-serving:access\.clients = \[\]: every pod of the cluster/,
    );
  });

  it("has no word on clients once they are stated, and on the route while it is on", () => {
    const config = stackConfig({ access: { clients: ["agents"] } });
    const text = reported(facts(), config).warnings.join("\n");
    expect(text).not.to.include("access.clients");
    expect(text).not.to.include("/v1/systemone");
  });

  it("warns of the parked route and the parked backend", () => {
    const config = {
      ...base,
      clefServe: { ...base.clefServe, replicas: 0 },
      candleVllm: { ...base.candleVllm, replicas: 0 },
    };
    const text = reported(facts({ pods: [] }), config).warnings.join("\n");
    expect(text).to.include("clef-serve is parked, so route /v1/systemone is off");
    expect(text).to.include("is the backend of coder-predictor, which then has no endpoint");
  });

  it("A12 is loud offline, and plans with the configured numbers", () => {
    const { summary, warnings } = reported(undefined);
    expect(summary.split("\n").slice(0, 4)).to.deep.equal([
      "cards as planned",
      "",
      "worker-1  │ clef-serve  │ candle-vllm │    idle     │    idle     │  2 of 4 used, 2 free",
      "",
    ]);
    expect(warnings[0]).to.match(/^LLM_SERVING_OFFLINE = 1: live checks skipped\. /);
    expect(reported(facts()).warnings[0]).not.to.include("OFFLINE");
  });

  it("A13 says what was not checked", () => {
    expect(
      reported(facts({ mayPatch: false }))
        .summary.split("\n")
        .at(-1),
    ).to.match(/^not checked: what the API server itself would refuse/);
  });
});
