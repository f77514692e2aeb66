import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS } from "../support/examples.ts";
import { OWN_PAGE, serveOps } from "../support/ops-browser.ts";
import { callRecon } from "./call-recon.ts";
import { PROGRAM } from "./run-recon.ts";

const run = promisify(execFile);
const { sql, url } = useDatabase();
const BEGIN = Date.parse("2025-10-24T00:00:00Z");
const DAY_MS = 24 * HOUR_MS;
const AT = BEGIN + DAY_MS + 12 * HOUR_MS;
const { fetched } = useClosing(sql, createTestClock(AT));
const folder = mkdtempSync(join(tmpdir(), "recon-close-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CONFIG = {
  products: [{ productId: "P1" }, { productId: "GONE" }, { productId: "T1", walletMode: "transfer" }],
};
const path = join(folder, "recon.config.json");
writeFileSync(path, JSON.stringify(CONFIG));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: path };
const recon = (...args: string[]) => callRecon(args, SETTINGS);
const context = { sql, config: parseConfig(CONFIG), clock: createTestClock(Date.now()), log: silentLog };
const closed = async () =>
  (await sql<{ day: string }[]>`select day::text as day from closed_days order by number`).map(
    ({ day }) => day,
  );

/** 25 October 2025 has a bet that both sides have, and one that waits for its graces. GONE cannot be fetched from 26 October, 12:00. */
beforeEach(async () => {
  await emptyTables(sql);
  await fetched(BEGIN, BEGIN + 4 * DAY_MS);
  await fetched(BEGIN, BEGIN + 2 * DAY_MS + 12 * HOUR_MS, "GONE");
  const at = { occurredAt: AT, receivedAt: AT };
  const waiting = { ...at, txnId: "bet-2", roundId: "round-2", requestId: "two" };
  await appendEntries(sql, [exampleEntry(at), exampleSettle({ ...at, payoutAmount: amount("20") })]);
  const time = new Date(AT).toISOString();
  const record = exampleRecord({ payout: amount("20"), accountingDate: time, updatedDate: time });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: AT, now: AT }));
  await sql`delete from diff_marks`;
  await appendEntries(sql, [
    exampleEntry({ ...waiting, entryId: "p2" }),
    exampleSettle({ ...waiting, entryId: "s2", payoutAmount: amount("30") }),
  ]);
});

describe("recon close", () => {
  test("without a terminal and without --yes refuses with one line, and closes nothing", async () => {
    const ended = await recon("close", "--day", "2025-10-25");
    expect(ended).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "recon: 2025-10-25 was not closed: there is no terminal to confirm in. Add --yes, or --dry-run to see what closing gives up\n",
    });
    expect(await closed()).toEqual([]);
  });

  test.each([
    ["y", ["2025-10-25"], 0, "2025-10-25 (UTC) is closed: number 1"],
    ["", [], 1, "Nothing was closed."],
  ])(
    "on a terminal says what it gives up, and asks: the answer %j leaves %j closed",
    async (answer, days, code, said) => {
      // `script` gives the command a terminal of its own, as if a user typed there.
      const ended = await run(
        "/bin/sh",
        ["-c", `printf '%s\\n' '${answer}' | script -qec "$COMMAND" /dev/null; echo "exit $?"`],
        {
          env: {
            PATH: process.env["PATH"],
            COMMAND: `${process.execPath} ${PROGRAM} close --day 2025-10-25`,
            ...SETTINGS,
          },
        },
      );
      for (const part of [
        "with -20.00 THB of P1 that is not decided yet",
        "what arrives, is fetched or is decided later becomes a correction",
        "Complete, and given up: 2025-10-24.",
        "Close 2025-10-25? [y/N]",
        said,
        `exit ${code}`,
      ])
        expect(ended.stdout).toContain(part);
      expect(await closed()).toEqual(days);
    },
  );

  test("the page of the question says the same", async () => {
    const show = await serveOps(context, []);
    const { text } = await show("GET", "/report/close?day=2025-10-25", { headers: OWN_PAGE });
    expect(text).toContain("It would be closed with -20.00 THB of P1 that is not decided yet.");
  });

  test("--dry-run says the same, as text and as JSON, and closes nothing", async () => {
    const text = await recon("close", "--month", "2025-10", "--dry-run");
    expect([text.code, text.stdout.split("\n").slice(0, 3), text.stderr]).toEqual([
      1,
      [
        "2025-10-24 would be closed with nothing missing, pending or open.",
        "2025-10-25 would be closed",
        "  with -20.00 THB of P1 that is not decided yet",
      ],
      "recon: 2025-10-26 stays open. GONE was not fetched from 2025-10-26 12:00:00Z to 2025-10-27 00:00:00Z (recon coverage says why).\n",
    ]);
    const { code, stdout } = await recon("close", "--day", "2025-10-25", "--dry-run", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        dryRun: true,
        closings: [
          {
            day: "2025-10-25",
            closed: null,
            reason: null,
            gaps: [],
            pending: [{ productId: "P1", currency: "THB", pending: "-20" }],
            openMismatches: [],
          },
        ],
        givenUp: expect.stringContaining("2025-10-25 is the first closed day"),
      },
    ]);
    expect(await closed()).toEqual([]);
    expect(await sql`select from audit_log`).toEqual([]);
  });
});

