/** What a rehearsal sees of its lab: one entry for each change that a watch told of. */
import { type DeploymentView, isRolledOut } from "../rollout/state.ts";

/** A pod of namespace llm-serving. */
export interface PodState {
  readonly kind: "pod";
  readonly uid: string;
  readonly name: string;
  /** Label `app`: the name of its Deployment. */
  readonly app: string;
  /** Where it is bound. */
  readonly node?: string | undefined;
  /** The node that it selects. */
  readonly wantsNode?: string | undefined;
  /** Cards of one pod. */
  readonly cards: number;
  /** terminationGracePeriodSeconds. */
  readonly graceSeconds: number;
  readonly deleting: boolean;
  readonly ready: boolean;
  /** The scheduler's message while it finds no node. */
  readonly unschedulable?: string | undefined;
}

/** An EndpointSlice. */
export interface EndpointsState {
  readonly kind: "endpoints";
  readonly name: string;
  readonly service: string;
  readonly endpoints: readonly {
    readonly pod: string;
    readonly serving: boolean;
    readonly terminating: boolean;
  }[];
}

/** A Service: its identity and whom it selects. */
export interface ServiceState {
  readonly kind: "service";
  readonly name: string;
  readonly uid: string;
  readonly clusterIP: string;
  /** Label `app` that it selects. */
  readonly selects: string;
}

/** A Deployment's counts, as {@link isSettled} judges them. */
export interface DeploymentState extends DeploymentView {
  readonly kind: "deployment";
}

/** An event of the cluster. */
export interface EventState {
  readonly kind: "event";
  readonly name: string;
  /** Name of the object that it is about. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
}

export type ObjectState = PodState | EndpointsState | ServiceState | DeploymentState | EventState;

/** One change. */
export interface Change {
  /** Milliseconds; 0: what was there when the recording began. */
  readonly at: number;
  /** The object is gone; `state` is its last. */
  readonly gone: boolean;
  readonly state: ObjectState;
}

/** Everything that happened, in the order in which it became known. */
export interface Recording {
  readonly changes: readonly Change[];
  /** Milliseconds from the first moment to the last. */
  readonly lasted: number;
}

/**
 * The same recording with its times counted from the first change, one millisecond before it: how long the CLI took to
 * get that far says nothing about the cluster.
 */
export function fromFirstChange({ changes, lasted }: Recording): Recording {
  const first = changes.find(({ at, state }) => at > 0 && state.kind !== "event")?.at ?? lasted;
  const shifted = (at: number) => (at === 0 ? 0 : Math.max(1, at - first + 1));
  return {
    changes: changes.map((change) => ({ ...change, at: shifted(change.at) })),
    lasted: shifted(lasted),
  };
}

/** The objects as they stand, by kind and name (pods by uid). */
export class World {
  readonly #states = new Map<string, ObjectState>();

  /** Takes over one change. */
  apply({ state, gone }: Change): void {
    const key = `${state.kind}/${state.kind === "pod" ? state.uid : state.name}`;
    if (gone) this.#states.delete(key);
    else this.#states.set(key, state);
  }

  /** All objects of a kind. */
  all<K extends ObjectState["kind"]>(kind: K): Extract<ObjectState, { kind: K }>[] {
    return [...this.#states.values()].filter(
      (state): state is Extract<ObjectState, { kind: K }> => state.kind === kind,
    );
  }
}

/** Whether nothing is left to happen: every Deployment has exactly its wanted pods, and none is going. */
export function isSettled(world: World): boolean {
  const deployments = world.all("deployment");
  const names = new Set(deployments.map(({ name }) => name));
  return (
    deployments.length > 0 &&
    world
      .all("pod")
      .filter(({ app }) => names.has(app))
      .every(({ deleting, ready }) => ready && !deleting) &&
    deployments.every(isRolledOut)
  );
}

/** What the scheduler says when a card is what a pod lacks. */
const NO_CARD = "Insufficient nvidia.com/gpu";

/** Whether a pod is Pending because no card is free for it. */
export function waitsForCard({ node, unschedulable }: PodState): boolean {
  return node === undefined && (unschedulable ?? "").includes(NO_CARD);
}

/**
 * Pods that wait for a card while no other pod with cards goes or starts: as the cluster stands, nothing will free one.
 * @returns their names; empty while something can still happen
 */
export function hopeless(world: World): string[] {
  const pods = world.all("pod").filter(({ cards }) => cards > 0);
  if (pods.some(({ deleting, node, ready }) => deleting || (node !== undefined && !ready))) {
    return [];
  }
  return pods.filter(waitsForCard).map(({ name }) => name);
}
