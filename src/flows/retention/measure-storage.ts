/** Measures the space that the database takes, and what waits for its deletion. */

import { formatInstant } from "../../clock.ts";
import { readClosedTime } from "../../closing/closed-day-store.ts";
import type { Query } from "../../db/client.ts";
import { ENTRIES_WALK, readWalks, recordsWalk } from "../../db/retention-store.ts";
import { COUNTED_TABLES, type KeepLimits, keepRowCounts } from "../../db/row-counts.ts";
import { countById, countDated, writeStorage } from "../../db/storage-store.ts";
import { inSnapshot } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import type { RetainedFrom } from "./drop-by-age.ts";
import { retainedFrom } from "./drop-closed.ts";
import { mayExpire } from "./drop-expired.ts";

const DAY_MS = 86_400_000;
/** Counting a smaller table takes less than a thousandth of a second. */
const LIMITS: KeepLimits = { largeBytes: 1 << 20, recountMs: 30 * DAY_MS };

/** Updates the counts. Several workers share the work. */
export async function keepCounts(
  { sql, clock, log }: FlowContext,
  limits: KeepLimits = LIMITS,
): Promise<void> {
  for (const table of COUNTED_TABLES) {
    const began = clock.now();
    if (await keepRowCounts(sql, table, began, limits)) {
      log.info({ table, tookMs: clock.now() - began }, "a large table was counted as a whole");
    }
  }
}

/** Tables whose rows are visited by id, each with the time by which its rows are old, and that of its day if it differs. */
const BY_ID: readonly {
  readonly table: string;
  readonly by: Exclude<keyof RetainedFrom, "closedFrom">;
  readonly at: string;
  readonly since?: string;
}[] = [
  { table: "windows", by: "windows", at: "to_at", since: "from_at" },
  { table: "rejected_records", by: "records", at: "first_seen_at" },
  { table: "rejected_entries", by: "entries", at: "first_seen_at" },
  { table: "transfers", by: "entries", at: "sent_at" },
  { table: "top_ups", by: "entries", at: "sent_at" },
  { table: "alerts", by: "mismatches", at: "created_at" },
  { table: "incidents", by: "mismatches", at: "last_at", since: "began_at" },
];

/**
 * Stores a measurement for status, overview, doctor and metrics, which then read some small rows only.
 * @param diskBytes what the database may take; null: unknown
 */
export async function measureStorage(context: FlowContext, diskBytes: number | null): Promise<void> {
  const now = context.clock.now();
  const due = await inSnapshot(context.sql, (tx) => countDue(context, tx));
  await context.sql.begin((tx) => writeStorage(tx, now, diskBytes, due));
}

/** By table; tables whose rows no setting deletes are left out. */
async function countDue({ config, clock }: FlowContext, tx: Query): Promise<ReadonlyMap<string, number>> {
  const { retain, products } = config;
  const now = clock.now();
  const due = new Map<string, number>();
  const closed = await readClosedTime(tx);
  const upTo = retainedFrom(retain, closed, now);
  const firstDay = formatInstant(upTo.closedFrom);
  const daysFrom = (column: string) => ({ column, at: upTo.closedFrom });
  const walks = await readWalks(tx);
  const timeOf = (walk: string) => walks.get(walk)?.[0] ?? null;
  if (upTo.records !== null) {
    const { records: to } = upTo;
    let sum = 0;
    for (const { productId } of products) {
      const from = timeOf(recordsWalk(productId));
      const since = daysFrom("accounting_date");
      sum += await countDated(tx, {
        table: "bet_records",
        at: "accounting_date",
        from,
        to,
        since,
        productId,
      });
    }
    due.set("bet_records", sum);
  }
  if (upTo.entries !== null) {
    const rows = {
      table: "callback_entries",
      at: "occurred_at",
      from: timeOf(ENTRIES_WALK),
      to: upTo.entries,
      since: daysFrom("occurred_at"),
    };
    due.set("callback_entries", await countDated(tx, rows));
  }
  if (upTo.mismatches !== null) {
    const rows = { table: "mismatches", at: "last_seen_at", from: firstDay, to: upTo.mismatches };
    due.set("mismatches", await countDated(tx, { ...rows, since: daysFrom("occurred_at") }));
  }
  for (const { table, by, at, since = at } of BY_ID) {
    const to = upTo[by];
    if (to === null) continue;
    const after = Number(timeOf(table) ?? 0);
    due.set(table, await countById(tx, { table, at, after, to, since: daysFrom(since) }));
  }
  const within = mayExpire(config, closed);
  const byAge = [
    {
      table: "bet_record_versions",
      at: "replaced_at",
      keepMs: retain.recordVersions,
      column: "accounting_date",
    },
    { table: "callback_bodies", at: "received_at", keepMs: retain.rawBodies, column: "received_at" },
  ];
  for (const { table, at, keepMs, column } of byAge) {
    if (keepMs === null) continue;
    const to = Math.min(now - keepMs, within.to);
    const since = { column, at: within.from };
    due.set(table, await countDated(tx, { table, at, from: formatInstant(within.from), to, since }));
  }
  return due;
}
