/** Writes the outcome of a judged request, as parts of one statement (`writeInTime`). */

import { formatInstant, type Instant } from "../clock.ts";
import { type Put, putAll } from "../db/statement.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, formatAmount } from "../money.ts";
import type { AppliedCallback, CallbackOutcome, RefusedCallback } from "./judge.ts";
import type { LockedPlayer } from "./player-store.ts";
import type { CallbackRequest } from "./request.ts";
import type { StatusCode } from "./status-code.ts";
import type { Tombstones } from "./wallet-draft.ts";

/** A judged request and its player. */
export interface JudgedCallback {
  readonly request: CallbackRequest;
  /** the body to store, without session tokens */
  readonly body: string;
  readonly player: LockedPlayer;
  readonly receivedAt: Instant;
}

export function writeOutcome(put: Put, judged: JudgedCallback, verdict: CallbackOutcome): string[] {
  if (verdict.statusCode !== 0) return failureParts(put, judged, verdict);
  const { changes } = verdict;
  return changes === null ? [keepBody(put, judged, 0)] : successParts(put, judged, verdict, changes);
}

/** The parts for a refused request: its body, and its tombstones. */
function failureParts(
  put: Put,
  judged: JudgedCallback,
  { statusCode, tombstones }: RefusedCallback,
): string[] {
  const kept = keepBody(put, judged, statusCode);
  return tombstones.bets.size === 0 ? [kept] : [kept, leaveTombstones(put, judged, tombstones)];
}

/**
 * The parts for a success: the wallet, the bets, the request with its body, and the ledger entries. Parts without a
 * change are left out.
 */
function successParts(
  put: Put,
  { request, body, player, receivedAt }: JudgedCallback,
  { balanceBefore, balanceAfter }: AppliedCallback,
  { bets, moved }: NonNullable<AppliedCallback["changes"]>,
): string[] {
  const common: Common = {
    callback: put(request.callback),
    requestId: put(request.requestId),
    product: put(request.productId),
    player: put(request.username),
    currency: put(request.currency),
    before: put(formatAmount(balanceBefore)),
    after: put(formatAmount(balanceAfter)),
    receivedAt: put(formatInstant(receivedAt)),
  };
  const known = new Set(player.state.bets.map(({ txnId }) => txnId));
  return [
    `${KEEP_BODY} (${put(player.number)}, ${common.callback}, ${common.product}, ${common.requestId}, 0, ${put(body)},
        ${common.receivedAt})`,
    `insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
      values (${common.product}, ${common.callback}, ${common.requestId}, ${put(request.digest)}, ${common.before},
        ${common.after})`,
    ...(balanceAfter.eq(balanceBefore) ? [] : [walletText(common)]),
    ...newBetsText(
      put,
      common,
      bets.filter(({ txnId }) => !known.has(txnId)),
    ),
    ...changedBetsText(
      put,
      common,
      bets.filter(({ txnId }) => known.has(txnId)),
    ),
    entriesText(put, common, request, { number: player.number, moved }),
  ];
}

/** Parameters that several parts of a statement share. */
interface Common {
  readonly callback: string;
  readonly requestId: string;
  readonly product: string;
  readonly player: string;
  readonly currency: string;
  readonly before: string;
  readonly after: string;
  readonly receivedAt: string;
}

function walletText({ after, player, currency }: Common): string {
  return `update wallets set balance = ${after} where username = ${player} and currency = ${currency}`;
}

/** Inserts new bets in the order in which they began, so that their row ids have that order. */
function newBetsText(put: Put, { product, player, currency }: Common, bets: readonly BetState[]): string[] {
  if (bets.length === 0) return [];
  const rows = bets.map((bet) => {
    return `(${product}, ${player}, ${currency}, ${putAll(put, [bet.txnId, bet.tip, ...changingValuesOf(bet)])})`;
  });
  return [
    `insert into wallet_bets (product_id, username, currency, txn_id, tip, ${CHANGING.map(([name]) => name).join(", ")})
      values ${rows.join(", ")}`,
  ];
}

function changedBetsText(put: Put, { product, player }: Common, bets: readonly BetState[]): string[] {
  if (bets.length === 0) return [];
  const rows = bets.map((bet) => {
    const values = changingValuesOf(bet).map((value, index) => `${put(value)}::${CHANGING[index]?.[1]}`);
    return `(${put(bet.txnId)}, ${values.join(", ")})`;
  });
  const names = CHANGING.map(([name]) => name);
  return [
    `update wallet_bets b set ${names.map((name) => `${name} = t.${name}`).join(", ")}
      from (values ${rows.join(", ")}) as t (txn_id, ${names.join(", ")})
      where b.product_id = ${product} and b.username = ${player} and b.txn_id = t.txn_id`,
  ];
}

/** The columns of a bet that can change, with their types. */
const CHANGING = [
  ["round_id", "text"],
  ["status", "text"],
  ["stake", "numeric"],
  ["debited", "numeric"],
  ["was_debited", "boolean"],
  ["settlement", "numeric"],
  ["reward", "numeric"],
  ["placed", "boolean"],
  ["waiting", "boolean"],
  ["reward_only", "boolean"],
  ["end_round", "boolean"],
  ["payout_returned", "boolean"],
  ["said", "text[]"],
] as const;

/** The values of `CHANGING`, in order. */
function changingValuesOf(bet: BetState) {
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

function entriesText(
  put: Put,
  { callback, requestId, product, player, currency, before, after, receivedAt }: Common,
  request: CallbackRequest,
  { number, moved }: { readonly number: string; readonly moved: readonly Amount[] },
): string {
  const textOf = (amount: Amount | null | undefined) => (amount ? formatAmount(amount) : null);
  const occurredAt = put(formatInstant(request.occurredAt));
  const rows = request.items.map((item, position) => {
    const entryId = `c${number.padStart(16, "0")}-${String(position).padStart(4, "0")}`;
    const own = [
      entryId,
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
    ];
    return `(${callback}, ${requestId}, ${product}, ${player}, ${currency}, ${before}, ${after}, ${occurredAt}, ${receivedAt},
      ${putAll(put, own)})`;
  });
  return `insert into callback_entries (callback, request_id, product_id, username, currency, balance_before, balance_after,
      occurred_at, received_at, entry_id, txn_id, round_id, status, bet_amount, payout_amount, transaction_type,
      skip_balance_update, moved, single_state, end_round)
    values ${rows.join(", ")}`;
}

function leaveTombstones(
  put: Put,
  { request, receivedAt }: JudgedCallback,
  { bets, rounds }: Tombstones,
): string {
  const found = [...[...bets].map((ref) => ["bet", ref]), ...[...rounds].map((ref) => ["round", ref])];
  const [product, player, at] = [request.productId, request.username, formatInstant(receivedAt)].map(put);
  const rows = found.map((named) => `(${product}, ${player}, ${at}, ${putAll(put, named)})`);
  return `insert into wallet_tombstones (product_id, username, at, kind, ref) values ${rows.join(", ")}
      on conflict do nothing`;
}

/** Stores the body alone, for a request that changes nothing. */
function keepBody(
  put: Put,
  { request, body, player, receivedAt }: JudgedCallback,
  statusCode: StatusCode,
): string {
  const { callback, productId, requestId } = request;
  const row = [
    player.number,
    callback,
    productId,
    requestId,
    String(statusCode),
    body,
    formatInstant(receivedAt),
  ];
  return `${KEEP_BODY} (${putAll(put, row)})`;
}

const KEEP_BODY = `insert into callback_bodies (id, callback, product_id, request_id, status_code, body, received_at)
      overriding system value values`;
