import * as pulumi from "@pulumi/pulumi";
import { CustomResource } from "@pulumi/kubernetes/apiextensions/customResource.js";
import { alertRules, type AlertRulesArgs } from "./alertRules.ts";
import {
  labelsOf,
  MONITORING_API,
  type MonitoringKind,
  NAMESPACE,
  ownershipAnnotations,
} from "./names.ts";

/** Arguments of {@link Alerts}. */
export interface AlertsArgs extends AlertRulesArgs {
  /** Name of the owning stack, for the annotation `llm-serving/stack`. */
  readonly stack: string;
  /** Kinds that the cluster knows. */
  readonly kinds: readonly MonitoringKind[];
}

const NAME = "llm-serving-alerts";

/** The only engine with metrics of its own: candle-vllm has no such route, and clef-serve's server neither. */
const WITH_METRICS = "reasoning";

/**
 * Alerts of the namespace for the Prometheus operator, and the scrape of the engine that has metrics. On a cluster
 * without the operator's kinds it makes nothing.
 * @see docs/alerts.md
 */
export class Alerts extends pulumi.ComponentResource {
  constructor(name: string, args: AlertsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:Alerts", name, {}, opts);
    const apiVersion = `${MONITORING_API.group}/${MONITORING_API.version}`;
    const annotations = ownershipAnnotations(args.stack);
    if (args.kinds.includes("PrometheusRule")) {
      new CustomResource(
        NAME,
        {
          apiVersion,
          kind: "PrometheusRule",
          metadata: { name: NAME, namespace: NAMESPACE, labels: labelsOf(NAME), annotations },
          spec: { groups: [{ name: NAMESPACE, rules: alertRules(args) }] },
        },
        { parent: this },
      );
    }
    if (args.kinds.includes("PodMonitor")) {
      new CustomResource(
        WITH_METRICS,
        {
          apiVersion,
          kind: "PodMonitor",
          metadata: {
            name: WITH_METRICS,
            namespace: NAMESPACE,
            labels: labelsOf(WITH_METRICS),
            annotations,
          },
          spec: {
            selector: { matchLabels: { app: WITH_METRICS } },
            podMetricsEndpoints: [{ port: "http", path: "/metrics" }],
          },
        },
        { parent: this },
      );
    }
    this.registerOutputs({});
  }
}
