/** Writes the pages of one leased window: each page is one transaction, fenced by the lease. */

import { recordAlert } from "../../alerts/store.ts";
import type { BetPage, BetRecord, RejectedRecord } from "../../bet.ts";
import { formatInstant, type Instant, parseInstant, showInstant } from "../../clock.ts";
import type { Query, Sql } from "../../db/client.ts";
import { isRejectedValue } from "../../db/database-error.ts";
import { describeDeleted, readDeletedTime } from "../../db/retention-store.ts";
import { formatAmount } from "../../money.ts";
import {
  beginReturned,
  endAbsences,
  MOST_KEYS,
  noteAbsences,
  type Returned,
  remember,
  restartReturned,
} from "../../sync/absence-store.ts";
import { countAnswer, findTruncated, halveToFindOut, learnLimit } from "../../sync/answer-limit-store.ts";
import { readKnownKeys, textOfKey } from "../../sync/expired-records-store.ts";
import { advanceWindow, type LeasedWindow, type PageCounts } from "../../sync/leased-window-store.ts";
import { writeRecords } from "../../sync/record-store.ts";
import { withoutRefused } from "../../sync/refused-records.ts";
import { writeRejected } from "../../sync/rejected-store.ts";
import { BEYOND_ENDS_MS, halve, includes, lengthOf, overlaps, type TimeRange } from "../../window.ts";
import type { PullContext } from "../context.ts";

/** Evidence that the provider cuts its answers without a nextId. */
export interface CutAnswers {
  /** the answer has as many records as the product's known limit */
  isAtLimit: boolean;
  /** a window whose parts hold more records than it did; null: none was found */
  found: TimeRange | null;
}

export interface PageWriter {
  /**
   * Writes a page and moves the window's cursor past it. If PostgreSQL refuses records of the page, they become rejected records.
   * @param startedAt when the first page of the pass was requested
   * @returns "halved": the last page may have been cut, so the halves of the window are fetched instead
   * @throws ReconError `lease-lost` if another worker has the window: then nothing of the page is written
   */
  write(page: BetPage, startedAt: Instant): Promise<"committed" | "halved">;
  /** The window begins again at its first page. */
  restart(): void;
  /** Keeps in memory what the pass returned so far, for the case that this process continues it. */
  keepForLater(): void;
  readonly cut: CutAnswers;
}

export function openPageWriter(context: PullContext, window: LeasedWindow): PageWriter {
  const { sql, clock, config } = context;
  const { productId } = window;
  const cut: CutAnswers = { isAtLimit: false, found: null };
  const returned = takeReturned(sql, window);
  let { cursor } = window;
  // Earlier leases did not store how many records they got, so a window that another lease began is not checked for a cut.
  let total = window.pages === 0 ? 0 : null;

  const commit = async (page: BetPage, startedAt: Instant) => {
    const now = clock.now();
    const isLast = page.nextId === null;
    const { counts, isHalved } = await sql.begin(async (tx) => {
      const { counts, created } = await writeContent(tx, window, page, now);
      if (created < page.records.length) await endAbsences(tx, window, page.records, now);
      remember(returned, page.records, created);
      if (isLast && total !== null) {
        const answer = { total: total + page.records.length + page.rejected.length, counts };
        const suspicion = await halveIfSuspicious(tx, window, answer, config.pull.windowMin, now);
        cut.isAtLimit = suspicion === "known";
        if (suspicion !== "none") return { counts, isHalved: true };
      }
      if (isLast && !(await noteAbsences(tx, window, returned, startedAt, now)))
        warnOfManyKeys(context, window);
      const { isResumed: resumed } = returned;
      await advanceWindow(tx, window, { nextId: page.nextId, startedAt, now, counts, resumed });
      if (isLast) cut.found = await findCutAnswer(tx, window, now);
      return { counts, isHalved: false };
    });
    cursor = page.nextId;
    if (total !== null) total += page.records.length + page.rejected.length;
    context.onPage?.({ ...counts, productId });
    return isHalved ? "halved" : "committed";
  };

  return {
    cut,
    write: async (page, startedAt) => {
      try {
        return await commit(page, startedAt);
      } catch (error) {
        if (!isRejectedValue(error)) throw error;
        const storable = await withoutRefused(sql, productId, page, clock.now(), error);
        return await commit(storable, startedAt);
      }
    },
    restart: () => {
      restartReturned(returned);
      total = 0;
      cursor = null;
    },
    keepForLater: () => keepReturned(sql, window, cursor, returned),
  };
}

