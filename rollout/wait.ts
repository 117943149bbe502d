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

/** A wait that says the same is repeated after this long, so that a person sees that it lives. */
const REPEAT_MS = 30_000;

/**
 * Waits until every rollout is done, whether this run changed it or not: a pod that a former run left waiting
 * is not forgotten. One wait for all, so that none holds up another's update.
 * @param since when the run began, in milliseconds since the epoch
 * @param report takes one line for each new state of a rollout
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
  const begin = Date.now();
  const said = new Map<string, { readonly text: string; readonly at: number }>();
  for (;;) {
    const snapshot = await reader.look();
    const elapsed = (Date.now() - begin) / 1000;
    const failures: string[] = [];
    let pending = 0;
    for (const target of targets) {
      const state = rolloutState(target, snapshot, run);
      if (state.kind === "done") continue;
      pending += 1;
      if (state.kind === "failed") failures.push(state.why);
      else if (elapsed > target.deadlineSeconds) {
        failures.push(
          `${state.why} (waited ${Math.round(elapsed)} s, the deadline of ${target.name})`,
        );
      } else say(target.name, state.why);
    }
    // A failure ends the wait at once: nothing that follows can make this run a success.
    if (failures.length > 0 || pending === 0) return failures;
    await reader.change(LOOK_MS);
  }

  function say(name: string, why: string): void {
    // A line whose seconds alone have moved on is not news.
    const text = why.replaceAll(/\d+ s\b/g, "");
    const last = said.get(name);
    if (last?.text === text && Date.now() - last.at < REPEAT_MS) return;
    said.set(name, { text, at: Date.now() });
    report(why);
  }
}