describe("--dry-run with sealed files", () => {
  const archive = join(folder, "sealed");
  const settings = { ...SETTINGS, RECON_CONFIG: join(folder, "sealing.json") };
  const dryRun = () => callRecon(["close", "--day", "2025-10-24", "--dry-run"], settings);
  beforeEach(() => {
    rmSync(archive, { recursive: true, force: true });
    writeFileSync(settings.RECON_CONFIG, JSON.stringify({ ...CONFIG, closing: { archive } }));
  });

  test("says that the day would stay open, and why, if its folder cannot be used", async () => {
    mkdirSync(archive);
    writeFileSync(join(archive, "holiday.jpg"), "");
    expect(await dryRun()).toMatchObject({
      code: 1,
      stderr: `recon: 2025-10-24 stays open. closing.archive "${archive}" cannot be used: it holds something else: "holiday.jpg". Choose a folder of its own, or move that away.\n`,
    });
    rmSync(archive, { recursive: true });
    writeFileSync(archive, "");
    expect((await dryRun()).stderr).toContain("it is a file, not a folder");
  });

  test("leaves nothing in the folder, and does not make it", async () => {
    const above = () => readdirSync(folder);
    const before = above();
    expect(await dryRun()).toMatchObject({ code: 0, stderr: "" });
    expect(above()).toEqual(before);
    mkdirSync(archive);
    expect(await dryRun()).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(archive)).toEqual([]);
  });
});

