import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { BEYOND_ENDS_MS, LONGEST_WINDOW_MS, type TimeRange } from "../../src/window.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS } from "../support/examples.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const PRODUCT = "SLOT";
const CREDENTIALS = { username: "agent", password: "of the commands" };
const begin = Math.floor(systemClock.now() / HOUR_MS) * HOUR_MS - 8 * HOUR_MS;
/** As long as four of the longest windows. */
const PLAYED = { from: begin, to: begin + 4 * LONGEST_WINDOW_MS };
const world = createWorld({
  seed: 3,
  periods: [PLAYED],
  products: [{ productId: PRODUCT, style: "slot", roundsPerMinute: 2 }],
  players: 10,
  lateSettlementMs: 60_000,
  callbackLagMs: 1_000,
  reportLagMs: 1_000,
  faultEveryMinutes: 0,
});
const countRecords = (range: TimeRange) => world.recordsIn(PRODUCT, range, systemClock.now()).length;
const records = countRecords(PLAYED);
/** A window also asks for the second before it and after it. A bet there counts if it is new, and belongs to the next window otherwise. */
const created = countRecords({ from: PLAYED.from - BEYOND_ENDS_MS, to: PLAYED.to + BEYOND_ENDS_MS });
const ASKED = ["--product", PRODUCT, "--from", formatInstant(PLAYED.from), "--to", formatInstant(PLAYED.to)];

beforeEach(async () => {
  await emptyTables(sql);
});

