/**
 * Detects that the provider cuts its answers without a nextId: several windows in a row have the same number of records. A window that
 * may have been cut does not count as fetched before its halves are, because the records that the provider left out would look missing
 * to a comparison (decision 292).
 */

import { recordAlert } from "../../alerts/store.ts";
import { formatInstant, type Instant, showInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { countAnswer, findTruncated, halveToFindOut, learnLimit } from "../../sync/answer-limit-store.ts";
import type { LeasedWindow, PageCounts } from "../../sync/leased-window-store.ts";
import { halve, lengthOf, type TimeRange } from "../../window.ts";

/**
 * Halves a window after its last page if its answer may have been cut. Runs in the transaction of that page.
 * @param total all records of the window, rejected ones included
 * @returns "known": the answer has as many records as the product's limit; "none": the window counts as complete
 */
export async function halveIfSuspicious(
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
export async function findCutAnswer(tx: Query, part: LeasedWindow, now: Instant): Promise<TimeRange | null> {
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
