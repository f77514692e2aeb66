import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS } from "../support/examples.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { OWN_PAGE, serveOps } from "../support/ops-browser.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const BEGIN = Date.parse("2025-10-24T22:00:00Z");
const AT = BEGIN + 25 * HOUR_MS + 12 * HOUR_MS;
const clock = createTestClock(AT);
const { fetched, correct } = useClosing(sql, clock);
const folder = mkdtempSync(join(tmpdir(), "recon-close-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = { products: [{ productId: "P1" }], closing: { zone: "Europe/Berlin" } };
const settingsWith = (config: object) => {
  const path = join(folder, "recon.config.json");
  writeFileSync(path, JSON.stringify(config));
  return { DATABASE_URL: url, RECON_CONFIG: path };
};
const recon = (...args: string[]) => callRecon(args, settingsWith(CONFIG));
const context = { sql, config: parseConfig(CONFIG), clock: createTestClock(Date.now()), log: silentLog };

/** A bet that both sides have, on the 26th; the clocks change on the 26th at night. */
beforeAll(async () => {
  await fetched(BEGIN - 24 * HOUR_MS, BEGIN + 4 * 24 * HOUR_MS);
  const at = { occurredAt: AT, receivedAt: AT };
  await appendEntries(sql, [exampleEntry(at), exampleSettle({ ...at, payoutAmount: amount("20") })]);
  await list("20");
});

async function list(payout: string): Promise<void> {
  const accountingDate = new Date(AT).toISOString();
  const record = exampleRecord({ payout: amount(payout), accountingDate, updatedDate: accountingDate });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: AT, now: AT }));
  // Without a worker nothing takes the marks; a comparison takes them with the same statement.
  await sql`delete from diff_marks`;
}

test("a day is closed with a number and a hash, and its statement stays when the data changes", async () => {
  const first = await startRecon(["close", "--day", "2025-10-25", "--yes"], settingsWith(CONFIG)).ended;
  expect([first.code, first.stdout]).toEqual([
    0,
    expect.stringMatching(/^2025-10-25 \(Europe\/Berlin\) is closed: number 1, hash [0-9a-f]{64}\n.*\n$/),
  ]);
  // 24 October was fetched whole, and nothing before it was fetched.
  expect(first.stdout.split("\n")[1]).toBe(
    "2025-10-25 is the first closed day, and days are closed in order: no day before it can be closed any more, so none has a statement, and retention never deletes its rows. Complete, and given up: 2025-10-24.",
  );
  const second = JSON.parse((await recon("close", "--day", "2025-10-26", "--yes", "--json")).stdout);
  expect(second.givenUp).toBeNull();
  const [{ closed }] = second.closings;
  expect(closed).toMatchObject({ number: 2, previousHash: expect.stringMatching(/^[0-9a-f]{64}$/) });

  const before = JSON.parse((await recon("report", "--day", "2025-10-26", "--json")).stdout);
  expect(before).toMatchObject({
    zone: "Europe/Berlin",
    closed: { number: 2, hash: closed.hash },
    corrections: [],
  });
  await list("25");
  await correct();
  expect(JSON.parse((await recon("report", "--day", "2025-10-26", "--json")).stdout)).toEqual(before);

  const month = JSON.parse((await recon("report", "--month", "2025-10", "--json")).stdout);
  expect(month).toMatchObject({
    month: "2025-10",
    zone: "Europe/Berlin",
    days: [{ day: "2025-10-25" }, { day: "2025-10-26" }],
    rows: [{ productId: "P1", difference: "0", provider: { payout: "20" } }],
    corrections: [
      {
        day: "2025-10-26",
        betId: "bet-1",
        before: { provider: { payout: "20" } },
        after: { provider: { payout: "25" } },
        difference: "5",
      },
    ],
  });
  expect(month.open.find(({ day }: { day: string }) => day === "2025-10-01")).toEqual({
    day: "2025-10-01",
    reason: "It lies before the first closed day, 2025-10-25, and days are closed in order.",
  });
  // The record was listed at the moment of its date, and both sides do not agree since its correction.
  const shares = { withinHour: "0", withinDay: "0", withinWeek: "0" };
  expect(month.confirmed).toEqual([{ productId: "P1", currency: "THB", stake: "10", ...shares }]);
  expect((await recon("report", "--month", "2025-10")).stdout).toContain(
    "PRODUCT  STAKE      AN HOUR  A DAY   A WEEK\nP1       10.00 THB  0.00 %   0.00 %  0.00 %",
  );
  const ask = await serveApi(context);
  expect((await ask("GET", "/api/report?month=2025-10")).json).toEqual(month);
  expect((await ask("GET", "/api/report?day=2025-10-26")).json).toEqual(before);
  expect((await recon("report", "--month", "2025-10", "--csv")).stdout.trim().split("\n").slice(1)).toEqual([
    "2025-10-26,Europe/Berlin,P1,THB,1,10,20,10,1,10,20,10,10,0,0,0,0,0,0,0,true,-10,-10,,,0,0,,,,,",
    expect.stringMatching(
      /^2025-10-26,Europe\/Berlin,P1,THB,0,0,5,5,0,0,0,0,0,5,0,0,0,0,5,0,true,.*bet-1,bet-1,/,
    ),
  ]);
  const page = await (await serveOps(context, []))("GET", "/report?month=2025-10", { headers: OWN_PAGE });
  expect([page.status, page.text]).toEqual([
    200,
    expect.stringContaining("The provider changed payout from 20.00 THB to 25.00 THB"),
  ]);
  expect((await recon("report", "--month", "2025-10")).stdout).toContain(
    "The provider changed payout from 20.00 THB to 25.00 THB",
  );
});

