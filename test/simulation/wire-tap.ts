/** A proxy between clients and a server that passes on every byte, and reads what the clients send. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface WireTap {
  /** the server's URL through the proxy */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * @param url of a server on this machine
 * @param onConnection called for each connection; its result gets the connection's text, piece by piece
 */
export async function startWireTap(
  url: string,
  onConnection: () => (text: string) => void,
): Promise<WireTap> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const hear = onConnection();
    client.on("data", (chunk) => hear(chunk.toString("latin1")));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroySoon();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
