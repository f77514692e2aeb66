/** Reports rejected records: once for each product and day, in the transaction of their page. */

import { recordAlert } from "../../alerts/store.ts";
import type { RejectedRecord } from "../../bet.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";

const LONGEST_REASON = 300;

/** @param newCount the number of rejected records that were not known before */
export async function reportRejectedRecords(
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
