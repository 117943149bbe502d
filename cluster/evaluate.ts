import { admissionGuardFindings } from "../components/admissionGuard.ts";
import { type MonitoringKind, NAMESPACE } from "../components/names.ts";
import type { StackConfig } from "../config.ts";
import type { NodeCards } from "../gpu/cardMap.ts";
import type { PodNow } from "../gpu/forecast.ts";
import type { LiveGpus } from "../gpu/pool.ts";
import { workloadsOf } from "../stackPlan.ts";
import { scaledByHand, templatesByHand } from "./byHand.ts";
import { coderServiceDrift, coderServiceWarnings, selectedBackend } from "./coderService.ts";
import type { ClusterFacts, ObjectName } from "./facts.ts";
import {
  holdersOf,
  holderWarnings,
  liveCards,
  liveGpus,
  ownDeployments,
  podsNow,
  removedHolders,
} from "./holders.ts";
import { nodeProblems, nodesByHostname, nodeWarnings } from "./nodes.ts";
import { objectProblems, strangersOf, strangerWarnings, templatesOf } from "./objects.ts";
import { claimFindings, missingReferences, referencesOf } from "./references.ts";

/** What the facts are held against. */
export interface EvaluationArgs {
  readonly config: StackConfig;
  /** Name of the stack. */
  readonly stack: string;
  /** What the program creates. */
  readonly wanted: readonly ObjectName[];
  /** True in the run of an adoption, which judges the objects that it takes over by rules of its own. */
  readonly adopting: boolean;
  readonly now: Date;
}

/** What the live cluster means for a stack. */
export interface ClusterState {
  /** URL of the API server that answered. */
  readonly server: string;
  /** Numbers for the plan. */
  readonly gpus: LiveGpus;
  /** The cards of each configured node as they are held now. */
  readonly cards: readonly NodeCards[];
  /** Kinds of the Prometheus operator that the cluster has. */
  readonly monitoringKinds: readonly MonitoringKind[];
  /** Objects of the namespace that are not this stack's, such as "ConfigMap notes". */
  readonly strangers: readonly string[];
  /** This stack's pods with cards, bound ones. */
  readonly pods: readonly PodNow[];
  /** Fingerprint of the pod template by Deployment, where the program wrote one. */
  readonly templates: ReadonlyMap<string, string>;
  /** The workload that coder-predictor selects now; undefined where there is no Service, or it selects none. */
  readonly coderBackend: string | undefined;
  /** Why the stack cannot work on this cluster, one line each. */
  readonly problems: readonly string[];
  /** Where hands have made the cluster another one than the stack says, one line each: no update puts that back. */
  readonly drift: readonly string[];
  /** What works but deserves a look, one line each; the drift too. */
  readonly warnings: readonly string[];
  /** What could not be checked, one line each. */
  readonly notes: readonly string[];
}

/** Holds the facts against the stack. Pure: the same facts give the same state. */
export function evaluateCluster(facts: ClusterFacts, args: EvaluationArgs): ClusterState {
  const { config, stack, wanted, adopting, now } = args;
  const { gpuNodes } = config;
  const workloads = workloadsOf(config);
  const live = nodesByHostname(facts.nodes);
  const holders = holdersOf(facts, live, gpuNodes, ownDeployments(facts, workloads, stack));
  const references = referencesOf(config);
  const missing = missingReferences(facts, references);
  const claims = claimFindings(facts, references);
  const guard =
    facts.guard === undefined || !config.cluster.admissionGuard
      ? { warnings: [], notes: [] }
      : admissionGuardFindings(facts.guard);
  const drift = adopting
    ? []
    : [
        ...scaledByHand(facts.objects, workloads),
        ...coderServiceDrift(facts.coderService, config.coderService),
      ];
  const strangers = strangersOf(facts.objects, [...wanted, ...references], stack);
  return {
    server: facts.server,
    monitoringKinds: facts.monitoringKinds,
    gpus: liveGpus(gpuNodes, live, holders),
    cards: liveCards(gpuNodes, holders),
    pods: podsNow(holders, workloads, now),
    templates: templatesOf(facts.objects),
    coderBackend: selectedBackend(facts.coderService),
    strangers,
    problems: [
      ...nodeProblems(gpuNodes, live, workloads),
      ...(adopting ? [] : objectProblems(facts.objects, wanted, stack)),
      ...removedHolders(holders, workloads),
      ...missing.problems,
      ...claims.problems,
    ],
    drift,
    warnings: [
      ...drift,
      ...(adopting ? [] : templatesByHand(facts.objects)),
      ...nodeWarnings(gpuNodes, live),
      ...holderWarnings(holders, workloads, now),
      ...missing.warnings,
      ...claims.warnings,
      ...strangerWarnings(strangers),
      ...(facts.coderService === undefined
        ? []
        : coderServiceWarnings(facts.coderService, config.coderService)),
      ...guard.warnings,
    ],
    notes: [...notesOf(facts), ...guard.notes],
  };
}

function notesOf({ unread, mayPatch }: ClusterFacts): readonly string[] {
  return [
    ...(unread.size === 0
      ? []
      : [
          `not checked: ${[...unread].join(", ")} (this identity may not read them in namespace ${NAMESPACE})`,
        ]),
    ...(mayPatch === false
      ? [
          `not checked: what the API server itself would refuse (this identity may not patch in namespace ${NAMESPACE}, ` +
            "which a server-side dry run needs)",
        ]
      : []),
  ];
}
