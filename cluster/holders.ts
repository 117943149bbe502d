import { NAMESPACE, STACK_ANNOTATION } from "../components/names.ts";
import type { CardHolder, NodeCards } from "../gpu/cardMap.ts";
import type { PodNow } from "../gpu/forecast.ts";
import type { LiveGpus } from "../gpu/pool.ts";
import type { GpuNode } from "../gpu/workload.ts";
import type { StackWorkload } from "../stackPlan.ts";
import {
  cardCount,
  type ClusterFacts,
  HOSTNAME_LABEL,
  type LiveNode,
  type LivePod,
} from "./facts.ts";
import { allocatableCards } from "./nodes.ts";
import { cardsOf, deploymentOf, unreadyOf, unscheduledReason } from "./pods.ts";

/** Who a pod with cards belongs to. */
interface Holder {
  readonly pod: LivePod;
  readonly cards: number;
  /** Name of this stack's Deployment, or undefined. */
  readonly workload: string | undefined;
  /** The Deployment, or `namespace/pod` of a stranger. */
  readonly label: string;
}

/** Pods with cards, on the nodes of the stack or waiting for one. */
export interface Holders {
  /** Bound ones by configured node, Terminating ones included: their cards are not free yet. */
  readonly bound: ReadonlyMap<string, readonly Holder[]>;
  readonly waiting: readonly Holder[];
}

/** Sorts the pods that hold or want cards of the stack's nodes. */
export function holdersOf(
  facts: ClusterFacts,
  live: ReadonlyMap<string, LiveNode>,
  gpuNodes: readonly GpuNode[],
  isOwn: (deployment: string) => boolean,
): Holders {
  const hostnames = new Map(
    gpuNodes.map(({ name }) => [live.get(name)?.metadata?.name ?? "", name] as const),
  );
  const holders = facts.pods
    .map((pod) => holderOf(pod, isOwn))
    .filter(({ cards }) => cards > 0)
    .sort((a, b) => a.label.localeCompare(b.label));
  const nodeOf = ({ pod }: Holder) => hostnames.get(pod.spec?.nodeName ?? "") ?? "";
  const bound = Map.groupBy(holders, nodeOf);
  bound.delete("");
  const waiting = holders.filter(({ pod }) => pod.spec?.nodeName === undefined);
  const nodes = new Set(gpuNodes.map(({ name }) => name));
  return { bound, waiting: waiting.filter(({ pod }) => mayTake(pod, nodes)) };
}

/**
 * Whether a Deployment's pods are this stack's: by its annotation or by its name. A stranger of that name is
 * refused or adopted as an object, and its pods must not count twice.
 */
export function ownDeployments(
  { objects }: ClusterFacts,
  workloads: readonly StackWorkload[],
  stack: string,
): (deployment: string) => boolean {
  const annotated = objects.filter(
    ({ kind, metadata }) =>
      kind === "Deployment" && metadata.annotations?.[STACK_ANNOTATION] === stack,
  );
  const names = new Set([
    ...workloads.map(({ name }) => name),
    ...annotated.map(({ metadata }) => metadata.name),
  ]);
  return (name) => names.has(name);
}

function holderOf(pod: LivePod, isOwn: (deployment: string) => boolean): Holder {
  const deployment = deploymentOf(pod);
  const workload = deployment !== undefined && isOwn(deployment) ? deployment : undefined;
  const stranger = `${pod.metadata?.namespace ?? ""}/${pod.metadata?.name ?? ""}`;
  return { pod, cards: cardsOf(pod), workload, label: workload ?? stranger };
}

/** A pod that selects another node never takes a card here. */
function mayTake({ spec }: LivePod, nodes: ReadonlySet<string>): boolean {
  const hostname = spec?.nodeSelector?.[HOSTNAME_LABEL];
  return hostname === undefined || nodes.has(hostname);
}

/**
 * The live numbers of the plan. A node that does not exist keeps its configured number: its absence is a
 * problem of its own, and the plan would only ask to park what runs there.
 */
export function liveGpus(
  gpuNodes: readonly GpuNode[],
  live: ReadonlyMap<string, LiveNode>,
  { bound }: Holders,
): LiveGpus {
  return {
    allocatable: new Map(
      gpuNodes.map(({ name, cards }) => {
        const node = live.get(name);
        return [name, node === undefined ? cards : allocatableCards(node)] as const;
      }),
    ),
    unmanaged: [...bound].flatMap(([node, holders]) =>
      holders
        .filter(({ workload }) => workload === undefined)
        .map(({ label, cards }) => ({ owner: label, node, cards })),
    ),
  };
}

