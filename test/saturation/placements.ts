/** `recon callbacks` as a process of its own, many players who place bets, and the result of each placement. */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { freePort } from "../../src/embedded/child-process.ts";
import { type OwnPostgres, startOwnPostgres } from "../simulation/own-postgres.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { type Check, forInformation, none } from "./case.ts";

const CREDIT = 1_000_000;

export interface Placement {
  readonly id: string;
  readonly player: string;
}

export interface AnsweredPlacement extends Placement {
  /** `statusCode`; null: no answer, the connection was closed */
  readonly statusCode: number | null;
  readonly tookMs: number;
}

export interface Casino {
  readonly postgres: OwnPostgres;
  readonly sql: Sql;
  /** of the casino's database, directly on the server */
  readonly databaseUrl: string;
  /** @param databaseUrl by which the callbacks server reaches its database */
  serve(databaseUrl: string): Promise<Served>;
}

export interface Served {
  /** Sends a placement of 1. */
  place(placement: Placement): Promise<AnsweredPlacement>;
  /** @param afterOne is called after each answer with the number of answers */
  placeAll(
    placements: readonly Placement[],
    afterOne?: (answered: number) => void,
  ): Promise<AnsweredPlacement[]>;
}

/** Placements of players who take turns. */
export function planPlacements(count: number, players: number, prefix = "bet"): Placement[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}-${index}`,
    player: `player-${index % players}`,
  }));
}

/** @param players each with a wallet: "player-0", "player-1" … */
export async function withCasino<Result>(
  players: number,
  work: (casino: Casino) => Promise<Result>,
): Promise<Result> {
  const server = await startOwnPostgres();
  const folder = mkdtempSync(join(tmpdir(), "recon-saturation-"));
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const databaseUrl = new URL("/casino", server.url).href;
    const admin = postgres(server.url, { max: 1, onnotice: () => {} });
    await admin`create database casino`;
    await admin.end();
    await migrateDatabase(databaseUrl);
    const sql = openDatabase(databaseUrl, 4);
    closing.push(() => sql.end({ timeout: 1 }));
    await sql`
      insert into wallets (username, currency, balance, created_at)
      select 'player-' || number, 'THB', ${CREDIT}, now() from generate_series(0, ${players - 1}::integer) as number`;
    const serve = async (url: string) => {
      const config = join(folder, "recon.config.json");
      writeFileSync(config, JSON.stringify({ products: [{ productId: "P1" }] }));
      const port = await freePort();
      const settings = {
        DATABASE_URL: url,
        RECON_CONFIG: config,
        CALLBACK_PORT: String(port),
        LOG_LEVEL: "fatal",
      };
      const recon = startRecon(["callbacks"], settings, "callbacks are answered at");
      closing.push(async () => {
        recon.kill("SIGKILL");
        await recon.ended;
      });
      if (!(await recon.ready)) throw new Error(`recon callbacks did not start: ${recon.lastLines()}`);
      return openServed(port);
    };
    return await work({ postgres: server, sql, databaseUrl, serve });
  } finally {
    for (const close of closing.toReversed()) await close();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

function openServed(port: number): Served {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  const place = async ({ id, player }: Placement): Promise<AnsweredPlacement> => {
    const envelope = { id, timestampMillis: Date.now(), productId: "P1", currency: "THB", username: player };
    const item = { id, status: "OPEN", roundId: id, betAmount: 1, gameCode: "G", playInfo: "G" };
    const startedAt = performance.now();
    const statusCode = await post(port, agent, JSON.stringify({ ...envelope, txns: [item] })).catch(
      () => null,
    );
    return { id, player, statusCode, tookMs: performance.now() - startedAt };
  };
  const placeAll: Served["placeAll"] = (placements, afterOne) => {
    let answered = 0;
    const placeOne = async (placement: Placement) => {
      const answer = await place(placement);
      answered += 1;
      afterOne?.(answered);
      return answer;
    };
    return Promise.all(placements.map(placeOne));
  };
  return { place, placeAll };
}

async function post(port: number, agent: Agent, body: string): Promise<number> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const sent = request({ host: "127.0.0.1", port, path: "/placeBets", method: "POST", headers, agent });
  sent.end(body);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return (JSON.parse(text) as { statusCode: number }).statusCode;
}

/** Compares the answers with what was done, for each placement once. */
export async function auditAnswers(sql: Sql, answers: readonly AnsweredPlacement[]): Promise<Check[]> {
  const rows = await sql<{ id: string }[]>`select distinct txn_id as id from callback_entries`;
  const debited = new Set(rows.map(({ id }) => id));
  const count = (code: number | null, wasDebited: boolean) =>
    answers.filter(({ id, statusCode }) => statusCode === code && debited.has(id) === wasDebited).length;
  const books = await sql`
    select username from wallets where balance <> ${CREDIT}::numeric
      + coalesce((select sum(moved) from callback_entries e where e.username = wallets.username), 0)`;
  return [
    forInformation("answered with success", count(0, true)),
    forInformation("answered with 50001", count(50001, false) + count(50001, true)),
    none("answered with 50001, and debited", count(50001, true)),
    none("answered with success, and not debited", count(0, false)),
    forInformation("not answered", count(null, true) + count(null, false)),
    none("wallets that do not add up", books.length),
  ];
}

/** Repeats what was not answered with success, as a provider does, until everything is. */
export async function sendAgain(served: Served, answers: readonly AnsweredPlacement[]): Promise<Check> {
  let left = answers.filter(({ statusCode }) => statusCode !== 0);
  for (let tries = 0; tries < 20 && left.length > 0; tries += 1) {
    left = (await served.placeAll(left)).filter(({ statusCode }) => statusCode !== 0);
  }
  return none("sent again, and still not answered with success", left.length);
}
