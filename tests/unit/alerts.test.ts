import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alertRules, type AlertRulesArgs } from "../../components/alertRules.ts";
import { Alerts } from "../../components/alerts.ts";
import type { MonitoringKind } from "../../components/names.ts";
import { resolveTools } from "../../lab/toolchain.ts";
import { registered } from "../support/mocks.ts";

const ARGS: AlertRulesArgs = {
  backend: "candle-vllm",
  workloads: [
    { name: "candle-vllm", coldStartSeconds: 240, graceSeconds: 60 },
    { name: "reasoning", coldStartSeconds: 60, graceSeconds: 90 },
  ],
  gpuNodes: [{ name: "worker-1", cards: 4 }],
};

/** A metric of kube-state-metrics by its labels, and its values, one a minute: "1x20" is 1 and twenty more of it. */
type Series = readonly [series: string, values: string];

const pod = (name: string) => `namespace="llm-serving", pod="${name}"`;
const cards = (name: string): Series => [
  `kube_pod_container_resource_requests{${pod(name)}, resource="nvidia_com_gpu", container="server"}`,
  "2x60",
];
const bound = (name: string): Series => [`kube_pod_info{${pod(name)}, node="worker-1"}`, "1x60"];
const phase = (name: string, value: string): Series => [
  `kube_pod_status_phase{${pod(name)}, phase="${value}"}`,
  "1x60",
];
const ready = (name: string, values: string): Series => [
  `kube_pod_status_ready{${pod(name)}, condition="true"}`,
  values,
];
const unscheduled = (name: string, values: string): Series => [
  `kube_pod_status_scheduled{${pod(name)}, condition="false"}`,
  values,
];
const slice = (serving: string, values: string): Series => [
  `kube_endpointslice_endpoints{namespace="llm-serving", endpointslice="coder-predictor-x1", serving="${serving}", ready="${serving}"}`,
  values,
];
const slicesKnown: Series = [
  'kube_endpointslice_info{namespace="kube-system", endpointslice="x"}',
  "1x60",
];
const allocatable = (values: string): Series => [
  'kube_node_status_allocatable{node="worker-1", resource="nvidia_com_gpu", unit="integer"}',
  values,
];
const nodesKnown: Series = ['kube_node_info{node="other"}', "1x60"];

