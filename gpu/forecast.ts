/** What a change does to pods and routes, computed before it happens: a small model of the Deployment controller. */

/** A pod that holds cards now. All times are seconds from the moment of the change. */
export interface PodNow {
  /** Name of its Deployment. */
  readonly workload: string;
  readonly node: string;
  readonly cards: number;
  /** Its terminationGracePeriodSeconds: how long it may hold its cards once it is deleted. */
  readonly graceSeconds: number;
  /** When it becomes Ready; 0 or less: it is. */
  readonly readySeconds: number;
  /** When it is gone at the latest, for a pod that is Terminating already. */
  readonly goneSeconds?: number | undefined;
}

/** A Deployment as it is to become. */
export interface DeploymentPlan {
  readonly name: string;
  readonly node: string;
  readonly replicas: number;
  /** Cards of one pod. */
  readonly cards: number;
  readonly graceSeconds: number;
  /** From the container's start to Ready. */
  readonly coldStartSeconds: number;
  readonly rollout: "recreate" | "surge";
  /** Whether its pod template differs from that of its pods now. */
  readonly templateChanges: boolean;
}

/** A route and the workload whose pods answer it, before and after the change. */
export interface RoutePlan {
  readonly route: string;
  readonly before: string;
  readonly after: string;
}

export interface ForecastArgs {
  readonly pods: readonly PodNow[];
  readonly deployments: readonly DeploymentPlan[];
  readonly routes: readonly RoutePlan[];
  /** Cards by node that this program may use, held or not. */
  readonly available: ReadonlyMap<string, number>;
}

/** What becomes of a route. */
export interface RouteForecast {
  readonly route: string;
  /** stays: it answers before and after. on, off: it begins or ceases to. none: neither before nor after. */
  readonly effect: "stays" | "on" | "off" | "none";
  /**
   * stays: seconds without any serving endpoint. on: seconds until the first. Else 0. Absent where no end is in
   * sight: its pods have been starting for longer than they should.
   */
  readonly seconds?: number | undefined;
  /** Of these, seconds in which a pod of it waited for cards that others still held. */
  readonly waitsForCardSeconds: number;
}

export interface Forecast {
  /** Workloads whose running pods are replaced, as their template changes. */
  readonly restarts: readonly string[];
  readonly routes: readonly RouteForecast[];
  /** When the last pod is Ready and the last former one gone, in seconds. */
  readonly settledSeconds: number;
}

/** A pod in the course of the change; a time that is not known yet is Infinity. */
interface Pod {
  readonly workload: string;
  readonly node: string;
  readonly cards: number;
  readonly graceSeconds: number;
  readonly old: boolean;
  readonly created: number;
  placed: number;
  ready: number;
  gone: number;
}

/**
 * Forecasts a change, as an upper bound: a deleted pod holds its cards, and serves, for its whole grace, as an engine
 * that ignores SIGTERM does. Images are taken to be on the node. Of two pods that wait for the same card the older
 * gets it.
 */
export function forecast(args: ForecastArgs): Forecast {
  const pods = args.pods.map((pod): Pod => ({
    ...pod,
    old: true,
    created: -Infinity,
    placed: -Infinity,
    ready: pod.readySeconds,
    gone: pod.goneSeconds ?? Infinity,
  }));
  const before = pods.filter((pod) => pod.ready <= 0).map(({ workload }) => workload);
  let now = 0;
  for (;;) {
    for (const deployment of args.deployments) settle(deployment, pods, now);
    place(args, pods, now);
    const times = pods.flatMap(({ ready, gone }) => [ready, gone]);
    const next = Math.min(...times.filter((time) => time > now));
    if (next === Infinity) break;
    now = next;
  }
  return {
    restarts: args.deployments
      .filter(
        ({ name, templateChanges, replicas }) =>
          templateChanges && replicas > 0 && living(pods, name, 0).some(({ old }) => old),
      )
      .map(({ name }) => name),
    routes: args.routes.map((route) => routeForecast(route, args.deployments, pods, before)),
    settledSeconds: now,
  };
}

/** Pods that were not deleted before `time`: those that a Deployment counts. */
function living(pods: readonly Pod[], workload: string, time: number): Pod[] {
  return pods.filter((pod) => pod.workload === workload && !(pod.gone - pod.graceSeconds < time));
}

/** What the Deployment controller does at one moment: taking one pod away may make room for the next. */
function settle(deployment: DeploymentPlan, pods: Pod[], now: number): void {
  const count = () => pods.filter(({ gone }) => gone === Infinity).length;
  let before: number;
  do {
    before = count();
    act(deployment, pods, now);
  } while (count() !== before);
}

