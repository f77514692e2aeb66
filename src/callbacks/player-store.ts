/**
 * Reads the state of a player under the lock of all the player's wallets. The lock and the reading are sent together
 * as two statements. A single statement that waited for the lock would not see what the request before it wrote. Ids
 * are listed one by one (decision 48).
 */

import type { LedgerStatus } from "../bet.ts";
import { CLOCK } from "../db/deadline.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import { digestText, ENTRIES_WALK } from "../db/retention-store.ts";
import { type Put, putAll, type SqlStatement, writeStatement } from "../db/statement.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { Signature } from "./access.ts";
import { namesOf, type PlayerState } from "./judge.ts";
import type { CallbackRequest } from "./request.ts";
import { signedForText } from "./signature-store.ts";
import { readsTombstones, type Tombstones } from "./wallet-draft.ts";

export interface LockedPlayer {
  readonly state: PlayerState;
  /** the number of this request, higher than the numbers of the player's earlier requests */
  readonly number: string;
  /** has the time of the reading (`CLOCK`) */
  readonly row: TextRow;
}

/**
 * The statements that lock and read what a request names, for one transaction in this order. They lock all wallets of
 * the player, in sorted order, because a request may name a bet with any currency.
 * @param signature null: the earlier callback of the signature is not read
 */
export function askForPlayer(
  request: CallbackRequest,
  settings: RuleSettings,
  signature: Signature | null,
): [SqlStatement, SqlStatement] {
  const lock = writeStatement(
    (put) =>
      `select currency, balance from wallets where username = ${put(request.username)} order by currency for update`,
  );
  return [
    lock,
    request.callback === "adjustBalance"
      ? askForRefs(request, signature)
      : askForBets(request, settings, signature),
  ];
}

/** @param answers the rows of each statement of `askForPlayer` */
export function playerOf({ currency }: CallbackRequest, answers: readonly TextRow[][]): LockedPlayer {
  const [wallets = [], rows = []] = answers;
  const wallet = wallets.find((row) => row["currency"] === currency);
  const [first] = rows;
  if (first === undefined) throw new Error("the statement that reads a player returned no row");
  const bets = rows.filter((row) => row["rowId"] != null);
  bets.sort((a, b) => Number(a["rowId"]) - Number(b["rowId"]));
  return {
    number: textOf(first, "number"),
    row: first,
    state: {
      balance: wallet === undefined ? null : amountOf(wallet, "balance"),
      earlier: earlierOf(first),
      bets: bets.map(betOf),
      tombstones: readTombstones(first),
      takenRefs: new Set(listOf(first, "takenRefs")),
      deleted: {
        before: first["deletedBefore"] == null ? null : Number(first["deletedBefore"]),
        txnIds: new Set(listOf(first, "deletedTxnIds")),
      },
    },
  };
}

function askForRefs(request: CallbackRequest, signature: Signature | null): SqlStatement {
  return writeStatement(
    (put) => `
      select ${REQUEST_COLUMNS}${signedFor(put, signature)}, array_to_json(array(select txn_id from callback_entries
        where product_id = ${put(request.productId)} and username = ${put(request.username)}
          and txn_id in (${putAll(put, namesOf(request).txnIds)}) and callback = 'adjustBalance')) as "takenRefs",
        ${deletedColumns(put, request)}
      from ${earlierRequest(put, request)}`,
  );
}

/** The statement returns a row for each bet that it finds, or one row where it finds none. */
function askForBets(
  request: CallbackRequest,
  settings: RuleSettings,
  signature: Signature | null,
): SqlStatement {
  const { txnIds, roundsActedOn } = namesOf(request);
  return writeStatement((put) => {
    const [product, player] = [put(request.productId), put(request.username)];
    const named = [`b.txn_id in (${putAll(put, txnIds)})`];
    if (roundsActedOn.length > 0) named.push(`b.round_id in (${putAll(put, roundsActedOn)})`);
    const tombstones = readsTombstones(request, settings) ? tombstonesColumn(put, request) : "";
    return `
      select ${REQUEST_COLUMNS}${signedFor(put, signature)}, ${answeredAt(put, request)} as "answeredAt"${tombstones},
        b.id as "rowId", b.txn_id as "txnId", b.currency, b.round_id as "roundId", b.status, b.stake,
        b.debited, b.was_debited as "wasDebited", b.settlement, b.reward, b.placed, b.waiting, b.tip,
        b.reward_only as "rewardOnly", b.end_round as "endRound", b.payout_returned as "payoutReturned",
        array_to_json(b.said) as said, ${deletedColumns(put, request)}
      from ${earlierRequest(put, request)}
      left join wallet_bets b on b.product_id = ${product} and b.username = ${player} and (${named.join(" or ")})`;
  });
}