describe("alert rules", function () {
  this.timeout(600_000); // the first run builds promtool
  let promtool: string;
  let folder: string;
  before(async () => {
    ({ promtool } = await resolveTools(["promtool"]));
    folder = mkdtempSync(join(tmpdir(), "alerts-"));
  });
  after(() => {
    rmSync(folder, { recursive: true });
  });

  /** Runs promtool on the rules of some args, written as the PrometheusRule's groups are. */
  function run(args: AlertRulesArgs, command: readonly string[], test?: object) {
    const groups = [{ name: "llm-serving", rules: alertRules(args) }];
    writeFileSync(join(folder, "rules.yml"), JSON.stringify({ groups }));
    writeFileSync(join(folder, "test.yml"), JSON.stringify(test ?? {}));
    const { status, stdout, stderr } = spawnSync(promtool, command, {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, text: stdout + stderr };
  }

  /** The subjects (pod, service or node) for which an alert fires so many minutes after the series' beginning. */
  function firing(alert: string, minutes: number, series: readonly Series[], args = ARGS) {
    // promtool prints what fires where the expectation, nothing, is wrong.
    const { status, text } = run(args, ["test", "rules", "test.yml"], {
      rule_files: ["rules.yml"],
      evaluation_interval: "30s",
      tests: [
        {
          interval: "1m",
          input_series: series.map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [{ eval_time: `${minutes}m`, alertname: alert, exp_alerts: [] }],
        },
      ],
    });
    if (status === 0) return [];
    const got = /got:\[([^]*)\]/.exec(text)?.[1] ?? text;
    return [...got.matchAll(/\b(?:pod|service|node)="([^"]+)"/g)].map(([, name]) => name);
  }

  it("are valid to promtool, each with a severity, a wait and a place to look", () => {
    const { status, text } = run(ARGS, ["check", "rules", "rules.yml"]);
    expect(status, text).to.equal(0);
    expect(text).to.include("4 rules found");
    for (const { alert, labels, annotations, ...rule } of alertRules(ARGS)) {
      expect(labels.severity, alert).to.match(/^(critical|warning)$/);
      expect(rule.for, alert).to.match(/^[1-9]\d*s$/);
      expect(annotations.description, alert).to.include("docs/alerts.md");
    }
  });

  it("would not be valid with an expression that does not parse", () => {
    const { status } = run({ ...ARGS, gpuNodes: [{ name: '"', cards: 4 }] }, [
      "check",
      "rules",
      "rules.yml",
    ]);
    expect(status).not.to.equal(0);
  });

  describe("CoderPredictorDown", () => {
    it("fires when no endpoint serves for longer than a restart takes, 240 + 60 s", () => {
      const down = [slicesKnown, slice("true", "1x3 _x50"), slice("false", "1x60")];
      expect(firing("CoderPredictorDown", 8, down)).to.deep.equal([]);
      expect(firing("CoderPredictorDown", 15, down)).to.deep.equal(["coder-predictor"]);
    });

    it("does not fire while one serves, by a slice or by the older Endpoints", () => {
      const endpoints: Series = [
        'kube_endpoint_address{namespace="llm-serving", endpoint="coder-predictor", ready="true", ip="10.0.0.1"}',
        "1x60",
      ];
      const known: Series = ['kube_endpoint_info{namespace="x", endpoint="y"}', "1x60"];
      expect(firing("CoderPredictorDown", 30, [slicesKnown, slice("true", "1x60")])).to.be.empty;
      expect(firing("CoderPredictorDown", 30, [known, endpoints])).to.be.empty;
    });

    it("does not fire where nothing collects endpoints: nothing is known then", () => {
      expect(firing("CoderPredictorDown", 30, [nodesKnown])).to.be.empty;
    });
  });

  describe("CardsHeldWhileNotReady", () => {
    const held = (name: string, values: string, inPhase = "Running") => [
      cards(name),
      bound(name),
      phase(name, inPhase),
      ready(name, values),
    ];

    it("fires for a bound pod with cards that has not been Ready for 15 minutes", () => {
      const series = [...held("a", "0x60"), ...held("b", "1x60"), ...held("c", "0x10 1x50")];
      expect(firing("CardsHeldWhileNotReady", 14, series)).to.deep.equal([]);
      expect(firing("CardsHeldWhileNotReady", 16, series)).to.deep.equal(["a"]);
    });

    it("does not fire for a pod without cards, one at its end, or one that is not bound", () => {
      const withoutCards = held("a", "0x60").slice(1);
      const [, , ...unbound] = held("c", "0x60", "Pending");
      const series = [...withoutCards, ...held("b", "0x60", "Succeeded"), cards("c"), ...unbound];
      expect(firing("CardsHeldWhileNotReady", 30, series)).to.be.empty;
    });

    it("waits as long as the slowest start of the stack may take", () => {
      const slow = { name: "reasoning", coldStartSeconds: 1200, graceSeconds: 60 };
      const args = { ...ARGS, workloads: [...ARGS.workloads, slow] };
      expect(firing("CardsHeldWhileNotReady", 45, held("a", "0x60"), args)).to.deep.equal([]);
      expect(firing("CardsHeldWhileNotReady", 52, held("a", "0x60"), args)).to.deep.equal(["a"]);
    });
  });

  describe("PodPendingForCard", () => {
    it("fires for a pod that waits longer than the longest grace and 30 s", () => {
      const series = [
        cards("a"),
        unscheduled("a", "1x60"),
        cards("b"),
        unscheduled("b", "1x1 0x60"),
      ];
      expect(firing("PodPendingForCard", 1, series)).to.deep.equal([]);
      expect(firing("PodPendingForCard", 3, series)).to.deep.equal(["a"]);
    });

    it("does not fire for a pod that asks for no card", () => {
      expect(firing("PodPendingForCard", 30, [unscheduled("a", "1x60")])).to.be.empty;
    });
  });

  describe("CardsMissing", () => {
    it("fires when a node has fewer cards than the stack states, or is gone", () => {
      const fewer = [nodesKnown, allocatable("4x3 3x50")];
      expect(firing("CardsMissing", 7, fewer)).to.deep.equal([]);
      expect(firing("CardsMissing", 10, fewer)).to.deep.equal(["worker-1"]);
      expect(firing("CardsMissing", 10, [nodesKnown])).to.deep.equal(["worker-1"]);
    });

    it("does not fire while all are there, nor where no node has metrics", () => {
      expect(firing("CardsMissing", 30, [nodesKnown, allocatable("4x60")])).to.be.empty;
      expect(firing("CardsMissing", 30, [slicesKnown])).to.be.empty;
    });
  });
});

describe("Alerts", () => {
  const made = async (kinds: readonly MonitoringKind[]) => {
    const resources = await registered("test", () => {
      new Alerts("alerts", { ...ARGS, stack: "test", kinds });
    });
    return resources.map(({ urn }) => urn.split("::").slice(2).join(" "));
  };

  it("makes only the kinds that the cluster has", async () => {
    const type = "llm-serving:index:Alerts";
    const child = `${type}$kubernetes:monitoring.coreos.com/v1`;
    expect(await made(["PrometheusRule"])).to.deep.equal([
      `${type} alerts`,
      `${child}:PrometheusRule llm-serving-alerts`,
    ]);
    expect(await made(["PodMonitor", "PrometheusRule"])).to.have.members([
      `${type} alerts`,
      `${child}:PodMonitor reasoning`,
      `${child}:PrometheusRule llm-serving-alerts`,
    ]);
  });
});
