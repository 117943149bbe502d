import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy that cuts connections, as one with a time limit does to a large upload. */
export interface CuttingProxy {
  /** host:port */
  readonly address: string;
  /** Connections that it has cut. */
  readonly cuts: () => number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a proxy in front of a server that cuts a connection once a client has sent so much over it.
 * @param target host:port
 * @param cutAfterBytes of one connection
 * @param atMost cuts, after which it lets everything through
 */
export async function startCuttingProxy(
  target: string,
  cutAfterBytes: number,
  atMost = Infinity,
): Promise<CuttingProxy> {
  const [host = "", port = ""] = target.split(":");
  const open = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    const sockets = [client, upstream];
    const cut = (): void => {
      for (const socket of sockets) socket.resetAndDestroy();
    };
    for (const socket of sockets) {
      open.add(socket);
      socket.on("error", cut).on("close", () => {
        open.delete(socket);
        for (const other of sockets) other.end();
      });
    }
    let sent = 0;
    client.on("data", (data) => {
      sent += data.length;
      if (sent <= cutAfterBytes || cuts >= atMost) return;
      cuts += 1;
      cut();
    });
    client.pipe(upstream);
    upstream.pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    stop: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
