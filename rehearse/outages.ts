import {
  CLEF_SERVE,
  CODER_PREDICTOR,
  REASONING_SERVICE,
  SYSTEMONE_ROUTE,
} from "../components/names.ts";
import { after, type Dated, type RealLife } from "./realTime.ts";
import type { EndpointsState, Recording } from "./recording.ts";

/** What clients address, and the Service behind it. */
const ROUTES = [
  { route: SYSTEMONE_ROUTE, service: CLEF_SERVE },
  { route: CODER_PREDICTOR, service: CODER_PREDICTOR },
  { route: REASONING_SERVICE, service: REASONING_SERVICE },
] as const;

/** A while in seconds of real time since the edit. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** How one route fared. */
export interface RouteFate {
  /** "/v1/systemone", or the Service that its clients address. */
  readonly route: string;
  /** Whether an endpoint served when the edit began, and when all was settled. */
  readonly before: boolean;
  readonly after: boolean;
  /** When an endpoint served; a handoff between two pods is no seam. */
  readonly serving: readonly Interval[];
  /** When none did, from the first to the last moment of service. */
  readonly gaps: readonly Interval[];
  /** Sum of the gaps in seconds. */
  readonly outageSeconds: number;
  /** That part of it in which a pod behind the route waited for a card. */
  readonly waitingSeconds: number;
}

/** The watches of pods and of EndpointSlices may tell of one change so far apart, in milliseconds of the lab. */
const SKEW_MS = 200;

/**
 * How each route fared: it is out while no endpoint of its EndpointSlices has `serving: true`.
 * @param end seconds after the edit at which the recording ends
 */
export function routeFates(
  recording: Recording,
  lives: readonly RealLife[],
  end: number,
): RouteFate[] {
  return ROUTES.map(({ route, service }) => {
    const serving = united(endpointIntervals(recording, lives, service, end));
    const gaps = serving.slice(1).map(({ from }, at) => ({ from: serving[at]?.to ?? 0, to: from }));
    const waits = united(waitsBehind(recording, lives, service, end));
    return {
      route,
      before: serving[0]?.from === 0,
      after: serving.at(-1)?.to === end,
      serving,
      gaps,
      outageSeconds: sumOf(gaps),
      waitingSeconds: sumOf(gaps.flatMap((gap) => waits.flatMap((wait) => common(gap, wait)))),
    };
  });
}

/** When each pod was a serving endpoint of a Service. */
function endpointIntervals(
  recording: Recording,
  lives: readonly RealLife[],
  service: string,
  end: number,
): Interval[] {
  const intervals: Interval[] = [];
  const since = new Map<string, number>();
  const selections = selectionsOf(recording, service);
  for (const { at, pods } of servingSets(recording, service)) {
    for (const pod of pods) {
      if (!since.has(pod)) since.set(pod, at === 0 ? 0 : moment(at, pod, "ready"));
    }
    for (const [pod, from] of since) {
      if (pods.has(pod)) continue;
      intervals.push({ from, to: Math.max(from, moment(at, pod, "gone")) });
      since.delete(pod);
    }
  }
  return [...intervals, ...[...since.values()].map((from) => ({ from, to: end }))];

  /** An endpoint comes and goes with its pod, or with an edit of the selector. */
  function moment(at: number, pod: string, change: "ready" | "gone"): number {
    const life = lives.find(({ name }) => name === pod);
    const moments = change === "ready" ? (["ready"] as const) : (["deleted", "gone"] as const);
    const causes = moments.flatMap((each): Dated[] => {
      const [lab, real] = [life?.lab[each], life?.real[each]];
      return lab === undefined || real === undefined ? [] : [{ lab, real }];
    });
    return after(
      at,
      [...causes, ...selections].map((cause) => told(cause, at)),
    );
  }
}

/** A cause that became known a little after its effect. */
function told(cause: Dated, at: number): Dated {
  return cause.lab > at && cause.lab <= at + SKEW_MS ? { ...cause, lab: at } : cause;
}

/** Pods that serve a Service, whenever that changes. */
function servingSets(
  { changes }: Recording,
  service: string,
): { readonly at: number; readonly pods: ReadonlySet<string> }[] {
  const slices = new Map<string, EndpointsState>();
  return changes.flatMap(({ at, gone, state }) => {
    if (state.kind !== "endpoints" || state.service !== service) return [];
    if (gone) slices.delete(state.name);
    else slices.set(state.name, state);
    const endpoints = [...slices.values()].flatMap((slice) => slice.endpoints);
    return { at, pods: new Set(endpoints.filter(({ serving }) => serving).map(({ pod }) => pod)) };
  });
}

/** Edits of a Service's selector: the CLI makes them, at once. */
function selectionsOf({ changes }: Recording, service: string): Dated[] {
  return changes.flatMap(({ at, state }) =>
    state.kind === "service" && state.name === service && at > 0
      ? [{ lab: at, real: at / 1000 }]
      : [],
  );
}

/** When a pod behind a Service waited for a card. */
function waitsBehind(
  { changes }: Recording,
  lives: readonly RealLife[],
  service: string,
  end: number,
): Interval[] {
  const apps = changes.flatMap(({ state }) =>
    state.kind === "service" && state.name === service ? [state.selects] : [],
  );
  return lives
    .filter(({ app, waitedForCard }) => waitedForCard && apps.includes(app))
    .map(({ real }) => ({ from: real.created ?? 0, to: real.bound ?? real.deleted ?? end }));
}

/** The same time without overlaps, in order. */
function united(intervals: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const next of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last === undefined || next.from > last.to) result.push(next);
    else result[result.length - 1] = { from: last.from, to: Math.max(last.to, next.to) };
  }
  return result;
}

function common(a: Interval, b: Interval): Interval[] {
  const [from, to] = [Math.max(a.from, b.from), Math.min(a.to, b.to)];
  return to > from ? [{ from, to }] : [];
}

function sumOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { from, to }) => sum + to - from, 0);
}
