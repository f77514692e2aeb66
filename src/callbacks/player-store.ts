/**
 * Reads the state of players under the locks of all their wallets (decision 27). The locks and the reading are separate
 * statements, sent together: a single statement that waits for a lock does not see what the request before it wrote.
 *
 * A single request lists ids one by one and rows as VALUES; a batch sends an array for each column. For few rows PostgreSQL
 * spends more on reading arrays than it saves: it assumes ten elements for each, finds its kept plan too expensive, and plans
 * again each time, unless a session setting keeps the plan. Statements of more than 200 values are not kept.
 */

import { type LedgerStatus, realRound } from "../bet.ts";
import { formatInstant } from "../clock.ts";
import { CLOCK } from "../db/deadline.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import { digestText, ENTRIES_WALK } from "../db/retention-store.ts";
import { SWITCH_TRIGGERS_OFF } from "../db/row-counts.ts";
import {
  columnsOf,
  putAnyOf,
  putRows,
  type Row,
  type RowForm,
  type SqlStatement,
  writeStatement,
} from "../db/statement.ts";
import type { RuleSettings } from "../ledger/bet-entry.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { Signature } from "./access.ts";
import { namesOf, type PlayerState, readsTombstones } from "./judge.ts";
import type { CallbackRequest } from "./request.ts";

/** A request, with what decides which rows it needs. */
export interface Question {
  readonly request: CallbackRequest;
  readonly settings: RuleSettings;
  /** null: do not read the earlier callback of the signature */
  readonly signature: Signature | null;
}

/** Whether to wait for locked wallets, or to leave out their players. */
export type LockedWallets = "wait" | "leave-out";

interface AskedPlayers {
  /** for one transaction, in this order */
  readonly statements: readonly SqlStatement[];
  /**
   * The players of the questions, in order; null: the player was left out.
   * @param answers the rows of each statement
   */
  read(answers: readonly TextRow[][]): (LockedPlayer | null)[];
}

/**
 * The statements that lock the players' wallets, and read the rows that their requests name. They lock all wallets of a
 * player, because a request may name a bet in any currency, and lock in sorted order.
 */
export function askForPlayers(
  questions: readonly Question[],
  locked: LockedWallets,
  form: RowForm,
): AskedPlayers {
  const players = questions.map(({ request }) => request.username);
  const lock = writeStatement(
    (put) => `
      select username, currency, balance from wallets where username ${putAnyOf(put, form, players)}
      order by username, currency for update ${locked === "wait" ? "" : "skip locked"}`,
  );
  const rounds = rowsOfRounds(questions);
  const refs = rowsOfRefs(questions);
  const statements = [
    lock,
    askForRequests(questions, form),
    ...(rounds.length === 0 ? [] : [askForRounds(rounds, form)]),
    ...(refs.length === 0 ? [] : [askForRefs(refs, form)]),
  ];
  const read = ([wallets = [], found = [], ...others]: readonly TextRow[][]) => {
    const inRounds = rounds.length === 0 ? [] : (others.shift() ?? []);
    const taken = refs.length === 0 ? [] : (others.shift() ?? []);
    return questions.map(({ request }, place) => {
      const isOwn = (row: TextRow) => row["place"] === String(place);
      const own = found.filter(isOwn);
      const first = own.find(({ number }) => number !== null);
      if (first === undefined)
        throw new Error("internal error: the statement that reads players left one out");
      const held = wallets.filter(({ username }) => username === request.username);
      if (locked === "leave-out" && held.length !== Number(textOf(first, "wallets"))) return null;
      const wallet = held.find(({ currency }) => currency === request.currency);
      return playerOf({ wallet, first, own, inRounds: inRounds.filter(isOwn), taken: taken.filter(isOwn) });
    });
  };
  return { statements, read };
}

