import { CODER_PREDICTOR } from "../components/names.ts";
import type { FieldChange } from "../review/resourceChange.ts";
import type { Forecast } from "../gpu/forecast.ts";
import { compared } from "./comparison.ts";
import { type RouteFate, routeFates } from "./outages.ts";
import { podLives } from "./podLives.ts";
import { after, type RealLife, realLives, type SimulatedTimes } from "./realTime.ts";
import type { Recording, ServiceState } from "./recording.ts";
import { timelines, type WorkloadTimeline } from "./timeline.ts";

/** A pod that waited for a card. */
export interface CardWait {
  readonly pod: string;
  readonly workload: string;
  /** Real seconds; up to the end of the recording when it still waits. */
  readonly seconds: number;
  /**
   * Withdrawn: its Deployment no longer wants it. Where an edit changes both replicas and template, the controller may
   * make a pod of the old template first, and takes it back.
   */
  readonly end: "got one" | "withdrawn" | "still waits";
  /** It waited longer than its donor's grace and 30 s, or still waits when everything has come to rest. */
  readonly stuck: boolean;
  /** What the scheduler said last. */
  readonly reason: string;
}

/** uid and ClusterIP of Service coder-predictor. */
export interface ServiceIdentity {
  readonly uid: string;
  readonly clusterIP: string;
}

/** What a rehearsal found; all times in seconds of real time, 0 = the edit reaches the cluster. */
export interface RehearsalReport {
  readonly stack: string;
  /** The git revision that the edit starts from, and its commit. */
  readonly base: string;
  readonly commit: string;
  readonly edits: readonly FieldChange[];
  /** Seconds of real time for which one second of the lab stood. */
  readonly timeScale: number;
  /** When all was settled. */
  readonly endSeconds: number;
  readonly workloads: readonly WorkloadTimeline[];
  /** Workloads that had pods before and have other ones now. */
  readonly restarted: readonly string[];
  readonly routes: readonly RouteFate[];
  readonly cardWaits: readonly CardWait[];
  readonly coderPredictor: {
    readonly before: ServiceIdentity | undefined;
    readonly after: ServiceIdentity | undefined;
    /** One and the same the whole time. */
    readonly kept: boolean;
  };
  readonly limitSeconds: number | undefined;
  /** What the preview forecast; undefined when it did not come that far. */
  readonly forecast: Forecast | undefined;
  /** Forecasts that were missed by more than 10 % and 2 s, one line each. */
  readonly missed: readonly string[];
  /** Why this edit should not be made; empty: it may. */
  readonly failures: readonly string[];
}

/** What was rehearsed. */
export interface Rehearsed {
  readonly stack: string;
  readonly base: string;
  readonly commit: string;
  readonly edits: readonly FieldChange[];
  /** Names in the order of the stack file. */
  readonly workloads: readonly string[];
  /** Names of those with `rollout: surge` after the edit. */
  readonly surging: ReadonlySet<string>;
  readonly times: SimulatedTimes;
  readonly limitSeconds: number | undefined;
  readonly recording: Recording;
  readonly forecast: Forecast | undefined;
  /** Every rollout came to its end. */
  readonly settled: boolean;
  /** What the CLI complained of; undefined when it succeeded. */
  readonly refusal: string | undefined;
}

/** Beyond its donor's grace, a pod that still waits for a card is stuck. */
const PATIENCE_SECONDS = 30;

/** Judges a recording. */
export function rehearsalReport(rehearsed: Rehearsed): RehearsalReport {
  const { stack, base, commit, edits, recording, times, limitSeconds, settled } = rehearsed;
  const { forecast } = rehearsed;
  const lives = realLives(podLives(recording), times, rehearsed.surging);
  const endSeconds = after(recording.lasted, lives.flatMap(datesOf));
  const workloads = timelines(lives, rehearsed.workloads, endSeconds);
  const routes = routeFates(recording, lives, endSeconds);
  const cardWaits = cardWaitsOf(recording, lives, endSeconds);
  const coderPredictor = identityOf(recording);
  const restarted = rehearsed.workloads.filter((name) => isRestarted(name, lives));
  return {
    ...{ stack, base, commit, edits, timeScale: times.timeScale, endSeconds },
    ...{ workloads, routes, cardWaits, coderPredictor, limitSeconds },
    ...{ restarted, forecast },
    missed: forecast === undefined ? [] : compared(forecast, restarted, routes).misses,
    failures: [
      ...(rehearsed.refusal === undefined ? [] : [rehearsed.refusal]),
      ...cardWaits.filter(({ stuck }) => stuck).map(describeStuck),
      ...(settled ? [] : ["not every rollout came to its end"]),
      ...routes.flatMap((route) => overLimit(route, limitSeconds)),
      ...(coderPredictor.kept ? [] : [`Service ${CODER_PREDICTOR} was replaced`]),
    ],
  };
}

