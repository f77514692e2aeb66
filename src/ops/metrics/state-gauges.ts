/** Gauges of the common state in PostgreSQL and the queues: every worker shows the same values. */

import { Gauge, type Registry } from "prom-client";
import type { Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Query, Sql } from "../../db/client.ts";
import { readUpkeep } from "../../db/storage-store.ts";
import { readStorage } from "../../flows/read/read-work.ts";
import type { MonthlyShares } from "../../flows/trends/trends.ts";
import { isStalled, watermarkOf } from "../../health/products.ts";
import type { Storage } from "../../storage.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";
import type { Upkeep } from "../../upkeep.ts";
import { limitStatements, type VerifyCount } from "./counts-store.ts";
import type { OpenState, readFinishedState } from "./read-state.ts";
import { type AddGauge, addWorkGauges } from "./work-gauges.ts";

/** What a scrape shows of the database itself. */
interface DatabaseState {
  readonly upkeep: Upkeep;
  /** null: no worker has measured yet */
  readonly storage: Storage | null;
}

const LONGEST_STATEMENT_MS = 2_000;

export async function readDatabaseState(sql: Sql): Promise<DatabaseState> {
  return await sql.begin("read only", async (tx: Query) => {
    await limitStatements(tx, LONGEST_STATEMENT_MS);
    return { upkeep: await readUpkeep(tx), storage: await readStorage(tx) };
  });
}

/** @returns writes the values of one scrape; an unknown value is left out */
function addStorageGauges(gauge: AddGauge) {
  const bytes = gauge(
    "table_bytes",
    "Size of each table with its indexes and long values, measured every ten minutes.",
    "table",
  );
  const database = gauge("database_bytes", "Size of the whole database, measured every ten minutes.");
  const due = gauge(
    "rows_due_for_deletion",
    "Rows of each table that may be deleted and were not visited yet, counted up to 100,000; missing if no setting deletes rows.",
    "table",
  );
  const disk = gauge("disk_bytes", "What the database may use, by DATABASE_DISK; missing if it is not set.");
  const ids = gauge(
    "transaction_ids_used",
    "The used part, 0 to 1, of the ids that PostgreSQL can give out before it refuses every write, by kind: transaction, multixact.",
    "kind",
  );
  const open = gauge(
    "oldest_transaction_seconds",
    "Age of the oldest open transaction of this database that this user may see; prepared ones included; 0: there is none.",
  );
  const held = gauge(
    "slot_held_transactions",
    "Transactions whose deleted rows a replication slot keeps from vacuum; 0: no slot does.",
  );
  const overdue = gauge(
    "vacuum_overdue",
    "Dead rows of the worst table, as a multiple of those that autovacuum waits for; 0: no table with at least 10,000 is overdue.",
  );
  return (state: DatabaseState | null): void => {
    for (const one of [bytes, due, ids]) one.reset();
    for (const one of [database, disk, open, held, overdue]) one.remove();
    if (state === null) return;
    const { upkeep, storage } = state;
    ids.set({ kind: "transaction" }, upkeep.transactionIds);
    ids.set({ kind: "multixact" }, upkeep.multixactIds);
    open.set(Math.max(0, upkeep.transaction?.ageSeconds ?? 0, upkeep.prepared?.ageSeconds ?? 0));
    held.set(upkeep.slot?.transactions ?? 0);
    overdue.set(upkeep.overdue[0]?.overdue ?? 0);
    if (storage === null) return;
    database.set(storage.bytes);
    if (storage.diskBytes !== null) disk.set(storage.diskBytes);
    for (const one of storage.tables) {
      bytes.set({ table: one.table }, one.bytes);
      if (one.due !== null) due.set({ table: one.table }, one.due);
    }
  };
}

/** The number of a queue's jobs in each state. */
export interface QueueState {
  readonly queue: string;
  readonly jobs: ReadonlyMap<string, number>;
}