/** The number is taken under the player's lock, so that later requests get higher numbers. */
const REQUEST_COLUMNS = `(select nextval('callback_bodies_id_seq')) as number, r.digest, r.balance_before as "balanceBefore",
        r.balance_after as "balanceAfter", ${CLOCK}`;

function signedFor(put: Put, signature: Signature | null): string {
  return signature === null ? "" : `, ${signedForText(put, signature)}`;
}

function earlierRequest(put: Put, { productId, callback, requestId }: CallbackRequest): string {
  return `(values (1)) as one left join callback_requests r on r.product_id = ${put(productId)}
        and r.callback = ${put(callback)} and r.request_id = ${put(requestId)}`;
}

/**
 * The time of the earlier request's first entry, in milliseconds. Searched only where there was an earlier request.
 */
function answeredAt(put: Put, { productId, username, items }: CallbackRequest): string {
  return `case when r.digest is not null then (
        select floor(extract(epoch from e.received_at) * 1000) from callback_entries e
        where e.product_id = ${put(productId)} and e.txn_id = ${put(items[0]?.txnId ?? "")}
          and e.username = ${put(username)} and e.callback = r.callback and e.request_id = r.request_id limit 1) end`;
}

/** A column with the tombstones as texts of kind and id: "bet 17", "round 4". */
function tombstonesColumn(put: Put, request: CallbackRequest): string {
  const { txnIds, rounds } = namesOf(request);
  const named = [`kind = 'bet' and ref in (${putAll(put, txnIds)})`];
  if (rounds.length > 0) named.push(`kind = 'round' and ref in (${putAll(put, rounds)})`);
  return `, array_to_json(array(select kind || ' ' || ref from wallet_tombstones
          where product_id = ${put(request.productId)} and username = ${put(request.username)}
            and (${named.join(" or ")}))) as tombstones`;
}

/** What retention has deleted: a time in milliseconds, and txn ids. Nothing is searched where nothing was deleted. */
function deletedColumns(put: Put, request: CallbackRequest): string {
  const upTo = `(select deleted_up_to from retention_states where walk = '${ENTRIES_WALK}')`;
  const ids = namesOf(request).txnIds.map((id) => `(${put(id)})`);
  const digest = digestText(`${put(request.productId)}::text`, `${put(request.username)}::text`, "n.id");
  return `floor(extract(epoch from ${upTo}) * 1000) as "deletedBefore",
        case when ${upTo} is not null then array_to_json(array(select n.id from (values ${ids.join(", ")}) as n (id)
          where exists (select from deleted_bets d where d.digest = ${digest}))) end as "deletedTxnIds"`;
}

function readTombstones(row: TextRow): Tombstones {
  const texts = listOf(row, "tombstones");
  const refsOf = (kind: string) => {
    const start = `${kind} `;
    return new Set(texts.filter((text) => text.startsWith(start)).map((text) => text.slice(start.length)));
  };
  return { bets: refsOf("bet"), rounds: refsOf("round") };
}

function earlierOf(row: TextRow): PlayerState["earlier"] {
  const { digest = null } = row;
  if (digest === null) return null;
  return {
    digest,
    answeredAt: row["answeredAt"] == null ? null : Number(row["answeredAt"]),
    balanceBefore: amountOf(row, "balanceBefore"),
    balanceAfter: amountOf(row, "balanceAfter"),
  };
}

function betOf(row: TextRow): BetState {
  return {
    txnId: textOf(row, "txnId"),
    currency: textOf(row, "currency"),
    roundId: row["roundId"] ?? null,
    status: textOf(row, "status") as LedgerStatus,
    stake: amountOf(row, "stake"),
    debited: amountOf(row, "debited"),
    wasDebited: flagOf(row, "wasDebited"),
    settlement: amountOf(row, "settlement"),
    reward: amountOf(row, "reward"),
    placed: flagOf(row, "placed"),
    waiting: flagOf(row, "waiting"),
    tip: flagOf(row, "tip"),
    rewardOnly: flagOf(row, "rewardOnly"),
    endRound: flagOf(row, "endRound"),
    payoutReturned: flagOf(row, "payoutReturned"),
    said: listOf(row, "said"),
  };
}

function textOf(row: TextRow, column: string): string {
  const text = row[column];
  if (text == null) throw new Error(`${column} is missing`);
  return text;
}

function amountOf(row: TextRow, column: string): Amount {
  return parseAmount(textOf(row, column), column);
}

function flagOf(row: TextRow, column: string): boolean {
  return textOf(row, column) === "t";
}

/** Reads a JSON array of texts; empty where the column was not selected. */
function listOf(row: TextRow, column: string): string[] {
  return JSON.parse(row[column] ?? "[]") as string[];
}
