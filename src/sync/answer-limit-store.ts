/** Finds and stores the number of records at which a provider cuts its answers without a nextId (decision 292). */

import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import { type LeasedWindow, type PageCounts, splitLeased } from "./leased-window-store.ts";

/** The error code of a window that was halved to check whether its answer was cut, and of its halves. */
const TRUNCATED = "answers-truncated";

/** Smaller counts repeat by chance: quiet hours often have equal numbers of bets. */
const FEWEST_RECORDS = 50;
const SAME_COUNTS = 3;
/** How many earlier windows are fetched again when a limit is found; the newest ones. */
const MOST_FETCHED_AGAIN = 1_000;

/**
 * Whether an answer may have been cut. "same-count": the same number of records as the two windows before. "known": as many as
 * the product's known limit.
 */
export type Suspicion = "none" | "same-count" | "known";

/**
 * Counts windows in a row with the same number of records. Runs in the transaction of a window's last page.
 * @param count all records of the window, rejected ones included
 */
export async function countAnswer(tx: Query, productId: string, count: number): Promise<Suspicion> {
  if (count < FEWEST_RECORDS) {
    await tx`
      update pull_states set last_count = null, same_counts = 0
      where product_id = ${productId} and last_count is not null`;
    return "none";
  }
  const [row] = await tx<{ sameCounts: number; answerLimit: number | null }[]>`
    update pull_states set last_count = ${count},
      same_counts = case when last_count = ${count} then least(same_counts + 1, ${SAME_COUNTS}) else 1 end
    where product_id = ${productId}
    returning same_counts as "sameCounts", answer_limit as "answerLimit"`;
  if (row?.answerLimit === count) return "known";
  return row?.sameCounts === SAME_COUNTS ? "same-count" : "none";
}

/**
 * Halves a window after its last page. Its records stay, and its time counts as fetched once its halves are fetched. The window
 * keeps the number of its records in error_message, for `findTruncated`.
 */
export async function halveToFindOut(
  tx: Query,
  window: LeasedWindow,
  halves: readonly TimeRange[],
  { records, created, changed }: PageCounts,
  { suspicion, total }: { readonly suspicion: Suspicion; readonly total: number },
): Promise<void> {
  await splitLeased(tx, window, halves, suspicion === "same-count" ? TRUNCATED : null);
  await tx`
    update windows set records = records + ${records}, created = created + ${created}, changed = changed + ${changed},
      error_message = ${suspicion === "same-count" ? String(total) : null}
    where id = ${window.id}`;
}

/**
 * Finds a halved window whose parts hold more records than it did: the provider cut its answer. null: there is none.
 * @param part the part that was just fetched
 */
export async function findTruncated(
  tx: Query,
  part: LeasedWindow,
): Promise<(TimeRange & { readonly limit: number }) | null> {
  // Only the newest such window: an earlier fetch of the same time, or another backfill of it, has parts of its own.
  const [row] = await tx<(TimeRange & { limit: number })[]>`
    with whole as materialized (
      select p.* from windows p join windows part on part.id = ${part.id}
      where p.product_id = part.product_id and p.kind = part.kind and p.status = 'split'
        and p.error_code = ${TRUNCATED} and p.error_message is not null
        and p.from_at <= part.from_at and p.to_at >= part.to_at and p.id < part.id
        and p.backfill_id is not distinct from part.backfill_id and p.due_at is not distinct from part.due_at
      order by p.id desc limit 1
    )
    select p.from_at as "from", p.to_at as "to", p.error_message::integer as "limit" from whole p
    where p.records < (
      select sum(c.records) from windows c
      where c.product_id = p.product_id and c.kind = p.kind and c.status = 'done' and c.id > p.id
        and c.from_at >= p.from_at and c.to_at <= p.to_at
        and c.backfill_id is not distinct from p.backfill_id and c.due_at is not distinct from p.due_at)`;
  return row ?? null;
}

/**
 * Stores the product's limit, and plans the windows again that it may have cut.
 * @returns the number of these windows
 */
export async function learnLimit(tx: Query, productId: string, limit: number): Promise<number> {
  await tx`
    update pull_states set answer_limit = ${limit}, last_count = null, same_counts = 0
    where product_id = ${productId}`;
  const { count } = await tx`
    with cut as (
      select id from windows
      where product_id = ${productId} and status = 'done'
        and records + rejected <= ${limit} and records + rejected + out_of_range >= ${limit}
      order by to_at desc limit ${MOST_FETCHED_AGAIN}
    ),
    replaced as (
      update windows w set status = 'split' from cut where w.id = cut.id
      returning w.kind, w.from_at, w.to_at, w.due_at, w.backfill_id
    )
    insert into windows (product_id, kind, from_at, to_at, due_at, backfill_id)
    select ${productId}, case when r.kind = 'live' or b.id is not null then r.kind else 'resweep' end,
      r.from_at, r.to_at, r.due_at, b.id
    from replaced r left join backfills b on b.id = r.backfill_id and b.status = 'running'`;
  return count;
}
