/** Judges each deletion: only rows of closed days, and never a row that may still be needed. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import type { PlantedFault } from "../../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../../src/window.ts";
import { type ChangingBet, stateAt } from "./changing-bet.ts";
import type { DeletedRow } from "./simulated-time.ts";

/** What is true right before a deletion. */
export interface BeforeDeletion {
  /** from the first closed day to the end of the last one; null: no day is closed */
  readonly closed: TimeRange | null;
  /** names of bets and rounds with a mismatch, by product and player */
  readonly named: ReadonlySet<string>;
  /** ids of bets that run, by product and player */
  readonly open: ReadonlySet<string>;
}

/** Faults that leave a bet open on the ledger for ever. */
const LEAVE_OPEN: ReadonlySet<string> = new Set(["missing-settlement", "stuck-open"]);

export async function seeBeforeDeletion(
  sql: Sql,
  now: Instant,
  changing: readonly ChangingBet[],
  planted: readonly PlantedFault[],
): Promise<BeforeDeletion> {
  const [closed] = await sql<TimeRange[]>`
    select min(from_at) as "from", max(to_at) as "to" from closed_days having count(*) > 0`;
  const named = await sql<{ name: string }[]>`
    select product_id || ' ' || username || ' ' || name as name
    from mismatches cross join lateral (values (bet_id), (transaction_id), (round_id), (provider ->> 'id')) as n (name)
    where name is not null and status in ('open', 'acknowledged')`;
  const open = changing.filter((bet) => stateAt(bet, now)?.isOpen === true);
  return {
    closed: closed ?? null,
    named: new Set(named.map(({ name }) => name)),
    open: new Set([
      ...open.flatMap(({ productId, username, ids }) => ids.map((id) => `${productId} ${username} ${id}`)),
      ...planted
        .filter(({ kind }) => LEAVE_OPEN.has(kind))
        .map(({ productId, username, transactionId }) => `${productId} ${username} ${transactionId}`),
    ]),
  };
}

/** The columns that say when a row began and ended, by table. */
const TIMES: Readonly<Record<DeletedRow["table"], readonly string[]>> = {
  bet_records: ["accounting_date"],
  callback_entries: ["occurred_at", "received_at"],
  mismatches: ["occurred_at"],
  windows: ["from_at", "to_at"],
  closed_bets: [],
};
const NAMES = ["bet_id", "id", "txn_id", "round_id"] as const;

/** @returns one line for each row that had to stay */
export function judgeDeletions(rows: readonly DeletedRow[], before: BeforeDeletion): string[] {
  return rows.flatMap(({ table, row }) => {
    const about = `deleted from ${table}: ${JSON.stringify(row)}`;
    const times = TIMES[table].map((column) => Date.parse(String(row[column])));
    if (!times.every((at) => at < (before.closed?.to ?? Number.NEGATIVE_INFINITY)))
      return [`a row of an open day was ${about}`];
    if (!times.every((at) => at >= (before.closed?.from ?? 0)))
      return [`a row of before the first closed day was ${about}`];
    if (table === "mismatches") {
      const isDecided = row["status"] === "resolved" || row["status"] === "ignored";
      return isDecided ? [] : [`an unresolved mismatch was ${about}`];
    }
    if (table !== "bet_records" && table !== "callback_entries") return [];
    const names = NAMES.map((column) => `${row["product_id"]} ${row["username"]} ${row[column]}`);
    if (names.some((name) => before.named.has(name))) return [`evidence of a mismatch was ${about}`];
    return names.some((name) => before.open.has(name)) ? [`a part of an open bet was ${about}`] : [];
  });
}
