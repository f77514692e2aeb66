/**
 * Writes the outcomes of judged requests as one statement (`writeInTime`) with a part for each table. It also writes the
 * marks and accounts of the entries, so the triggers need not: they took a sixth of a request's time. A role that may not switch the triggers off
 * leaves both to the triggers.
 */

import { realRound } from "../bet.ts";
import { formatInstant, type Instant } from "../clock.ts";
import { ACCOUNTED_COLUMNS, MAY_SWITCH, noteEntriesText } from "../db/row-counts.ts";
import { type Columns, columnsOf, type Put, putRows, type Row, type RowForm } from "../db/statement.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, formatAmount } from "../money.ts";
import type { Signature } from "./access.ts";
import type { AppliedCallback, CallbackOutcome, RefusedCallback } from "./judge.ts";
import type { LockedPlayer } from "./player-store.ts";
import type { CallbackRequest } from "./request.ts";

/** A judged request and its player. */
export interface JudgedCallback {
  readonly request: CallbackRequest;
  /** the body to store, without session tokens */
  readonly body: string;
  /** null: the server checks no signatures */
  readonly signature: Signature | null;
  readonly player: LockedPlayer;
  readonly receivedAt: Instant;
  readonly verdict: CallbackOutcome;
}

/** The parts of the statement for requests of different players. A table without changes has no part. */
export function writeOutcomes(put: Put, judged: readonly JudgedCallback[], form: RowForm): readonly string[] {
  const outcomes = [...judged.map(rowsOfOutcome), { marks: rowsOfMarks(judged) }];
  const rowsOf = (name: PartName) => outcomes.flatMap((one: OutcomeRows) => one[name] ?? []);
  return Object.entries<Part>(PARTS).flatMap(([name, { columns, write }]) => {
    const rows = rowsOf(name as PartName);
    return rows.length === 0 ? [] : [write(putRows(put, form, "r", columns, rows))];
  });
}

/** A part of the statement: the columns of its rows, and the SQL that writes them. */
interface Part {
  readonly columns: Columns;
  write(rows: string): string;
}

/** The columns of a bet that can change. */
const CHANGING = {
  round_id: "text",
  status: "text",
  stake: "numeric",
  debited: "numeric",
  was_debited: "boolean",
  settlement: "numeric",
  reward: "numeric",
  placed: "boolean",
  waiting: "boolean",
  reward_only: "boolean",
  end_round: "boolean",
  payout_returned: "boolean",
  said: "text",
} as const;
const BET = {
  product_id: "text",
  username: "text",
  txn_id: "text",
} as const;

const ENTRY = {
  callback: "text",
  request_id: "text",
  product_id: "text",
  username: "text",
  currency: "text",
  balance_before: "numeric",
  balance_after: "numeric",
  occurred_at: "timestamptz",
  received_at: "timestamptz",
  entry_id: "text",
  txn_id: "text",
  round_id: "text",
  status: "text",
  bet_amount: "numeric",
  payout_amount: "numeric",
  transaction_type: "text",
  skip_balance_update: "boolean",
  moved: "numeric",
  single_state: "boolean",
  end_round: "boolean",
} as const;
const ACCOUNTED = ACCOUNTED_COLUMNS.map((name) => [name, ENTRY[name]] as const);
const PLACES_OF_ACCOUNTED = ACCOUNTED_COLUMNS.map((name) => Object.keys(ENTRY).indexOf(name));

const CHANGES = Object.keys(CHANGING)
  .map((name) => `${name} = ${fromRow(name)}`)
  .join(", ");

const PARTS = {
  bodies: insertInto("callback_bodies", {
    id: "bigint",
    callback: "text",
    product_id: "text",
    request_id: "text",
    status_code: "integer",
    body: "text",
    received_at: "timestamptz",
  }),
  requests: insertInto("callback_requests", {
    product_id: "text",
    callback: "text",
    request_id: "text",
    digest: "text",
    balance_before: "numeric",
    balance_after: "numeric",
  }),
  balances: {
    columns: columnsOf({ username: "text", currency: "text", balance: "numeric" }),
    write: (rows) => `update wallets w set balance = r.balance from ${rows}
        where w.username = r.username and w.currency = r.currency`,
  },
  // In the order in which bets began, because row ids must have that order.
  newBets: insertInto("wallet_bets", { ...BET, currency: "text", tip: "boolean", ...CHANGING }),
  changedBets: {
    columns: columnsOf({ ...BET, ...CHANGING }),
    write: (rows) => `update wallet_bets b set ${CHANGES} from ${rows}
        where b.product_id = r.product_id and b.username = r.username and b.txn_id = r.txn_id`,
  },
  entries: insertInto("callback_entries", ENTRY),
  marks: {
    columns: columnsOf({
      product_id: "text",
      usernames: "text",
      round_ids: "text",
      bet_refs: "text",
      received_at: "timestamptz",
    }),
    // If this process's clock is ahead, the mark is due by the database's clock.
    write: (rows) => `insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
        select r.product_id, r.usernames::text[], r.round_ids::text[], r.bet_refs::text[], least(r.received_at, now())
        from ${rows} where ${MAY_SWITCH}`,
  },
  accounts: {
    columns: columnsOf(Object.fromEntries(ACCOUNTED)),
    write: (rows) => noteEntriesText("added", `${rows} where ${MAY_SWITCH}`),
  },
  tombstones: insertInto(
    "wallet_tombstones",
    {
      product_id: "text",
      username: "text",
      at: "timestamptz",
      kind: "text",
      ref: "text",
    },
    "on conflict do nothing",
  ),
  signatures: insertInto(
    "callback_signatures",
    {
      signed_at: "timestamptz",
      signature: "text",
      callback: "text",
    },
    "on conflict do nothing",
  ),
} satisfies Record<string, Part>;

