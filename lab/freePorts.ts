import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Different ports of 127.0.0.1 that nobody listens on now. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map(async (server) => {
      server.close();
      await once(server, "close");
    }),
  );
  return ports;
}
