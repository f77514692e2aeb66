/** A small stand-in for PgBouncer 1.18, which no npm package brings: sessions of PostgreSQL that connections share. */

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { cancelRunning } from "../../src/db/pg-client.ts";
import { TO_IGNORE } from "../../src/db/session.ts";

/** A connection keeps a session until it ends, or only for each transaction. */
export type PoolMode = "session" | "transaction";

export interface Pooler {
  /** the server's URL through the pooler */
  readonly url: string;
  /** how many statements it has had cancelled */
  cancelled(): number;
  close(): Promise<void>;
}

const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST = 80_877_102;
/** What PgBouncer passes on, and what the documented set-up lets it ignore. */
const ACCEPTED = new Set([
  ...[
    "user",
    "database",
    "client_encoding",
    "application_name",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
  ],
  ...TO_IGNORE,
]);
/** The end of an answer outside of a transaction. */
const IDLE = message("Z", Buffer.from("I"));

/** @param sessions how many the pooler has */
export async function startPooler(url: string, mode: PoolMode, sessions: number): Promise<Pooler> {
  const clients = Array.from({ length: sessions }, () => new Client(url));
  const free: Socket[] = [];
  for (const client of clients) {
    client.on("error", () => {});
    await client.connect();
    const socket = client.connection.stream as Socket;
    socket.removeAllListeners("data");
    free.push(socket);
  }
  const waiting: ((session: Socket) => void)[] = [];
  const take = async () => free.pop() ?? (await new Promise<Socket>((resolve) => waiting.push(resolve)));
  const release = (session: Socket) => {
    session.removeAllListeners("data");
    const next = waiting.shift();
    if (next === undefined) free.push(session);
    else next(session);
  };
  let keys = 0;
  let cancels = 0;
  /** the session of each connection, by the key that the connection was told */
  const serving = new Map<number, Socket>();
  const cancel = async (key: number, sender: Socket) => {
    // PgBouncer forgets a request whose sender ends it first.
    const isGone = await Promise.race([once(sender, "end").then(() => true), pause(100, false)]);
    const session = clients.find((one) => one.connection.stream === serving.get(key));
    if (!isGone && session !== undefined) {
      cancelRunning(session);
      cancels += 1;
    }
    sender.end();
  };
  const open = new Set<Socket>();
  const server = createServer(async (client) => {
    open.add(client);
    client.on("error", () => {}).on("close", () => open.delete(client));
    keys += 1;
    const key = keys;
    if (!(await greet(client, key, cancel))) return;
    let session: Socket | null = null;
    const serve = async (sent: Buffer) => {
      if (sent[0] === "X".charCodeAt(0)) {
        client.end();
        return;
      }
      if (session === null) {
        const taken = await take();
        session = taken;
        serving.set(key, taken);
        taken.on("data", (answer: Buffer) => {
          client.write(answer);
          if (mode === "session" || !answer.subarray(-IDLE.length).equals(IDLE)) return;
          session = null;
          serving.delete(key);
          release(taken);
        });
      }
      session.write(sent);
    };
    let sending = Promise.resolve<unknown>(undefined);
    client.on("data", (sent: Buffer) => {
      sending = sending.then(() => serve(sent));
    });
    client.on("close", () => {
      serving.delete(key);
      if (session === null) return;
      // What PgBouncer does by default when a connection ends.
      const ended = session;
      ended.removeAllListeners("data");
      ended.once("data", () => release(ended));
      ended.write(message("Q", Buffer.from("discard all\0")));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = new URL(url);
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    cancelled: () => cancels,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      for (const client of clients) (client.connection.stream as Socket).destroy();
      await once(server, "close");
    },
  };
}

/** @returns whether the connection was accepted */
async function greet(
  client: Socket,
  key: number,
  cancel: (key: number, sender: Socket) => Promise<void>,
): Promise<boolean> {
  for (;;) {
    const [start] = (await once(client, "data")) as [Buffer];
    if (start.readUInt32BE(4) === CANCEL_REQUEST) {
      client.resume();
      await cancel(start.readUInt32BE(8), client);
      return false;
    }
    if (start.readUInt32BE(4) === SSL_REQUEST) {
      client.write("N");
      continue;
    }
    const parts = start.subarray(8).toString("utf8").split("\0");
    const refused = parts.find((name, index) => index % 2 === 0 && name !== "" && !ACCEPTED.has(name));
    if (refused !== undefined) {
      const error = ["SFATAL", "VFATAL", "C08P01", `Munsupported startup parameter: ${refused}`];
      client.end(message("E", Buffer.from(`${error.join("\0")}\0\0`)));
      return false;
    }
    const ok = message("R", Buffer.alloc(4));
    const backendKey = Buffer.alloc(8);
    backendKey.writeUInt32BE(key, 0);
    client.write(Buffer.concat([ok, message("K", backendKey), IDLE]));
    return true;
  }
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
