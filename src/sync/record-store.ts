/**
 * Bet records in PostgreSQL: writes a page in one or two statements, with the versions that it replaces (decision 3).
 */

import type { BetRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { countByProduct, noteAddedText } from "../db/row-counts.ts";
import { type ColumnArray, toColumnArray } from "../db/statement.ts";
import { formatAmount } from "../money.ts";
import type { PageCounts } from "./leased-window-store.ts";

export interface PageTimes {
  /** when the page was requested: if two contents have the same updatedDate, the one that was requested later wins */
  readonly requestedAt: Instant;
  readonly now: Instant;
}

/**
 * Writes a page of one product's records: new records, and newer versions of known ones, whose old versions are kept. Known content
 * is not written again. Marks every round or bet that changed, for comparison. Runs in the page's transaction, and writes rows in key
 * order, so two pages cannot deadlock.
 */
export async function writeRecords(
  tx: Query,
  productId: string,
  records: readonly BetRecord[],
  times: PageTimes,
): Promise<Omit<PageCounts, "rejected" | "outOfRange">> {
  let created = 0;
  let changed = 0;
  const keyOf = ({ betId, username, id }: BetRecord) => `${betId}\0${username}\0${id}`;
  for (const part of cutIntoParts(newestOfEach(records), keyOf, ({ extra }) => extra?.length ?? 0)) {
    const rows = COLUMNS.map(({ of }) => toColumnArray(part.map(of)));
    const inserted = await insertNew(tx, productId, rows, times);
    created += inserted;
    const isOlderKnown = inserted < part.length && (await hasOlder(tx, productId, rows, times));
    if (isOlderKnown) changed += await replaceOlder(tx, productId, rows, times);
  }
  return {
    records: records.length,
    created,
    changed,
    unchanged: records.length - created - changed,
  };
}

/** The columns of a page, each sent as an array (`db/column-array.ts`). */
const COLUMNS: readonly {
  readonly name: string;
  readonly type: "text" | "numeric" | "timestamptz";
  readonly of: (record: BetRecord) => string | null;
}[] = [
  { name: "username", type: "text", of: (record) => record.username },
  { name: "bet_id", type: "text", of: (record) => record.betId },
  { name: "id", type: "text", of: (record) => record.id },
  { name: "round_id", type: "text", of: (record) => record.roundId },
  { name: "currency", type: "text", of: (record) => record.currency },
  { name: "stake", type: "numeric", of: (record) => formatAmount(record.stake) },
  { name: "payout", type: "numeric", of: (record) => formatAmount(record.payout) },
  { name: "game_code", type: "text", of: (record) => record.gameCode },
  { name: "game_name", type: "text", of: (record) => record.gameName },
  { name: "bet_status", type: "text", of: (record) => record.betStatus },
  { name: "payout_status", type: "text", of: (record) => record.payoutStatus },
  { name: "accounting_date", type: "timestamptz", of: (record) => record.accountingDate },
  { name: "updated_date", type: "timestamptz", of: (record) => record.updatedDate },
  { name: "extra_text", type: "text", of: (record) => record.extra },
];

/** $1 is the product, $2 the time of the page's request, and the last parameter is now. */
const INPUT = `
  select t.*, extra_text::jsonb as extra
  from unnest(${COLUMNS.map(({ type }, index) => `$${index + 3}::${type}[]`).join(", ")})
    as t (${COLUMNS.map(({ name }) => name).join(", ")})`;
const NOW = `$${COLUMNS.length + 3}::timestamptz`;

const CONTENT = [
  "round_id",
  "currency",
  "stake",
  "payout",
  "game_code",
  "game_name",
  "bet_status",
  "payout_status",
  "accounting_date",
  "updated_date",
  "extra",
];

const INSERT = `insert into bet_records (product_id, username, bet_id, id, ${CONTENT.join(", ")}, version_seen_at, requested_at)`;

const MARK = (touched: string) => `
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select $1, array_agg(username), array_agg(round), array_agg(bet), ${NOW}
  from (
    select distinct username, nullif(nullif(round_id, ''), 'UNKNOWN') as round, bet_id as bet
    from ${touched}
  ) marks
  having count(*) > 0`;

/**
 * The commit of a page does not wait for the disk. If the server crashes then, it loses the records and the window's cursor together,
 * and the page is fetched again. A mismatch that depends on the page is written by a later commit, which waits for the disk.
 */
const WITHOUT_WAITING = "set_config('synchronous_commit', 'off', true)";

async function insertNew(
  tx: Query,
  productId: string,
  rows: readonly ColumnArray[],
  times: PageTimes,
): Promise<number> {
  const [row] = await tx.unsafe<{ created: number }[]>(
    `with input as (${INPUT}),
    written as (
      ${INSERT}
      select $1, username, bet_id, id, ${CONTENT.join(", ")}, ${NOW}, $2::timestamptz
      from input order by bet_id, username, id
      on conflict (product_id, username, bet_id, id) do nothing
      returning username, round_id, bet_id
    ),
    marked as (${MARK("written")}),
    noted as (${noteAddedText("bet_records", "count(*)", "from written having count(*) > 0", "$1")})
    select count(*) as created, ${WITHOUT_WAITING} from written`,
    [productId, times.requestedAt, ...rows, times.now],
    { prepare: true },
  );
  return row?.created ?? 0;
}

/**
 * The stored content that a record of the input `i` replaces, as `r`. Looks each record up by its key: as a plain join, PostgreSQL reads
 * all records of the product while its statistics of a growing table are old, 400 ms a page.
 * @param ending the end of the look-up; each of the two keeps PostgreSQL from turning it into a join
 */
const replacedBy = (ending: "limit 1" | "for update") => `cross join lateral (
      select * from bet_records k
      where k.product_id = $1 and k.bet_id = i.bet_id and k.username = i.username and k.id = i.id
        and ${contentOf("i")} is distinct from ${contentOf("k")}
        and (i.updated_date > k.updated_date
          or (i.updated_date = k.updated_date and $2::timestamptz >= k.requested_at))
      ${ending}
    ) r`;

function contentOf(row: string): string {
  return `(${CONTENT.map((column) => `${row}.${column}`).join(", ")})`;
}

/**
 * Whether a page replaces any known content. Most pages of a resweep do not, and preparing to write costs PostgreSQL more than
 * reading.
 */
async function hasOlder(
  tx: Query,
  productId: string,
  rows: readonly ColumnArray[],
  times: PageTimes,
): Promise<boolean> {
  const [row] = await tx.unsafe<{ any: boolean }[]>(
    `select exists (select from (${INPUT}) i ${replacedBy("limit 1")}) as any`,
    [productId, times.requestedAt, ...rows],
    { prepare: true },
  );
  return row?.any ?? false;
}

async function replaceOlder(
  tx: Query,
  productId: string,
  rows: readonly ColumnArray[],
  times: PageTimes,
): Promise<number> {
  const [row] = await tx.unsafe<{ changed: number }[]>(
    `with input as (${INPUT}),
    old as (
      select r.* from (select * from input order by bet_id, username, id) i ${replacedBy("for update")}
    ),
    kept as (
      insert into bet_record_versions (product_id, username, bet_id, id, ${CONTENT.join(", ")},
        version_seen_at, requested_at, replaced_at)
      select product_id, username, bet_id, id, ${CONTENT.join(", ")}, version_seen_at, requested_at, ${NOW}
      from old
    ),
    written as (
      -- An update would be a join, which may read all records of the product, too.
      ${INSERT}
      select $1, username, bet_id, id, ${CONTENT.map((column) => `i.${column}`).join(", ")}, ${NOW}, $2::timestamptz
      from input i join old using (username, bet_id, id)
      order by bet_id, username, id
      on conflict (product_id, username, bet_id, id) do update
      set ${[...CONTENT, "version_seen_at", "requested_at"].map((column) => `${column} = excluded.${column}`).join(", ")}
      returning username, round_id, bet_id
    ),
    touched as (
      select username, round_id, bet_id from written
      union
      select username, round_id, bet_id from old
    ),
    marked as (${MARK("touched")})
    select count(*) as changed from written`,
    [productId, times.requestedAt, ...rows, times.now],
    { prepare: true },
  );
  return row?.changed ?? 0;
}

/** A page may repeat a record. The newest repeat counts; if several are equally new, the last. */
function newestOfEach(records: readonly BetRecord[]): BetRecord[] {
  const byKey = new Map<string, BetRecord>();
  for (const record of records) {
    // No part of a key can hold NUL: PostgreSQL could not store it.
    const key = `${record.username}\0${record.betId}\0${record.id}`;
    const known = byKey.get(key);
    if (known === undefined || !isOlder(record.updatedDate, known.updatedDate)) byKey.set(key, record);
  }
  return [...byKey.values()];
}

/** Compares to the millisecond, and as text if the milliseconds are equal. */
function isOlder(a: string, b: string): boolean {
  const order = parseInstant(a, "updatedDate") - parseInstant(b, "updatedDate");
  return order === 0 ? a < b : order < 0;
}

/** The numbers of stored and rejected records of each product. */
export async function countRecords(sql: Query): Promise<Map<string, { records: number; rejected: number }>> {
  const [records, rejected] = await Promise.all([
    countByProduct(sql, "bet_records"),
    countByProduct(sql, "rejected_records"),
  ]);
  const products = new Set([...records.keys(), ...rejected.keys()]);
  return new Map(
    [...products].map((productId) => [
      productId,
      { records: records.get(productId) ?? 0, rejected: rejected.get(productId) ?? 0 },
    ]),
  );
}

/**
 * Limits of one part of a page: converting a larger part to parameters would block the process. Most pages are one part.
 */
const MOST_IN_PART = 2_000;
const MOST_TEXT_IN_PART = 256 * 1024;

/**
 * Cuts a page into parts. Several parts follow each other in key order, so two pages cannot deadlock.
 * @param sizeOf the length of an item's longest text
 */
export function cutIntoParts<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  sizeOf: (item: Item) => number,
): Item[][] {
  const whole = items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (items.length === 0) return [];
  if (items.length <= MOST_IN_PART && whole <= MOST_TEXT_IN_PART) return [[...items]];
  const parts: Item[][] = [];
  let part: Item[] = [];
  let size = 0;
  for (const item of items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    if (part.length === MOST_IN_PART || (part.length > 0 && size + sizeOf(item) > MOST_TEXT_IN_PART)) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(item);
    size += sizeOf(item);
  }
  return [...parts, part];
}
