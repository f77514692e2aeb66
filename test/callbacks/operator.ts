/** A callbacks server over a real database, and a provider that sends to it. */

import { expect, onTestFinished } from "vitest";
import type { LedgerBet } from "../../src/bet.ts";
import type { CallbackName } from "../../src/callback.ts";
import {
  type CallbackContext,
  type CallbackLimits,
  startCallbackServer,
} from "../../src/callbacks/server.ts";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import type { Settings } from "../../src/config.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { readEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { amount, NOON } from "../support/examples.ts";

export const CONFIG = parseConfig({
  products: [
    { productId: "P1" },
    { productId: "S1", singleState: true },
    { productId: "T1", walletMode: "transfer" },
  ],
});

/** Amounts are JSON text, so that every digit is sent as written. */
type Item = Readonly<Record<string, unknown>>;

/** A number with digits that JavaScript would lose. */
export const digits = (text: string) => ({ digits: text });

/** JSON text in which `digits` are plain numbers. */
export function toBody(value: unknown): string {
  return JSON.stringify(value).replace(/\{"digits":"([^"]*)"\}/g, "$1");
}

export interface OperatorAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** the answer's text */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about.
  readonly json: any;
}

export async function post(
  url: string,
  callback: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<OperatorAnswer> {
  const response = await fetch(`${url}/${callback}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : toBody(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

export interface Operator {
  readonly url: string;
  /** Sends items of one bet each, with defaults for missing fields. @returns the answer */
  send(callback: CallbackName, items: Item | readonly Item[], envelope?: Item): Promise<OperatorAnswer>;
  /** Sends items as `send` does. @returns the status code and the balance after it: "0 90", "20002" */
  outcomeOf(callback: CallbackName, items: Item | readonly Item[], envelope?: Item): Promise<string>;
  readonly player: string;
  balance(): Promise<string>;
}

let players = 0;
let requests = 0;

export interface OperatorChanges {
  readonly context?: Partial<CallbackContext>;
  readonly settings?: Partial<Settings["callbacks"]>;
  readonly limits?: CallbackLimits;
  readonly productId?: string;
  /** of the player's first deposit */
  readonly credit?: string;
}

/** Starts a server with a player of its own, until the test ends. */
export async function startOperator(sql: Sql, changes: OperatorChanges = {}): Promise<Operator> {
  const context = { sql, config: CONFIG, clock: createTestClock(NOON), log: silentLog, ...changes.context };
  const settings = {
    host: "127.0.0.1",
    port: 0,
    basePath: "",
    signatureKey: null,
    allowedIps: [],
    ...changes.settings,
  };
  const server = await startCallbackServer(context, settings, changes.limits);
  onTestFinished(() => server.close());
  players += 1;
  const player = `player-${players}`;
  await creditWallet(
    sql,
    { username: player, currency: "THB", amount: amount(changes.credit ?? "100"), ref: player },
    NOON,
  );
  const send: Operator["send"] = (callback, items, envelope = {}) =>
    post(server.url, callback, {
      ...exampleEnvelope(player, changes.productId ?? "P1"),
      txns: [items].flat().map((item) => ({ ...EXAMPLES[callback], ...item })),
      ...envelope,
    });
  return {
    url: server.url,
    player,
    send,
    outcomeOf: async (callback, items, envelope) => {
      const { status, json } = await send(callback, items, envelope);
      expect(status).toBe(200);
      return json.statusCode === 0 ? `0 ${json.balanceAfter}` : String(json.statusCode);
    },
    balance: async () => {
      const [row] = await sql`select balance from wallets where username = ${player} and currency = 'THB'`;
      return String(Number(row?.["balance"]));
    },
  };
}

export function exampleEnvelope(username: string, productId = "P1") {
  requests += 1;
  return {
    id: `request-${requests}`,
    timestampMillis: NOON + requests,
    productId,
    currency: "THB",
    username,
  };
}

const BET = { id: "bet-1", roundId: "round-1", gameCode: "G1", playInfo: "Game One" };
/** An item of each callback, about a bet of 10. */
const EXAMPLES: Readonly<Record<CallbackName, Item>> = {
  placeBets: { ...BET, status: "OPEN", betAmount: 10 },
  adjustBets: { ...BET, status: "OPEN", betAmount: 10 },
  settleBets: { ...BET, status: "SETTLED", payoutAmount: 0 },
  cancelBets: { ...BET, status: "REFUND", betAmount: 10 },
  voidSettled: { ...BET, status: "REFUND", betAmount: 10, payoutAmount: 0 },
  winRewards: { ...BET, status: "SETTLED", payoutAmount: 0 },
  rollback: { ...BET, status: "ROLLBACK", betAmount: 10, payoutAmount: 0, transactionType: "BY_TRANSACTION" },
  placeTips: { ...BET, id: "tip-1", status: "TIPS", betAmount: 3 },
  cancelTips: { ...BET, id: "tip-1", status: "REFUND", betAmount: 3 },
  adjustBalance: { refId: "ref-1", status: "DEBIT", amount: 10 },
};

/** The player's bets in the ledger. */
export async function foldLedger(sql: Sql, player: string, productId = "P1"): Promise<LedgerBet[]> {
  const rows = await sql<{ txnId: string }[]>`
    select distinct txn_id as "txnId" from callback_entries where username = ${player}`;
  const bets = rows.map(({ txnId }) => [player, txnId] as const);
  const entries = await readEntries(sql, productId, { rounds: [], bets });
  return foldEntries(entries, { singleState: productId === "S1" });
}

/** Asserts that the ledger agrees with the wallet about each of the player's bets. */
export async function expectLedgerAgrees(sql: Sql, player: string, productId = "P1"): Promise<void> {
  const folded = (await foldLedger(sql, player, productId)).map((bet) => ({
    txnId: bet.txnId,
    status: bet.status,
    stake: bet.stake.toFixed(),
    payout: bet.payout.toFixed(),
    waiting: bet.waiting,
    owed: bet.asked.minus(bet.moved).toFixed(),
  }));
  const rows = await sql`
    select txn_id as "txnId", status, trim_scale(stake)::text as stake,
      trim_scale(settlement + reward)::text as payout, waiting and status = 'open' as waiting
    from wallet_bets where username = ${player} and product_id = ${productId}`;
  const byId = (a: { txnId?: unknown }, b: { txnId?: unknown }) =>
    String(a.txnId) < String(b.txnId) ? -1 : 1;
  expect(folded.sort(byId)).toEqual(
    rows.map((row) => ({ ...row, owed: "0" }) as { txnId?: unknown }).sort(byId),
  );
  const [sums] = await sql`
    select (select balance from wallets where username = ${player} and currency = 'THB')
      = (select sum(amount) from wallet_credits where username = ${player})
      + coalesce((select sum(moved) from callback_entries where username = ${player}), 0) as "addsUp"`;
  expect(sums).toEqual({ addsUp: true });
}