type PartName = keyof typeof PARTS;
type OutcomeRows = Partial<Record<PartName, Row[]>>;

function insertInto(table: string, columns: Readonly<Record<string, string>>, onConflict = ""): Part {
  const given = columnsOf(columns);
  const values = Object.keys(columns).map(fromRow).join(", ");
  const start = `insert into ${table} (${given.names}) overriding system value select ${values} from`;
  return { columns: given, write: (rows) => `${start} ${rows} ${onConflict}` };
}

/** An array column is text in the rows. */
function fromRow(column: string): string {
  return column === "said" ? "r.said::text[]" : `r.${column}`;
}

function rowsOfOutcome(judged: JudgedCallback): OutcomeRows {
  const { request, signature, verdict } = judged;
  const signatures =
    signature === null ? [] : [[formatInstant(signature.signedAt), signature.text, request.callback]];
  const at = formatInstant(judged.receivedAt);
  const common = { bodies: [rowOfBody(judged, at)], signatures };
  if (verdict.statusCode !== 0) return { ...common, tombstones: rowsOfTombstones(request, verdict, at) };
  const { changes } = verdict;
  return changes === null ? common : { ...common, ...rowsOfSuccess(judged, verdict, changes, at) };
}

/** @param at when the request was received */
function rowOfBody({ request, body, player, verdict }: JudgedCallback, at: string): Row {
  const { callback, productId, requestId } = request;
  const statusCode = String(verdict.statusCode);
  return [player.number, callback, productId, requestId, statusCode, body, at];
}

function rowsOfTombstones(
  request: CallbackRequest,
  { tombstones: { bets, rounds } }: RefusedCallback,
  at: string,
): Row[] {
  const named = [...[...bets].map((ref) => ["bet", ref]), ...[...rounds].map((ref) => ["round", ref])];
  return named.map((one) => [request.productId, request.username, at, ...one]);
}

function rowsOfSuccess(
  judged: JudgedCallback,
  { balanceBefore, balanceAfter }: AppliedCallback,
  { bets, moved }: NonNullable<AppliedCallback["changes"]>,
  at: string,
): OutcomeRows {
  const { request, player } = judged;
  const { productId, username, currency, callback, requestId, digest } = request;
  const [before, after] = [formatAmount(balanceBefore), formatAmount(balanceAfter)];
  const known = new Set(player.state.bets.map(({ txnId }) => txnId));
  const keyOf = ({ txnId }: BetState) => [productId, username, txnId];
  const entries = rowsOfEntries(judged, [before, after, formatInstant(request.occurredAt), at], moved);
  return {
    requests: [[productId, callback, requestId, digest, before, after]],
    balances: balanceAfter.eq(balanceBefore) ? [] : [[username, currency, after]],
    newBets: bets
      .filter(({ txnId }) => !known.has(txnId))
      .map((bet) => [...keyOf(bet), currency, bet.tip, ...changingValuesOf(bet)]),
    changedBets: bets
      .filter(({ txnId }) => known.has(txnId))
      .map((bet) => [...keyOf(bet), ...changingValuesOf(bet)]),
    entries,
    accounts: entries.map((entry) => PLACES_OF_ACCOUNTED.map((place) => entry[place] ?? null)),
  };
}

/** A row for each product, with an element for each entry, like the triggers write for other programs. */
function rowsOfMarks(judged: readonly JudgedCallback[]): Row[] {
  const applied = judged.filter(({ verdict }) => verdict.statusCode === 0 && verdict.changes !== null);
  return [...Map.groupBy(applied, ({ request }) => request.productId)].map(([productId, ofProduct]) => {
    const items = ofProduct.flatMap(({ request }) =>
      request.items.map((item) => ({ ...item, username: request.username })),
    );
    return [
      productId,
      items.map(({ username }) => username),
      items.map(({ roundId }) => realRound(roundId)),
      items.map(({ txnId }) => txnId),
      formatInstant(Math.min(...ofProduct.map(({ receivedAt }) => receivedAt))),
    ];
  });
}

/** The values of `CHANGING`, in order. */
function changingValuesOf(bet: BetState): Row {
  return [
    bet.roundId,
    bet.status,
    formatAmount(bet.stake),
    formatAmount(bet.debited),
    bet.wasDebited,
    formatAmount(bet.settlement),
    formatAmount(bet.reward),
    bet.placed,
    bet.waiting,
    bet.rewardOnly,
    bet.endRound,
    bet.payoutReturned,
    bet.said,
  ];
}

function rowsOfEntries(
  { request, player }: JudgedCallback,
  balancesAndTimes: Row,
  moved: readonly Amount[],
): Row[] {
  const { callback, requestId, productId, username, currency, items } = request;
  const textOf = (amount: Amount | null | undefined) => (amount ? formatAmount(amount) : null);
  const common = [callback, requestId, productId, username, currency, ...balancesAndTimes];
  return items.map((item, position) => [
    ...common,
    `c${player.number.padStart(16, "0")}-${String(position).padStart(4, "0")}`,
    item.txnId,
    item.roundId,
    item.status,
    textOf(item.betAmount),
    textOf(item.payoutAmount),
    item.transactionType,
    item.skipBalanceUpdate,
    textOf(moved[position]),
    item.singleState,
    item.endRound,
  ]);
}