/** Writes the records and the rejected records of a page. @returns `created`: how many records were not known before */
async function writeContent(tx: Query, window: LeasedWindow, page: BetPage, now: Instant) {
  const { productId } = window;
  const { requestedAt } = page;
  const { kept, skipped, refused } = await leaveDeleted(tx, window, page.records);
  const written = await writeRecords(tx, productId, kept, { requestedAt, now });
  const rejected = [...page.rejected, ...refused];
  const newlyRejected = await writeRejected(tx, productId, rejected, requestedAt);
  await reportRejectedRecords(tx, productId, rejected, newlyRejected, now);
  const { outOfRange, beyondEnds } = countOutside(page.records, window);
  const counts: PageCounts = {
    ...written,
    records: Math.max(0, written.records + skipped - beyondEnds),
    unchanged: Math.max(0, written.unchanged + skipped - beyondEnds),
    rejected: rejected.length,
    outOfRange,
  };
  return { counts, created: written.created };
}

/**
 * Counts the records dated outside the window. They are written too, because the provider may select by either date (§4.B3).
 * `beyondEnds` of them lie in the second beyond an end: the window beside this one counts those.
 */
function countOutside(records: readonly BetRecord[], { from, to }: TimeRange) {
  const outside = records
    .map((record) => parseInstant(record.accountingDate, "accountingDate"))
    .filter((at) => at < from || at >= to);
  const isBeyondEnds = (at: Instant) => at >= from - BEYOND_ENDS_MS && at <= to + BEYOND_ENDS_MS;
  return { outOfRange: outside.length, beyondEnds: outside.filter(isBeyondEnds).length };
}

function warnOfManyKeys({ log }: PullContext, { productId, from, to }: LeasedWindow): void {
  log.warn(
    { productId, from: formatInstant(from), to: formatInstant(to) },
    `this window has more than ${MOST_KEYS} records, the most that a worker keeps in memory: a record that the provider no longer lists here goes unnoticed. Set a shorter pull.windowMax.`,
  );
}

interface PageWithoutDeleted {
  /** the records to write */
  readonly kept: readonly BetRecord[];
  /** the number of records that are left out because the window reaches into deleted time */
  readonly skipped: number;
  /** records of deleted time in a window of kept time: the program cannot tell whether they are new */
  readonly refused: readonly RejectedRecord[];
}

/**
 * Leaves out records whose time was deleted, because a deleted record would come back as new (decision 160). A known record of
 * that time is written: retention had to keep it. Runs in the transaction of the page.
 */
export async function leaveDeleted(
  tx: Query,
  window: LeasedWindow,
  records: readonly BetRecord[],
): Promise<PageWithoutDeleted> {
  const { records: deleted } = await readDeletedTime(tx, window.productId);
  const isOld = (record: BetRecord) =>
    includes(deleted, parseInstant(record.accountingDate, "accountingDate"));
  const old = deleted.to === Number.NEGATIVE_INFINITY ? [] : records.filter(isOld);
  if (old.length === 0) return { kept: records, skipped: 0, refused: [] };
  const known = await readKnownKeys(tx, window.productId, old);
  const unknown = new Set(old.filter((record) => !known.has(textOfKey(record))));
  const kept = records.filter((record) => !unknown.has(record));
  if (overlaps(window, deleted)) return { kept, skipped: unknown.size, refused: [] };
  return { kept, skipped: 0, refused: [...unknown].map((record) => refuse(record, deleted)) };
}

function refuse(record: BetRecord, deleted: TimeRange): RejectedRecord {
  const { stake, payout, extra, ...fields } = record;
  const raw = { ...fields, stake: formatAmount(stake), payout: formatAmount(payout), extra };
  return {
    raw: JSON.stringify(raw),
    reason:
      `accountingDate is ${record.accountingDate}, and records ${describeDeleted(deleted)} may be deleted ` +
      "(retain.records): compare this bet by hand",
  };
}

const LONGEST_REASON = 300;

/**
 * Raises one alert for each product and day.
 * @param newCount the number of rejected records that were not known before
 */
async function reportRejectedRecords(
  tx: Query,
  productId: string,
  rejected: readonly RejectedRecord[],
  newCount: number,
  now: Instant,
): Promise<void> {
  const [first] = rejected;
  if (newCount === 0 || first === undefined) return;
  const day = formatInstant(now).slice(0, 10);
  const many = newCount === 1 ? "a record" : `${newCount} records`;
  await recordAlert(tx, {
    idempotencyKey: `rejected-records/${productId}/${day}`,
    kind: "rejected-records",
    productId,
    body: {
      what: `${productId}: ${many} of the provider cannot be used; for example, ${first.reason.slice(0, LONGEST_REASON)}`,
      toDo: "recon rejected list shows their text and the reason. Their bets are not reported as missing. This alert comes once a day; recon status counts all of them. Ask the provider to correct them.",
      productId,
      since: formatInstant(now),
      count: newCount,
    },
    at: now,
  });
}