const NAMED = { place: "integer", product_id: "text", username: "text" } as const;
/** Only the first item of a request has its callback and request id. */
const REQUEST = { ...NAMED, txn_id: "text", callback: "text", request_id: "text" } as const;
const TOMBSTONES = { bet_ref: "text", round_ref: "text" } as const;
const SIGNATURE = { signed_at: "timestamptz", signature: "text" } as const;
const ITEMS = columnsOf(REQUEST);
const BEGINNING_ITEMS = columnsOf({ ...REQUEST, ...TOMBSTONES });
const SIGNED_ITEMS = columnsOf({ ...REQUEST, ...TOMBSTONES, ...SIGNATURE });

/** The statement returns a row for each item, at least one for each request. */
function askForRequests(questions: readonly Question[], form: RowForm): SqlStatement {
  const areSigned = questions.some(({ signature }) => signature !== null);
  const canBegin = questions.some(({ request, settings }) => readsTombstones(request, settings));
  const columns = areSigned ? SIGNED_ITEMS : canBegin ? BEGINNING_ITEMS : ITEMS;
  const rows = questions.flatMap((question, place) => rowsOfItems(question, String(place)));
  return writeStatement(
    (put) => `
      select r.place, q.digest, q.balance_before as "balanceBefore", q.balance_after as "balanceAfter", ${CLOCK},
        ${SWITCH_TRIGGERS_OFF},
        case when r.callback is not null then nextval('callback_bodies_id_seq') end as number,
        case when r.callback is not null then (select count(*) from wallets w where w.username = r.username) end as wallets,
        case when q.digest is not null then (${ANSWERED_AT}) end as "answeredAt",
        ${canBegin ? `${tombstoneOf("bet")} as "betTombstone", ${tombstoneOf("round")} as "roundTombstone",` : ""}
        ${areSigned ? 's.callback as "signedFor",' : ""}
        floor(extract(epoch from k.deleted_up_to) * 1000) as "deletedBefore",
        case when ${wasDeleted("txn_id")} then r.txn_id end as "deletedTxnId", ${BET_COLUMNS}
      from ${putRows(put, form, "r", columns, rows)}
      ${RETENTION}
      left join callback_requests q on q.product_id = r.product_id and q.callback = r.callback
        and q.request_id = r.request_id
      left join wallet_bets b on b.product_id = r.product_id and b.username = r.username and b.txn_id = r.txn_id
      ${areSigned ? "left join callback_signatures s on s.signed_at = r.signed_at and s.signature = r.signature" : ""}`,
  );
}

/** A row of `SIGNED_ITEMS` for each item. An adjustBalance names no bets, so it has one row. */
function rowsOfItems({ request, settings, signature }: Question, place: string): Row[] {
  const { productId, username, callback, requestId, items } = request;
  const hasBets = callback !== "adjustBalance";
  const canBegin = readsTombstones(request, settings);
  return items.slice(0, hasBets ? items.length : 1).map(({ txnId, roundId }, index) => {
    const isFirst = index === 0;
    const signed = isFirst ? signature : null;
    return [
      place,
      productId,
      username,
      hasBets ? txnId : null,
      isFirst ? callback : null,
      isFirst ? requestId : null,
      canBegin ? txnId : null,
      canBegin ? realRound(roundId) : null,
      signed === null ? null : formatInstant(signed.signedAt),
      signed === null ? null : signed.text,
    ];
  });
}

/** `deleted_up_to`: retention has deleted entries before this time; null: it has deleted none. */
const RETENTION = `left join retention_states k on k.walk = '${ENTRIES_WALK}'`;

/** Whether retention has deleted a bet, or the adjustBalance of a refId. Searches only once retention has deleted entries. */
function wasDeleted(column: "txn_id" | "ref"): string {
  const digest = digestText("r.product_id", "r.username", `r.${column}`);
  return `k.deleted_up_to is not null and exists (select from deleted_bets d where d.digest = ${digest})`;
}

/** The time of the earlier request's first entry, in milliseconds. */
const ANSWERED_AT = `select floor(extract(epoch from e.received_at) * 1000) from callback_entries e
          where e.product_id = r.product_id and e.txn_id = r.txn_id and e.username = r.username
            and e.callback = q.callback and e.request_id = q.request_id limit 1`;

