import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { readClosedDays } from "../../../src/closing/closed-day-store.ts";
import { isAltered } from "../../../src/closing/statement.ts";
import { verifyArchive } from "../../../src/flows/archive/verify-archive.ts";
import { verifyChain } from "../../../src/flows/closing/read-statement.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { checkArchive } from "../archive/independent-checker.ts";
import { alter, linesOf, newFolder } from "../archive/sealed-files.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const { sql, clock, diffAt, receive, listed, ledgerBegins } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock);
const HOUR_MS = 3_600_000;
const DAY = "2026-11-20";
let folder = "";

/** A bet that agrees, one that pays 5 more at the provider, and one in a product that is not in the settings. */
beforeEach(async () => {
  folder = await newFolder();
  await ledgerBegins();
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  await receive(...callbacksOf("20"), ...callbacksOf("20", { txnId: "bet-2", roundId: "round-2" }));
  await receive(...callbacksOf("7", { txnId: "bet-3", roundId: "round-3", productId: "other/product" }));
  await listed(recordOf("20"), recordOf("25", { id: "rec-2", betId: "bet-2", roundId: "round-2" }));
  await diffAt(20 * 60);
  clock.set(TODAY + DAY_MS + HOUR_MS);
});

const closing = (archive: string | null = folder) => ({ closing: { archive } });
const seal = (day = DAY, archive: string | null = folder) => close(day, "UTC", closing(archive));

describe("with closing.archive, a day that is closed", () => {
  test("has a line for each bet, from which its statement can be computed without the program", async () => {
    await seal();
    expect(readdirSync(join(folder, DAY))).toEqual([
      "P1.ndjson.gz",
      "manifest.json",
      "other%2Fproduct.ndjson.gz",
    ]);
    expect(linesOf(join(folder, DAY, "P1.ndjson.gz")).map((line) => JSON.parse(line))).toMatchObject([
      { day: DAY, productId: "P1", betId: "bet-1", difference: "0", explainedBy: "agreed" },
      { betId: "bet-2", difference: "5", explainedBy: "mismatch", mismatchId: expect.any(String) },
    ]);
    expect(checkArchive(folder)).toEqual([]);
  });

  test("has the manifest's hash in its statement, and the next day names that statement", async () => {
    await seal();
    clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
    await seal("2026-11-21");
    const [first, second] = await readClosedDays(sql, 0, 2);
    expect(first?.archive).toMatch(/^[0-9a-f]{64}$/);
    if (first === undefined) throw new Error("two days are closed");
    expect([isAltered(first), isAltered({ ...first, archive: undefined })]).toEqual([false, true]);
    expect((await verifyChain(context())).flaw).toBeNull();
    expect(await verifyArchive(folder)).toMatchObject({ flaws: [], last: { hash: second?.hash } });
    expect(checkArchive(folder)).toEqual([]);
  });

  test("whose figure was altered in the last manifest, which no hash names, is found by its lines", async () => {
    await seal();
    alter(join(folder, DAY, "manifest.json"), (bytes) => {
      const manifest = JSON.parse(bytes.toString());
      manifest.rows[0].provider.net = "99";
      return Buffer.from(JSON.stringify(manifest));
    });
    const { flaws } = await verifyArchive(folder);
    expect(flaws.map(({ day, file, what }) => [day, file, what])).toEqual([
      [
        DAY,
        "manifest.json",
        expect.stringMatching(/^says provider\.net 99 of P1 THB, but its lines add up to -?[\d.]+$/),
      ],
    ]);
  });

  test("stays open with the reason if the folder cannot be used, and is closed when it can", async () => {
    writeFileSync(join(folder, "notes.txt"), "");
    expect(await seal()).toEqual({
      day: DAY,
      reason: `closing.archive "${folder}" cannot be used: it holds something else: "notes.txt". Choose a folder of its own, or move that away.`,
      code: "archive-unusable",
    });
    expect(await readClosedDays(sql, 0, 1)).toEqual([]);
    rmSync(join(folder, "notes.txt"));
    expect(await seal()).toMatchObject({ isNew: true });
  });

  test("is open if the database fails after the files were written, and the next closing replaces them", async () => {
    await sql.unsafe(
      `create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await sql`create trigger fail before insert on closed_days execute function fail()`;
    await expect(seal()).rejects.toThrow("no");
    expect(readdirSync(folder)).toEqual([DAY]);
    await sql`drop function fail cascade`;
    await seal();
    expect(checkArchive(folder)).toEqual([]);
    expect((await verifyArchive(folder)).last?.hash).toBe((await readClosedDays(sql, 0, 1))[0]?.hash);
  });
});

describe("retention", () => {
  const drop = () => {
    clock.set(TODAY + 40 * DAY_MS);
    const retain = { records: "P31D", entries: "P31D" };
    const more = { ...closing(), retain, pull: { resweepAfter: ["P1D"] } };
    return dropClosed(context(more), new AbortController().signal);
  };
  const countRecords = async () => (await sql`select from bet_records`).length;

  test("deletes rows of a day whose files read back", async () => {
    await seal();
    expect(await drop()).toMatchObject({ records: 1 });
  });

  test("keeps rows of a day with a missing or altered file, and says which", async () => {
    await seal();
    const path = join(folder, DAY, "P1.ndjson.gz");
    const intact = readFileSync(path);
    alter(path, (bytes) => bytes.fill(0, 30, 40));
    await expect(drop()).rejects.toThrow(
      `rows of ${DAY} and later days are kept: in closing.archive "${folder}", line 1 of ${DAY}/P1.ndjson.gz`,
    );
    rmSync(path);
    await expect(drop()).rejects.toThrow(`${DAY}/P1.ndjson.gz is missing. Restore the file from a copy.`);
    expect(await countRecords()).toBe(2);
    writeFileSync(path, intact);
    expect(await drop()).toMatchObject({ records: 1 });
  });

  test("keeps rows of a day that was closed without files", async () => {
    await seal(DAY, null);
    await expect(drop()).rejects.toThrow("it was closed without sealed files");
    expect(await countRecords()).toBe(2);
  });
});