test("a month with money that nothing explains makes the command fail in each form, and today's data decide", async () => {
  const unexplained = "NOT EXPLAINED: nothing explains the rest of these closed days";
  const month = async (...form: string[]) => await recon("report", "--month", "2025-10", ...form);
  // The sums of the closed days have no rest. The correction adds one of 5, because nothing has compared the change.
  const text = await month();
  expect([text.code, text.stdout.split(unexplained)]).toEqual([
    1,
    [expect.stringContaining("Today's data"), expect.any(String)],
  ]);
  expect([(await month("--json")).code, (await month("--csv")).code]).toEqual([1, 1]);

  // A change that is about to become a correction: what is left is not decided yet.
  await list("20");
  const waits = await month();
  expect([waits.code, waits.stdout]).toEqual([
    0,
    expect.stringContaining(
      "1 correction is being written: changes of P1 that are not in these figures yet.",
    ),
  ]);
  expect(waits.stdout).not.toContain("NOT EXPLAINED");
  expect(JSON.parse((await month("--json")).stdout).rows).toMatchObject([{ pending: "0", rest: "0" }]);
  expect((await month("--csv")).code).toBe(0);
  const page = await (await serveOps(context, []))("GET", "/report?month=2025-10", { headers: OWN_PAGE });
  expect(page.text).toContain("1 correction is being written");

  await correct();
  const even = await month();
  expect([even.code, even.stdout]).toEqual([0, expect.not.stringContaining("NOT EXPLAINED")]);

  // The two corrections cancel each other. The tests after this one know one correction.
  await list("25");
  await correct();
  await sql`delete from corrections where id > (select min(id) from corrections)`;
});

test("--month closes what can be closed, and says what stays open and why", async () => {
  const { code, stdout, stderr } = await recon("close", "--month", "2025-10", "--yes");
  expect([code, stderr]).toEqual([
    1,
    "recon: 2025-10-28 stays open. P1 was not fetched from 2025-10-28 22:00:00Z to 2025-10-28 23:00:00Z (recon coverage says why).\n",
  ]);
  expect(stdout.split("\n").map((line) => line.replace(/[0-9a-f]{64}/, "…"))).toEqual([
    "2025-10-25 (Europe/Berlin) was closed before: number 1, hash …",
    "2025-10-26 (Europe/Berlin) was closed before: number 2, hash …",
    "2025-10-27 (Europe/Berlin) is closed: number 3, hash …",
    "",
  ]);
});

