import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { betItem } from "../support/http-provider.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-rejected-"));
afterAll(() => rmSync(folder, { recursive: true }));
const configOf = (...products: string[]) => {
  const path = join(folder, `${products.join("-")}.json`);
  writeFileSync(path, JSON.stringify({ products: products.map((productId) => ({ productId })) }));
  return path;
};
const [ONE, BOTH] = [configOf("P1"), configOf("P1", "P2")];

const environmentOf = (config: string) => ({ DATABASE_URL: url, RECON_CONFIG: config, LOG_LEVEL: "warn" });
const recon = (line: string, config = ONE) =>
  callRecon(["rejected", ...line.split(" ")], environmentOf(config));
const json = async (line: string, config = ONE) => {
  const { stdout, stderr } = await recon(`${line} --json`, config);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
};

const FOREIGN = betItem({ productId: '"P2"', gameName: '"<script>\\u001b[31m\u202e"' });
const ROGUE = '{"stake":"ten","gameName":"a raw \u001b[2J\u009b"}';

beforeEach(async () => {
  await emptyTables(sql);
  await writeRejected(
    sql,
    "P1",
    [{ raw: FOREIGN, reason: 'productId is "P2", but "P1" was asked for' }],
    NOON,
  );
  await writeRejected(sql, "P1", [{ raw: ROGUE, reason: "id must be text" }], NOON + 1);
  await sql`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    values ('e1', 'placeBets', 'q', 'P7', 'anna', 'THB', 'b', 'OPEN', 'NaN', false, now(), now())`;
});

test("they are listed, records first, and chosen by filters", async () => {
  const all = await json("list");
  expect(all).toMatchObject({ next: null, counts: { records: 2, entries: 1 } });
  expect(all.rejected.map(({ id }: { id: string }) => id)).toEqual(["record-2", "record-1", "entry-1"]);
  for (const [filters, ids] of [
    ["--side entry", ["entry-1"]],
    ["--product P7", ["entry-1"]],
    ["--reason ASKED", ["record-1"]],
    ["--since 2026-11-20T12:00:00.001Z --side record", ["record-2"]],
    ["--kind changed", []],
  ] as const) {
    const { rejected, counts } = await json(`list ${filters}`);
    expect([filters, rejected.map(({ id }: { id: string }) => id)]).toEqual([filters, ids]);
    if (!filters.includes("--side")) expect(counts.records + counts.entries).toBe(ids.length);
  }
});

test.each([
  ["list --side both", 'there is no side "both"; it is one of record, entry', 2],
  ["list --product P9", 'there is no product "P9", and nothing rejected names it; the config has P1', 2],
  ["list --since tomorrow", "since must be a date-time", 2],
  ["retry 7", 'id "7" is not the id of a rejected row', 2],
  ["show record-9", 'there is no rejected record or entry "record-9"', 1],
  ["retry record-1 entry-9", 'there is no rejected record or entry "entry-9"', 1],
])("recon rejected %s is refused in one line", async (line, message, code) => {
  expect(await recon(line)).toEqual({
    code,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^recon: ${message}.*\n$`)),
  });
});

test("one is shown with its whole text, what to do, and no character that a terminal obeys", async () => {
  const { stdout } = await recon("show record-1");
  expect(stdout).toContain('productId is "P2", but "P1" was asked for');
  expect(stdout).toMatch(/add it to the products of the config, restart the worker, and retry it/);
  expect(stdout).toContain(String.raw`<script>\u001b[31m\u202e`);
  const rogue = await recon("show record-2");
  expect(rogue.stdout).toContain(String.raw`a raw \u001b[2J\u009b`);
  for (const text of [stdout, rogue.stdout]) expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  expect(await json("show record-1")).toMatchObject({ id: "record-1", raw: FOREIGN });
});

test("a retry says what became of which, and stands in the audit log", async () => {
  expect(await json("retry record-1")).toMatchObject({
    records: { accepted: 0, known: 0, stillRejected: 1 },
    stayed: [{ id: "record-1", reason: expect.stringContaining("not among the products of the config") }],
  });
  const { stdout, code } = await startRecon(["rejected", "retry"], environmentOf(BOTH)).ended;
  expect(code).toBe(0);
  expect(
    stdout
      .split("\n")
      .slice(0, 3)
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ["", "ACCEPTED", "KNOWN", "STILL REJECTED"],
    ["records", "1", "0", "1"],
    ["entries", "0", "0", "1"],
  ]);
  expect(stdout).toMatch(/^record-2: id must be text/m);
  expect(await sql`select bet_id from bet_records where product_id = 'P2'`).toEqual([{ bet_id: "bet-1" }]);
  const common = {
    who: `cli:${userInfo().username}`,
    by: "command",
    route: "recon rejected retry",
    status: 0,
  };
  expect(await sql`select who, by, route, status, details from audit_log order by id`).toEqual([
    { ...common, details: '{"ids":["record-1"],"count":1}' },
    { ...common, details: '{"all":true}' },
  ]);
});
