/** Takes rows that a program hands over as entries: new ones are written, known ones stay, and changes are judged. */

import { hash } from "node:crypto";
import type { Query } from "../db/client.ts";
import {
  ASKED,
  areKnown,
  insertAll,
  insertUnknown,
  type Judgement,
  judgeRows,
  OF_ANSWER,
  replaceRows,
  type Sameness,
} from "./import-store.ts";
import { columnOf, type LedgerRow } from "./ledger-row.ts";

/**
 * What became of a row. `known`: there is such an entry with the same content. `changed`: there is one with other
 * content, and `ledger.rowsChange` decides which of them stays.
 */
export type RowFate = Exclude<Judgement, "again" | "other">;

/**
 * Writes rows, of several with one entry_id the first; part of a transaction. The triggers of the table ask for the
 * comparison of what is written. Rows that cannot be entries are left out.
 * @returns the fate of each row
 */
export async function writeRows(
  tx: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowFate[]> {
  return await inParts(rows, async (part) => {
    const someKnown = await areKnown(tx, part);
    const fates: Judgement[] = someKnown ? await judgeRows(tx, part, sameness) : part.map(() => "added");
    const places = [...part.keys()].filter((place) => fates[place] === "added");
    const rowsAt = (of: readonly number[]) => of.map((place) => part[place] as LedgerRow);
    const left = someKnown
      ? (await insertUnknown(tx, rowsAt(places))).map((place) => places[place] as number)
      : await insertAll(tx, part);
    const judged = await judgeRows(tx, rowsAt(left), sameness);
    for (const [index, place] of left.entries()) fates[place] = judged[index] as Judgement;
    const settled = await settleAgain(part, fates, (again) => writeRows(tx, again, sameness));
    const changed = part.filter((_, place) => settled[place] === "changed" && fates[place] === "changed");
    await replaceRows(tx, changed);
    return settled;
  });
}

/** What would become of rows; writes nothing. */
export async function tryRows(
  sql: Query,
  rows: readonly LedgerRow[],
  sameness: Sameness,
): Promise<RowFate[]> {
  return await inParts(rows, async (part) =>
    settleAgain(part, await judgeRows(sql, part, sameness), (again) => tryRows(sql, again, sameness)),
  );
}

/** Gives ids of their own to rows that are entries beside known ones. @param take takes these rows */
async function settleAgain(
  part: readonly LedgerRow[],
  fates: readonly Judgement[],
  take: (rows: readonly LedgerRow[]) => Promise<RowFate[]>,
): Promise<RowFate[]> {
  const named = part.flatMap((row, place) => {
    const fate = fates[place];
    return fate === "again" || fate === "other" ? [nameAnew(row, NAMED_BY[fate])] : [];
  });
  const taken = named.length === 0 ? [] : await take(named);
  let next = 0;
  return fates.map((fate) => (fate === "again" || fate === "other" ? (taken[next++] as RowFate) : fate));
}

/** The columns that tell a row from the known one with its entry_id. */
const NAMED_BY = { again: OF_ANSWER, other: ASKED } as const;

/** The new id follows from these columns, so that the same line has the same id each time. */
function nameAnew(row: LedgerRow, columns: readonly string[]): LedgerRow {
  const values = JSON.stringify(columns.map((name) => columnOf(row, name)));
  return [`${row[0]}-${hash("sha256", values, "base64url")}`, ...row.slice(1)];
}

/**
 * A statement may name each entry_id once. A row that repeats an earlier one of its part is known; a row with the same
 * entry_id and other content begins the next part.
 */
async function inParts(
  rows: readonly LedgerRow[],
  take: (part: readonly LedgerRow[]) => Promise<RowFate[]>,
): Promise<RowFate[]> {
  const fates: RowFate[] = [];
  let part: LedgerRow[] = [];
  let places: { readonly place: number; readonly isRepeat: boolean }[] = [];
  let known = new Map<string, number>();
  const flush = async () => {
    const taken = part.length === 0 ? [] : await take(part);
    for (const { place, isRepeat } of places) {
      const fate = taken[place] as RowFate;
      fates.push(isRepeat && fate === "added" ? "known" : fate);
    }
    [part, places, known] = [[], [], new Map()];
  };
  for (const row of rows) {
    const id = columnOf(row, "entry_id") ?? "";
    const earlier = known.get(id);
    if (earlier !== undefined && JSON.stringify(part[earlier]) === JSON.stringify(row)) {
      places.push({ place: earlier, isRepeat: true });
      continue;
    }
    if (earlier !== undefined) await flush();
    known.set(id, part.length);
    places.push({ place: part.length, isRepeat: false });
    part.push(row);
  }
  await flush();
  return fates;
}
