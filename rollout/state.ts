/** Whether a rollout is done, what it waits for, or why it cannot end: pure rules over what the cluster shows. */
import { PUT_BACK } from "../cluster/byHand.ts";

/** A Deployment as the API server shows it; counts that the server leaves out are 0. */
export interface DeploymentView {
  readonly name: string;
  readonly generation: number;
  readonly observedGeneration: number;
  /** spec.replicas. */
  readonly wanted: number;
  /** Pods of any template, of the current template, and those that are available. */
  readonly pods: number;
  readonly updated: number;
  readonly available: number;
  /** Condition ReplicaFailure while true: no pod is made at all, as by someone's quota. */
  readonly replicaFailure?:
    | {
        readonly message: string;
        /** Since when, in milliseconds since the epoch. */
        readonly since: number;
      }
    | undefined;
}

/** A pod of any namespace; those of our own Deployments are told by `app`. */
export interface PodView {
  readonly name: string;
  readonly namespace: string;
  /** Label `app`. */
  readonly app?: string | undefined;
  /** Where it is bound. */
  readonly node?: string | undefined;
  /** The node that it selects. */
  readonly wantsNode?: string | undefined;
  readonly cards: number;
  readonly phase: string;
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Set from the moment of its deletion, while its grace runs. */
  readonly deletedAt?: number | undefined;
  /** The scheduler's message while it finds no node. */
  readonly unschedulable?: string | undefined;
  /** Why its container does not run, such as ImagePullBackOff, with the kubelet's message. */
  readonly waiting?: { readonly reason: string; readonly message: string } | undefined;
  readonly restarts: number;
  /** Reason and message of a Failed pod. */
  readonly failure?: string | undefined;
}

/** What one look at the cluster shows. */
export interface Snapshot {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly deployments: readonly DeploymentView[];
  /** Every pod that holds or wants a card, and every pod of the Deployments. */
  readonly pods: readonly PodView[];
}

/** What holds for all rollouts of one run. */
export interface RunFacts {
  /** When the run began, in milliseconds since the epoch: pods that failed before are not its failures. */
  readonly since: number;
  /** The longest grace of all workloads in seconds: how long a donor may hold a card. */
  readonly longestGraceSeconds: number;
}

/** One Deployment to wait for. */
export interface RolloutTarget {
  readonly name: string;
  /** Pods that the stack wants. */
  readonly replicas: number;
  /** Its pods' grace in seconds. */
  readonly graceSeconds: number;
  /** Seconds after which waiting ends, from the start of the wait. */
  readonly deadlineSeconds: number;
}

export type RolloutState =
  | { readonly kind: "done" }
  | { readonly kind: "waiting"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string };

/** Beyond a donor's grace, a pod that still waits for its card is stuck; beyond this, a refusal is no hiccup. */
const PATIENCE_SECONDS = 30;

/** Pods that a node rejected in a row before the rest is not worth waiting for. */
const REJECTED_PODS = 3;

/** Restarts before a crash is no longer a start-up hiccup. */
const CRASHES = 3;