/** The readings for a scrape; null: the reading failed. */
interface ReadForScrape {
  readonly open: OpenState | null;
  readonly finished: Awaited<ReturnType<typeof readFinishedState>> | null;
  readonly queues: readonly QueueState[] | null;
  readonly database: DatabaseState | null;
}

/** Writes the values of one scrape into the gauges. An unknown value is left out. */
export type ShowState = (read: ReadForScrape, now: Instant) => void;

const SAME = "The same from every worker.";

export function addStateGauges(registry: Registry, config: Config): ShowState {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: `recon_${name}`, help: `${help} ${SAME}`, labelNames, registers: [registry] });
  const product = addProductGauges(gauge);
  const money = addMoneyGauges(gauge);
  const backlog = addBacklogGauges(gauge);
  const work = addWorkGauges(gauge, config);
  const storage = addStorageGauges(gauge);
  const databaseUp = new Gauge({
    name: "recon_database_up",
    help: "1: PostgreSQL answered this worker in time; 0: it did not, and this worker's metrics of the database are missing.",
    registers: [registry],
  });
  const queuesUp = new Gauge({
    name: "recon_queues_up",
    help: "1: the queues answered this worker in time; 0: they did not.",
    registers: [registry],
  });
  return (read, now) => {
    databaseUp.set(read.open === null ? 0 : 1);
    queuesUp.set(read.queues === null ? 0 : 1);
    product(read.open, now);
    money(read);
    backlog(read, now);
    work(read.open, now);
    storage(read.database);
  };
}

function addProductGauges(gauge: AddGauge) {
  const lag = gauge(
    "product_lag_seconds",
    "Time since the watermark, before which everything has been fetched.",
    "product",
  );
  const headLag = gauge(
    "product_head_lag_seconds",
    "Time since the head, up to which pulling has advanced; gaps may lie before it.",
    "product",
  );
  const windowLength = gauge(
    "product_window_seconds",
    "Length of the windows that the provider can answer now.",
    "product",
  );
  const gaps = gauge(
    "product_gaps",
    "Ranges of time that could not be fetched; they are retried.",
    "product",
  );
  const gapSeconds = gauge("product_gap_seconds", "Length of all gaps together.", "product");
  const stalled = gauge(
    "product_stalled",
    "1: the product has gaps, or its credentials are refused; 0: neither.",
    "product",
  );
  const inDoubt = gauge(
    "product_records_in_doubt",
    "Records that a fetch did not return and that may have moved: the worker searches for them, and they open no mismatch yet.",
    "product",
  );
  return (state: OpenState | null, now: Instant): void => {
    for (const one of [lag, headLag, windowLength, gaps, gapSeconds, stalled, inDoubt]) one.reset();
    for (const progress of state?.progress ?? []) {
      const of = { product: progress.productId };
      lag.set(of, (now - watermarkOf(progress)) / 1000);
      headLag.set(of, (now - progress.head) / 1000);
      windowLength.set(of, progress.windowMs / 1000);
      gaps.set(of, progress.gaps);
      gapSeconds.set(of, progress.gapMs / 1000);
      stalled.set(of, isStalled(progress) ? 1 : 0);
      inDoubt.set(of, state?.inDoubt.get(progress.productId) ?? 0);
    }
  };
}

