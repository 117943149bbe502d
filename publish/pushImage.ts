import { setTimeout as sleep } from "node:timers/promises";
import { finalCause, statedAs } from "./finalCause.ts";
import type { ImageLayout } from "./imageLayout.ts";
import { PublishError } from "./publishError.ts";
import type { Regctl } from "./regctl.ts";

/** What is pushed where. */
export interface PushArgs {
  readonly image: ImageLayout;
  /** Repository without tag, host first. */
  readonly repository: string;
  /** The key that states where to push to, for messages. */
  readonly pushKey: string;
  /** The stack's limit for one request, in MiB. */
  readonly maxLayerMiB: number;
  /** Bytes of the largest request that this push makes. */
  readonly largestRequestBytes: number;
  readonly log: (line: string) => void;
  /** Seconds between two attempts. */
  readonly pauseSeconds?: number;
}

/** Attempts of a push; regctl repeats each request some times as well, and skips layers that have arrived. */
export const ATTEMPTS = 3;

/**
 * Pushes an image and asks the registry for its digest.
 * @returns the tag, which its digest names: a pushed tag never changes its meaning
 * @throws {PublishError} with the cause, after at most {@link ATTEMPTS} attempts
 */
export async function pushImage(args: PushArgs, regctl: Regctl): Promise<string> {
  const { image, repository, pushKey, log, pauseSeconds = 10 } = args;
  const tag = `sha-${image.digest.replace("sha256:", "").slice(0, 12)}`;
  const source = `ocidir://${image.folder}@${image.digest}`;
  const command = ["image", "copy", source, `${repository}:${tag}`];
  for (let attempt = 1; ; attempt++) {
    const { code, stderr } = await regctl.run(command, secondsFor(image));
    if (code === 0) break;
    const cause = code === undefined ? "not done in its time" : causeIn(stderr);
    const final = await finalCause(args, stderr);
    if (final !== undefined) throw new PublishError(final);
    if (attempt === ATTEMPTS) {
      throw new PublishError(
        `${statedAs(args)}: the push failed ${ATTEMPTS} times, the last time with: ${cause}; ` +
          `look whether ${pushKey} is right, at the connection and at the registry's log, then run this again ` +
          "(layers that have arrived are not sent again)",
      );
    }
    log(`attempt ${attempt} of ${ATTEMPTS} failed: ${cause}; again in ${pauseSeconds} s`);
    await sleep(pauseSeconds * 1000);
  }
  await confirm(image, repository, tag, regctl);
  return tag;
}

/** Five minutes, and one for each 60 MiB: a link below 1 MiB/s is no link for these images (derived). */
function secondsFor({ layers }: ImageLayout): number {
  const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
  return 300 + Math.ceil(bytes / 2 ** 20);
}

/** The registry must name the digest that this machine has: anything else would run another image. */
async function confirm(
  { digest }: ImageLayout,
  repository: string,
  tag: string,
  regctl: Regctl,
): Promise<void> {
  const { code, stdout, stderr } = await regctl.run(["image", "digest", `${repository}:${tag}`]);
  if (code === 0 && stdout.trim() === digest) return;
  const found = code === 0 ? `has ${stdout.trim()}` : `does not show it: ${causeIn(stderr)}`;
  throw new PublishError(
    `${repository}:${tag}: pushed as ${digest}, and the registry ${found}; something between here and the registry ` +
      "changes images or answers from a cache",
  );
}

/** The last line of what regctl printed, as far as a person can use it. */
function causeIn(stderr: string): string {
  const last = stderr.trim().split("\n").at(-1) ?? "";
  const [, address] = /dial tcp ([^ ]+): connect: connection refused$/.exec(last) ?? [];
  if (address !== undefined) return `nothing listens at ${address} (connection refused)`;
  // Addresses of uploads are long.
  return last.replace(/ "https?:[^"]*"/g, "");
}
