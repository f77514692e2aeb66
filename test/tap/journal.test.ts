import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { AnsweredCallback } from "../../src/tap/conversation.ts";
import { openJournal, sizeOfSegments } from "../../src/tap/journal.ts";
import { type StoreProgress, storeJournal } from "../../src/tap/store-journal.ts";
import { openTally } from "../../src/tap/tally.ts";
import { readJournal } from "./tapped.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "recon-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const callbackOf = (number: number, request = `request ${number}`): AnsweredCallback => ({
  callback: "placeBets",
  receivedAt: Date.parse("2026-11-20T10:00:00Z") + number,
  request,
  response: '{"statusCode":0}',
});
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Stores the whole journal. @param store may fail */
async function storeAll(store: (lines: readonly string[]) => void) {
  const progress: StoreProgress[] = [];
  await storeJournal(
    {
      folder,
      clock: systemClock,
      store: async (lines) => {
        store(lines);
        return { added: lines.length, known: 0, changed: 0, skipped: 0, rejected: 0 };
      },
      onProgress: (one) => progress.push(one),
    },
    new AbortController().signal,
    () => true,
  );
  return { progress, torn: progress.reduce((sum, one) => sum + one.torn, 0) };
}

describe("the journal", () => {
  test("is stored in order across many files, which are removed", async () => {
    const tally = openTally();
    const journal = await openJournal({ folder, mostBytes: 1e9, segmentBytes: 500 }, tally, () => {});
    for (const number of numbers(40)) await journal.record([callbackOf(number)]);
    await journal.close();
    expect(readdirSync(folder).length).toBeGreaterThan(5);
    const stored: string[] = [];
    await storeAll((lines) => stored.push(...lines.map((line) => JSON.parse(line).request)));
    expect(stored).toEqual(numbers(40).map((number) => `request ${number}`));
    expect(readdirSync(folder)).toEqual([]);
    expect(tally.recorded).toBe(40);
  });

  test("is stored while it is written, each line once", async () => {
    const journal = await openJournal({ folder, mostBytes: 1e9, segmentBytes: 2_000 }, openTally(), () => {});
    const stored: string[] = [];
    let isWritten = false;
    const storing = storeJournal(
      {
        folder,
        clock: { ...systemClock, sleep: async () => await new Promise((resolve) => setImmediate(resolve)) },
        store: async (lines) => {
          stored.push(...lines.map((line) => JSON.parse(line).request));
          return { added: lines.length, known: 0, changed: 0, skipped: 0, rejected: 0 };
        },
        onProgress: () => {},
      },
      new AbortController().signal,
      () => isWritten,
    );
    for (const number of numbers(500)) {
      const recording = journal.record([callbackOf(number)]);
      if (number % 7 === 0) await recording;
    }
    await journal.close();
    isWritten = true;
    await storing;
    expect(stored).toEqual(numbers(500).map((number) => `request ${number}`));
  });

  test("is kept until the database has stored it, even after many failures", async () => {
    const journal = await openJournal({ folder, mostBytes: 1e9 }, openTally(), () => {});
    await journal.record(numbers(3).map((number) => callbackOf(number)));
    await journal.close();
    let tries = 0;
    const { progress } = await storeAll((lines) => {
      tries += 1;
      if (tries < 3) throw new Error("the database is away");
      expect(lines.length).toBe(3);
    });
    expect(progress.map(({ problem }) => problem)).toEqual([
      "the database is away",
      "the database is away",
      null,
      null,
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("accepts lines of many megabytes", async () => {
    const journal = await openJournal({ folder, mostBytes: 1e9 }, openTally(), () => {});
    const long = "x".repeat(3_000_000);
    await journal.record([callbackOf(1), callbackOf(2, long), callbackOf(3)]);
    await journal.close();
    const stored: number[] = [];
    await storeAll((lines) => stored.push(...lines.map((line) => JSON.parse(line).request.length)));
    expect(stored).toEqual(["request 1".length, long.length, "request 3".length]);
  });

  test("skips an incomplete line at the point if a process ended, and continues with the next file", async () => {
    const line = `${JSON.stringify(callbackOf(1))}\n`;
    writeFileSync(join(folder, "000000000001.ndjson"), `${line}{"callback":"pla`);
    const journal = await openJournal({ folder, mostBytes: 1e9 }, openTally(), () => {});
    await journal.record([callbackOf(2)]);
    await journal.close();
    const stored: string[] = [];
    const { torn } = await storeAll((lines) => stored.push(...lines.map((one) => JSON.parse(one).request)));
    expect(stored).toEqual(["request 1", "request 2"]);
    expect(torn).toBe(1);
  });

  test("never grows above its limit: a callback that does not fit is counted, and a smaller one may still fit", async () => {
    const [tally, problems] = [openTally(), [] as unknown[]];
    const journal = await openJournal({ folder, mostBytes: 1_000 }, tally, (error) => problems.push(error));
    for (const number of numbers(20)) await journal.record([callbackOf(number)]);
    await journal.close();
    const lines = await readJournal(folder);
    expect(await sizeOfSegments(folder)).toBeLessThanOrEqual(1_000);
    expect(tally).toMatchObject({ recorded: lines.length, lost: { "journal-full": 20 - lines.length } });
    expect(lines.length).toBeGreaterThan(5);
    expect(problems.length).toBeGreaterThan(0);
  });

  test("counts callbacks that it cannot write, and delays no caller", async () => {
    const tally = openTally();
    const journal = await openJournal({ folder, mostBytes: 1e9 }, tally, () => {});
    rmSync(folder, { recursive: true });
    await journal.record([callbackOf(1), callbackOf(2)]);
    await journal.close();
    expect(tally).toMatchObject({ recorded: 0, lost: { "disk-error": 2 } });
  });
});