/** One step of it. */
function act(deployment: DeploymentPlan, pods: Pod[], now: number): void {
  const { name, replicas, templateChanges, rollout } = deployment;
  const mine = pods.filter((pod) => pod.workload === name && pod.gone > now);
  const counted = mine.filter((pod) => pod.gone === Infinity);
  const old = templateChanges ? counted.filter((pod) => pod.old) : [];
  const current = counted.filter((pod) => !old.includes(pod));
  if (templateChanges && rollout === "recreate") {
    for (const pod of old) remove(pod, now);
    // The next pods are made once the last one of the former template is gone.
    if (mine.some((pod) => pod.old)) return;
  }
  const room = rollout === "surge" && old.length > 0 ? replicas + 1 - counted.length : Infinity;
  for (let n = Math.min(replicas - current.length, room); n > 0; n -= 1) {
    pods.push(podOf(deployment, now));
  }
  // Those that serve least go first.
  const excess = current
    .toSorted((a, b) => (a.ready === b.ready ? 0 : b.ready - a.ready))
    .slice(0, current.length - replicas);
  if (current.length > replicas) for (const pod of excess) remove(pod, now);
  const available = counted.filter((pod) => pod.ready <= now).length;
  const spare = replicas === 0 ? old.length : Math.max(0, available - replicas);
  const unready = old.filter((pod) => pod.ready > now);
  const leaving = [...unready, ...old.filter((pod) => pod.ready <= now).slice(0, spare)];
  if (rollout === "surge") for (const pod of leaving) remove(pod, now);
}

function podOf({ name, node, cards, graceSeconds }: DeploymentPlan, now: number): Pod {
  const unknown = { placed: Infinity, ready: Infinity, gone: Infinity };
  return { workload: name, node, cards, graceSeconds, old: false, created: now, ...unknown };
}

/** A pod that was never placed holds nothing and is gone at once; one that still starts will never serve. */
function remove(pod: Pod, now: number): void {
  pod.gone = now + (pod.placed === Infinity ? 0 : pod.graceSeconds);
  if (pod.ready > now) pod.ready = Infinity;
}

/** The scheduler: pods in the order of their making, each as soon as its cards are free. */
function place({ available, deployments }: ForecastArgs, pods: readonly Pod[], now: number): void {
  for (const pod of pods.filter((each) => each.placed === Infinity && each.gone === Infinity)) {
    const held = pods
      .filter(({ node, placed, gone }) => node === pod.node && placed <= now && gone > now)
      .reduce((sum, { cards }) => sum + cards, 0);
    if (held + pod.cards > (available.get(pod.node) ?? 0)) continue;
    pod.placed = now;
    pod.ready =
      now + (deployments.find(({ name }) => name === pod.workload)?.coldStartSeconds ?? 0);
  }
}

function routeForecast(
  { route, before, after }: RoutePlan,
  deployments: readonly DeploymentPlan[],
  pods: readonly Pod[],
  readyBefore: readonly string[],
): RouteForecast {
  const was = readyBefore.includes(before);
  const is = deployments.some(({ name, replicas }) => name === after && replicas > 0);
  const effect = was ? (is ? "stays" : "off") : is ? "on" : "none";
  if (effect === "off" || effect === "none") {
    return { route, effect, seconds: 0, waitsForCardSeconds: 0 };
  }
  const mine = pods.filter(({ workload }) => workload === after);
  if (mine.every(({ ready }) => ready === Infinity))
    return { route, effect, waitsForCardSeconds: 0 };
  const gaps = gapsOf(mine);
  const down = effect === "stays" ? gaps : gaps.slice(0, 1);
  return {
    route,
    effect,
    seconds: lengthOf(down),
    waitsForCardSeconds: lengthOf(down.flatMap(([from, to]) => overlap(waits(mine), from, to))),
  };
}

type Span = readonly [from: number, to: number];

/** The times from 0 on at which none of the pods serves, up to the last of them that begins to. */
function gapsOf(pods: readonly Pod[]): readonly Span[] {
  const gaps: Span[] = [];
  let served = 0;
  const serving = pods.filter(({ ready }) => ready !== Infinity);
  for (const { ready, gone } of serving.toSorted((a, b) => a.ready - b.ready)) {
    if (ready > served) gaps.push([served, ready]);
    served = Math.max(served, gone);
  }
  return gaps;
}

/** When a pod waits for cards. */
function waits(pods: readonly Pod[]): readonly Span[] {
  return pods
    .filter(({ old, placed }) => !old && placed !== Infinity)
    .map(({ created, placed }): Span => [created, placed]);
}

/** The parts of `spans` within a time, overlaps of their own counted once. */
function overlap(spans: readonly Span[], from: number, to: number): readonly Span[] {
  const parts: Span[] = [];
  let end = from;
  for (const [begin, finish] of spans.toSorted((a, b) => a[0] - b[0])) {
    const part: Span = [Math.max(begin, end), Math.min(finish, to)];
    if (part[0] >= part[1]) continue;
    parts.push(part);
    end = part[1];
  }
  return parts;
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, [from, to]) => sum + to - from, 0);
}
