import { deadlines } from "../gpu/deadlines.ts";
import { CODER_PREDICTOR, NAMESPACE } from "./names.ts";

/** What the alerts follow from. */
export interface AlertRulesArgs {
  /** The engine behind coder-predictor, a name of `workloads`. */
  readonly backend: string;
  readonly workloads: readonly {
    readonly name: string;
    /** 1..3600. */
    readonly coldStartSeconds: number;
    /** 1..600. */
    readonly graceSeconds: number;
  }[];
  readonly gpuNodes: readonly { readonly name: string; readonly cards: number }[];
}

/** One alert as Prometheus takes it. */
export interface AlertRule {
  readonly alert: string;
  /** PromQL on the metrics of kube-state-metrics 2.9 or later. */
  readonly expr: string;
  /** How long the expression must hold, such as "900s". */
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** A pod that should answer by now; a longer startup budget of the stack takes its place. */
const NOT_READY_SECONDS = 15 * 60;

/** A node that restarts its device plugin shows no cards for a moment (derived). */
const CARDS_GONE_SECONDS = 5 * 60;

/** How much longer than its donor's grace a pod may wait for a card: then it is stuck, and nothing will free one. */
const STUCK_SLACK_SECONDS = 30;

const here = `namespace="${NAMESPACE}"`;

/** Pods of the namespace that ask for cards. */
const withCards = `sum by (namespace, pod) (kube_pod_container_resource_requests{${here}, resource="nvidia_com_gpu"}) > 0`;

/**
 * The alerts of a stack. Waits follow its own times, so that a planned restart or move fires none of them.
 */
export function alertRules(args: AlertRulesArgs): readonly AlertRule[] {
  return [
    coderPredictorDown(args),
    cardsHeldIdle(args),
    pendingForCard(args),
    ...args.gpuNodes.map(cardsGone),
  ];
}

function coderPredictorDown({ backend, workloads }: AlertRulesArgs): AlertRule {
  const engine = workloads.find(({ name }) => name === backend);
  const restartSeconds = (engine?.graceSeconds ?? 0) + (engine?.coldStartSeconds ?? 0);
  return {
    alert: "CoderPredictorDown",
    // Of slices and of the older Endpoints whatever is collected; where neither is, nothing is known.
    expr:
      `absent(kube_endpointslice_endpoints{${here}, endpointslice=~"${CODER_PREDICTOR}-.+", serving="true"} ` +
      `or kube_endpoint_address{${here}, endpoint="${CODER_PREDICTOR}", ready="true"}) ` +
      "and on () (count(kube_endpointslice_info) or count(kube_endpoint_info))",
    for: `${restartSeconds}s`,
    labels: { severity: "critical", service: CODER_PREDICTOR },
    annotations: {
      summary: `Service ${CODER_PREDICTOR} has no endpoint that serves`,
      description:
        `No pod of ${backend} answers for longer than a restart takes (${restartSeconds} s): poimen-memory gets no ` +
        "answer. docs/alerts.md says where to look.",
    },
  };
}

function cardsHeldIdle({ workloads }: AlertRulesArgs): AlertRule {
  const budgets = workloads.map((times) => deadlines(times).startupBudgetSeconds);
  const seconds = Math.max(NOT_READY_SECONDS, ...budgets);
  return {
    alert: "CardsHeldWhileNotReady",
    // Bound, neither at its end nor Ready, and with cards.
    expr:
      `kube_pod_status_ready{${here}, condition="true"} == 0 ` +
      `and on (namespace, pod) kube_pod_info{${here}, node!=""} ` +
      `and on (namespace, pod) kube_pod_status_phase{${here}, phase=~"Pending|Running"} == 1 ` +
      `and on (namespace, pod) ${withCards}`,
    for: `${seconds}s`,
    labels: { severity: "critical" },
    annotations: {
      summary: "Pod {{ $labels.pod }} holds cards and serves nothing",
      description:
        `It holds its cards and has not been Ready for ${seconds} s, longer than any start of this stack takes. ` +
        "docs/alerts.md says where to look.",
    },
  };
}

function pendingForCard({ workloads }: AlertRulesArgs): AlertRule {
  const longestGrace = Math.max(0, ...workloads.map(({ graceSeconds }) => graceSeconds));
  const seconds = longestGrace + STUCK_SLACK_SECONDS;
  return {
    alert: "PodPendingForCard",
    expr:
      `kube_pod_status_scheduled{${here}, condition="false"} == 1 ` +
      `and on (namespace, pod) ${withCards}`,
    for: `${seconds}s`,
    labels: { severity: "warning" },
    annotations: {
      summary: "Pod {{ $labels.pod }} waits for a card that nobody frees",
      description:
        `It is Pending for longer than any pod of this stack needs to give its cards back (${seconds} s). ` +
        "docs/alerts.md says where to look.",
    },
  };
}

function cardsGone({ name, cards }: AlertRulesArgs["gpuNodes"][number]): AlertRule {
  const allocatable = `kube_node_status_allocatable{node="${name}", resource="nvidia_com_gpu"}`;
  return {
    alert: "CardsMissing",
    // A node that is gone has no metric; where no node has one, nothing is known.
    expr: `sum(${allocatable}) < ${cards} or (absent(${allocatable}) and on () count(kube_node_info))`,
    for: `${CARDS_GONE_SECONDS}s`,
    labels: { severity: "warning", node: name },
    annotations: {
      summary: `Node ${name} has fewer cards than the stack gives out (${cards})`,
      description:
        "A card, its driver or the node is gone: the next restart of a pod may find no card. docs/alerts.md says " +
        "where to look.",
    },
  };
}
