/**
 * A wallet behind HTTP and its model: creates the same players in both, sends the same requests to both, and checks that both
 * have the same state in the end.
 */

import { isLosslessNumber, parse } from "lossless-json";
import { expect } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Sql } from "../../src/db/client.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { readEntries } from "../../src/ledger/store.ts";
import { NOON } from "../support/examples.ts";
import { toBody } from "./operator.ts";
import { toWire } from "./random-callbacks.ts";
import {
  balanceKey,
  emptyModel,
  type ModelAnswer,
  type ModelBet,
  type ModelRequest,
  type ModelState,
  toSteps,
} from "./wallet-model.ts";

const CREDIT = "60.0000000000000000000000001";
const CREDITED = [
  ["0", "THB"],
  ["0", "USD"],
  ["1", "THB"],
] as const;

let runs = 0;

/** New players in the wallet and in the model. The second player has no USD. */
export async function openRun(sql: Sql, name: string): Promise<{ run: string; state: ModelState }> {
  runs += 1;
  const run = `${name}${runs}`;
  const state = emptyModel();
  for (const [player, currency] of CREDITED) {
    const username = `${run}-${player}`;
    await sql`insert into wallets values (${username}, ${currency}, ${CREDIT}, ${NOON})`;
    state.balances[balanceKey(username, currency)] = toSteps(CREDIT);
  }
  return { run, state };
}

const ROLLBACKS = ["rollback", "unsettleBets", "rollbackBets"];

/** One of the addresses of the callback; each turn gives another one. */
function pathOf(callback: string, turn: number): string {
  const name = callback === "rollback" ? ROLLBACKS[turn % ROLLBACKS.length] : callback;
  return turn % 2 === 0 ? `${name}` : `sexy/${name}`;
}

/** Sends a request, and reads the answer with every digit. */
export async function ask(
  url: string,
  request: ModelRequest,
  at: number,
  signal?: AbortSignal,
): Promise<ModelAnswer> {
  const response = await fetch(`${url}/${pathOf(request.callback, at)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: toBody(toWire(request, at)),
    ...(signal === undefined ? {} : { signal }),
  });
  return readAnswer(parse(await response.text()) as Record<string, unknown>);
}

/** @param answer with every number as LosslessNumber */
export function readAnswer(answer: Readonly<Record<string, unknown>> | null | undefined): ModelAnswer {
  if (answer == null) throw new Error("there was no answer");
  const statusCode = Number(String(answer["statusCode"]));
  if (statusCode !== 0) return { statusCode };
  const steps = (field: string) =>
    isLosslessNumber(answer[field]) ? toSteps(answer[field].toString()) : -1n;
  return { statusCode, before: steps("balanceBefore"), after: steps("balanceAfter") };
}

export const describeRequest = (request: ModelRequest) =>
  `${request.callback} ${JSON.stringify({ ...request, callback: undefined })}`;

/** Asserts that the wallet, and the ledger that it wrote, agree with the model. */
export async function expectAsModelled(sql: Sql, run: string, state: ModelState): Promise<void> {
  const wallets = await sql<{ key: string; balance: string }[]>`
    select username || ' ' || currency as key, balance from wallets where username like ${`${run}-%`}`;
  expect(Object.fromEntries(wallets.map(({ key, balance }) => [key, toSteps(balance)]))).toEqual(
    state.balances,
  );
  const inLedger: Record<string, unknown> = {};
  const isEarly = new Set<string>();
  for (const productId of ["P1", "S1"]) {
    for (const username of [`${run}-0`, `${run}-1`]) {
      const named = await sql<{ txnId: string }[]>`
        select distinct txn_id as "txnId" from callback_entries
        where product_id = ${productId} and username = ${username}`;
      const bets = named.map(({ txnId }) => [username, txnId] as const);
      const entries = await readEntries(sql, productId, { rounds: [], bets });
      for (const id of placedBehindRoundEnd(entries)) isEarly.add(`${productId} ${username} ${id}`);
      for (const bet of foldEntries(entries, { singleState: productId === "S1" })) {
        inLedger[`${productId} ${username} ${bet.txnId}`] = {
          status: bet.status,
          stake: toSteps(bet.stake.toFixed()),
          payout: toSteps(bet.payout.toFixed()),
          waiting: bet.waiting,
          owed: toSteps(bet.asked.minus(bet.moved).toFixed()),
        };
      }
    }
  }
  const isCompared = ([key]: readonly [string, unknown]) => !isEarly.has(key);
  const modelled = Object.entries(state.bets).map(([key, bet]) => [key, toldByLedger(bet)] as const);
  expect(Object.fromEntries(Object.entries(inLedger).filter(isCompared))).toEqual(
    Object.fromEntries(modelled.filter(isCompared)),
  );
}

/**
 * The bets of rounds in which a bet was placed up to two seconds after a BY_ROUND entry had ended the round: the ledger
 * ends it if no other entry does; the wallet, which does not see later entries, leaves it open.
 */
function placedBehindRoundEnd(entries: readonly CallbackEntry[]): string[] {
  const ends = entries.filter(
    ({ callback, transactionType }) =>
      transactionType === "BY_ROUND" && (callback === "settleBets" || callback === "cancelBets"),
  );
  const isBehind = ({ occurredAt }: CallbackEntry) =>
    ends.some((end) => occurredAt >= end.occurredAt && occurredAt - end.occurredAt <= 2_000);
  const rounds = new Set(
    entries
      .filter((entry) => entry.callback === "placeBets" && isBehind(entry))
      .map(({ roundId }) => roundId),
  );
  return entries.filter(({ roundId }) => rounds.has(roundId)).map(({ txnId }) => txnId);
}

function toldByLedger(bet: ModelBet) {
  const waiting = bet.waiting && bet.status === "open";
  return { status: bet.status, stake: bet.stake, payout: bet.settlement + bet.reward, waiting, owed: 0n };
}

/** Asserts that the balances of a player's requests follow one another without a gap, in the order of their commits. */
export async function expectUnbrokenBalances(sql: Sql, run: string, state: ModelState): Promise<void> {
  const rows = await sql<{ key: string; before: string; after: string; moved: string }[]>`
    select username || ' ' || currency as key, min(balance_before) as before, min(balance_after) as after,
      sum(moved) as moved
    from callback_entries where username like ${`${run}-%`}
    group by username, currency, product_id, callback, request_id order by min(entry_id)`;
  const balances: Record<string, bigint> = {};
  for (const { key, before, after, moved } of rows) {
    expect(toSteps(before)).toBe(balances[key] ?? toSteps(CREDIT));
    expect(toSteps(after) - toSteps(before)).toBe(toSteps(moved));
    balances[key] = toSteps(after);
  }
  expect({ ...emptyBalances(run), ...balances }).toEqual(state.balances);
  const answered = Object.values(state.answered).length;
  expect(rows).toHaveLength(answered);
}

function emptyBalances(run: string): Record<string, bigint> {
  return Object.fromEntries(
    CREDITED.map(([player, currency]) => [balanceKey(`${run}-${player}`, currency), toSteps(CREDIT)]),
  );
}
