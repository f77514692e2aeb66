import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlayLog } from "../../../src/sandbox/world/play-log.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { HOUR, MINUTE, planOf, SECOND, START } from "../plans.ts";

const LEAD = 10 * SECOND;
let folder: string;
let path: string;
let clock: TestClock;

function open(seed?: number) {
  return openPlayLog({ path, clock, historyMs: HOUR, leadMs: LEAD, ...(seed === undefined ? {} : { seed }) });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "diary-"));
  path = join(folder, "place", "diary.json");
  clock = createTestClock(START);
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("the diary", () => {
  it("begins with players who have played for a while, and a few seconds more", () => {
    expect(open().periods).toEqual([{ from: START - HOUR, to: START + LEAD }]);
  });

  it("grows in the list that it returned, and on disk before anyone can see it", () => {
    const playLog = open();
    const { periods } = playLog;
    clock.advance(MINUTE / 10);
    playLog.extend();
    expect(periods).toEqual([{ from: START - HOUR, to: START + MINUTE / 10 + LEAD }]);
    expect(open().periods).toEqual(periods);
  });

  it("can be read only by its owner", () => {
    open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("leaves its file unchanged while enough is committed", () => {
    const playLog = open();
    const { mtimeNs } = statSync(path, { bigint: true });
    clock.advance(LEAD / 2);
    playLog.extend();
    expect(statSync(path, { bigint: true }).mtimeNs).toBe(mtimeNs);
    clock.advance(1);
    playLog.extend();
    expect(playLog.periods.at(-1)?.to).toBe(START + LEAD / 2 + 1 + LEAD);
  });

  it("continues with the same seed in a new period after a pause", () => {
    const { seed } = open();
    clock.advance(HOUR);
    const second = open();
    expect(second.seed).toBe(seed);
    expect(second.periods).toEqual([
      { from: START - HOUR, to: START + LEAD },
      { from: START + HOUR, to: START + HOUR + LEAD },
    ]);
  });

  it("adds nothing to a time that has passed unseen", () => {
    const playLog = open();
    clock.advance(MINUTE);
    playLog.extend();
    expect(playLog.periods).toEqual([
      { from: START - HOUR, to: START + LEAD },
      { from: START + MINUTE, to: START + MINUTE + LEAD },
    ]);
  });

  it("begins with the given seed, or with one of its own", () => {
    expect(open(5).seed).toBe(5);
    expect(open(5).seed).toBe(5);
    rmSync(path);
    const { seed } = open();
    rmSync(path);
    expect(open().seed).not.toBe(seed);
  });

  it("refuses another seed than its own", () => {
    open(5);
    expect(() => open(6)).toThrow(/diary\.json.*begun with seed 5, not 6/);
  });

  it("keeps everything true after a kill that it showed before", () => {
    const all = { from: START - HOUR, to: START + 2 * HOUR };
    const tell = () => {
      const { seed, periods } = open();
      return JSON.stringify(
        createWorld(planOf({ seed, periods })).entriesReceived({ ...all, to: START + LEAD }),
      );
    };
    const before = tell();
    clock.advance(HOUR);
    expect(tell()).toBe(before);
  });

  it("leaves no file besides its own", () => {
    open().extend();
    expect(readdirSync(join(folder, "place"))).toEqual(["diary.json"]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      periods: [{ from: "2026-11-20T02:00:00.000Z" }],
    });
  });

  it.each([
    "",
    "{",
    "null",
    "{}",
    '{"seed":1,"periods":[]}',
    '{"seed":-1,"periods":[{"from":"2026-11-20T02:00:00Z","to":"2026-11-20T03:00:00Z"}]}',
    '{"seed":1,"periods":[{"from":"2026-11-20T02:00:00Z"}]}',
    '{"seed":1,"periods":[null]}',
    '{"seed":1,"periods":[{"from":"2026-11-20T02:00:00Z","to":"2026-11-20T01:00:00Z"}]}',
  ])("says where the damaged file %j is, and what to do", (text) => {
    open();
    writeFileSync(path, text);
    expect(() => open()).toThrow(
      expect.objectContaining({ code: "embedded-failed", message: expect.stringContaining(path) }),
    );
    expect(() => open()).toThrow(/damaged .*delete it/);
  });
});
