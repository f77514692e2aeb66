/** Opens a connection of pg with the settings of a pool of postgres.js. */

import { Client, type ClientConfig } from "pg";
import type { Sql } from "./client.ts";

type Options = Sql["options"];

const KEEP_ALIVE_MS = 60_000;

/** Connects to the first host, in order, that accepts writes. Rejects with the error of the last host. */
export async function connectClient(options: Options): Promise<Client> {
  const addresses = options.host.map((host, index) => ({ host, port: options.port[index] ?? 5432 }));
  let failure: unknown;
  for (const address of addresses) {
    try {
      const client = await connect({ ...settingsOf(options), ...address }, options.ssl);
      if (addresses.length === 1 || (await takesWrites(client))) return client;
      failure = new Error(`${address.host}:${address.port} accepts no writes`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function settingsOf({ user, pass, database, connect_timeout, connection }: Options): ClientConfig {
  // All settings of the pool but TimeZone, because pipelined connections read no times.
  const { application_name, TimeZone: _, ...others } = connection as Record<string, string>;
  const options = Object.entries(others).map(
    ([name, value]) => `-c ${name}=${String(value).replaceAll(/[\\ ]/g, "\\$&")}`,
  );
  return {
    user: String(user),
    password: pass ?? "",
    database: String(database),
    connectionTimeoutMillis: Number(connect_timeout) * 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(application_name !== undefined && { application_name }),
    ...(options.length > 0 && { options: options.join(" ") }),
  };
}

/**
 * Treats TLS as postgres.js does: only "prefer" goes on without TLS, and only "verify-full" and explicit TLS settings
 * check the certificate.
 */
async function connect(settings: ClientConfig, ssl: Options["ssl"]): Promise<Client> {
  const unverified = ssl === "require" || ssl === "allow" || ssl === "prefer";
  const tls = typeof ssl === "object" ? ssl : { rejectUnauthorized: !unverified };
  try {
    return await connectOnce({ ...settings, ssl: ssl ? tls : false });
  } catch (error) {
    const hasNoTls = error instanceof Error && error.message.includes("does not support SSL");
    if (ssl !== "prefer" || !hasNoTls) throw error;
    return await connectOnce({ ...settings, ssl: false });
  }
}

async function connectOnce(settings: ClientConfig): Promise<Client> {
  const client = new Client(settings);
  // A connection that breaks while it opens rejects, and then emits the error a second time.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Whether the server accepts writes. Closes the connection where it does not. */
async function takesWrites(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if (rows[0]?.transaction_read_only === "off") return true;
  await client.end();
  return false;
}