function addMoneyGauges(gauge: AddGauge) {
  const mismatches = gauge(
    "mismatches",
    "Mismatches by kind and status; the resolved and ignored ones are counted every five minutes.",
    "product",
    "kind",
    "status",
  );
  const atRisk = gauge(
    "mismatch_amount_at_risk",
    "Amount at risk in open and acknowledged mismatches, in units of the currency; currencies beyond 50 are added up as other, a sum without a meaning of its own. Rounded, as every metric is: the exact amounts are in the API.",
    "product",
    "kind",
    "currency",
  );
  const transfers = gauge(
    "transfers",
    "Transfers by status; the accepted and rejected ones are counted every five minutes.",
    "status",
  );
  const topUps = gauge(
    "top_ups",
    "Top-ups by status; the accepted and rejected ones are counted every five minutes.",
    "status",
  );
  const confirmed = gauge(
    "confirmed_share",
    "Share, 0 to 1, of the provider's stake of a month's closed days that both sides confirmed within an hour, a day, a week; of the last two months, read every five minutes; missing while it is unknown, and for currencies beyond 50.",
    "product",
    "currency",
    "month",
    "within",
  );
  return ({ open, finished }: ReadForScrape): void => {
    for (const one of [mismatches, atRisk, transfers, topUps, confirmed]) one.reset();
    showConfirmed(confirmed, finished?.confirmed ?? []);
    for (const { productId, kind, status, count } of [
      ...(open?.mismatches ?? []),
      ...(finished?.mismatches ?? []),
    ]) {
      mismatches.set({ product: productId, kind, status }, count);
    }
    for (const { productId, kind, currency, amount } of open?.atRisk ?? []) {
      // Only here an amount becomes a floating-point number: Prometheus has no other type.
      atRisk.set({ product: productId, kind, currency }, Number(amount));
    }
    showStatuses(transfers, open?.transfers, finished?.transfers);
    showStatuses(topUps, open?.topUps, finished?.topUps);
  };
}

/** Currencies come from outside, and each creates lasting time series. */
const MOST_CURRENCIES = 50;

function showConfirmed(
  gauge: Gauge<"product" | "currency" | "month" | "within">,
  months: readonly MonthlyShares[],
): void {
  const currencies = new Set(
    [...new Set(months.map((one) => one.currency))].sort().slice(0, MOST_CURRENCIES),
  );
  for (const { productId: product, currency, month, withinHour, withinDay, withinWeek } of months) {
    if (!currencies.has(currency)) continue;
    const shares = { hour: withinHour, day: withinDay, week: withinWeek };
    for (const [within, share] of Object.entries(shares))
      if (share !== null) gauge.set({ product, currency, month, within }, Number(share));
  }
}

const FINISHED: ReadonlySet<string> = new Set(["accepted", "rejected"]);

/** A status without rows is 0 if its reading succeeded. */
function showStatuses(
  gauge: Gauge<"status">,
  open: readonly VerifyCount[] | undefined,
  finished: readonly VerifyCount[] | undefined,
): void {
  for (const status of TRANSFER_STATUSES) {
    const counts = FINISHED.has(status) ? finished : open;
    if (counts === undefined) continue;
    gauge.set({ status }, counts.find((one) => one.status === status)?.count ?? 0);
  }
}

function addBacklogGauges(gauge: AddGauge) {
  const jobs = gauge(
    "queue_jobs",
    "Jobs of a queue by state; finished ones are not counted, failed ones are kept for inspection.",
    "queue",
    "state",
  );
  const undelivered = gauge("alerts_undelivered", "Alerts that at least one channel has not received yet.");
  const oldest = gauge(
    "alerts_oldest_undelivered_age_seconds",
    "Age of the oldest alert that at least one channel has not received yet; 0: there is none.",
  );
  const backfills = gauge("backfills", "Backfills by status.", "status");
  const entryAge = gauge(
    "ledger_newest_entry_age_seconds",
    "Time since the newest entry of the ledger was received; missing while there is none.",
  );
  return ({ open, queues }: ReadForScrape, now: Instant): void => {
    for (const one of [jobs, backfills]) one.reset();
    for (const one of [undelivered, oldest, entryAge]) one.remove();
    for (const { queue, jobs: byState } of queues ?? []) {
      for (const [state, count] of byState) jobs.set({ queue, state }, count);
    }
    if (open === null) return;
    const { oldestAt } = open.alerts;
    undelivered.set(open.alerts.undelivered);
    oldest.set(oldestAt === null ? 0 : (now - oldestAt) / 1000);
    for (const { status, count } of open.backfills) backfills.set({ status }, count);
    if (open.newestReceivedAt !== null) entryAge.set((now - open.newestReceivedAt) / 1000);
  };
}
