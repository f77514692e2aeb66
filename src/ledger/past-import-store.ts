/**
 * The list of imports (`ledger_imports`): who imported what, and its result. The audit has only who asked, and knows no
 * commands. A row is written before the first line is imported, so an import whose process was killed is listed too.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";
import type { ImportCounts } from "./import-lines.ts";

/** Who imports which file. */
export interface ImportSource {
  /** the name of the token, or of the account at the terminal */
  readonly who: string;
  readonly via: "page" | "api" | "command";
  readonly format: "entries" | "callbacks";
  /** of the file; null: it has none */
  readonly name: string | null;
  /** null: unknown */
  readonly bytes: number | null;
}

/** The result of an import. */
export interface ImportTotals extends ImportCounts {
  /** the number of rejected lines; `rejected` has the first of them */
  readonly rejectedLines: number;
}

export interface PastImport extends ImportSource {
  readonly id: number;
  readonly at: Instant;
  /** null: still running, or its process was killed */
  readonly endedAt: Instant | null;
  /** null: unknown, because the import has not ended */
  readonly totals: Omit<ImportTotals, "rejected"> | null;
  /** why it ended early; null: it did not */
  readonly error: string | null;
}

/** @returns the id */
export async function beginImport(
  sql: Query,
  { who, via, format, name, bytes }: ImportSource,
  now: Instant,
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into ledger_imports (at, who, via, format, name, bytes)
    values (${now}, ${who}, ${via}, ${format}, ${storable(name)}, ${bytes}::bigint) returning id`;
  return row?.id ?? 0;
}

const LONGEST_REASON = 500;

export async function endImport(
  sql: Query,
  id: number,
  { added, known, changed, skipped, rejected, rejectedLines }: ImportTotals,
  error: string | null,
  now: Instant,
): Promise<void> {
  const lines = rejected.map(({ line, reason }) => ({
    line,
    reason: storable(reason.slice(0, LONGEST_REASON)),
  }));
  await sql`
    update ledger_imports
    set ended_at = ${now}, added = ${added}, known = ${known}, changed = ${changed}, skipped = ${skipped},
      rejected = ${rejectedLines}, rejected_lines = ${JSON.stringify(lines)}::text::jsonb, error = ${storable(error)}
    where id = ${id}`;
}

/** Deletes an import that was refused before any line was imported. */
export async function deleteImport(sql: Query, id: number): Promise<void> {
  await sql`delete from ledger_imports where id = ${id}`;
}

/** One page, newest first. @param after the id of the previous page's last import; null: the first page */
export async function listImports(
  sql: Query,
  { limit, after }: { readonly limit: number; readonly after: number | null },
): Promise<{ imports: PastImport[]; next: number | null }> {
  const found = await sql<ImportRow[]>`
    select ${columns(sql)} from ledger_imports
    where ${after === null ? sql`true` : sql`id < ${after}`} order by id desc limit ${limit + 1}`;
  const imports = found.slice(0, limit).map(toPastImport);
  return { imports, next: found.length > limit ? (imports.at(-1)?.id ?? null) : null };
}

/** With its first rejected lines. @returns null: there is no such import */
export async function readPastImport(
  sql: Query,
  id: number,
): Promise<(PastImport & Pick<ImportCounts, "rejected">) | null> {
  const [row] = await sql<(ImportRow & { lines: ImportCounts["rejected"] | null })[]>`
    select ${columns(sql)}, rejected_lines as lines from ledger_imports where id = ${id}`;
  return row === undefined ? null : { ...toPastImport(row), rejected: row.lines ?? [] };
}

/** Deletes the imports of a range of time, as `dropOldest` does. */
export function dropExpiredImports(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "ledger_imports", key: "id", at: "at" }, range, most);
}

type Counts = Readonly<Record<"added" | "known" | "changed" | "skipped" | "rejected", number | null>>;
type ImportRow = Omit<PastImport, "totals"> & Counts;

function columns(sql: Query) {
  return sql`id, at, ended_at as "endedAt", who, via, format, name, bytes, added, known, changed, skipped, rejected, error`;
}

function toPastImport(row: ImportRow): PastImport {
  const { id, at, endedAt, who, via, format, name, bytes, error } = row;
  const { added, known, changed, skipped, rejected } = row;
  const totals =
    added === null || known === null || changed === null || skipped === null || rejected === null
      ? null
      : { added, known, changed, skipped, rejectedLines: rejected };
  return { id, at, endedAt, who, via, format, name, bytes, totals, error };
}

/** PostgreSQL cannot store NUL or half of a surrogate pair. */
function storable<Text extends string | null>(text: Text): Text {
  return (text?.toWellFormed().replaceAll("\0", "\ufffd") ?? null) as Text;
}
