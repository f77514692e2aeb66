/** A proxy between a client and a server, with which a test can take the server away, or let it hang. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { ownPort } from "./own-port.ts";

export interface TcpProxy {
  /** the server's URL through the proxy */
  readonly url: string;
  /** Breaks connections, and refuses new ones. */
  refuse(): Promise<void>;
  /** Keeps connections open, and lets nothing through. */
  hang(): void;
  /** Keeps the present connections open without letting anything through them; new ones work. */
  strand(): void;
  /** Leads new connections to another server on this machine. The present ones stay. */
  lead(url: string): void;
  /** Lets everything through again. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param url of a server on this machine
 * @param onSent is called before each piece that a client sends is passed on
 */
export async function startTcpProxy(url: string, onSent: () => void = () => {}): Promise<TcpProxy> {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const stranded = new WeakSet<Socket>();
  let hanging = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("data", (chunk) => {
        if (socket === client) onSent();
        if (!hanging && !stranded.has(socket)) other.write(chunk);
      });
      const endOther = () => {
        if (!stranded.has(socket)) other.destroy();
      };
      socket.on("error", endOther);
      socket.on("close", () => {
        sockets.delete(socket);
        endOther();
      });
    }
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  await listen(await ownPort());
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  const own = new URL(url);
  const { port } = server.address() as AddressInfo;
  own.port = String(port);
  return {
    url: own.href,
    refuse: close,
    hang: () => {
      hanging = true;
    },
    strand: () => {
      for (const socket of sockets) stranded.add(socket);
    },
    lead: (other) => {
      target = new URL(other);
    },
    restore: async () => {
      hanging = false;
      if (!server.listening) await listen(port);
    },
    close,
  };
}
