/** Measures the space that the database takes, and what waits for its deletion. */

import { readClosedUpTo } from "../../closing/closed-day-store.ts";
import type { Query } from "../../db/client.ts";
import { ENTRIES_WALK, readWalks, recordsWalk } from "../../db/retention-store.ts";
import { countById, countDated, writeStorage } from "../../db/storage-store.ts";
import { inOneMoment } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import type { RetainedFrom } from "./drop-by-age.ts";
import { retainedFrom } from "./drop-closed.ts";

/** Tables whose rows are visited by id, each with the time by which its rows are old. */
const BY_ID: readonly { readonly table: string; readonly by: keyof RetainedFrom; readonly at: string }[] = [
  { table: "windows", by: "windows", at: "to_at" },
  { table: "rejected_records", by: "records", at: "first_seen_at" },
  { table: "rejected_entries", by: "entries", at: "first_seen_at" },
  { table: "transfers", by: "entries", at: "sent_at" },
  { table: "top_ups", by: "entries", at: "sent_at" },
  { table: "alerts", by: "mismatches", at: "created_at" },
  { table: "incidents", by: "mismatches", at: "last_at" },
];

/**
 * Stores a measurement for status, overview, doctor and metrics, which then read some small rows only.
 * @param diskBytes what the database may take; null: unknown
 */
export async function measureStorage(context: FlowContext, diskBytes: number | null): Promise<void> {
  const now = context.clock.now();
  const due = await inOneMoment(context.sql, (tx) => countDue(context, tx));
  await context.sql.begin((tx) => writeStorage(tx, now, diskBytes, due));
}

/** By table; tables whose rows no setting deletes are left out. */
async function countDue({ config, clock }: FlowContext, tx: Query): Promise<ReadonlyMap<string, number>> {
  const { retain, products } = config;
  const now = clock.now();
  const due = new Map<string, number>();
  const from = retainedFrom(retain, await readClosedUpTo(tx), now);
  const walks = await readWalks(tx);
  const timeOf = (walk: string) => walks.get(walk)?.[0] ?? null;
  if (from.records !== null) {
    const { records: to } = from;
    let sum = 0;
    for (const { productId } of products) {
      const rows = { table: "bet_records", at: "accounting_date", from: timeOf(recordsWalk(productId)), to };
      sum += await countDated(tx, { ...rows, productId });
    }
    due.set("bet_records", sum);
  }
  if (from.entries !== null) {
    const rows = {
      table: "callback_entries",
      at: "occurred_at",
      from: timeOf(ENTRIES_WALK),
      to: from.entries,
    };
    due.set("callback_entries", await countDated(tx, rows));
  }
  if (from.mismatches !== null) {
    const rows = { table: "mismatches", at: "last_seen_at", from: null, to: from.mismatches };
    due.set("mismatches", await countDated(tx, rows));
  }
  for (const { table, by, at } of BY_ID) {
    const to = from[by];
    if (to !== null)
      due.set(table, await countById(tx, { table, at, after: Number(timeOf(table) ?? 0), to }));
  }
  const byAge = [
    { table: "bet_record_versions", at: "replaced_at", keepMs: retain.recordVersions },
    { table: "callback_bodies", at: "received_at", keepMs: retain.rawBodies },
  ];
  for (const { table, at, keepMs } of byAge) {
    if (keepMs !== null) due.set(table, await countDated(tx, { table, at, from: null, to: now - keepMs }));
  }
  return due;
}
