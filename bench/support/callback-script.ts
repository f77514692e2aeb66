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
import {
  BETS_OF_CLIENT,
  callbackBody,
  type LoadPlan,
  PAYOUT,
  playersOfClient,
  STAKE,
} from "./callback-plan.ts";

/** Values that stand for the variable parts, and occur nowhere else. */
export const SCRIPT_PLAYER = "player-2718281828";
const BET = "3141592653";
const BALANCE = "577215";
/** The number of the first request; later numbers have as many digits. */
const NUMBER = 141421356;

interface ScriptStatement {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/**
 * @returns the text of a script; each run of it is one placement and one settlement. It needs the variables `first`, the
 * first number of a bet, and `count`, which begins at 0.
 */
export async function scriptOfCallbacks(
  url: string,
  plan: Pick<LoadPlan, "clients" | "players">,
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
      "\\set count :count + 1",
      `\\set bet :first + :client_id * ${BETS_OF_CLIENT} + :count`,
      `\\set player :client_id + ${plan.clients} * (:count % ${playersOfClient(plan)})`,
      ...toScript(placed, { before: amount, moved: `-${STAKE}`, number: NUMBER }),
      ...toScript(settled, { before: open, moved: `${PAYOUT}`, number: NUMBER + 1 }),
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

/** As in the server, the statement that writes is sent with the commit, and depends on what was read before. */
function toScript(heard: readonly ScriptStatement[], found: FoundState): string[] {
  const texts = heard.map((statement) => fill(statement, found));
  const reads = texts.slice(0, -2).map((text) => `${text}${/^select/.test(text) ? " \\gset" : ";"}`);
  const writes = texts.slice(-2).map((text) => `${text};`);
  return [...reads, "\\startpipeline", ...writes, "\\endpipeline"];
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
    .replaceAll(SCRIPT_PLAYER, "player-' || :player || '")
    .replaceAll(BET, "' || :bet || '")
    .replaceAll(String(number), "' || :number || '");
  return `('${literal}')`;
}
