import { Recorder } from "./recorder.ts";
import { fromFirstChange, hopeless, isSettled, type Recording, type World } from "./recording.ts";
import type { Stage, UpOptions, UpResult } from "./stage.ts";

/** What happened when a stack file was applied. */
export interface Performance {
  readonly recording: Recording;
  readonly up: UpResult;
  /** Every rollout came to its end. */
  readonly settled: boolean;
}

/** How long the cluster may take beside what it simulates: controllers, scheduler, CLI, on a busy machine. */
const SLACK_MS = 60_000;

/** A pod for which nothing will free a card is given this long all the same. */
const HOPE_MS = 3000;

/**
 * Applies a stack file with the real CLI and records until every rollout is done, or none can go on: then the CLI,
 * which would wait for a long time, is interrupted.
 *
 * @param simulatedMs the longest that pods may take to go and to start, in milliseconds of the lab
 */
export async function perform(
  stage: Stage,
  text: string,
  simulatedMs: number,
  options: UpOptions = {},
): Promise<Performance> {
  const recorder = await Recorder.start(stage.kubeConfig);
  const { result, interrupt } = await stage.up(text, options);
  const cli = { ended: false };
  const done = result.finally(() => {
    cli.ended = true;
    recorder.lookAgain();
  });
  let idleSince: number | undefined;
  const isOver = (world: World): boolean => {
    if (cli.ended && isSettled(world)) return true;
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
    await recorder.until(isOver, 2 * simulatedMs + SLACK_MS);
  } finally {
    if (!cli.ended) interrupt();
    await done;
  }
  const settled = await recorder.until(isSettled, 0);
  return { recording: fromFirstChange(recorder.stop()), up: await result, settled };
}