test("a month says the end of a day in the same form as close", async () => {
  const { stdout } = await recon("report", "--month", "2999-01");
  expect(stdout).toMatch(/2999-01-01 {2}The day has not ended; it ends at 2999-01-01 23:00:00Z\.\n/);
});

test.each([
  [["close"], 2, "give either --day or --month"],
  [["close", "--day", "2025-02-30"], 2, 'day must be a date such as 2026-11-20, but is "2025-02-30"'],
  [["close", "--month", "2025-13"], 2, 'month must be a month such as 2026-11, but is "2025-13"'],
  [["report", "--month", "2025-10", "--zone", "UTC"], 2, "a month is stated in closing.zone"],
  [["close", "--day", "2025-12-01", "--yes"], 1, "2025-12-01 cannot be closed: days are closed in order"],
])("%j ends with %i and one clear line", async (args, code, message) => {
  const ended = await recon(...args);
  expect([ended.code, ended.stdout, ended.stderr]).toEqual([code, "", expect.stringContaining(message)]);
  expect(ended.stderr.trim().split("\n")).toHaveLength(1);
});

test("a future day stays open", async () => {
  const ask = await serveApi(context);
  expect(await ask("GET", "/api/report?month=today")).toMatchObject(
    problemWith(400, 'month must be a month such as 2026-11, but is "today"'),
  );
  const before = await sql`select * from closed_days`;
  const ended = await recon("close", "--day", "2999-01-01", "--yes");
  expect([ended.code, ended.stderr]).toEqual([
    1,
    "recon: 2999-01-01 stays open. The day ends at 2999-01-01 23:00:00Z, which is in the future.\n",
  ]);
  expect(await sql`select * from closed_days`).toEqual(before);
});

const storedDays = () => sql`select * from closed_days order by number`;

test("a day that was not fetched whole stays open, with the product and the time, and nothing changes", async () => {
  const before = await storedDays();
  const ended = await recon("close", "--day", "2025-10-28", "--yes");
  expect([ended.code, ended.stderr]).toEqual([
    1,
    "recon: 2025-10-28 stays open. P1 was not fetched from 2025-10-28 22:00:00Z to 2025-10-28 23:00:00Z (recon coverage says why).\n",
  ]);
  expect(await storedDays()).toEqual(before);
});

test.each([
  ["records", "P29D", "the longest age in pull.resweepAfter", "P30D"],
  ["entries", "P40D", "closing.after", "P45D"],
])(
  "retain.%s of %s is one error that names it and %s, and nothing changes",
  async (name, kept, than, least) => {
    const before = await storedDays();
    const settings = { ...CONFIG, closing: { after: "P45D" }, retain: { [name]: kept } };
    const ended = await callRecon(["close", "--day", "2025-10-28", "--yes"], settingsWith(settings));
    expect([ended.code, ended.stdout]).toEqual([1, ""]);
    const problem = `retain.${name} is "${kept}", which is shorter than ${than}, "${least}"`;
    expect(ended.stderr.split(problem)).toHaveLength(2);
    expect(await storedDays()).toEqual(before);
  },
);

test("an unknown zone is one error that names the setting and the value", async () => {
  const ended = await callRecon(
    ["close", "--day", "2025-10-27"],
    settingsWith({ ...CONFIG, closing: { zone: "Mars/Base" } }),
  );
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain("closing.zone");
  expect(ended.stderr).toContain("Mars/Base");
  expect(await sql`select from closed_days where zone = 'Mars/Base'`).toHaveLength(0);
});

