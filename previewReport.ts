import * as pulumi from "@pulumi/pulumi";
import type { ClusterState } from "./cluster.ts";
import type { StackConfig } from "./config.ts";
import { cardMap, type NodeCards, plannedCards } from "./gpu/cardMap.ts";
import { planWarnings } from "./gpu/warnings.ts";
import { type StackPlan, workloadsOf } from "./stackPlan.ts";

/** What a report tells of. */
export interface ReportArgs {
  readonly config: StackConfig;
  readonly plan: StackPlan;
  /** Undefined in an offline preview. */
  readonly cluster: ClusterState | undefined;
}

/** What a preview prints beside the engine's own list of changes. */
export interface Report {
  /** Card map, verdict and what was not checked; several lines. */
  readonly summary: string;
  /** The offline warning alone, then all others, a line each: the CLI repeats the first line of every message. */
  readonly warnings: readonly string[];
}

/**
 * Prints the report of a preview. An `up` prints it in its own preview; the update itself prints nothing
 * but problems, so that nothing is read twice.
 */
export async function printReport(args: ReportArgs): Promise<void> {
  const { summary, warnings } = previewReport(args);
  // Awaited one by one, since the engine prints messages in the order of their arrival.
  await pulumi.log.info(summary);
  for (const warning of warnings) await pulumi.log.warn(warning);
}

const OFFLINE_WARNING =
  "LLM_SERVING_OFFLINE = 1: live checks skipped. Whether the cluster is the right one, which cards are free and what " +
  "exists already is not known; the plan counts the configured numbers. `up` refuses to run like this";

const NO_CLIENTS =
  "llm-serving:access.clients = []: every pod of the cluster may connect, and the engines have no authentication; " +
  "set it to the namespaces that may";

/** The report as text. Pure. */
export function previewReport({ config, plan, cluster }: ReportArgs): Report {
  const workloads = workloadsOf(config);
  const parked = workloads.filter(({ replicas }) => replicas === 0).map(({ name }) => name);
  const after = existing(plannedCards(workloads, config.gpuNodes, cluster?.gpus), plan);
  const before = cluster === undefined ? undefined : existing(cluster.cards, plan);
  const refused = plan.problems.length + (cluster?.problems.length ?? 0) > 0;
  return {
    summary: [
      cluster === undefined ? "cards as planned" : "cards now and as planned",
      "",
      cardMap(after, { before }),
      "",
      refused
        ? "verdict: refused, see the error"
        : `verdict: ${fitText(plan)}${after.map(useOf).join("; ")}`,
      ...(parked.length === 0 ? [] : [`parked: ${parked.join(", ")}`]),
      ...(cluster?.notes ?? []),
    ].join("\n"),
    warnings: [
      ...(cluster === undefined ? [OFFLINE_WARNING] : []),
      ...block([
        ...(cluster?.warnings ?? []),
        ...planWarnings(plan, workloads, { coderBackend: config.coderService.backend }),
        ...(config.access.clients.length === 0 ? [NO_CLIENTS] : []),
      ]),
    ],
  };
}

/** Several lines as one message. */
function block(lines: readonly string[]): readonly string[] {
  return lines.length < 2 ? lines : [`${lines.length} points to look at\n  ${lines.join("\n  ")}`];
}

/** The nodes with the cards that they really have: the smaller of configured and allocatable. */
function existing(nodes: readonly NodeCards[], { pools }: StackPlan): readonly NodeCards[] {
  return nodes.map((node) => {
    const allocatable = pools.get(node.name)?.allocatable ?? node.cards;
    return { ...node, cards: Math.min(node.cards, allocatable) };
  });
}

/** Memory that is tight is a verdict of its own. */
function fitText({ fits, workloads }: StackPlan): string {
  const marginal = Object.entries(fits)
    .filter(([name, { verdict }]) => verdict === "marginal" && workloads[name] === "running")
    .map(([name]) => name);
  return marginal.length === 0 ? "fits: " : `fits, with little memory for ${marginal.join(", ")}: `;
}

function useOf({ name, cards, holders }: NodeCards): string {
  const used = holders.reduce((sum, holder) => sum + holder.cards, 0);
  return `${used} of ${cards} cards used on ${name}, ${cards - used} free`;
}