/** The most records of all postponed passes together. Beyond that, the oldest passes are dropped. */
const MOST_KEPT_KEYS = 200_000;
const MOST_KEPT_PASSES = 1_000;

interface KeptPass {
  /** the cursor of its last page */
  readonly cursor: string;
  readonly returned: Returned;
}

/**
 * What postponed passes returned, by window, for each database. If this process continues a pass, and no other process did so
 * meanwhile, the pass counts as one, so it still shows missing records.
 */
const keptPasses = new WeakMap<Sql, Map<number, KeptPass>>();

/** @param cursor the cursor of the last committed page; null: there is none */
function keepReturned(sql: Sql, window: LeasedWindow, cursor: string | null, returned: Returned): void {
  if (cursor === null || !returned.isWhole) return;
  const kept = keptPasses.get(sql) ?? new Map<number, KeptPass>();
  keptPasses.set(sql, kept);
  kept.set(window.id, { cursor, returned });
  let keys = [...kept.values()].reduce((sum, one) => sum + one.returned.keys.size, 0);
  for (const [id, one] of kept) {
    if (keys <= MOST_KEPT_KEYS && kept.size <= MOST_KEPT_PASSES) break;
    kept.delete(id);
    keys -= one.returned.keys.size;
  }
}

/** Takes what the pass returned that continues with this window. */
function takeReturned(sql: Sql, window: LeasedWindow): Returned {
  const kept = keptPasses.get(sql);
  const found = kept?.get(window.id);
  kept?.delete(window.id);
  return found !== undefined && found.cursor === window.cursor ? found.returned : beginReturned(window);
}

/**
 * Halves a window after its last page, in the transaction of that page, if the provider may have cut its answer without a nextId:
 * several windows in a row have the same number of records. Such a window does not count as fetched before its halves are, because the
 * records that the provider left out would look missing to a comparison (decision 292).
 * @param total all records of the window, rejected ones included
 * @returns "known": the answer has as many records as the product's limit; "none": the window counts as complete
 */
async function halveIfSuspicious(
  tx: Query,
  window: LeasedWindow,
  answer: { readonly total: number; readonly counts: PageCounts },
  windowMinMs: number,
  now: Instant,
): Promise<"none" | "same-count" | "known"> {
  const { total, counts } = answer;
  const suspicion = await countAnswer(tx, window.productId, total);
  if (suspicion === "none") return "none";
  if (lengthOf(window) >= 2 * windowMinMs) {
    await halveToFindOut(tx, window, halve(window), counts, { suspicion, total });
    return suspicion;
  }
  if (suspicion === "known") {
    const when = `${showInstant(window.from)} to ${showInstant(window.to)}`;
    await report(tx, window.productId, now, {
      what: `${window.productId}: the provider cuts answers at ${total} records without a nextId, and the window ${when} is too short to be halved: records of it may be missing`,
      toDo: "Ask the provider for pages with a nextId, or for a higher limit. Set a shorter pull.windowMin, restart the worker, and fetch the time again: recon backfill.",
    });
  }
  return "none";
}

/**
 * Compares the parts of a halved window with the whole, after a part was fetched. If the parts hold more records, the provider cuts its
 * answers: an alert says so, and the windows that may have been cut are fetched again.
 * @returns the window that was cut; null: none was found
 */
async function findCutAnswer(tx: Query, part: LeasedWindow, now: Instant): Promise<TimeRange | null> {
  const cut = part.isCheck ? await findTruncated(tx, part) : null;
  if (cut === null) return null;
  const { productId } = part;
  const windows = await learnLimit(tx, productId, cut.limit);
  await report(tx, productId, now, {
    what: `${productId}: the provider cuts answers at ${cut.limit} records without a nextId: the time from ${showInstant(cut.from)} to ${showInstant(cut.to)} has more`,
    toDo: `No record is lost: the worker halves such windows from now on, and fetches ${windows} earlier ones again. Ask the provider for pages with a nextId.`,
  });
  return cut;
}

async function report(
  tx: Query,
  productId: string,
  now: Instant,
  said: { readonly what: string; readonly toDo: string },
): Promise<void> {
  const since = formatInstant(now);
  await recordAlert(tx, {
    idempotencyKey: `answers-truncated/${productId}/${since.slice(0, 10)}/${said.toDo.slice(0, 7)}`,
    kind: "answers-truncated",
    productId,
    body: { ...said, productId, since },
    at: now,
  });
}
