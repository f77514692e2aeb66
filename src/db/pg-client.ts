/** Opens a connection of the driver pg with the settings of a pool of postgres.js. */

import { connect as openSocket } from "node:net";
import { Client, type ClientConfig } from "pg";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { withAcceptedParameters } from "./session.ts";

type Options = Sql["options"];

/** Connects to the first host, in order, that accepts writes. Rejects with the error of the last host. */
export async function connectClient(options: Options): Promise<Client> {
  const addresses = options.host.map((host, index) => ({ host, port: options.port[index] ?? 5432 }));
  let failure: unknown;
  for (const address of addresses) {
    try {
      const settings = { ...settingsOf(options), ...address };
      const client = await withAcceptedParameters(options, () => connect(options, settings));
      if (addresses.length === 1 || (await takesWrites(client))) return client;
      failure = new Error(`${address.host}:${address.port} accepts no writes`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function settingsOf({ user, pass, database, connect_timeout, keep_alive }: Options): ClientConfig {
  return {
    user: String(user),
    password: pass ?? "",
    database: String(database),
    connectionTimeoutMillis: Number(connect_timeout) * 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: Number(keep_alive) * 1000,
  };
}

/** "prefer" continues without TLS if the server has none. */
async function connect(options: Options, settings: ClientConfig): Promise<Client> {
  const { ssl } = options;
  try {
    const tls = ssl === "prefer" ? { rejectUnauthorized: false } : ssl;
    return await connectOnce(options, { ...settings, ssl: tls || false } as ClientConfig);
  } catch (error) {
    const hasNoTls = error instanceof Error && error.message.includes("does not support SSL");
    if (ssl !== "prefer" || !hasNoTls) throw error;
    return await connectOnce(options, { ...settings, ssl: false });
  }
}

async function connectOnce(options: Options, settings: ClientConfig): Promise<Client> {
  const client = new Client(settings);
  // If the connection breaks while it opens, pg rejects and then emits the same error.
  client.on("error", () => {});
  Object.assign(client, { getStartupConf: () => startOf(options) });
  await client.connect();
  return client;
}

/**
 * The start parameters, as postgres.js sends them, so a pooler that accepts a pool's connections accepts this one. By itself, pg would put
 * most of them into the parameter `options`, which PgBouncer refuses.
 */
function startOf({ user, database, connection }: Options): Record<string, string> {
  const given = { user, database, client_encoding: "UTF8", ...connection };
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
}

/** The longest wait for a connection to close while the server responds. */
const LONGEST_CLOSE_MS = 1_000;

/** Closes a connection. Never rejects. */
export async function closeClient(client: Client): Promise<void> {
  const ended = client.end().catch(() => {});
  if (!(await endsInTime(ended, LONGEST_CLOSE_MS))) client.connection.stream.destroy();
}

const CANCEL_CODE = 80_877_102;
const LONGEST_CANCEL_MS = 5_000;

/**
 * Asks the server to cancel the running statement of a connection. If the request arrives after that statement has ended, it cancels the
 * next one, so do not use the connection again. It is sent without TLS, as libpq did before version 17. Servers that require TLS accept it.
 */
export function cancelRunning(client: Client): void {
  const { host, port, processID, secretKey } = client as Client & { processID: number; secretKey: number };
  const request = Buffer.alloc(16);
  for (const [index, word] of [request.length, CANCEL_CODE, processID, secretKey].entries())
    request.writeInt32BE(word, 4 * index);
  const timeout = LONGEST_CANCEL_MS;
  const isLocal = host.startsWith("/");
  const socket = openSocket(
    isLocal ? { path: `${host}/.s.PGSQL.${port}`, timeout } : { host, port, timeout },
  );
  // If the request fails, the statement ends at its timeout.
  socket.on("error", () => {}).on("timeout", () => socket.destroy());
  // The server closes the connection. PgBouncer drops a request whose sender closes it first.
  socket.write(request);
}

/** Does the server accept writes? Closes the connection if not. */
async function takesWrites(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if (rows[0]?.transaction_read_only === "off") return true;
  await client.end();
  return false;
}
