/**
 * The statements that the callback server sends for a placement and its settlement that come alone, as a script for
 * pgbench. They are recorded while the server answers one bet. Values that differ from bet to bet become variables.
 */

import { startCallbackServer } from "../../src/callbacks/server.ts";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { silentLog } from "../../src/log.ts";
import { type Amount, formatAmount, parseAmount } from "../../src/money.ts";
import { createTestClock } from "../../test/support/clock.ts";
import { BETS_OF_CLIENT, callbackBody, PAYOUT, STAKE } from "./callback-plan.ts";

/** Values that stand for the variable parts, and occur nowhere else. */
export const SCRIPT_PLAYER = "player-2718281828";
const BET = "3141592653";
const BALANCE = "577215";
/** The number of the first request that is recorded. The server gives the numbers behind it. */
const NUMBER = 1_414_213_562;
/** The numbers in the script begin above those that the server gives, and have as many digits. */
const FIRST_NUMBER = 2_000_000_000;

interface ScriptStatement {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

export interface ScriptPlan {
  /** the players of each client take turns */
  readonly playersOfClient: number;
  /** the balance of each player before a run */
  readonly credit: number;
}

/**
 * @returns the text of a script; each run of it is one placement and one settlement. It needs the variables `first`, the
 * first number of a bet, `player`, the number of the first player, and `count`, which begins at 0. Every run of pgbench
 * needs bets and players of its own.
 */
export async function scriptOfCallbacks(
  url: string,
  { playersOfClient, credit }: ScriptPlan,
): Promise<string> {
  const amount = parseAmount(BALANCE, "balance");
  const sql = openDatabase(url, 1);
  try {
    await creditWallet(sql, { username: SCRIPT_PLAYER, currency: "THB", amount, ref: SCRIPT_PLAYER }, 0);
    await sql`select setval('callback_bodies_id_seq', ${NUMBER - 1})`;
    const placed = await listen(sql, "placeBets");
    const settled = await listen(sql, "settleBets");
    const open = amount.minus(String(STAKE));
    return [
      `\\set bet :first + :client_id * ${BETS_OF_CLIENT} + :count`,
      `\\set player_number :player + :client_id * ${playersOfClient} + :count % ${playersOfClient}`,
      `\\set number ${FIRST_NUMBER} + 2 * :bet`,
      `\\set balance ${credit} + ${PAYOUT - STAKE} * (:count / ${playersOfClient})`,
      ...toPackets(placed, { before: amount, moved: `-${STAKE}`, number: NUMBER }),
      "\\set number :number + 1",
      `\\set balance :balance - ${STAKE}`,
      ...toPackets(settled, { before: open, moved: `${PAYOUT}`, number: NUMBER + 1 }),
      "\\set count :count + 1",
    ].join("\n");
  } finally {
    await sql.end();
  }
}

/** The statements that the server sends for one callback, once they are prepared. */
async function listen(sql: Sql, callback: "placeBets" | "settleBets"): Promise<ScriptStatement[]> {
  const context = { sql, config: parseConfig({ products: [{ productId: "P1" }] }), log: silentLog };
  const server = await startCallbackServer(
    { ...context, clock: createTestClock(1_790_000_000_000) },
    { host: "127.0.0.1", port: 0, basePath: "", signatureKey: null, allowedIps: [] },
  );
  const heard: ScriptStatement[] = [];
  Object.assign(sql.options, {
    debug: (_connection: number, text: string, parameters: readonly unknown[]) =>
      heard.push({ text, parameters }),
  });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${server.url}/${callback}`, {
    method: "POST",
    headers,
    body: callbackBody(callback, BET, SCRIPT_PLAYER),
  });
  const answer = await response.text();
  await server.close();
  Object.assign(sql.options, { debug: false });
  if (!answer.includes('"statusCode":0,')) throw new Error(`${callback} was refused: ${answer}`);
  return heard;
}

/** The state that a request found, and its change. */
interface FoundState {
  /** the balance before */
  readonly before: Amount;
  readonly moved: string;
  readonly number: number;
}

/**
 * The server sends two packets for each request: one that begins and reads, and one that writes and commits. pgbench cannot
 * use what it reads in a packet, so the script computes the balance and the number that the server takes from there.
 */
function toPackets(heard: readonly ScriptStatement[], found: FoundState): string[] {
  const reads = heard.findIndex(({ text }) => !/^\s*(begin|select)\b/.test(text));
  return [heard.slice(0, reads), heard.slice(reads)].flatMap((packet) => [
    "\\startpipeline",
    ...packet.map((statement) => `${fill(statement, found)};`),
    "\\endpipeline",
  ]);
}

/** Replaces values by variables. */
function fill({ text, parameters }: ScriptStatement, { before, moved, number }: FoundState): string {
  const after = formatAmount(before.plus(moved));
  // The script runs long after its statements were recorded.
  const deadline = /clock_timestamp\(\)\) < (\$\d+)/.exec(text)?.[1];
  const toExpression = (place: string) => {
    if (place === deadline) return "('Infinity')";
    const parameter = parameters[Number(place.slice(1)) - 1];
    if (parameter === formatAmount(before)) return ":balance";
    if (parameter === after) return `(:balance::numeric + ${moved})`;
    if (parameter === String(number)) return ":number";
    return toLiteral(parameter, number);
  };
  return text.trim().replace(/\$\d+/g, toExpression);
}

/** pgbench reads a colon before a word as a variable, even within a literal. */
function toLiteral(parameter: unknown, number: number): string {
  if (parameter === null) return "null";
  if (typeof parameter !== "string") throw new Error(`a parameter is not text: ${String(parameter)}`);
  const literal = parameter
    .replaceAll("'", "''")
    .replaceAll('":', '": ')
    .replaceAll(SCRIPT_PLAYER, "player-' || :player_number || '")
    .replaceAll(BET, "' || :bet || '")
    .replaceAll(String(number), "' || :number || '");
  return `('${literal}')`;
}
