/** What every list does, in the API and as a command. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertAudit } from "../../src/access/audit-store.ts";
import { createProgram } from "../../src/cli/program.ts";
import { parseConfig } from "../../src/config-file.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { beginImport } from "../../src/ledger/past-import-store.ts";
import { silentLog } from "../../src/log.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { addTransfers } from "../../src/verify/store.ts";
import { callRecon } from "../cli/call-recon.ts";
import { createTestClock } from "../support/clock.ts";
import { READ_TOKEN, TOKENS, useDashboard } from "../support/dashboard.ts";
import { useDatabase } from "../support/database.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";
import { withoutReferences } from "../support/json-schema.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { deposit, VERIFY } from "../verify/sent.ts";

const { sql, url } = useDatabase();
const serve = useDashboard();
const folder = mkdtempSync(join(tmpdir(), "recon-lists-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "P1" }] };
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "config.json"), LOG_LEVEL: "warn" };
writeFileSync(SETTINGS.RECON_CONFIG, JSON.stringify(CONFIG));
const context = { sql, config: parseConfig(CONFIG), clock: createTestClock(NOON), log: silentLog };

const DAY = "2026-11-10T12:00:00Z";
const OLDEST_FIRST = ["1", "2", "3", "4", "5"];
const NEWEST_FIRST = OLDEST_FIRST.toReversed();
const RECORDS_FIRST = ["record-3", "record-2", "record-1", "entry-2", "entry-1"];
/** The ids of the five items of each list, in its order. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  "/api/alerts": NEWEST_FIRST,
  "/api/audit": NEWEST_FIRST,
  "/api/backfills": NEWEST_FIRST,
  "/api/incidents": NEWEST_FIRST,
  "/api/ledger/imports": NEWEST_FIRST,
  "/api/mismatches": OLDEST_FIRST,
  "/api/rejected": RECORDS_FIRST,
  "/api/report/items": ["b-1", "b-2", "b-3", "b-4", "b-5"],
  "/api/transfers": NEWEST_FIRST,
  "recon backfill list": NEWEST_FIRST,
  "recon incidents list": NEWEST_FIRST,
  "recon mismatches list": OLDEST_FIRST,
  "recon rejected list": RECORDS_FIRST,
  "recon transfers list": NEWEST_FIRST,
};
/** What a list needs beside its page. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "/api/report/items": { day: "2026-11-10" },
};
/** The `next` of lists whose items have no id, by the last item of the page. */
const placed = new Map<string, string>();
const PATHS = Object.keys(LISTS).filter((list) => list.startsWith("/"));

beforeAll(async () => {
  const kinds = [
    "payout-differs",
    "stake-differs",
    "net-differs",
    "status-differs",
    "round-differs",
  ] as const;
  const findings = kinds.map((kind) => ({ kind }));
  await openMismatches(sql, context.config, NOON, findings);
  await sql`update mismatches set status = 'acknowledged' where id in (2, 3)`;
  const range = { productId: "P1", from: NOON - 3 * HOUR_MS, to: NOON - 2 * HOUR_MS };
  const request = { at: NOON, who: "hand", role: "write", by: "token", address: "::1", method: "POST" };
  for (const transactionRef of OLDEST_FIRST) {
    await addTransfers(sql, [deposit({ transactionRef })], NOON, VERIFY);
    await requestBackfill(context, await planBackfill(context, range));
    await beginImport(sql, { who: "hand", via: "api", format: "entries", name: null, bytes: 1 }, NOON);
    await insertAudit(sql, { ...request, route: "/sign-out", target: "{}", details: null, status: 303 });
  }
  await sql`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    select 'placed-' || n, 'placeBets', 'p-' || n, 'P1', 'anna', 'THB', 'b-' || n, 'OPEN', 10, false, ${DAY}, ${DAY}
    from generate_series(1, 5) n`;
  const rejected = ["{}", "[]", "1"].map((raw) => ({ raw, reason: "id must be text" }));
  await writeRejected(sql, "P1", rejected, NOON);
  await sql`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    select n, 'placeBets', 'q', 'P1', 'anna', 'THB', 'b', 'OPEN', 'NaN', false, now(), now() from generate_series(1, 2) n`;
});

