/** The independent auditor of pulling: compares the stored records with what a provider without faults lists. */

import Big from "big.js";
import type { Sql } from "../../src/db/client.ts";
import { isInvented } from "../../src/sandbox/server/spoil-answer.ts";
import { cutIntoPieces, subtractRanges, type TimeRange } from "../../src/window.ts";
import { askPages, type Item, rangeOf } from "../sandbox/agent.ts";

/** Everything that a provider lists of its products, by product. */
export type Listed = ReadonlyMap<string, readonly Item[]>;

export interface PullAudit {
  /** records that the provider lists */
  readonly planted: number;
  /** of those, how many are stored once with the provider's content */
  readonly found: number;
  /** of all stored records that the provider did not invent, the share that is correct */
  readonly precision: number;
  /** of all listed records, the share that is stored correctly */
  readonly recall: number;
  /** one sentence for each fault */
  readonly problems: readonly string[];
}

const HOUR_MS = 3_600_000;

/** Reads a healthy provider. */
export async function readListed(
  baseUrl: string,
  productIds: readonly string[],
  range: TimeRange,
): Promise<Listed> {
  const listed = new Map<string, Item[]>();
  for (const productId of productIds) {
    const items: Item[] = [];
    for (const piece of cutIntoPieces(range, HOUR_MS)) {
      for await (const page of askPages(baseUrl, rangeOf(productId, piece))) items.push(...page.txns);
    }
    listed.set(productId, items);
  }
  return listed;
}

/** @param range every instant of it must have been fetched, for every product */
export async function auditPull(sql: Sql, listed: Listed, range: TimeRange): Promise<PullAudit> {
  const stored = await readStored(sql);
  const expected = new Map([...listed.values()].flat().map((item) => [identify(item), describe(item)]));
  const genuine = stored.filter(({ id }) => !isInvented(String(id)));
  const right = new Set(
    genuine.filter((item) => expected.get(identify(item)) === describe(item)).map(identify),
  );
  const problems = [
    ...[...expected.keys()]
      .filter((key) => !right.has(key))
      .map((key) => `${key} is not stored as it is listed`),
    ...genuine
      .map(identify)
      .filter((key) => !expected.has(key))
      .map((key) => `${key} is stored but not listed`),
    ...twice(stored.map(({ productId, id }) => `${productId} ${id}`)).map((key) => `${key} is stored twice`),
    ...stored.filter(isWronglyKept).map((item) => `${identify(item)} was invented and is stored`),
    ...(await auditRejected(sql)),
    ...(await auditCounts(sql)),
    ...(await auditWindows(sql, [...listed.keys()], range)),
  ];
  return {
    planted: expected.size,
    found: right.size,
    precision: genuine.length === 0 ? 1 : right.size / genuine.length,
    recall: expected.size === 0 ? 1 : right.size / expected.size,
    problems,
  };
}

/** The records of a done window must exist at every moment, whichever process was killed. */
export async function findBrokenPromises(sql: Sql, listed: Listed): Promise<string[]> {
  // Windows are read first: their records were stored before.
  const done = await sql<(TimeRange & { productId: string })[]>`
    select product_id as "productId", from_at as "from", to_at as "to" from windows where status = 'done'`;
  const stored = new Set((await readStored(sql)).map(describe));
  return done.flatMap(({ productId, from, to }) =>
    (listed.get(productId) ?? [])
      .filter((item) => isWithin(item, { from, to }) && !stored.has(describe(item)))
      .map((item) => `${identify(item)} is not stored, but its window is done`),
  );
}

function isWithin({ accountingDate }: Item, { from, to }: TimeRange): boolean {
  const at = Date.parse(String(accountingDate));
  return from <= at && at < to;
}

async function readStored(sql: Sql): Promise<Item[]> {
  return await sql<Item[]>`
    select product_id as "productId", username, bet_id as "betId", id, round_id as "roundId", currency, stake, payout,
      game_code as "gameCode", game_name as "gameName", bet_status as "betStatus", payout_status as "payoutStatus",
      accounting_date as "accountingDate", updated_date as "updatedDate", extra
    from bet_records`;
}

function identify({ productId, username, betId, id }: Item): string {
  return `${productId} ${username} ${betId} ${id}`;
}