function datesOf({ lab, real }: RealLife) {
  return (["created", "bound", "ready", "deleted", "gone"] as const).flatMap((moment) => {
    const [at, date] = [lab[moment], real[moment]];
    return at === undefined || date === undefined ? [] : [{ lab: at, real: date }];
  });
}

/** Whether a workload's pods were replaced by others. */
function isRestarted(workload: string, lives: readonly RealLife[]): boolean {
  const own = lives.filter(({ app }) => app === workload);
  const old = own.filter(({ lab }) => lab.created === undefined);
  const made = own.filter(({ lab }) => lab.created !== undefined);
  return old.some(({ lab }) => lab.deleted !== undefined) && made.length > 0;
}

function cardWaitsOf({ changes }: Recording, lives: readonly RealLife[], end: number): CardWait[] {
  return lives
    .filter(({ waitedForCard }) => waitedForCard)
    .map((life) => {
      const { created = 0, bound, deleted } = life.real;
      const until = bound ?? deleted ?? end;
      const fate =
        bound !== undefined ? "got one" : deleted !== undefined ? "withdrawn" : "still waits";
      const donors = lives.filter(
        ({ node, cards, real }) =>
          node === life.node &&
          cards > 0 &&
          real.deleted !== undefined &&
          (real.gone ?? end) > created,
      );
      const patience = Math.max(0, ...donors.map(({ graceSeconds }) => graceSeconds));
      const seconds = until - created;
      const reasons = changes.flatMap(({ state }) =>
        state.kind === "pod" && state.uid === life.uid ? (state.unschedulable ?? []) : [],
      );
      return {
        pod: life.name,
        workload: life.app,
        seconds,
        end: fate,
        stuck: fate === "still waits" || seconds > patience + PATIENCE_SECONDS,
        reason: (reasons.at(-1) ?? "no card is free").split(" preemption:")[0] ?? "",
      };
    });
}

function describeStuck({ pod, seconds, end, reason }: CardWait): string {
  const how =
    end === "still waits" ? "never gets a card" : `waited ${Math.round(seconds)} s for a card`;
  return `${pod} ${how}: ${reason}`;
}

/** Only a route that is meant to serve on can have an outage. */
function overLimit(fate: RouteFate, limitSeconds: number | undefined): string[] {
  const { route, before, after: afterwards, outageSeconds } = fate;
  if (before && !afterwards) return [];
  if (limitSeconds === undefined || outageSeconds <= limitSeconds) return [];
  return [
    `LIMIT = ${limitSeconds}: ${route} is out for ${Math.round(outageSeconds)} s (at most ${limitSeconds}); ` +
      "raise LIMIT or make another edit",
  ];
}

function identityOf({ changes }: Recording): RehearsalReport["coderPredictor"] {
  const seen = changes.flatMap(({ state, gone }): (ServiceState & { gone: boolean })[] =>
    state.kind === "service" && state.name === CODER_PREDICTOR ? [{ ...state, gone }] : [],
  );
  const identities = seen.map(({ uid, clusterIP }) => ({ uid, clusterIP }));
  const [before, last] = [identities[0], identities.at(-1)];
  return {
    before,
    after: seen.at(-1)?.gone === true ? undefined : last,
    kept:
      before !== undefined &&
      seen.every(({ gone }) => !gone) &&
      identities.every(
        ({ uid, clusterIP }) => uid === before.uid && clusterIP === before.clusterIP,
      ),
  };
}