test.each([
  ["altered", `update corrections set correction = jsonb_set(correction, '{after,provider,payout}', '"24"')`],
  [
    "no number any more",
    `update corrections set correction = jsonb_set(correction, '{after,provider,payout}', '"?"')`,
  ],
  ["deleted", "delete from corrections"],
])(
  "--verify finds a correction that was %s before the day of its arrival is closed",
  async (_how, change) => {
    const unsealed =
      "1 correction is not sealed yet, because the day of arrival is still open; with it, the days have the sums of their bets.";
    const before = await recon("report", "--verify");
    expect([before.code, before.stdout]).toEqual([
      0,
      `Closed days: 3. No stored statement was altered. ${unsealed}\n`,
    ]);
    await sql`create table kept as select * from corrections`;
    await sql.unsafe(change);
    const { code, stderr } = await recon("report", "--verify");
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^recon: the closed day 2025-10-26 does not have the sums of its bets, so a correction was altered or deleted, or a stored bet: of P1 in THB, provider payout is -?\d+ by its statement and its corrections, and 25 by its bets\n$/,
      ),
    ]);
    await sql`delete from corrections`;
    await sql`insert into corrections overriding system value select * from kept`;
    await sql`drop table kept`;
  },
);

test("--verify names the day whose statement was altered", async () => {
  expect((await recon("report", "--verify")).code).toBe(0);
  await sql`update closed_days set statement = jsonb_set(statement, '{rows,0,rest}', '"1"') where day = '2025-10-26'`;
  const { code, stderr } = await recon("report", "--verify");
  expect([code, stderr]).toEqual([
    1,
    "recon: the closed day 2025-10-26 was altered: its statement does not have its hash\n",
  ]);
});

const ALTERED =
  'the stored statement of 2025-10-26 was altered after it was closed, so do not use its figures ("recon report --verify" proves it)';

test.each([
  ["--day", "2025-10-26"],
  ["--month", "2025-10"],
])("report %s %s says that the statement was altered, and exits 1", async (...args) => {
  const shown = await recon("report", ...args);
  expect([shown.code, shown.stdout.split("\n")[0]]).toEqual([1, `ALTERED: ${ALTERED}`]);
  for (const form of ["--json", "--csv"]) {
    const { code, stdout, stderr } = await recon("report", ...args, form);
    expect([code, stdout, stderr]).toEqual([1, expect.stringContaining("2025-10-26"), `recon: ${ALTERED}\n`]);
  }
});

test.each(["day=2025-10-26", "month=2025-10"])("the API and the page of %s say it, too", async (query) => {
  const ask = await serveApi(context);
  expect(await ask("GET", `/api/report?${query}`)).toMatchObject(problemWith(409, ALTERED));
  const show = await serveOps(context, []);
  const page = await show("GET", `/report?${query}`, { headers: OWN_PAGE });
  expect([page.status, page.text]).toEqual([
    200,
    expect.stringContaining("Altered: the stored statement of 2025-10-26"),
  ]);
  expect(page.text).not.toMatch(/Both sides agree|these figures stay/);
  expect((await show("GET", `/report.csv?${query}`, { headers: OWN_PAGE })).status).toBe(409);
});

test("doctor checks all closed days", async () => {
  const { code, stdout } = await recon("doctor");
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/WRONG {2}books +the closed day 2025-10-26 was altered/),
  ]);
});

test("a day whose statement is as it was closed is shown without a warning", async () => {
  const { code, stdout } = await recon("report", "--day", "2025-10-25");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^The day 2025-10-25/)]);
});

test("the text and the page of a closed day say where it begins and ends; those of a month name the unusual days", async () => {
  const bounds =
    "2025-10-26 00:00:00 to 2025-10-27 00:00:00 in Europe/Berlin (2025-10-25 22:00:00Z to 2025-10-26 23:00:00Z), 25 h";
  expect((await recon("report", "--day", "2025-10-26")).stdout).toContain(`\nFrom ${bounds}\n`);
  await sql`update closed_days set zone = 'Asia/Bangkok' where day = '2025-10-27'`;
  const unusual = ["2025-10-27 was closed in Asia/Bangkok.", `2025-10-26 is from ${bounds}.`];
  expect((await recon("report", "--month", "2025-10")).stdout.split("\n").slice(2, 4)).toEqual(unusual);
  const show = await serveOps(context, []);
  const textOf = async (query: string) => (await show("GET", `/report?${query}`, { headers: OWN_PAGE })).text;
  expect(await textOf("day=2025-10-26")).toContain(`This day is from ${bounds}.`);
  expect(await textOf("month=2025-10")).toContain(unusual.join(" "));
  await emptyTables(sql, ["closed_days"]);
});
