import { freeFrom } from "./freeCards.ts";
import type { Moments, PodLife } from "./podLives.ts";

/** What a lab simulates, in real seconds. */
export interface SimulatedTimes {
  /** Seconds of real time for which one second of the lab stands. */
  readonly timeScale: number;
  /** Cold start of a pod by its app, in seconds. */
  readonly coldStartSeconds: (app: string) => number;
  /** How long a deleted pod of an app stays Terminating, in seconds. */
  readonly terminationSeconds: (app: string) => number;
  /** Cards by the name of the lab's nodes. */
  readonly nodeCards: ReadonlyMap<string, number>;
}

/** A pod's life with its moments in seconds of real time since the recording began. */
export interface RealLife extends PodLife {
  readonly real: Moments;
}

/** A moment in the lab, in milliseconds, and in reality, in seconds. */
export interface Dated {
  readonly lab: number;
  readonly real: number;
}

/** The edit begins with the recording. */
const EDIT: Dated = { lab: 0, real: 0 };

/**
 * The real time of something that followed from the last of its possible causes, with no simulated time between.
 * @param at milliseconds of the lab; causes after it are none
 */
export function after(at: number, causes: readonly Dated[]): number {
  const past = causes.filter(({ lab }) => lab <= at);
  const last = past.reduce((a, b) => (b.lab > a.lab ? b : a), EDIT);
  return last.real + (at - last.lab) / 1000;
}

/**
 * Gives every moment of a lab's pods the time that it would have in reality.
 *
 * A lab shortens start-up and termination by its time scale. API server, controllers, scheduler and CLI are the real
 * ones and take as long as they take. One factor for all would blow those up: 0.3 s of a controller would become 18 s.
 * So each moment is set after its cause. A cold start and a termination count with their real length, and whatever
 * else lay between counts as measured:
 *
 * - created: after the pod of the same app whose going or becoming Ready let the controller make it, else at the edit;
 * - bound: after its creation, or after the going of the pod whose card it waited for, and never before its cards are
 *   free: where the CLI took longer between two updates than the donor's shortened grace, the lab has no wait to show;
 * - ready: a cold start after bound;
 * - deleted: at the edit, in a surge after the new pod became Ready;
 * - gone: a termination after deleted.
 *
 * @param surging names of workloads whose new pods come before the old ones go
 */
export function realLives(
  lives: readonly PodLife[],
  times: SimulatedTimes,
  surging: ReadonlySet<string>,
): RealLife[] {
  const late = new Set<PodLife>();
  const dates = new Map<PodLife, Partial<Record<keyof Moments, Dated>>>(
    lives.map((life) => [life, {}]),
  );
  const datesOf = (moment: keyof Moments, which: (life: PodLife) => boolean): Dated[] =>
    lives.filter(which).flatMap((life) => dates.get(life)?.[moment] ?? []);
  const realTime = (life: PodLife, moment: keyof Moments, at: number): number => {
    const { app, node, waitedForCard } = life;
    const own = (earlier: keyof Moments) => datesOf(earlier, (other) => other === life);
    const sameApp = (earlier: keyof Moments) => datesOf(earlier, (other) => other.app === app);
    const simulated = (seconds: number, since: keyof Moments) => {
      const measured = after(at, own(since));
      return measured + seconds - Math.min(seconds / times.timeScale, labSeconds(at, own(since)));
    };
    switch (moment) {
      case "created":
        return after(at, [...sameApp("gone"), ...sameApp("ready")]);
      case "bound": {
        const donors = datesOf("gone", (other) => other.cards > 0 && other.node === node);
        const bound = after(at, [...own("created"), ...(waitedForCard ? donors : [])]);
        const free = Math.max(bound, cardsFree(life, bound));
        if (free > bound) late.add(life);
        return free;
      }
      case "ready":
        return simulated(times.coldStartSeconds(app), "bound");
      case "deleted":
        return after(at, surging.has(app) ? sameApp("ready") : []);
      case "gone":
        return isNeverBound(life)
          ? after(at, own("deleted"))
          : simulated(times.terminationSeconds(app), "deleted");
    }
  };
  /** From when on a pod's cards are free, at the earliest from `earliest` on. */
  const cardsFree = ({ node, cards, lab }: PodLife, earliest: number): number => {
    const holders = lives
      .filter((other) => other.node === node && isBoundBefore(other, lab.bound ?? 0))
      .map((other) => ({
        cards: other.cards,
        from: dates.get(other)?.bound?.real ?? -Infinity,
        to: dates.get(other)?.gone?.real ?? Infinity,
      }));
    return freeFrom(earliest, cards, holders, times.nodeCards.get(node) ?? Infinity);
  };
  // Causes come first, in the lab as in reality.
  for (const { life, moment, at } of inOrder(lives)) {
    const known = dates.get(life);
    if (known !== undefined) known[moment] = { lab: at, real: realTime(life, moment, at) };
  }
  return lives.map((life) => {
    const entries = Object.entries(dates.get(life) ?? {});
    const real: Moments = Object.fromEntries(entries.map(([moment, { real }]) => [moment, real]));
    return { ...life, waitedForCard: life.waitedForCard || late.has(life), real };
  });
}

/** Whether a pod held its cards when another one was bound. */
function isBoundBefore({ served, lab }: PodLife, at: number): boolean {
  return served || (lab.bound ?? Infinity) < at;
}

/** A pod that goes without a node holds nothing, and the API server removes it at once. */
function isNeverBound({ lab }: PodLife): boolean {
  return lab.created !== undefined && lab.bound === undefined;
}

function labSeconds(at: number, since: readonly Dated[]): number {
  return (at - (since[0]?.lab ?? 0)) / 1000;
}

interface Happening {
  readonly life: PodLife;
  readonly moment: keyof Moments;
  readonly at: number;
}

/** What one change can tell at once, causes first. */
const ORDER = ["created", "bound", "ready", "deleted", "gone"] as const;

/** All moments of all lives by their time in the lab. */
function inOrder(lives: readonly PodLife[]): Happening[] {
  return lives
    .flatMap((life) =>
      ORDER.flatMap((moment): Happening[] => {
        const at = life.lab[moment];
        return at === undefined ? [] : [{ life, moment, at }];
      }),
    )
    .sort((a, b) => a.at - b.at);
}
