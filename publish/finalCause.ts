import { mib, tooLargeWhole } from "./layers.ts";
import { hostOf, proxyRefusal, refusalText } from "./proxyRefusal.ts";
import type { PushArgs } from "./pushImage.ts";

/**
 * Why a push failed, where no further attempt changes it; undefined for all that may pass.
 * @param stderr what regctl 0.11.7 printed
 */
export async function finalCause(args: PushArgs, stderr: string): Promise<string | undefined> {
  const { image, repository, pushKey, maxLayerMiB, largestRequestBytes } = args;
  const host = hostOf(repository);
  const status = statusIn(stderr);
  // The request that asks for an upload: it has no body, and names nothing but the repository.
  const isFirst = stderr.includes("send blob post");
  if (status === "413" && isFirst) {
    return (
      `${statedAs(args)}: ${host}, or a proxy before it, answers 413, too large, even to requests without a body: it ` +
      `refuses everything, and no registry.maxLayerMiB helps; raise the proxy's limit, or set ${pushKey} to an ` +
      "address around it"
    );
  }
  if (status === "413") {
    const refusal = await proxyRefusal(repository, largestRequestBytes);
    if (refusal !== undefined) return refusalText(refusal, repository, maxLayerMiB);
    return (
      `llm-serving:registry.maxLayerMiB = ${maxLayerMiB}: a request of at most ${mib(largestRequestBytes)} was ` +
      `answered with 413, too large (a limit of ${host} or of a proxy before it); ` +
      lower(largestRequestBytes)
    );
  }
  if (status === "401" || status === "403") {
    return `${host}: refuses the push with ${status}; log in with an account that may push: docker login ${host}`;
  }
  if (status === "404" && isFirst) {
    return (
      `${statedAs(args)}: ${host} answers 404 to a push to ${repository}: no registry, or none with this path, is ` +
      `there; make the project there, or set ${pushKey} to host/path of one`
    );
  }
  // The registry's own, or that of the service that it sends to for a login.
  const [, unknown] = /lookup ([^ :]+)[^\n]*: no such host/.exec(stderr) ?? [];
  if (unknown !== undefined) {
    return (
      `${statedAs(args)}: no host has the name ${unknown}; set ${pushKey} to host/path of your registry, or look at ` +
      "the name server of this machine"
    );
  }
  if (stderr.includes("(chunk)") && ["400", "405", "501"].includes(status)) {
    const layers = tooLargeWhole(image.layers, maxLayerMiB);
    return [`${host}: takes no uploads in chunks (PATCH answered ${status}), and:`, ...layers].join(
      "\n  ",
    );
  }
  return undefined;
}

/** The key and value that a person can change. */
export function statedAs({ pushKey, repository }: PushArgs): string {
  return `${pushKey} = ${repository.slice(0, repository.lastIndexOf("/"))}`;
}

/** Half of what was refused: nobody says what would pass, and a run that is refused again says half of that. */
function lower(refusedBytes: number): string {
  const half = Math.floor(refusedBytes / 2 / 2 ** 20);
  return half >= 1
    ? `set it lower, such as ${half}, and run this again`
    : "raise that limit: it cannot be set below 1";
}

/**
 * The HTTP status in what regctl printed; empty where there was no answer. Of a 401 it names none: it prints what it
 * made of the header WWW-Authenticate, or that there was none.
 */
function statusIn(stderr: string): string {
  const status = /\[http (\d{3})\]/.exec(stderr)?.[1];
  if (status !== undefined) return status;
  return /: (unauthorized|empty challenge header)$/m.test(stderr.trimEnd()) ? "401" : "";
}
