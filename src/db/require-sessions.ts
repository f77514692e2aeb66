/**
 * Refuses a pooler that gives a connection another session of PostgreSQL for each transaction (docs/operations.md#connections, decision
 * 280): settings, locks and notifications would end up in the sessions of other programs.
 */

import type { Client } from "pg";
import { ReconError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { unreachable } from "./database-error.ts";
import { closeClient, connectClient } from "./pg-client.ts";

/**
 * How often the two connections ask in turn. A pooler gives a transaction its most or its least recently used session, so one round shows
 * sharing. Other clients may disturb a round, but hardly eight of them in the same way.
 */
const ROUNDS = 8;
/** If a pooler has no free session, the statement waits. */
const LONGEST_ANSWER_MS = 5_000;

/**
 * Changes nothing in the sessions that it sees.
 * @throws ReconError `settings-invalid` if two connections share a session, or one connection has several;
 * `database-unreachable`
 */
export async function requireSessions(options: Sql["options"]): Promise<void> {
  const opened: Client[] = [];
  const open = async () => {
    const client = await connectClient(options).catch((error: unknown) => {
      throw unreachable(options, error);
    });
    opened.push(client);
    return client;
  };
  try {
    const first = await open();
    const session = await sessionOf(first);
    // PostgreSQL tells a connection the number of its process. A pooler tells another number.
    if (session === null || session === (first as Client & { processID: number }).processID) return;
    const second = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const other = await sessionOf(second);
      if (other === null) return;
      if (other === session || (await sessionOf(first)) !== session) throw shared(options);
    }
  } finally {
    await Promise.all(opened.map(closeClient));
  }
}

/** @returns the process that serves the connection now; null: no result in time */
async function sessionOf(client: Client): Promise<number | null> {
  const asked = client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return (await endsInTime(asked, LONGEST_ANSWER_MS)) ? ((await asked).rows[0]?.pid ?? null) : null;
}

function shared({ host, port, database }: Sql["options"]): ReconError {
  return new ReconError(
    "settings-invalid",
    `DATABASE_URL leads to a pooler at ${host.join(",")}:${port.join(",")} that shares the sessions of the database ${database} between programs (transaction pooling): settings and locks of wallet-recon would affect their statements. Use pool_mode = session there, or point DATABASE_URL at PostgreSQL itself.`,
  );
}
