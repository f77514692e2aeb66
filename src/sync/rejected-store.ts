/** Records that nobody could read, in PostgreSQL. */

import type { RejectedRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/column-array.ts";
import { noteAddedText } from "../db/row-counts.ts";
import { cutIntoParts } from "./page-parts.ts";

/** Keeps each rejected record once, with its text. @returns how many were not known before */
export async function writeRejected(
  tx: Query,
  productId: string,
  rejected: readonly RejectedRecord[],
  now: Instant,
): Promise<number> {
  let added = 0;
  const parts = cutIntoParts(
    rejected,
    ({ raw }) => raw,
    ({ raw }) => raw.length,
  );
  for (const part of parts) {
    const [raws, reasons] = [
      toColumnArray(part.map(({ raw }) => raw)),
      toColumnArray(part.map(({ reason }) => reason)),
    ];
    const [row] = await tx<{ added: number }[]>`
      with added as (
        insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
        select ${productId}, raw, md5(raw), min(reason), ${now}
        from unnest(${raws}::text[], ${reasons}::text[]) as t (raw, reason)
        group by raw
        order by md5(raw)
        on conflict (product_id, raw_digest) do nothing
        returning product_id
      ),
      noted as (${tx.unsafe(NOTE_REJECTED)})
      select count(*) as added from added`;
    added += row?.added ?? 0;
  }
  return added;
}

const NOTE_REJECTED = noteAddedText(
  "rejected_records",
  "count(*)",
  "from added group by product_id",
  "product_id",
);
