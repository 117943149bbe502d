import type { KubeConfig } from "@kubernetes/client-node";
import { Recorder } from "./recorder.ts";
import { fromFirstChange, hopeless, isSettled, type Recording, type World } from "./recording.ts";
import type { Up, UpResult } from "./stage.ts";

/** What happened when an edit was applied. */
export interface Performance {
  readonly recording: Recording;
  readonly up: UpResult;
  /** Every rollout came to its end. */
  readonly settled: boolean;
}

/** How long the cluster may take beside what it simulates, on a busy machine. */
const SLACK_MS = 60_000;

/** How long the CLI may take, which waits for the rollouts itself. */
const CLI_MS = 600_000;

/** A pod for which nothing will free a card is given this long all the same. */
const HOPE_MS = 3000;

/**
 * Applies an edit and records until every rollout is done, or none can go on: then whatever applies it, which may wait
 * for a long time, is interrupted.
 *
 * @param begin starts to apply it, once the recording runs
 * @param simulatedMs the longest that pods may take to go and to start, in milliseconds of the lab
 * @throws what `begin` or its result fails with, once the CLI is gone
 */
export async function perform(
  kubeConfig: KubeConfig,
  begin: () => Promise<Up>,
  simulatedMs: number,
): Promise<Performance> {
  const recorder = await Recorder.start(kubeConfig);
  const { result, interrupt } = await begin();
  const cli = { ended: false };
  const done = result.finally(() => {
    cli.ended = true;
    recorder.lookAgain();
  });
  // It is waited for below; a failure before that, such as Ctrl-C, is not one that nobody handles.
  done.catch(() => undefined);
  let idleSince: number | undefined;
  const isHopeless = (world: World): boolean => {
    if (hopeless(world).length === 0) idleSince = undefined;
    else if (idleSince === undefined) {
      idleSince = recorder.now();
      setTimeout(() => {
        recorder.lookAgain();
      }, HOPE_MS);
    }
    return idleSince !== undefined && recorder.now() - idleSince >= HOPE_MS;
  };
  try {
    await recorder.until((world) => cli.ended || isHopeless(world), CLI_MS);
    const wait = 2 * simulatedMs + SLACK_MS;
    if (cli.ended) {
      await done;
      await recorder.until((world) => isSettled(world) || isHopeless(world), wait);
    }
  } finally {
    if (!cli.ended) interrupt();
    await done;
  }
  const settled = await recorder.until(isSettled, 0);
  return { recording: fromFirstChange(recorder.stop()), up: await result, settled };
}