async function get(path: string) {
  const headers = { authorization: `Bearer ${READ_TOKEN}` };
  const response = await fetch((await serve(context, TOKENS)) + path, { headers });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

/** @returns a page as the role read sees it; the exit code or status and the error, if it is refused */
async function read(list: string, query: Readonly<Record<string, string>>) {
  if (PATHS.includes(list)) {
    const { after } = query;
    const place = after === undefined ? undefined : placed.get(after);
    const asked = { ...query, ...NEEDED[list], ...(place === undefined ? {} : { after: place }) };
    const { status, json } = await get(`${list}?${new URLSearchParams(asked)}`);
    return status === 200 ? pageOf(json) : `${status} ${json.detail}`;
  }
  const options = Object.entries(query).flatMap(([name, value]) => [`--${name}`, value]);
  const ended = await callRecon([...list.split(" ").slice(1), ...options, "--json"], SETTINGS);
  return ended.code === 0 ? pageOf(JSON.parse(ended.stdout)) : `${ended.code} ${ended.stderr}`;
}

function pageOf({ next, ...rest }: { readonly next: string | null }) {
  const items: { id?: string; transactionRef?: string; transactionId?: string }[] =
    Object.values(rest).find(Array.isArray) ?? [];
  const ids = items.map(
    ({ id, transactionRef, transactionId }) => id ?? transactionRef ?? transactionId ?? "",
  );
  const last = ids.at(-1);
  if (next === null || last === undefined || !("items" in rest)) return { ids, next };
  placed.set(last, next);
  return { ids, next: last };
}

/** The commands that can show a next page: "recon mismatches list". */
function listsIn(command: Command, name: string): string[] {
  const inner = command.commands.flatMap((one) => listsIn(one, `${name} ${one.name()}`));
  return command.options.some(({ long }) => long === "--after") ? [name, ...inner] : inner;
}

test("the table has every list of the API, and every command that lists", async () => {
  const { paths } = withoutReferences((await get("/api/openapi.json")).json);
  const inApi = Object.keys(paths).filter((path) => {
    const { parameters = [], responses } = paths[path].get ?? {};
    const schema = responses?.[200].content["application/json"].schema;
    const isPaged = parameters.some(({ name }: { name: string }) => name === "limit" || name === "after");
    return isPaged || (!path.includes("{") && schema?.properties?.next !== undefined);
  });
  const commands = listsIn(await createProgram(), "recon");
  expect([...inApi, ...commands].sort()).toEqual(Object.keys(LISTS).sort());
});

test.each(Object.entries(LISTS))("%s has pages, each item once in its order", async (list, ids) => {
  // A command reads what the API reads, and takes 80 ms of processor time.
  for (const limit of PATHS.includes(list) ? [2, 3, 5] : [3]) {
    for (let at = 0; at < ids.length; at += limit) {
      const page = ids.slice(at, at + limit);
      const next = at + limit < ids.length ? page.at(-1) : null;
      const after = ids[at - 1];
      const query = { limit: String(limit), ...(after === undefined ? {} : { after }) };
      expect([query, await read(list, query)]).toEqual([query, { ids: page, next }]);
    }
  }
  expect(await read(list, { limit: "1000" })).toEqual({ ids, next: null });
});

test.each(Object.keys(LISTS))("%s refuses a wrong page, and names the field and its value", async (list) => {
  const [start, end] = PATHS.includes(list) ? ["400 ", ""] : ["2 recon: ", "\n"];
  for (const limit of PATHS.includes(list) ? ["0", "1001", "ten"] : ["1001"]) {
    const said = `${start}limit "${limit}" is not a number from 1 to 1000${end}`;
    expect(await read(list, { limit })).toBe(said);
  }
  const isRejected = list.includes("rejected");
  const what = isRejected ? "id of a rejected row (for example record-12 or entry-7)" : '"next" of a page';
  expect(await read(list, { after: "x" })).toBe(`${start}after "x" is not the ${what}${end}`);
});

test.each(["backfills", "incidents", "mismatches", "transfers"])(
  "/api/%s counts the items of all pages if it is asked to",
  async (name) => {
    const list = `/api/${name}?limit=2`;
    expect((await get(`${list}&count=true`)).json).toMatchObject({ count: 5, countIsLeast: false });
    expect((await get(`${list}&count=false`)).json).not.toHaveProperty("count");
    expect(await get(`${list}&count=yes`)).toMatchObject({
      status: 400,
      json: { code: "usage", detail: 'there is no count "yes"; it is one of true, false' },
    });
  },
);

test.each(["backfills", "transfers"])("/api/%s lists the oldest first if it is asked to", async (name) => {
  const list = `/api/${name}`;
  const query = { sort: "oldest", limit: "2" };
  expect(await read(list, query)).toEqual({ ids: ["1", "2"], next: "2" });
  expect(await read(list, { ...query, after: "2" })).toEqual({ ids: ["3", "4"], next: "4" });
  expect(await read(list, { ...query, after: "4" })).toEqual({ ids: ["5"], next: null });
  const command = name === "backfills" ? "recon backfill list" : "recon transfers list";
  expect(await read(command, { ...query, after: "2" })).toEqual({ ids: ["3", "4"], next: "4" });
  expect(await read(list, { sort: "newest" })).toEqual({ ids: NEWEST_FIRST, next: null });
  const names = name === "backfills" ? "newest, oldest" : "newest, oldest, amount";
  expect(await read(list, { sort: "size" })).toBe(`400 there is no sort "size"; it is one of ${names}`);
});

test("a count ends at 10,000, and says so", async () => {
  await sql`insert into backfills (product_id, from_at, to_at, status, requested_at)
    select 'P1', ${NOON}, ${NOON}, 'done', ${NOON} from generate_series(1, 9996)`;
  expect((await get("/api/backfills?count=true")).json).toMatchObject({ count: 10_000, countIsLeast: true });
  await sql`delete from backfills where id > 10000`;
  expect((await get("/api/backfills?count=true")).json).toMatchObject({ count: 10_000, countIsLeast: false });
});