/** The cards as they are held now, one holder per pod. */
export function liveCards(gpuNodes: readonly GpuNode[], { bound }: Holders): readonly NodeCards[] {
  return gpuNodes.map(({ name, cards }) => ({
    name,
    cards,
    holders: (bound.get(name) ?? []).map(({ label, cards: held, workload }): CardHolder => ({
      label,
      cards: held,
      unmanaged: workload === undefined,
    })),
  }));
}

/** This stack's bound pods, as a forecast takes them. */
export function podsNow(
  { bound }: Holders,
  workloads: readonly StackWorkload[],
  now: Date,
): readonly PodNow[] {
  const coldStarts = new Map(workloads.map((each) => [each.name, each.coldStartSeconds]));
  return [...bound].flatMap(([node, holders]) =>
    holders.flatMap(({ pod, cards, workload }) => {
      if (workload === undefined) return [];
      const { metadata, spec } = pod;
      const unready = unreadyOf(pod);
      const until = (time: Date): number => (time.getTime() - now.getTime()) / 1000;
      // One that has been Ready before, or takes longer than it should, is as good as never Ready again.
      const rest =
        (coldStarts.get(workload) ?? 0) + (unready === undefined ? 0 : until(unready.since));
      const late = unready !== undefined && (unready.before || rest <= 0);
      return [
        {
          ...{ workload, node, cards },
          graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
          readySeconds: unready === undefined ? 0 : late ? Infinity : rest,
          ...(metadata?.deletionTimestamp === undefined
            ? {}
            : { goneSeconds: Math.max(1, until(metadata.deletionTimestamp)) }),
        },
      ];
    }),
  );
}

/** Workloads that are no longer in the program while their pods hold cards, one line each. */
export function removedHolders(
  { bound }: Holders,
  workloads: readonly StackWorkload[],
): readonly string[] {
  const known = new Set(workloads.map(({ name }) => name));
  const removed = [...bound].flatMap(([node, holders]) =>
    holders.flatMap(({ workload, cards }) =>
      workload === undefined || known.has(workload) ? [] : [{ workload, node, cards }],
    ),
  );
  return [...Map.groupBy(removed, ({ workload }) => workload)].map(([name, holders]) => {
    const held = holders.map(({ node, cards }) => `${cardCount(cards)} of ${node}`).join(", ");
    return (
      `Deployment ${NAMESPACE}/${name}: removed from the program while its pods hold ${held} (deletes run last, so ` +
      `whoever takes these cards would wait for ever); put it back with replicas 0 and run \`up\`, then remove it`
    );
  });
}

/** Pods that hold cards and serve nothing, and pods that wait for one. */
export function holderWarnings(
  { bound, waiting }: Holders,
  workloads: readonly StackWorkload[],
  now: Date,
): readonly string[] {
  const coldStarts = new Map(workloads.map((each) => [each.name, each.coldStartSeconds]));
  return [
    ...[...bound].flatMap(([node, holders]) =>
      holders.flatMap((holder) => idleHolder(holder, node, coldStarts, now)),
    ),
    ...waiting.flatMap((holder) => {
      const reason = unscheduledReason(holder.pod);
      if (reason === undefined) return [];
      return [`${podName(holder)} waits for ${cardCount(holder.cards)}: ${reason}`];
    }),
  ];
}

/** Within its cold start a pod of this stack is expected to serve nothing; of others nothing is known. */
function idleHolder(
  holder: Holder,
  node: string,
  coldStarts: ReadonlyMap<string, number>,
  now: Date,
): readonly string[] {
  const unready = unreadyOf(holder.pod);
  if (unready === undefined) return [];
  const seconds = (now.getTime() - unready.since.getTime()) / 1000;
  if (!unready.before && seconds < (coldStarts.get(holder.workload ?? "") ?? 0)) return [];
  const since = unready.since.toISOString().replace(".000Z", "Z");
  const was = unready.before ? "it was Ready before" : "it has never been Ready";
  return [
    `${podName(holder)} holds ${cardCount(holder.cards)} of ${node} and serves nothing since ${since}: ${was}`,
  ];
}

function podName({ pod, workload, label }: Holder): string {
  return workload === undefined ? label : (pod.metadata?.name ?? label);
}
