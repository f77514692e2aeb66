/** A program of the operator that writes ledger rows over its own connections, in every way that SQL has. */

import { finished } from "node:stream/promises";
import postgres from "postgres";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Instant } from "../../src/clock.ts";
import { type Amount, formatAmount } from "../../src/money.ts";
import type { Random } from "../../src/sandbox/world/random.ts";

export const COLUMNS = [
  "entry_id",
  "callback",
  "request_id",
  "product_id",
  "username",
  "currency",
  "txn_id",
  "round_id",
  "status",
  "bet_amount",
  "payout_amount",
  "transaction_type",
  "skip_balance_update",
  "moved",
  "balance_before",
  "balance_after",
  "occurred_at",
  "received_at",
  "single_state",
  "end_round",
] as const;
type Row = Readonly<Record<(typeof COLUMNS)[number], string | boolean | null>>;

/** What the program does with some of its rows. */
export interface Manners {
  /** a part of the rows that occurred since this time waits in a transaction that commits with the next writing */
  readonly mayWaitSince: Instant;
  /** and a part of those is wrong until the next writing corrects them in place */
  readonly isCorrected: boolean;
}

const ONE_IN_LATE = 6;
const ONE_IN_WRONG = 8;
const MOST_ROWS_TOGETHER = 40;

export class OperatorLedger {
  readonly #sql: postgres.Sql;
  readonly #table: string;
  readonly #random: Random;
  #commitLate: (() => Promise<void>)[] = [];
  #corrections: Row[] = [];

  /** @param table to write to */
  constructor(databaseUrl: string, table: string, random: Random) {
    this.#sql = postgres(databaseUrl, { max: 6, onnotice: () => {} });
    this.#table = table;
    this.#random = random;
  }

  /** Makes the table as an operator does who does not know this program. */
  async create(): Promise<void> {
    await this.#sql.unsafe(`
      create table ${this.#table} (
        entry_id text primary key, callback text not null, request_id text not null, product_id text not null,
        username text not null, currency text not null, txn_id text not null, round_id text, status text not null,
        bet_amount numeric, payout_amount numeric, transaction_type text, skip_balance_update boolean not null,
        moved numeric, balance_before numeric, balance_after numeric, occurred_at timestamptz not null,
        received_at timestamptz not null, single_state boolean, end_round boolean);
      create index on ${this.#table} (received_at, entry_id)`);
  }

  /** Ends what the writing before left: commits its transactions, and corrects its wrong rows. */
  async catchUp(): Promise<void> {
    const [late, corrections] = [this.#commitLate, this.#corrections];
    [this.#commitLate, this.#corrections] = [[], []];
    for (const commit of late) await commit();
    for (const { entry_id, round_id, bet_amount, payout_amount, moved } of corrections) {
      await this.#sql.unsafe(
        `update ${this.#table} set round_id = $2, bet_amount = $3::numeric, payout_amount = $4::numeric,
          moved = $5::numeric where entry_id = $1`,
        [entry_id, round_id, bet_amount, payout_amount, moved],
      );
    }
  }

  /** Writes the rows in parts, each in another way, and out of order. */
  async write(entries: readonly CallbackEntry[], { mayWaitSince, isCorrected }: Manners): Promise<void> {
    const latecomers: Row[] = [];
    const rows: Row[] = [];
    for (const entry of entries) {
      const mayWait = entry.occurredAt > mayWaitSince;
      const isWrong = mayWait && isCorrected && entry.balanceBefore === null;
      const row = isWrong && this.#random.oneIn(ONE_IN_WRONG) ? this.#spoil(rowOf(entry)) : rowOf(entry);
      if (mayWait && this.#random.oneIn(ONE_IN_LATE)) latecomers.push(row);
      else rows.push(row);
    }
    if (latecomers.length > 0) this.#commitLate.push(await this.#begin(latecomers));
    const pieces: Row[][] = [];
    let piece: Row[] = [];
    for (const row of rows) {
      piece.push(row);
      if (piece.length < this.#random.between(1, MOST_ROWS_TOGETHER)) continue;
      pieces.push(piece);
      piece = [];
    }
    for (const rest of [...pieces, piece]) await this.#writePiece(rest);
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 5 });
  }

  async #writePiece(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const half = Math.ceil(rows.length / 2);
    switch (this.#random.below(4)) {
      case 0:
        for (const row of rows) await insert(this.#sql, this.#table, [row]);
        return;
      case 1:
        return await insert(this.#sql, this.#table, rows);
      case 2:
        return await this.#copy(rows);
      default:
        // Two programs at the same time.
        await Promise.all(
          [rows.slice(0, half), rows.slice(half)].map((part) =>
            this.#sql.begin(async (tx) => {
              for (const row of part) await insert(tx, this.#table, [row]);
            }),
          ),
        );
    }
  }

  async #copy(rows: readonly Row[]): Promise<void> {
    const stream = await this.#sql
      .unsafe(`copy ${this.#table} (${COLUMNS.join(", ")}) from stdin`)
      .writable();
    const written = finished(stream);
    stream.end(rows.map((row) => `${COLUMNS.map((column) => copied(row[column])).join("\t")}\n`).join(""));
    await written;
  }

  /** @returns a function that commits the transaction with the rows */
  async #begin(rows: readonly Row[]): Promise<() => Promise<void>> {
    const own = await this.#sql.reserve();
    await own`begin`;
    await insert(own, this.#table, rows);
    return async () => {
      await own`commit`;
      own.release();
    };
  }

  /** Sets another amount or round, which is corrected later. */
  #spoil(row: Row): Row {
    this.#corrections.push(row);
    if (row.round_id !== null && this.#random.oneIn(3)) return { ...row, round_id: `not-${row.round_id}` };
    if (row.payout_amount !== null) return { ...row, payout_amount: "7.77", moved: "7.77" };
    return { ...row, bet_amount: "7.77", moved: "-7.77" };
  }
}

async function insert(
  sql: postgres.Sql | postgres.TransactionSql | postgres.ReservedSql,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const places = rows.map((_, row) =>
    COLUMNS.map((_column, column) => `$${row * COLUMNS.length + column + 1}`).join(", "),
  );
  await sql.unsafe(
    `insert into ${table} (${COLUMNS.join(", ")}) values (${places.join("), (")})`,
    rows.flatMap((row) => COLUMNS.map((column) => row[column])),
  );
}

/** A row of the ledger as another program writes it. */
export function rowOf(entry: CallbackEntry): Row {
  return {
    entry_id: entry.entryId,
    callback: entry.callback,
    request_id: entry.requestId,
    product_id: entry.productId,
    username: entry.username,
    currency: entry.currency,
    txn_id: entry.txnId,
    round_id: entry.roundId,
    status: entry.status,
    bet_amount: amountText(entry.betAmount),
    payout_amount: amountText(entry.payoutAmount),
    transaction_type: entry.transactionType,
    skip_balance_update: entry.skipBalanceUpdate,
    moved: amountText(entry.moved),
    balance_before: amountText(entry.balanceBefore),
    balance_after: amountText(entry.balanceAfter),
    occurred_at: new Date(entry.occurredAt).toISOString(),
    received_at: new Date(entry.receivedAt).toISOString(),
    single_state: entry.singleState,
    end_round: entry.endRound,
  };
}

function amountText(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}

/** A value in the text format of `copy`. */
function copied(value: string | boolean | null): string {
  if (value === null) return "\\N";
  return String(value)
    .replaceAll("\\", "\\\\")
    .replaceAll("\t", "\\t")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r");
}
