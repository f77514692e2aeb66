/** Reads rejected entries again: by the rules by which rows of the ledger and lines of an import are read. */

import { isLosslessNumber, parse } from "lossless-json";
import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import type { Query } from "../../db/client.ts";
import { storeReasons } from "../../db/rejected-rows.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { describeError } from "../../errors.ts";
import {
  isConcurrentWrite,
  isRefusedValue,
  judgeOnly,
  type RowOutcome,
  type Sameness,
  writeRows,
} from "../../ledger/import-store.ts";
import type { LedgerRow, LineContent } from "../../ledger/ledger-row.ts";
import { readCsvEntry, readJsonEntry } from "../../ledger/read-entry.ts";
import {
  deleteEntry,
  deleteRejectedEntries,
  type LaterChange,
  type LockedEntry,
  lockRejectedEntries,
  readLaterChanges,
} from "../../ledger/rejected-store.ts";
import type { RetriedRows, StayingRow } from "../../rejected.ts";
import type { FlowContext } from "../context.ts";

interface KeptEntry {
  readonly content: LineContent;
  readonly sameness: Sameness;
}

/** @returns null: the text is not JSON, so that nothing can be read of it */
function readKeptEntry(raw: string): KeptEntry | null {
  let given: unknown;
  try {
    given = parse(raw);
  } catch {
    return null;
  }
  const isObject =
    typeof given === "object" && given !== null && !Array.isArray(given) && !isLosslessNumber(given);
  if (isObject && Object.hasOwn(given as object, "request")) {
    return { content: readRecordedCallback(raw), sameness: "replays" };
  }
  const content = readJsonEntry(raw);
  // A row of a CSV file is kept as an object whose every field is text.
  const isCsv = isObject && Object.values(given as object).every((value) => typeof value === "string");
  return content.kind === "rejected" && isCsv
    ? { content: readCsvEntry(given as Record<string, string>), sameness: "exact" }
    : { content, sameness: "exact" };
}

type Outcome = "accepted" | "known" | { readonly reason: string };

/** How often to retry when a concurrent writer touches the same entries. */
const MOST_TRIES = 10;

/** All rows in one transaction; if PostgreSQL refuses a value, in smaller ones, so that it stops no other row. */
export async function retryEntries(
  context: FlowContext,
  rows: readonly number[],
  tries = 1,
): Promise<RetriedRows> {
  if (rows.length === 0) return { accepted: 0, known: 0, staying: [] };
  try {
    return await inReadCommitted(context.sql, (tx) => retryTogether(tx, context, rows));
  } catch (error) {
    if (isConcurrentWrite(error) && tries < MOST_TRIES) return await retryEntries(context, rows, tries + 1);
    if (!isRefusedValue(error)) throw error;
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) {
      const staying = [{ row: only, reason: `PostgreSQL refuses this row: ${describeError(error)}` }];
      await storeReasons(context.sql, "rejected_entries", staying);
      return { accepted: 0, known: 0, staying };
    }
    const middle = Math.ceil(rows.length / 2);
    return addRetried(
      await retryEntries(context, rows.slice(0, middle)),
      await retryEntries(context, rows.slice(middle)),
    );
  }
}

export function addRetried(a: RetriedRows, b: RetriedRows): RetriedRows {
  return {
    accepted: a.accepted + b.accepted,
    known: a.known + b.known,
    staying: [...a.staying, ...b.staying],
  };
}

async function retryTogether(
  tx: Query,
  { config, clock }: FlowContext,
  rows: readonly number[],
): Promise<RetriedRows> {
  const locked = await lockRejectedEntries(tx, rows);
  const outcomes = new Map<number, Outcome>();
  const readable: ReadEntry[] = [];
  for (const entry of locked) {
    const read = readKeptEntry(entry.raw);
    if (read === null) outcomes.set(entry.row, { reason: entry.reason });
    else if (read.content.kind === "rejected") outcomes.set(entry.row, { reason: read.content.reason });
    else
      readable.push({
        entry,
        sameness: read.sameness,
        rows: read.content.kind === "rows" ? read.content.rows : [],
      });
  }
  const judged = [
    ...(await judgeEntries(tx, readable, "exact")),
    ...(await judgeEntries(tx, readable, "replays")),
  ];
  const unusable = judged.filter(({ entry }) => entry.kind === "unusable");
  await takeUnusable(tx, unusable, outcomes);
  const changes = judged.filter(({ entry }) => entry.kind === "changed");
  await takeChanges(tx, changes, config.ledger.rowsChange === "replace", outcomes);

  const rowsWith = (wanted: Outcome) => [...outcomes].filter(([, is]) => is === wanted).map(([row]) => row);
  const [accepted, known] = [rowsWith("accepted"), rowsWith("known")];
  const staying = [...outcomes].flatMap(([row, is]): StayingRow[] =>
    typeof is === "string" ? [] : [{ row, reason: is.reason }],
  );
  await deleteRejectedEntries(tx, [...accepted, ...known], clock.now());
  await storeReasons(tx, "rejected_entries", staying);
  return { accepted: accepted.length, known: known.length, staying };
}

