import { type RolloutTarget, rolloutState, type Snapshot } from "./state.ts";

/** The cluster, as far as waiting needs it. */
export interface RolloutReader {
  /** Everything that a rollout depends on, in one look. */
  readonly look: () => Promise<Snapshot>;
  /** Resolves at the next change of a Deployment or pod, or after `milliseconds`. */
  readonly change: (milliseconds: number) => Promise<void>;
}

/** Times in a message count seconds, so that a look is due even when nothing changes. */
const LOOK_MS = 2000;

/** A state that is gone within this time, such as a status that lags behind its pod, is not worth a line. */
const SETTLED_MS = 500;

/** A wait that says the same is repeated after this long, so that a person sees that it lives. */
const REPEAT_MS = 30_000;

/**
 * Waits until every rollout is done, whether this run changed it or not: a pod that a former run left waiting
 * is not forgotten. One wait for all, so that none holds up another's update.
 * @param since when the run began, in milliseconds since the epoch
 * @param report takes one line for each new state of a rollout that lasts, and one when it is done
 * @returns one line for each rollout that cannot end or did not within its deadline; empty when all are done
 */
export async function waitForRollouts(
  targets: readonly RolloutTarget[],
  reader: RolloutReader,
  since: number,
  report: (line: string) => void,
): Promise<string[]> {
  const graces = targets.map(({ graceSeconds }) => graceSeconds);
  const run = { since, longestGraceSeconds: Math.max(0, ...graces) };
  const progress = new Progress(report);
  let begin: number | undefined;
  for (;;) {
    const snapshot = await reader.look();
    begin ??= snapshot.now;
    const elapsed = (snapshot.now - begin) / 1000;
    const failures: string[] = [];
    let pending = 0;
    for (const target of targets) {
      const state = rolloutState(target, snapshot, run);
      if (state.kind === "done") {
        progress.done(target.name, elapsed);
        continue;
      }
      pending += 1;
      if (state.kind === "failed") failures.push(state.why);
      else if (elapsed > target.deadlineSeconds) {
        failures.push(
          `${state.why} (waited ${Math.round(elapsed)} s, the deadline of ${target.name})`,
        );
      } else progress.waiting(target.name, state.why, snapshot.now);
    }
    // A failure ends the wait at once: nothing that follows can make this run a success.
    if (failures.length > 0 || pending === 0) return failures;
    await reader.change(LOOK_MS);
  }
}

/** Says what is new, and now and then that what is old goes on. */
class Progress {
  private readonly report: (line: string) => void;
  private readonly seen = new Map<
    string,
    { readonly text: string; said?: number; since: number }
  >();

  constructor(report: (line: string) => void) {
    this.report = report;
  }

  waiting(name: string, why: string, now: number): void {
    // A line whose seconds alone have moved on is not news.
    const text = why.replaceAll(/\d+ s\b/g, "");
    const last = this.seen.get(name);
    if (last?.text !== text) {
      this.seen.set(name, { text, since: now });
    } else if (now - last.since >= SETTLED_MS && now - (last.said ?? 0) >= REPEAT_MS) {
      last.said = now;
      this.report(why);
    }
  }

  done(name: string, elapsed: number): void {
    if (!this.seen.delete(name)) return;
    this.report(`${name}: done after ${Math.round(elapsed)} s`);
  }
}
