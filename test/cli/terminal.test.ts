/** What options and output are like for an operator at a terminal, and for a program that reads JSON. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { dayAt } from "../../src/closing/day-bounds.ts";
import { parseConfig } from "../../src/config-file.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { callRecon } from "./call-recon.ts";
import { PROGRAM, startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-terminal-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ZONE = "Asia/Bangkok";
const CONFIG = { products: [{ productId: "P1" }], closing: { zone: ZONE } };
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
writeFileSync(SETTINGS.RECON_CONFIG, JSON.stringify(CONFIG));

const recon = (args: string, environment: NodeJS.ProcessEnv = {}, columns = 0) =>
  callRecon(args.split(" "), { ...SETTINGS, ...environment }, "", columns);
const jsonOf = async (args: string) => JSON.parse((await recon(`${args} --json`)).stdout);

beforeEach(async () => {
  await emptyTables(sql);
});

describe("dates", () => {
  test("without a time are their start in closing.zone, and the end of a range is not included", async () => {
    const at = (time: string) => ({ occurredAt: Date.parse(time), betId: time });
    await openMismatches(sql, parseConfig(CONFIG), NOON, [
      at("2026-11-18T16:59:59.999Z"),
      at("2026-11-18T17:00:00Z"),
      at("2026-11-20T16:59:59.999Z"),
      at("2026-11-20T17:00:00Z"),
    ]);
    const { mismatches } = await jsonOf(
      "mismatches list --happened-from 2026-11-19 --happened-to 2026-11-21",
    );
    expect(mismatches.map(({ id }: { id: string }) => id)).toEqual(["2", "3"]);
    expect(await jsonOf("coverage --product P1 --from 2026-11-19 --to 2026-11-20T00:00:00Z")).toMatchObject({
      from: "2026-11-18T17:00:00.000Z",
      to: "2026-11-20T00:00:00.000Z",
    });
  });

  test("can be today and yesterday, a month last, in the zone that the command takes", async () => {
    const today = dayAt(systemClock.now(), ZONE);
    const yesterday = dayAt(today.from - 1, ZONE);
    expect(await jsonOf("coverage --product P1 --from yesterday --to today")).toMatchObject({
      from: new Date(yesterday.from).toISOString(),
      to: new Date(today.from).toISOString(),
    });
    expect(await jsonOf("report --day yesterday")).toMatchObject({ day: yesterday.day, zone: ZONE });
    const zone = "Pacific/Kiritimati";
    const there = dayAt(systemClock.now(), zone).day;
    expect(await jsonOf(`report --day today --zone ${zone}`)).toMatchObject({ day: there, zone });
    const [year = 0, month = 0] = today.day.split("-").map(Number);
    const last = month === 1 ? `${year - 1}-12` : `${year}-${String(month - 1).padStart(2, "0")}`;
    expect(await jsonOf("report --month last")).toMatchObject({ month: last });
  });

  test.each([
    [
      "coverage --product P1 --from 2026-02-30 --to today",
      'from must be a date-time .*, but is "2026-02-30"',
    ],
    ["coverage --product P1 --from tomorrow --to today", 'from must be a date-time .*, but is "tomorrow"'],
    ["coverage --product P1 --from 2026-11-02 --to 2026-11-01", "is not before to"],
    ["report --day tomorrow", 'day must be a date such as 2026-11-20, but is "tomorrow"'],
    ["report --month next", 'month must be a month such as 2026-11, but is "next"'],
  ])("that are wrong are named: recon %s", async (args, line) => {
    const { code, stdout, stderr } = await recon(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^recon: .*${line}`));
  });
});

describe("with --json a failure is one document on standard output", () => {
  test.each<[string, number, object]>([
    ["mismatches list --kind lost", 2, { code: "usage", fields: [{ name: "kind" }] }],
    [
      "mismatches list --jsno",
      2,
      { code: "usage", message: "unknown option '--jsno' (Did you mean --json?)" },
    ],
    ["mismatches show", 2, { code: "usage", message: "missing required argument 'id'" }],
    ["stauts", 2, { code: "usage", message: "unknown command 'stauts' (Did you mean status?)", fields: [] }],
    ["mismatches show 7", 1, { code: "not-found" }],
  ])("recon %s", async (args, code, error) => {
    const ended = await recon(`${args} --json`);
    expect(ended.code).toBe(code);
    const document = JSON.parse(ended.stdout);
    expect(document).toMatchObject({ error });
    const [line = ""] = ended.stderr.split("\n");
    expect(`recon: ${document.error.message}`.startsWith(line)).toBe(true);
  });

  test("also if the database does not answer, or refuses", async () => {
    const gone = { DATABASE_URL: "postgres://recon:hunter2@127.0.0.1:1/recon" };
    const ended = await recon("status --json", gone);
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: "database-unreachable" } });
    expect(ended.stdout).not.toContain("hunter2");
  });

  test("and one that has printed its result prints nothing more", async () => {
    const { code, stdout } = await recon("report --day 2026-11-20 --json --csv");
    expect([code, JSON.parse(stdout).error.code]).toEqual([2, "usage"]);
    const dry = await recon("close --day yesterday --dry-run --json");
    expect(Object.keys(JSON.parse(dry.stdout))).toEqual(["dryRun", "closings", "givenUp"]);
  });
});

describe("a table in a terminal", () => {
  const ENDLESS = "the words of this reason go on and on without any number in them, which is long";
  const list = async (columns: number, environment: NodeJS.ProcessEnv = {}) =>
    (await recon("mismatches list", { NO_COLOR: "1", ...environment }, columns)).stdout.trimEnd().split("\n");

  beforeEach(async () => {
    await openMismatches(sql, parseConfig(CONFIG), NOON, [{}, { reason: ENDLESS }]);
  });

  test("is not changed if it fits, or if there is no terminal", async () => {
    const piped = await list(0);
    expect(piped).toHaveLength(3);
    expect(await list(300)).toEqual(piped);
  });

  test("shortens sentences without numbers, and continues others on further lines, so that no amount is cut", async () => {
    const lines = await list(140);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(140);
    const [, first = "", ...rest] = lines;
    const more = rest.slice(0, -1);
    const whole = [first.slice(first.indexOf("paid out")), ...more.map((line) => line.trim())].join(" ");
    expect(whole).toBe("paid out 30.00 THB at the provider, 25.50 THB in the ledger");
    expect(more.length).toBeGreaterThan(0);
    expect(rest.at(-1)).toMatch(/ the words of this reason .*…$/);
  });

  test("gives sentences lines of their own if little room is left, and cuts nothing else", async () => {
    const lines = await list(80);
    expect(lines[2]).toMatch(
      /^1 +payout-differs +open +- +P1 +anna +4\.50 THB .* 2026-11-20T12:00:00\.000Z$/,
    );
    expect(lines[3]).toBe("  paid out 30.00 THB at the provider, 25.50 THB in the ledger");
  });

  test("without sentences puts the columns that do not fit below, under their heads, and cuts nothing", async () => {
    const incidents = async (columns: number) =>
      (await recon("incidents list", { NO_COLOR: "1" }, columns)).stdout.trimEnd().split("\n");
    const [head = "", row = "", ...more] = await incidents(0);
    expect(more).toEqual([]);
    const lines = await incidents(70);
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(70);
    const wordsOf = (text: string) => text.trim().split(/ {2,}/);
    expect(wordsOf(`${lines[0]}  ${lines[1]}`)).toEqual(wordsOf(head));
    expect(wordsOf(`${lines[2]}  ${lines[3]}`)).toEqual(wordsOf(row));
    expect(lines[3]?.indexOf("9.00 THB")).toBe(lines[1]?.indexOf("AT RISK"));
  });

  test("has a bold head, unless NO_COLOR is set", async () => {
    const [head = ""] = await list(300, { NO_COLOR: undefined, FORCE_COLOR: "1" });
    expect(head.startsWith("\u001b[1mID")).toBe(true);
    expect(stripVTControlCharacters(head)).toBe((await list(300))[0]);
  });
});

test("a worker in a terminal lists the mismatches that are found while it runs, and logs no JSON", async () => {
  await openMismatches(sql, parseConfig(CONFIG), NOON, [{ reason: "found before" }]);
  const provider = {
    PROVIDER_BASE_URL: "http://127.0.0.1:1",
    PROVIDER_USERNAME: "a",
    PROVIDER_PASSWORD: "b",
  };
  const COMMAND = `${process.execPath} ${PROGRAM} worker`;
  const env = { PATH: process.env["PATH"], ...SETTINGS, ...provider, OPS_PORT: "0", NO_COLOR: "1", COMMAND };
  const worker = spawn("/bin/sh", ["-c", 'exec script -qec "$COMMAND" /dev/null'], { env });
  let said = "";
  worker.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(worker, "exit");
  await eventually("it says where to look", () => /dashboard +http:\/\/127\.0\.0\.1:\d+\//.test(said));
  await openMismatches(sql, parseConfig(CONFIG), NOON, [{ betId: "new", reason: "found just now" }]);
  await eventually("it lists the mismatch", () =>
    /^#2 +payout-differs +P1 +4\.50 THB at risk +anna: found just now\r?$/m.test(said),
  );
  worker.stdin.write("\u0003");
  await ended;
  expect(said).not.toMatch(/found before|^\{/m);
});

test("only a terminal gets colours", async () => {
  const { stderr } = await startRecon(["stauts"], SETTINGS).ended;
  expect(stderr).toMatch(/^recon: unknown command/);
});