describe("a product that is gone", () => {
  const NOTE = "the vendor has ended";
  const missing = [{ from: "2025-10-26T12:00:00.000Z", to: "2025-10-27T00:00:00.000Z" }];
  const SAID = `GONE lacks 12 h (2025-10-26 12:00:00Z to 2025-10-27 00:00:00Z), which cli:`;
  beforeEach(async () => {
    await recon("close", "--day", "2025-10-25", "--yes");
  });

  test("stops no other product once its gap is accepted: statement, page and audit say who accepted what, and why", async () => {
    expect((await recon("close", "--day", "2025-10-26", "--yes")).code).toBe(1);
    const args = ["close", "--day", "2025-10-26", "--accept-gap", "GONE", "--note", NOTE];
    const dry = await recon(...args, "--dry-run");
    expect(dry.stdout).toContain("  without 12 h of GONE: 2025-10-26 12:00:00Z to 2025-10-27 00:00:00Z\n");
    const ended = await recon(...args, "--yes");
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining(SAID)]);
    const statement = JSON.parse((await recon("report", "--day", "2025-10-26", "--json")).stdout);
    expect(statement.acceptedGaps).toMatchObject([
      { productId: "GONE", missing, note: NOTE, by: expect.stringMatching(/^cli:/) },
    ]);
    expect((await recon("report", "--day", "2025-10-26")).stdout).toContain(SAID);
    const page = await (await serveOps(context, []))("GET", "/report?day=2025-10-26", { headers: OWN_PAGE });
    expect(page.text).toContain("GONE lacks 12 h");
    expect((await recon("report", "--month", "2025-10")).stdout).toContain(`2025-10-26: ${SAID}`);
    const month = await (await serveOps(context, []))("GET", "/report?month=2025-10", { headers: OWN_PAGE });
    expect(month.text).toMatch(/2025-10-26<\/a>: GONE lacks 12 h/);
    const invoice = join(folder, "invoice.csv");
    writeFileSync(invoice, "product,currency,turnover,ggr\nGONE,THB,700,70\n");
    expect((await recon("invoice", "check", invoice, "--month", "2025-10")).stdout).toContain(
      "line 2: GONE was closed without some of its time on 2025-10-26: what is fetched of it later is in the corrections.",
    );
    expect((await recon("report", "--verify")).code).toBe(0);
    const [last] =
      await sql`select who, route, details::jsonb as details, status from audit_log order by id desc limit 1`;
    expect(last).toEqual({
      who: expect.stringMatching(/^cli:/),
      route: "recon close",
      details: { close: "2025-10-26", acceptGap: ["GONE"], note: NOTE },
      status: 0,
    });
  });

  test.each([
    [["GONE", "--note", " "], 2, /note/],
    [["GONE"], 2, /note is missing/],
    [["P1", "--note", "x"], 2, /P1 has no gap on 2025-10-26, so there is nothing to accept/],
    [["P9", "--note", "x"], 2, /there is no product "P9"; the config has P1, GONE, T1/],
    [["T1", "--note", "x"], 2, /T1 has no bets that are fetched/],
    [["GONE", "--accept-gap", "P1", "--note", "x"], 2, /P1 has no gap on 2025-10-26/],
  ])("--accept-gap %j fails with exit code %i and one clear line", async (more, code, line) => {
    const ended = await recon("close", "--day", "2025-10-26", "--yes", "--accept-gap", ...more);
    expect(ended).toEqual({ code, stdout: "", stderr: expect.stringMatching(line) });
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    expect(await closed()).toEqual(["2025-10-25"]);
  });

  test.each([
    [["--month", "2025-10", "--accept-gap", "GONE", "--note", "x"], 2, "--accept-gap is about one day"],
    [["--day", "2025-10-26", "--note", "x"], 2, "--note is the reason of --accept-gap: give both"],
    [["--day", "2025-10-25", "--accept-gap", "GONE", "--note", "x"], 1, "the day was closed before"],
    [["--day", "2025-10-27", "--accept-gap", "GONE", "--note", "x"], 1, "2025-10-26 is the next one"],
  ])("close %j fails with exit code %i", async (args, code, line) => {
    const ended = await recon("close", "--yes", ...args);
    expect(ended).toEqual({ code, stdout: "", stderr: expect.stringContaining(line) });
  });

  test("can be accepted on the page too", async () => {
    const show = await serveOps(context, []);
    const page = await show("GET", "/report/close?day=2025-10-26", { headers: OWN_PAGE });
    expect(page.text).toContain('name="acceptGap" value="GONE"');
    const body = new URLSearchParams({ day: "2025-10-26", acceptGap: "GONE", note: NOTE }).toString();
    const headers = { ...OWN_PAGE, "content-type": "application/x-www-form-urlencoded" };
    expect((await show("POST", "/report/close", { headers, body })).status).toBe(303);
    expect(await closed()).toEqual(["2025-10-25", "2025-10-26"]);
    const empty = new URLSearchParams({ day: "2025-10-27", acceptGap: "GONE", note: " " }).toString();
    expect((await show("POST", "/report/close", { headers, body: empty })).status).toBe(400);
  });
});