/** @returns the environment that connects a command to the database and the provider */
async function openPlace(): Promise<NodeJS.ProcessEnv> {
  const sandbox = await startSandbox({
    ...{ ...CREDENTIALS, world, clock: systemClock, host: "127.0.0.1", port: 0, pageSize: 50 },
    faults: [],
  });
  const folder = mkdtempSync(join(tmpdir(), "recon-backfill-"));
  onTestFinished(async () => {
    rmSync(folder, { recursive: true });
    await sandbox.close();
  });
  const config = {
    products: [{ productId: PRODUCT }, { productId: "WALLET", walletMode: "transfer" }],
    pull: { every: "PT1H", concurrency: 2, requestTimeout: "PT1M" },
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return {
    DATABASE_URL: url,
    RECON_CONFIG: join(folder, "config.json"),
    PROVIDER_BASE_URL: sandbox.url,
    PROVIDER_USERNAME: CREDENTIALS.username,
    PROVIDER_PASSWORD: CREDENTIALS.password,
    OPS_PORT: "0",
    LOG_LEVEL: "warn",
  };
}

test("a dry run says what would be done; without it a backfill is queued, listed, paused, resumed and cancelled", async () => {
  const place = await openPlace();
  const run = async (...args: string[]) => (await callRecon(["backfill", ...args], place)).stdout;
  const dry = await run(...ASKED, "--dry-run");
  expect(dry).toContain(`Would fetch ${PRODUCT} from`);
  expect(dry).toContain(
    "4 windows of at most 59 min 58 s.\nNothing of these 3 h 59 min was fetched before. Nothing was queued.",
  );
  const coverage = (await callRecon(["coverage", ...ASKED], place)).stdout;
  expect(coverage).toContain(`${PRODUCT} is not complete from`);
  expect(coverage).toMatch(/GAP FROM .*\n\S+ +\S+ +3 h 59 min +not-fetched\n$/);

  const { backfill } = JSON.parse(await run(...ASKED, "--json"));
  expect(backfill).toMatchObject({
    id: "1",
    productId: PRODUCT,
    status: "queued",
    windowsTotal: 4,
    records: 0,
  });
  expect(JSON.parse(await run("list", "--json"))).toEqual({ backfills: [backfill], next: null });
  expect(JSON.parse(await run("pause", "1", "--json"))).toEqual({
    backfill: { ...backfill, status: "paused" },
  });
  expect(await run("resume", "1")).toContain("Backfill 1 is queued");
  expect(await run("cancel", "1")).toContain("Backfill 1 is cancelled: 0 windows, 0 records");
  expect(await run("list")).toMatch(/^ID +PRODUCT .*\n1 +SLOT .* cancelled +0\/4 /);
});

test("--wait shows the progress while a worker runs the backfill, and ends with the result", async () => {
  const place = await openPlace();
  const worker = startRecon(["worker"], place);
  const waited = await startRecon(["backfill", ...ASKED, "--wait"], place).ended;
  expect(waited).toMatchObject({ code: 0, stderr: "" });
  expect(waited.stdout).toContain(`Backfill 1 of ${PRODUCT} is queued: 4 windows of at most 59 min 58 s.\n`);
  // Each hour of this play has the same number of records, so some windows are halved to find out whether answers are cut.
  const result = `windows, ${created} records: ${created} created, 0 changed, 0 unchanged`;
  expect(waited.stdout.trimEnd().split("\n").at(-1)).toMatch(
    new RegExp(`^Backfill 1 is done: \\d+ ${result}\\.$`),
  );

  const again = await callRecon(["backfill", ...ASKED, "--wait", "--json"], place);
  expect(JSON.parse(again.stdout).backfill).toMatchObject({ id: "2", status: "done", unchanged: records });
  expect(again.stderr).toMatch(/(\d+)\/\1 windows/);

  expect((await callRecon(["backfill", ...ASKED, "--dry-run"], place)).stdout).toContain(
    "All of these 3 h 59 min was fetched before.",
  );
  const longer = ASKED.with(ASKED.indexOf("--from") + 1, formatInstant(PLAYED.from - 26 * HOUR_MS));
  expect((await callRecon(["backfill", ...longer, "--dry-run"], place)).stdout).toContain(
    "\n3 h 59 min of these 1 d 5 h was fetched before. Nothing was queued.",
  );
  const coverage = await callRecon(["coverage", ...ASKED], place);
  expect(coverage.stdout).toContain(`${PRODUCT} is complete from ${formatInstant(PLAYED.from)}`);
  expect(coverage.stdout).toMatch(new RegExp(`backfill +\\d+ +${2 * records} `));
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
});

test("Ctrl-C ends the waiting, not the backfill; a backfill that is cancelled meanwhile makes the command fail", async () => {
  const place = await openPlace();
  const waiting = startRecon(["backfill", ...ASKED, "--wait"], place);
  await eventually("it waits", () => waiting.said().includes("queued, 0/4 windows"));
  waiting.child.kill("SIGINT");
  expect(await waiting.ended).toMatchObject({
    code: 1,
    stderr: "Backfill 1 continues without this command. To end the backfill: recon backfill cancel 1\n",
  });
  expect(await sql`select status from backfills`).toEqual([{ status: "queued" }]);

  const other = startRecon(["backfill", ...ASKED, "--wait"], place);
  await eventually("it waits", () => other.said().includes("queued, 0/4 windows"));
  await callRecon(["backfill", "cancel", "2"], place);
  expect(await other.ended).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Backfill 2 is cancelled"),
  });
});

test("an impossible backfill fails with one clear line that names the value", async () => {
  const place = await openPlace();
  const cases: [args: string[], code: number, line: string][] = [
    [
      ["--product", "NONE", ...ASKED.slice(2)],
      2,
      `there is no product "NONE"; it is one of ${PRODUCT}, WALLET`,
    ],
    [ASKED.slice(0, 4), 2, "to is missing"],
    [[...ASKED, "--from", "noon"], 2, "from must be a date-time with an offset such as"],
    [["pause", "77"], 1, 'there is no backfill "77"'],
    [["halt"], 2, "unknown command 'halt'"],
  ];
  const ended = await Promise.all(cases.map(([args]) => callRecon(["backfill", ...args], place)));
  for (const [index, [, code, line]] of cases.entries()) {
    expect(ended[index]).toMatchObject({ code, stdout: "" });
    expect(ended[index]?.stderr.split("\n")[0]).toContain(`recon: ${line}`);
    expect(ended[index]?.stderr).not.toContain("    at ");
  }
});