/** Every field, amounts and times by their value. */
function describe(item: Item): string {
  const { productId, username, betId, id, roundId, currency, gameCode, gameName, betStatus, payoutStatus } =
    item;
  const amounts = [item["stake"], item["payout"]].map((amount) => Big(String(amount)).toFixed());
  const times = [item["accountingDate"], item["updatedDate"]].map((at) =>
    typeof at === "number" ? at : Date.parse(String(at)),
  );
  const texts = [
    productId,
    username,
    betId,
    id,
    roundId,
    currency,
    gameCode,
    gameName,
    betStatus,
    payoutStatus,
  ];
  return JSON.stringify([...texts, ...amounts, ...times, item["extra"] ?? null]);
}

/** Of the records that the sandbox invents, only those out of range are valid. */
function isWronglyKept({ id }: Item): boolean {
  return isInvented(String(id)) && !String(id).includes("out-of-range");
}

async function auditRejected(sql: Sql): Promise<string[]> {
  const rows = await sql<{ productId: string; raw: string }[]>`
    select product_id as "productId", raw from rejected_records`;
  const items = rows.map(({ productId, raw }) => ({ productId, id: String(JSON.parse(raw).id) }));
  return [
    ...items.filter(({ id }) => !isInvented(id)).map(({ id }) => `${id} is rejected, but was not invented`),
    ...twice(items.map(({ productId, id }) => `${productId} ${id}`)).map((key) => `${key} is rejected twice`),
  ];
}

/** Records and the counts of their windows commit together, and nothing in this world ever changes. */
async function auditCounts(sql: Sql): Promise<string[]> {
  const [counted] = await sql<{ records: number; created: number; changed: number; replaced: number }[]>`
    select (select count(*) from bet_records) as records, (select count(*) from bet_record_versions) as replaced,
      (select coalesce(sum(created), 0)::bigint from windows) as created,
      (select coalesce(sum(changed), 0)::bigint from windows) as changed`;
  const { records, created, changed, replaced } = counted ?? {
    records: 0,
    created: 0,
    changed: 0,
    replaced: 0,
  };
  return [
    ...(created === records ? [] : [`${records} records are stored, the windows count ${created}`]),
    ...(changed + replaced === 0
      ? []
      : [`${changed} records changed, and ${replaced} versions were replaced`]),
  ];
}

async function auditWindows(sql: Sql, productIds: readonly string[], range: TimeRange): Promise<string[]> {
  const windows = await sql<(TimeRange & { productId: string; status: string; isLeased: boolean })[]>`
    select product_id as "productId", from_at as "from", to_at as "to", status, lease_token is not null as "isLeased"
    from windows where kind = 'live' and from_at < ${range.to} order by from_at`;
  return productIds.flatMap((productId) => {
    const own = windows.filter((window) => window.productId === productId);
    const done = own.filter(({ status }) => status === "done");
    return [
      ...subtractRanges(range, done).map((gap) => `${productId}: ${show(gap)} is not fetched`),
      ...done
        .filter(({ from }, index) => from < (done[index - 1]?.to ?? range.from))
        .map((window) => `${productId}: ${show(window)} begins in the window before`),
      ...own
        .filter(({ status }) => status !== "done" && status !== "split")
        .map((window) => `${productId}: ${show(window)} is ${window.status}`),
      ...own
        .filter(({ isLeased }) => isLeased)
        .map((window) => `${productId}: ${show(window)} is still leased`),
    ];
  });
}

/** How late a resweep may be: windows are an hour long, and the next step of a simulation plans and fetches it. */
const LATE_MS = 2 * HOUR_MS;

/** Every instant must be fetched again once it has reached each age, by a window of any kind. */
export async function auditResweeps(
  sql: Sql,
  productIds: readonly string[],
  ages: readonly number[],
  { from, to: now }: TimeRange,
): Promise<string[]> {
  const windows = await sql<(TimeRange & { productId: string; startedAt: number })[]>`
    select product_id as "productId", from_at as "from", to_at as "to", started_at as "startedAt" from windows
    where status = 'done'`;
  return productIds.flatMap((productId) =>
    ages.flatMap((ageMs) => {
      const range = { from, to: now - ageMs - LATE_MS };
      const again = windows
        .filter((window) => window.productId === productId)
        .map((window) => ({ from: window.from, to: Math.min(window.to, window.startedAt - ageMs) }))
        .filter((window) => window.from < window.to);
      const missing = range.from < range.to ? subtractRanges(range, again) : [];
      return missing.map(
        (gap) => `${productId}: ${show(gap)} was not fetched again at the age of ${ageMs / HOUR_MS} h`,
      );
    }),
  );
}

function show({ from, to }: TimeRange): string {
  return `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
}

function twice(keys: readonly string[]): string[] {
  const seen = new Set<string>();
  return keys.filter((key) => seen.size === seen.add(key).size);
}
