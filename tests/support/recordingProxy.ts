import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import type { Lab } from "../../lab/lab.ts";

/** One request that an API server got, and its answer. */
export interface ApiRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  /** HTTP status of the answer. */
  readonly status: number;
}

/** A way to a lab's API server that keeps what was asked. */
export interface RecordingProxy {
  /** http://127.0.0.1:<port> */
  readonly url: string;
  /** What was asked since the last call of this. */
  take(): readonly ApiRequest[];
  close(): Promise<void>;
}

interface KubeConfigFile {
  readonly clusters: readonly {
    readonly cluster: { readonly "certificate-authority-data": string };
  }[];
}

/**
 * Starts a proxy that forwards every request to the lab's API server.
 * @param token bearer token that it adds: client-go sends none of its own without TLS
 */
export async function recordingProxy(lab: Lab, token: string): Promise<RecordingProxy> {
  const { clusters } = JSON.parse(readFileSync(lab.kubeconfig, "utf8")) as KubeConfigFile;
  const ca = Buffer.from(clusters[0]?.cluster["certificate-authority-data"] ?? "", "base64");
  let seen: ApiRequest[] = [];
  const forward = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const { method = "", url: path = "" } = incoming;
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const outgoing = request(
      { host: "127.0.0.1", port: lab.apiServerPort, ca, method, path, headers },
      (response) => {
        seen.push({ method, path, status: response.statusCode ?? 0 });
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    // A watch that its client has left, or a lab that has gone.
    outgoing.on("error", () => answer.destroy());
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer(forward).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
