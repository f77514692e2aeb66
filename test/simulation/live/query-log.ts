/** Stands between the provider and the workers, and notes which ranges of bet records are asked for, and when. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Instant, systemClock } from "../../../src/clock.ts";
import type { TimeRange } from "../../../src/window.ts";

/** The first page of one query. */
export interface Query extends TimeRange {
  readonly productId: string;
  readonly at: Instant;
}

export interface QueryLog {
  /** the provider's URL, by way of the log */
  readonly url: string;
  readonly queries: readonly Query[];
  /** all requests of bet records, with those of later pages */
  pages(): number;
  close(): Promise<void>;
}

const ASKED = /GET \/seamless\/betTransactionsV2\?(\S+) HTTP/g;

/** @param url of the provider */
export async function logQueries(url: string): Promise<QueryLog> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const queries: Query[] = [];
  let pages = 0;
  const note = (text: string) => {
    for (const [, parameters = ""] of text.matchAll(ASKED)) {
      const asked = new URLSearchParams(parameters);
      pages += 1;
      if (asked.has("nextId")) continue;
      queries.push({
        productId: asked.get("productId") ?? "",
        from: Date.parse(asked.get("startTime") ?? ""),
        to: Date.parse(asked.get("endTime") ?? ""),
        at: systemClock.now(),
      });
    }
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    // A request of this endpoint has no body: it comes in one piece.
    client.on("data", (chunk) => note(chunk.toString("latin1")));
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
    queries,
    pages: () => pages,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
