/** Finds free ports, so that the servers of several checkouts do not collide. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A TCP port of 127.0.0.1 that was free a moment ago. The caller must be able to try another one. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