const BET_COLUMNS = `b.id as "rowId", b.txn_id as "txnId", b.currency, b.round_id as "roundId", b.status, b.stake,
        b.debited, b.was_debited as "wasDebited", b.settlement, b.reward, b.placed, b.waiting, b.tip,
        b.reward_only as "rewardOnly", b.end_round as "endRound", b.payout_returned as "payoutReturned",
        array_to_json(b.said) as said`;

function tombstoneOf(kind: "bet" | "round"): string {
  return `(select t.ref from wallet_tombstones t where t.product_id = r.product_id and t.username = r.username
          and t.kind = '${kind}' and t.ref = r.${kind}_ref)`;
}

const ROUND = columnsOf({ ...NAMED, round_id: "text" });

/** The rounds that requests act on as a whole. */
function rowsOfRounds(questions: readonly Question[]): Row[] {
  return questions.flatMap(({ request }, place) =>
    namesOf(request).roundsActedOn.map((round) => [
      String(place),
      request.productId,
      request.username,
      round,
    ]),
  );
}

function askForRounds(rounds: readonly Row[], form: RowForm): SqlStatement {
  return writeStatement(
    (put) => `
      select r.place, ${BET_COLUMNS} from ${putRows(put, form, "r", ROUND, rounds)}
      join wallet_bets b on b.product_id = r.product_id and b.username = r.username and b.round_id = r.round_id`,
  );
}

const REF = columnsOf({ ...NAMED, ref: "text" });

/** The refIds of requests that adjust a balance. */
function rowsOfRefs(questions: readonly Question[]): Row[] {
  return questions.flatMap(({ request }, place) =>
    request.callback === "adjustBalance"
      ? namesOf(request).txnIds.map((ref) => [String(place), request.productId, request.username, ref])
      : [],
  );
}

function askForRefs(refs: readonly Row[], form: RowForm): SqlStatement {
  return writeStatement(
    (put) => `
      select r.place, r.ref from ${putRows(put, form, "r", REF, refs)}
      ${RETENTION}
      where exists (select from callback_entries e where e.product_id = r.product_id and e.username = r.username
        and e.txn_id = r.ref and e.callback = 'adjustBalance') or ${wasDeleted("ref")}`,
  );
}

export interface LockedPlayer {
  readonly state: PlayerState;
  /** the number of this request, higher than the numbers of the player's earlier requests */
  readonly number: string;
  /** the callback to which the signature was sent before; null: none, or not asked */
  readonly signedFor: string | null;
  /** has the time of the reading (`CLOCK`) */
  readonly row: TextRow;
}

/** The rows that were found for one request. */
interface FoundRows {
  /** of the request's currency */
  readonly wallet: TextRow | undefined;
  /** of the request itself */
  readonly first: TextRow;
  /** of its items */
  readonly own: readonly TextRow[];
  readonly inRounds: readonly TextRow[];
  readonly taken: readonly TextRow[];
}

function playerOf({ wallet, first, own, inRounds, taken }: FoundRows): LockedPlayer {
  const bets = new Map<number, TextRow>();
  for (const row of [...own, ...inRounds]) if (row["rowId"] != null) bets.set(Number(row["rowId"]), row);
  const refsIn = (column: string) => new Set(own.flatMap((row) => row[column] ?? []));
  return {
    number: textOf(first, "number"),
    signedFor: first["signedFor"] ?? null,
    row: first,
    state: {
      balance: wallet === undefined ? null : amountOf(wallet, "balance"),
      earlier: earlierOf(first),
      bets: [...bets].sort(([a], [b]) => a - b).map(([, row]) => betOf(row)),
      tombstones: { bets: refsIn("betTombstone"), rounds: refsIn("roundTombstone") },
      usedRefs: new Set(taken.map((row) => textOf(row, "ref"))),
      deleted: {
        before: first["deletedBefore"] == null ? null : Number(first["deletedBefore"]),
        txnIds: refsIn("deletedTxnId"),
      },
    },
  };
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
    said: JSON.parse(textOf(row, "said")) as string[],
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
