import * as http from "node:http";
import * as https from "node:https";
import { mib } from "./layers.ts";

/** What stands in front of a registry said to a request of this size. */
export interface ProxyRefusal {
  readonly bytes: number;
  /** Its header Server; empty where it sends none. */
  readonly server: string;
  /** A registry answers in JSON, a proxy mostly in HTML. */
  readonly contentType: string;
  /** Largest whole number of MiB that it does let through; 0: not even one. */
  readonly limitMiB: number;
}

/** Milliseconds for an answer to the request's head; who says nothing until the body comes does not judge by size. */
const ANSWER_MS = 3000;

const MIB = 1024 * 1024;

/** Host and port of a registry prefix or repository. */
export function hostOf(prefix: string): string {
  return prefix.split("/")[0] ?? "";
}

/** Whether a host is this machine: Docker and this project speak to such a registry without TLS. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);
}

/**
 * Asks whether a request of this size would be let through, and sends none of it: the head alone announces the size,
 * with `Expect: 100-continue`. Without this, regctl repeats a refused chunk ten times with growing pauses, most of a
 * minute, before it says "413".
 * @param prefix registry prefix, host first
 * @returns undefined when nobody refuses by size, or nobody can be asked: the push itself then says why
 */
export async function proxyRefusal(
  prefix: string,
  bytes: number,
): Promise<ProxyRefusal | undefined> {
  const refusal = await ask(prefix, bytes);
  if (refusal === undefined) return undefined;
  let [through, refused] = [0, Math.ceil(bytes / MIB)];
  while (refused - through > 1) {
    const middle = Math.floor((through + refused) / 2);
    if ((await ask(prefix, middle * MIB)) === undefined) through = middle;
    else refused = middle;
  }
  return { ...refusal, bytes, limitMiB: through };
}

/** The refusal as a problem of the stack's limit, which is higher than the proxy's. */
export function refusalText(
  { bytes, server, contentType, limitMiB }: ProxyRefusal,
  prefix: string,
  maxLayerMiB: number,
): string {
  const who = server === "" ? "which does not name itself" : `Server: ${server}`;
  const kind = contentType.startsWith("text/html") ? " with a page of HTML" : "";
  const [limit, remedy] =
    limitMiB === 0
      ? ["not even 1 MiB", "raise the proxy's limit, or set"]
      : [`at most ${limitMiB} MiB`, `set llm-serving:registry.maxLayerMiB to ${limitMiB}, or`];
  return (
    `llm-serving:registry.maxLayerMiB = ${maxLayerMiB}: the proxy in front of ${prefix} (${who}) answers 413${kind} ` +
    `to a request of ${mib(bytes)}: that is the proxy's limit, not the registry's (${limit}); ` +
    `${remedy} llm-serving:registry.push to an address around the proxy`
  );
}

/** One question. @returns who refused, undefined when the request may come */
async function ask(
  prefix: string,
  bytes: number,
): Promise<Pick<ProxyRefusal, "server" | "contentType"> | undefined> {
  const host = hostOf(prefix);
  const path = prefix.slice(host.length);
  const plain = isLoopback(host);
  // No upload has this name, so that a registry that answers before the body comes changes nothing.
  const url = `${plain ? "http" : "https"}://${host}/v2${path}/size/blobs/uploads/size`;
  // Such as 10.0.0.256, which the form of the key lets pass.
  if (!URL.canParse(url)) return undefined;
  return new Promise((resolve) => {
    const request = (plain ? http : https).request(url, {
      method: "PUT",
      headers: { expect: "100-continue", "content-length": bytes },
      timeout: ANSWER_MS,
      agent: false,
    });
    const letThrough = (): void => {
      resolve(undefined);
      request.destroy();
    };
    request
      .on("continue", letThrough)
      .on("timeout", letThrough)
      .on("error", letThrough)
      .on("response", ({ statusCode, headers }) => {
        const contentType = headers["content-type"] ?? "";
        if (statusCode === 413) resolve({ server: String(headers.server ?? ""), contentType });
        letThrough();
      });
    request.flushHeaders();
  });
}
