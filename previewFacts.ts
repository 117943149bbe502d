import type { ClusterState } from "./cluster.ts";
import type { StackConfig } from "./config.ts";
import { type NodeCards, plannedCards } from "./gpu/cardMap.ts";
import type { Forecast } from "./gpu/forecast.ts";
import { coldStartWarnings, planWarnings } from "./gpu/warnings.ts";
import type { StackForecast } from "./stackForecast.ts";
import { type StackPlan, workloadsOf } from "./stackPlan.ts";

/** What a preview is about. */
export interface PreviewArgs {
  readonly config: StackConfig;
  readonly plan: StackPlan;
  /** Undefined in an offline preview. */
  readonly cluster: ClusterState | undefined;
  /** Undefined in an offline preview, and in an adoption. */
  readonly change: StackForecast | undefined;
}

/** What the program knows of a preview beyond the engine's own list of changes. Plain data: it survives JSON. */
export interface PreviewFacts {
  /** Context of the kubeconfig. */
  readonly context: string;
  /** URL of the API server that answered; absent offline. */
  readonly server?: string | undefined;
  /** The cards that exist as they are held now; absent offline. */
  readonly before?: readonly NodeCards[] | undefined;
  /** The same as planned. */
  readonly after: readonly NodeCards[];
  /** "fits: 2 of 4 cards used on worker-1, 2 free". */
  readonly verdict: string;
  /** Names of the workloads with 0 replicas. */
  readonly parked: readonly string[];
  /** Workload behind coder-predictor as planned. */
  readonly coderBackend: string;
  /** Pods that restart and outages of routes, as expected; absent offline and in an adoption. */
  readonly forecast?: Forecast | undefined;
  /** Objects of the namespace that are not this stack's, such as "ConfigMap notes". */
  readonly strangers: readonly string[];
  /** Where hands have made the cluster another one than the stack says, one line each; among the warnings too. */
  readonly drift: readonly string[];
  /** What works but deserves a look, one line each, cluster first. */
  readonly warnings: readonly string[];
  /** What could not be checked, one line each. */
  readonly notes: readonly string[];
}

const NO_CLIENTS =
  "llm-serving:access.clients = []: every pod of the cluster may connect, and the engines have no authentication; " +
  "set it to the namespaces that may";

/** The facts of a preview. Pure. */
export function previewFacts({ config, plan, cluster, change }: PreviewArgs): PreviewFacts {
  const workloads = workloadsOf(config);
  const after = existing(plannedCards(workloads, config.gpuNodes, cluster?.gpus), plan);
  const problems = [plan.problems, cluster?.problems ?? [], change?.problems ?? []].flat();
  return {
    context: config.cluster.context,
    server: cluster?.server,
    before: cluster === undefined ? undefined : existing(cluster.cards, plan),
    after,
    verdict:
      problems.length > 0
        ? "refused, see the error"
        : `${fitText(plan)}${after.map(useOf).join("; ")}`,
    parked: workloads.filter(({ replicas }) => replicas === 0).map(({ name }) => name),
    coderBackend: config.coderService.backend,
    forecast: change?.forecast,
    strangers: cluster?.strangers ?? [],
    drift: cluster?.drift ?? [],
    warnings: [...(cluster?.warnings ?? []), ...configWarnings(config, plan)],
    notes: cluster?.notes ?? [],
  };
}

/** What of a configuration works but deserves a look, one line each. */
export function configWarnings(config: StackConfig, plan: StackPlan): readonly string[] {
  return [
    ...planWarnings(plan, workloadsOf(config), { coderBackend: config.coderService.backend }),
    ...coldStartWarnings(config.clefServe),
    ...(config.access.clients.length === 0 ? [NO_CLIENTS] : []),
  ];
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
