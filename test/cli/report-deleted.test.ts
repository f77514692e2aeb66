/** The statement of a day whose bets were deleted: the stored one, or a refusal, and never a smaller sum. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dropClosed } from "../../src/flows/retention/drop-closed.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { DAY_MS, useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS } from "../support/examples.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { OWN_PAGE, serveOps } from "../support/ops-browser.ts";
import { callRecon } from "./call-recon.ts";

const { sql, url } = useDatabase();
/** The midnight at which 2025-09-10 begins in UTC. */
const BEGIN = Date.parse("2025-09-10T00:00:00Z");
const KEPT = "2025-10-01T00:00:00.000Z";
const DELETED = `from 2025-09-10T00:00:00.000Z to ${KEPT}`;
const SETTINGS = {
  products: [{ productId: "P1" }],
  pull: { resweepAfter: ["P1D"] },
  retain: { records: "P30D", entries: "P40D" },
};
const clock = createTestClock(BEGIN + 3 * DAY_MS + HOUR_MS);
const { fetched, close, context } = useClosing(sql, clock, SETTINGS);
const folder = mkdtempSync(join(tmpdir(), "recon-deleted-"));
const path = join(folder, "recon.config.json");
afterAll(() => rmSync(folder, { recursive: true }));
const recon = (...args: string[]) => callRecon(args, { DATABASE_URL: url, RECON_CONFIG: path });

beforeAll(async () => {
  writeFileSync(path, JSON.stringify(SETTINGS));
  await fetched(BEGIN - DAY_MS, BEGIN + 30 * DAY_MS);
  for (const day of [-1, 0, 1]) {
    const names = { txnId: `bet-${day}`, roundId: `round-${day}`, requestId: `request-${day}` };
    const occurredAt = BEGIN + day * DAY_MS + 12 * HOUR_MS;
    const at = { ...names, occurredAt, receivedAt: occurredAt };
    await appendEntries(sql, [
      exampleEntry({ ...at, entryId: `place-${day}` }),
      exampleSettle({ ...at, entryId: `settle-${day}`, payoutAmount: amount("20") }),
    ]);
    const accountingDate = new Date(occurredAt).toISOString();
    const record = exampleRecord({
      id: `record-${day}`,
      betId: names.txnId,
      roundId: names.roundId,
      payout: amount("20"),
      accountingDate,
      updatedDate: accountingDate,
    });
    const now = occurredAt + HOUR_MS;
    await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: now, now }));
  }
  // As a comparison does.
  await sql`delete from diff_marks`;
  for (const day of ["2025-09-10", "2025-09-11"]) expect(await close(day)).toHaveProperty("closed");
});

const statementOf = async (...args: string[]) =>
  JSON.parse((await recon("report", ...args, "--json")).stdout);

test("a closed day keeps its stored statement, and other zones are refused by name", async () => {
  const stored = await statementOf("--day", "2025-09-10");
  expect(stored).toMatchObject({ closed: { number: 1 }, rows: [{ provider: { bets: 1 }, difference: "0" }] });
  const inLima = await statementOf("--day", "2025-09-10", "--zone", "America/Lima");
  expect(inLima).toMatchObject({ closed: null, rows: [{ provider: { bets: 1 } }] });

  clock.set(Date.parse(KEPT) + 30 * DAY_MS);
  await sql`update closed_days set to_at = ${KEPT}::text::timestamptz where number = 2`;
  expect(await dropClosed(context(), new AbortController().signal)).toMatchObject({ records: 2, entries: 4 });

  expect(await statementOf("--day", "2025-09-10")).toEqual(stored);
  expect(await statementOf("--day", "2025-09-10", "--zone", "UTC")).toEqual(stored);

  const problem =
    `the sums of 2025-09-10 in America/Lima cannot be computed any more: bet records of P1 ${DELETED} ` +
    "may be deleted (retain.records); its stored statement is that of the zone UTC: ask for this zone";
  for (const format of [[], ["--json"], ["--csv"]]) {
    const refused = await recon("report", "--day", "2025-09-10", "--zone", "America/Lima", ...format);
    expect([refused.code, refused.stderr]).toEqual([1, `recon: ${problem}\n`]);
    const error = { code: "bets-deleted", message: problem, fields: [] };
    expect(refused.stdout === "" ? "" : JSON.parse(refused.stdout)).toEqual(
      format.includes("--json") ? { error } : "",
    );
  }
  const query = "report?day=2025-09-10&zone=America/Lima";
  const ask = await serveApi(context());
  expect(await ask("GET", `/api/${query}`)).toMatchObject(problemWith(410, problem));
  const browse = await serveOps(context(), []);
  const page = await browse("GET", `/${query}`, { headers: OWN_PAGE });
  expect([page.status, page.text]).toEqual([410, expect.stringContaining(problem)]);
  const csv = await browse("GET", `/${query.replace("?", ".csv?")}`, { headers: OWN_PAGE });
  expect([csv.status, csv.text]).toEqual([410, expect.stringContaining(problem)]);
});

test("days before the first closed day and after the closed time keep their sums", async () => {
  const before = await statementOf("--day", "2025-09-09");
  expect(before).toMatchObject({ closed: null, rows: [{ provider: { bets: 1 }, ledger: { bets: 1 } }] });
  expect(await statementOf("--day", "2025-10-01")).toMatchObject({ rows: [], closed: null });
});

test("if an earlier version may have deleted what lies before the first closed day, it is refused", async () => {
  await sql`update retention_states set began_at = null where walk like 'records of %'`;
  const refused = await recon("report", "--day", "2025-09-09");
  await sql`update retention_states set began_at = '2025-09-10T00:00:00Z' where walk like 'records of %'`;
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `recon: the sums of 2025-09-09 in UTC cannot be computed any more: bet records of P1 before ${KEPT} may be deleted (retain.records)\n`,
  ]);
});

test("if only entries were deleted, the message names them", async () => {
  await sql`update retention_states set deleted_up_to = '2025-09-01T00:00:00Z' where walk like 'records of %'`;
  expect((await recon("report", "--day", "2025-09-20", "--zone", "Asia/Bangkok")).stderr).toMatch(
    /: callback entries from 2025-09-10T00:00:00.000Z to 2025-09-21T00:00:00.000Z may be deleted \(retain.entries\)\n$/,
  );
});
