/** Stands between the provider and everybody who asks it, and counts what is sent to move money: byte for byte, on the wire. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface RequestTap {
  /** the provider's URL, by way of the tap */
  readonly url: string;
  /** how often a deposit or withdrawal of each transactionRef was sent */
  sendings(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const SENDING = /POST \/(?:deposit|withdraw) HTTP(?:(?!POST \/)[\s\S])*?"transactionRef":"([^"]*)"/g;

/** @param url of the provider */
export async function tapRequests(url: string): Promise<RequestTap> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const requests: { text: string }[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const said = { text: "" };
    requests.push(said);
    client.on("data", (chunk) => {
      said.text += chunk.toString("latin1");
    });
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
    sendings: () => {
      const counts = new Map<string, number>();
      for (const [, ref = ""] of requests.flatMap(({ text }) => [...text.matchAll(SENDING)])) {
        counts.set(ref, (counts.get(ref) ?? 0) + 1);
      }
      return counts;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
