import { setTimeout as sleep } from "node:timers/promises";
import type { ImageLayout } from "./imageLayout.ts";
import { mib, tooLargeWhole } from "./layers.ts";
import { hostOf, proxyRefusal, refusalText } from "./proxyRefusal.ts";
import { PublishError } from "./publishError.ts";
import type { Regctl } from "./regctl.ts";

/** What is pushed where. */
export interface PushArgs {
  readonly image: ImageLayout;
  /** Repository without tag, host first. */
  readonly repository: string;
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
  const { image, repository, log, pauseSeconds = 10 } = args;
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
        `${repository}: the push failed ${ATTEMPTS} times, the last time with: ${cause}; layers that have arrived ` +
          "are not sent again: look at the connection and the registry's log, then run this again",
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

/** What no further attempt changes; undefined for all that may pass. */
async function finalCause(args: PushArgs, stderr: string): Promise<string | undefined> {
  const { image, repository, maxLayerMiB, largestRequestBytes } = args;
  const host = hostOf(repository);
  const status = /\[http (\d{3})\]/.exec(stderr)?.[1] ?? "";
  if (status === "413") {
    const refusal = await proxyRefusal(repository, largestRequestBytes);
    if (refusal !== undefined) return refusalText(refusal, repository, maxLayerMiB);
    return (
      `llm-serving:registry.maxLayerMiB = ${maxLayerMiB}: a request of at most ${mib(largestRequestBytes)} was ` +
      `answered with 413, too large (a limit of ${host} or of a proxy before it); set it lower`
    );
  }
  if (status === "401" || status === "403") {
    return `${host}: refuses the push with ${status}; log in with an account that may push: docker login ${host}`;
  }
  if (stderr.includes("(chunk)") && ["400", "405", "501"].includes(status)) {
    const layers = tooLargeWhole(image.layers, maxLayerMiB);
    return [`${host}: takes no uploads in chunks (PATCH answered ${status}), and:`, ...layers].join(
      "\n  ",
    );
  }
  return undefined;
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

/** The last line of what regctl printed, without the long addresses of uploads. */
function causeIn(stderr: string): string {
  const last = stderr.trim().split("\n").at(-1) ?? "";
  return last.replace(/ "https?:[^"]*"/g, "");
}
