/** Keeps lines of an import that cannot be used. */

import type { Query } from "../db/client.ts";
import { toColumnArray } from "../db/column-array.ts";
import type { RowNames } from "./ledger-row.ts";

/** A line that cannot be used. */
export interface RejectedLine {
  readonly raw: string;
  readonly reason: string;
  readonly names: RowNames;
}

/**
 * Keeps lines that cannot be used, each once, as the triggers keep rows: until its entry is written as it should be.
 * A line that speaks of an entry that is known already is a refused change of it.
 */
export async function keepRejectedLines(tx: Query, lines: readonly RejectedLine[]): Promise<void> {
  if (lines.length === 0) return;
  const columns = [
    lines.map(({ raw }) => raw),
    lines.map(({ reason }) => reason),
    ...(["entryId", "productId", "username", "txnId", "roundId"] as const).map((name) =>
      lines.map(({ names }) => names[name]),
    ),
  ].map((values) =>
    toColumnArray(values.map((value) => value?.toWellFormed().replaceAll("\0", "\uFFFD") ?? null)),
  );
  await tx.unsafe(
    `insert into rejected_entries
      (entry_digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, first_seen_at)
    select distinct on (digest) digest, kind, entry_id, product_id, username, txn_id, round_id, raw, reason, now()
    from (
      select t.*, k.kind, md5(case k.kind when 'changed' then 'changed ' || t.reason || t.raw
        else coalesce(t.entry_id, t.raw) end) as digest
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
        as t (raw, reason, entry_id, product_id, username, txn_id, round_id, place)
      cross join lateral (select case when exists (select from callback_entries e where e.entry_id = t.entry_id)
        then 'changed' else 'unusable' end as kind) k
    ) lines
    order by digest, place desc
    on conflict (entry_digest) do update set raw = excluded.raw, reason = excluded.reason,
      product_id = excluded.product_id, username = excluded.username, txn_id = excluded.txn_id,
      round_id = excluded.round_id, reported_at = null
      where rejected_entries.raw <> excluded.raw`,
    columns,
    { prepare: true },
  );
}
