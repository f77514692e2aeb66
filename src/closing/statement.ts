/** The statement that is stored for a closed day, and its hash. Pure. */

import { createHash } from "node:crypto";
import { formatInstant, type Instant } from "../clock.ts";
import type { Correction } from "../closed.ts";
import type { ReportRow } from "../report.ts";
import type { ZonedDay } from "./day-bounds.ts";

/** What is stored as JSON. */
export interface StatementBody {
  readonly rows: readonly ReportRow[];
  /** the corrections that arrived on the day */
  readonly corrections: readonly Correction[];
}

/** Everything that the hash covers. */
export interface Statement extends ZonedDay, StatementBody {
  readonly number: number;
  readonly closedAt: Instant;
  readonly previousHash: string | null;
}

/** sha-256 of a statement in canonical JSON, in hexadecimal. */
export function hashOf({
  from,
  to,
  closedAt,
  day,
  zone,
  number,
  previousHash,
  rows,
  corrections,
}: Statement): string {
  const times = { from: formatInstant(from), to: formatInstant(to), closedAt: formatInstant(closedAt) };
  const text = canonicalJson({ day, zone, ...times, number, previousHash, rows, corrections });
  return createHash("sha256").update(text).digest("hex");
}

/** JSON whose text depends only on the value: keys in the order of their code units, no spaces. Amounts are text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${canonicalJson(one)}`).join(",")}}`;
}

/** Whether a stored statement does not have its own hash. */
export function isAltered(statement: Statement & { readonly hash: string }): boolean {
  return hashOf(statement) !== statement.hash;
}

/**
 * Compares a stored day with its hash and with the day before.
 * @param before null: it is the first day
 * @returns what is wrong, as a part of a sentence; null: nothing
 */
export function findFlaw(
  statement: Statement & { readonly hash: string },
  before: (Statement & { readonly hash: string }) | null,
): string | null {
  const number = (before?.number ?? 0) + 1;
  if (statement.number !== number) return `has number ${statement.number} instead of ${number}`;
  if (statement.previousHash !== (before?.hash ?? null)) return "does not name the hash of the day before";
  if (before !== null && statement.from !== before.to) return "does not begin where the day before ends";
  if (isAltered(statement)) return "was altered: its statement does not have its hash";
  return null;
}
