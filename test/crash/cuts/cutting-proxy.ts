/** A proxy in front of PostgreSQL that cuts a connection at one message of its protocol. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Cut {
  /** the number of the message among all that the client sends after its login, from 1 */
  readonly message: number;
  /** before: the server never gets it; after: the server gets it, and the client no answer; late: it is held for a moment */
  readonly when: "before" | "after" | "late";
}

export interface CuttingProxy {
  readonly url: string;
  /** how many messages came after a login */
  messages(): number;
  /** whether the message of the cut came */
  isStruck(): boolean;
  close(): Promise<void>;
}

/** SSLRequest, GSSENCRequest and the startup message have no type byte. */
const PASSWORD = "p";
const LATE_MS = 40;
/** A message without an answer of its own is executed within this time. */
const ANSWERED_WITHIN_MS = 30;

/** @param cut null: nothing is cut */
export async function startCuttingProxy(url: string, cut: Cut | null): Promise<CuttingProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let count = 0;
  let struck = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    let isMuted = false;
    upstream.on("data", (chunk) => {
      if (isMuted) client.destroy();
      else client.write(chunk);
    });
    const split = splitMessages();
    client.on("data", async (chunk) => {
      for (const { type, bytes } of split(chunk)) {
        if (client.destroyed) return;
        if (type === null || type === PASSWORD) {
          upstream.write(bytes);
          continue;
        }
        count += 1;
        if (cut === null || count !== cut.message) {
          upstream.write(bytes);
          continue;
        }
        struck = true;
        if (cut.when === "before") {
          client.destroy();
          return;
        }
        if (cut.when === "after") {
          isMuted = true;
          upstream.write(bytes);
          setTimeout(() => client.destroy(), ANSWERED_WITHIN_MS);
          return;
        }
        client.pause();
        await new Promise((resolve) => setTimeout(resolve, LATE_MS));
        upstream.write(bytes);
        client.resume();
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = new URL(url);
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    messages: () => count,
    isStruck: () => struck,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Divides what a client sends into messages: a type of one byte, but for the first ones, and a length of four bytes. */
function splitMessages(): (chunk: Buffer) => { readonly type: string | null; readonly bytes: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: { type: string | null; bytes: Buffer }[] = [];
    for (;;) {
      const typed = isStarted ? 1 : 0;
      if (rest.length < typed + 4) return messages;
      const length = typed + rest.readInt32BE(typed);
      if (rest.length < length) return messages;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      messages.push({ type: isStarted ? String.fromCharCode(bytes[0] ?? 0) : null, bytes });
      // A request for encryption has 8 bytes, and the startup message follows it.
      isStarted ||= length > 8;
    }
  };
}