/** Reasons with which the kubelet says that a container cannot start as it is specified. */
const CANNOT_START = new Set([
  "ImagePullBackOff",
  "ErrImagePull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

/**
 * Judges one rollout. It is done only when every wanted pod is of the current template and available, and no
 * other pod of the Deployment is left: a terminating pod still holds its card.
 */
export function rolloutState(
  target: RolloutTarget,
  snapshot: Snapshot,
  run: RunFacts,
): RolloutState {
  const deployment = snapshot.deployments.find(({ name }) => name === target.name);
  if (deployment === undefined) return waiting(`${target.name}: not there yet`);
  if (deployment.wanted !== target.replicas)
    return { kind: "failed", why: scaled(target, deployment) };
  const own = snapshot.pods.filter((pod) => pod.app === target.name);
  // Pods and Deployments are watched apart: one of them may be told later than the other.
  const there = own.filter(({ phase }) => phase !== "Failed" && phase !== "Succeeded");
  if (isRolledOut(deployment) && there.length === deployment.wanted) {
    return { kind: "done" };
  }
  const living = own.filter((pod) => pod.deletedAt === undefined);
  return (
    rejected(target.name, living, run.since) ??
    notMade(deployment, snapshot.now, own, run.since) ??
    living
      .filter((pod) => !pod.ready && pod.phase !== "Failed")
      .map((pod) => podState(pod, snapshot, run))
      .reduce<RolloutState | undefined>(worse, undefined) ??
    draining(target.name, own, snapshot.now) ??
    waiting(`${target.name}: ${deployment.available} of ${deployment.wanted} pods available`)
  );
}

/** Every update has been sent by now: a number that is still another one is none of this program's. */
function scaled({ name, replicas }: RolloutTarget, { wanted }: DeploymentView): string {
  return `${name}: spec.replicas is ${wanted} in the cluster, by a hand or an autoscaler, and ${replicas} in the stack; ${PUT_BACK}`;
}

/** Whether the controller has seen the newest generation, and all pods are of its template and available. */
export function isRolledOut(deployment: DeploymentView): boolean {
  const { generation, observedGeneration, wanted, pods, updated, available } = deployment;
  return (
    observedGeneration >= generation &&
    [pods, updated, available].every((count) => count === wanted)
  );
}

function rejected(name: string, pods: readonly PodView[], since: number): RolloutState | undefined {
  const failed = pods.filter(({ phase, createdAt }) => phase === "Failed" && createdAt >= since);
  const last = failed.toSorted((a, b) => b.createdAt - a.createdAt)[0];
  if (last === undefined) return undefined;
  const why = `${name}: ${failed.length} pods failed, last ${last.name}: ${last.failure ?? "no reason given"}`;
  return failed.length < REJECTED_PODS ? waiting(why) : { kind: "failed", why };
}

function notMade(
  { name, replicaFailure }: DeploymentView,
  now: number,
  own: readonly PodView[],
  since: number,
): RolloutState | undefined {
  if (replicaFailure === undefined) return undefined;
  // A pod that is going may free what the missing one needs, a place in a quota say.
  const going = own.filter((pod) => pod.deletedAt !== undefined);
  const why = `${name}: no pod is made: ${replicaFailure.message}`;
  // What failed before this run may have been put right since; the controller tries again now and then.
  const mayPass = replicaFailure.since < since && now - since < PATIENCE_SECONDS * 1000;
  return going.length > 0 || mayPass
    ? waiting(`${why}${goingFor(going, now)}`)
    : { kind: "failed", why };
}

function podState(pod: PodView, snapshot: Snapshot, run: RunFacts): RolloutState {
  const age = seconds(snapshot.now - pod.createdAt);
  const { waiting: stopped } = pod;
  if (pod.unschedulable !== undefined) return unscheduled(pod, snapshot, run);
  if (pod.restarts >= CRASHES) {
    const reason = stopped === undefined ? "" : `: ${stopped.reason} ${stopped.message}`;
    return {
      kind: "failed",
      why: `${nameOf(pod)} has crashed ${pod.restarts} times${reason}; see kubectl logs --previous`,
    };
  }
  if (stopped !== undefined && CANNOT_START.has(stopped.reason)) {
    const why = `${nameOf(pod)} cannot start: ${stopped.reason} ${stopped.message}`.trimEnd();
    return waited(pod, snapshot, run) > PATIENCE_SECONDS ? { kind: "failed", why } : waiting(why);
  }
  if (pod.node === undefined) return waiting(`${nameOf(pod)} waits for the scheduler, ${age} s`);
  return waiting(`${nameOf(pod)} is starting on ${pod.node}, ${age} s: not ready yet`);
}

/** How long this run has waited for a pod in seconds: what kept an older one may have been put right by now. */
function waited({ createdAt }: PodView, { now }: Snapshot, { since }: RunFacts): number {
  return seconds(now - Math.max(createdAt, since));
}

function unscheduled(pod: PodView, snapshot: Snapshot, run: RunFacts): RolloutState {
  const age = seconds(snapshot.now - pod.createdAt);
  const isLate = waited(pod, snapshot, run) > run.longestGraceSeconds + PATIENCE_SECONDS;
  const going = snapshot.pods.filter(
    (other) =>
      other.deletedAt !== undefined &&
      other.cards > 0 &&
      (pod.wantsNode === undefined || other.node === pod.wantsNode),
  );
  const cause = `${pod.unschedulable ?? ""}${goingFor(going, snapshot.now)}`;
  if (pod.cards > 0 && going.length > 0 && !isLate) {
    return waiting(
      `${nameOf(pod)} waits for ${cardsOf(pod)}, ${age} s${goingFor(going, snapshot.now)}`,
    );
  }
  const why = `${nameOf(pod)} has no place for ${age} s: ${cause}`;
  return isLate ? { kind: "failed", why } : waiting(why);
}

function draining(name: string, own: readonly PodView[], now: number): RolloutState | undefined {
  const going = own.filter((pod) => pod.deletedAt !== undefined);
  return going.length === 0 ? undefined : waiting(`${name}: draining${goingFor(going, now)}`);
}

/** "; clef-serve-abc holds 1 card of worker-1, terminating for 12 s". */
function goingFor(going: readonly PodView[], now: number): string {
  return going
    .map((pod) => {
      const place = pod.node === undefined ? "" : ` of ${pod.node}`;
      return `; ${nameOf(pod)} holds ${cardsOf(pod)}${place}, terminating for ${seconds(now - (pod.deletedAt ?? now))} s`;
    })
    .join("");
}

function cardsOf({ cards }: PodView): string {
  return cards === 1 ? "1 card" : `${cards} cards`;
}

function nameOf({ namespace, name }: PodView): string {
  return namespace === "llm-serving" ? name : `${namespace}/${name}`;
}

function seconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 1000));
}

function waiting(why: string): RolloutState {
  return { kind: "waiting", why };
}

function worse(a: RolloutState | undefined, b: RolloutState): RolloutState {
  return a?.kind === "failed" ? a : b.kind === "failed" ? b : (a ?? b);
}
