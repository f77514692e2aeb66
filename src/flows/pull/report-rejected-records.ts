/** Reports rejected records: once for each product and day, in the transaction of their page. */

import { recordAlert } from "../../alerts/store.ts";
import type { RejectedRecord } from "../../bet.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";

const LONGEST_REASON = 300;

/** @param isNew whether any of them is new; known ones are no news */
export async function reportRejectedRecords(
  tx: Query,
  productId: string,
  rejected: readonly RejectedRecord[],
  isNew: number,
  now: Instant,
): Promise<void> {
  const [first] = rejected;
  if (isNew === 0 || first === undefined) return;
  const day = formatInstant(now).slice(0, 10);
  const many = isNew === 1 ? "a record" : `${isNew} records`;
  await recordAlert(tx, {
    idempotencyKey: `rejected-records/${productId}/${day}`,
    kind: "rejected-records",
    productId,
    body: {
      what: `${productId}: ${many} of the provider cannot be used, such as one with: ${first.reason.slice(0, LONGEST_REASON)}`,
      toDo: "They are kept with their text and the reason (recon rejected list), and are never called missing. This alert comes once a day; recon status counts all of them. Ask the provider to correct them.",
      productId,
      since: formatInstant(now),
      count: isNew,
    },
    at: now,
  });
}
