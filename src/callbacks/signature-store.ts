/** Stores the callback to which each accepted signature was sent (decision 128). */

import { formatInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import type { Put } from "../db/statement.ts";
import type { TimeRange } from "../window.ts";
import type { Signature } from "./access.ts";

/** A column of a select: the callback to which the signature was sent before, or null. */
export function signedForText(put: Put, { text, signedAt }: Signature): string {
  return `(select callback from callback_signatures
          where signed_at = ${put(formatInstant(signedAt))} and signature = ${put(text)}) as "signedFor"`;
}

export function rememberSignature(put: Put, callback: string, { text, signedAt }: Signature): string {
  return `insert into callback_signatures (signed_at, signature, callback)
      values (${put(formatInstant(signedAt))}, ${put(text)}, ${put(callback)}) on conflict do nothing`;
}

/** Deletes signatures of a range of time, as `dropOldest` does. */
export function dropOldSignatures(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_signatures", key: "ctid", at: "signed_at" }, range, most);
}