interface ReadEntry {
  readonly entry: LockedEntry;
  readonly sameness: Sameness;
  /** none: a callback that is no entry */
  readonly rows: readonly LedgerRow[];
}

interface JudgedEntry extends ReadEntry {
  /** of each row, before anything is written */
  readonly fates: readonly RowOutcome[];
}

async function judgeEntries(
  tx: Query,
  entries: readonly ReadEntry[],
  sameness: Sameness,
): Promise<JudgedEntry[]> {
  const those = entries.filter((one) => one.sameness === sameness);
  const fates = await judgeOnly(
    tx,
    those.flatMap(({ rows }) => rows),
    sameness,
  );
  let place = 0;
  return those.map((one) => {
    place += one.rows.length;
    return { ...one, fates: fates.slice(place - one.rows.length, place) };
  });
}

/** An entry that another process wrote meanwhile stays as it is: it was corrected. */
async function takeUnusable(
  tx: Query,
  entries: readonly JudgedEntry[],
  outcomes: Map<number, Outcome>,
): Promise<void> {
  const addedOf = ({ rows, fates }: JudgedEntry) => rows.filter((_, place) => fates[place] === "added");
  for (const [sameness, those] of Map.groupBy(entries, (one) => one.sameness))
    await writeRows(tx, those.flatMap(addedOf), sameness);
  for (const one of entries) {
    const outcome = addedOf(one).length > 0 ? "accepted" : "known";
    outcomes.set(one.entry.row, firstRejection(one.fates) ?? outcome);
  }
}

/** The newest change of an entry first, so that an older one finds it made. */
async function takeChanges(
  tx: Query,
  changes: readonly JudgedEntry[],
  replaces: boolean,
  outcomes: Map<number, Outcome>,
): Promise<void> {
  const later = replaces
    ? await readLaterChanges(
        tx,
        changes.map(({ entry }) => entry.row),
      )
    : [];
  const laterOf = new Map(later.map((one) => [one.row, one]));
  for (const change of changes) {
    const found = laterOf.get(change.entry.row) ?? null;
    const isMade = found?.laterRow != null && typeof outcomes.get(found.laterRow) === "string";
    const decided = decideChange(change, replaces, isMade ? "outdated" : found);
    outcomes.set(change.entry.row, decided === "apply" ? await applyChange(tx, change) : decided);
  }
}

const NEVER = 'ledger.rowsChange is "never"';

function decideChange(
  { entry, fates }: JudgedEntry,
  replaces: boolean,
  later: LaterChange | "outdated" | null,
): Outcome | "apply" {
  const { reason, isDelete, isRepeat, entryId } = entry;
  if (isRepeat) return { reason };
  // There is no such entry any more, or it says the same: nothing is left to do.
  if (fates.every((fate) => fate === "added" || (fate === "known" && !isDelete))) return "known";
  const fault = firstRejection(fates);
  if (fault !== null && !isDelete)
    return {
      reason: `entry "${entryId}" was changed to what cannot be used; its first content stays: ${fault.reason}`,
    };
  if (!replaces)
    return {
      reason: reason.includes(NEVER)
        ? reason
        : `entry "${entryId}" was changed; its first content stays, because ${NEVER}`,
    };
  if (later === "outdated" || later?.isOutdated === true) return "known";
  if (later?.laterRow != null)
    return { reason: `entry-${later.laterRow} is a later change of the same entry: retry that one first` };
  return "apply";
}

async function applyChange(tx: Query, { entry, rows, sameness }: JudgedEntry): Promise<Outcome> {
  if (entry.isDelete) {
    return (await deleteEntry(tx, entry.entryId ?? "")) ? "accepted" : { reason: STILL_NEVER };
  }
  await writeRows(tx, rows, sameness);
  const fates = await judgeOnly(tx, rows, sameness);
  return fates.every((fate) => fate === "known") ? "accepted" : { reason: STILL_NEVER };
}

/** A worker writes its own settings to the database at every tick. */
const STILL_NEVER = `a worker still runs with ${NEVER}: restart it with the new setting, then retry`;

function firstRejection(fates: readonly RowOutcome[]): { readonly reason: string } | null {
  for (const fate of fates) if (typeof fate !== "string") return { reason: fate.rejected };
  return null;
}
