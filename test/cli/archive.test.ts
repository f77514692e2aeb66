import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { alter, alterLines, newFolder, sealDay, sealDays } from "../flows/archive/sealed-files.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const DAY = "2026-11-21";
const FILE = "P1.ndjson.gz";

const verify = (...args: string[]) => callRecon(["archive", "verify", ...args], {});

/** Alters the second of three sealed days. @returns the lines that `recon archive verify` prints, without its sums */
async function verifyAfter(change: (path: string) => void, lines = 300) {
  const folder = await newFolder();
  await sealDays(folder, 3, lines);
  change(join(folder, DAY));
  const { code, stdout } = await verify(folder);
  return {
    code,
    flaws: stdout.split("\n").filter((line) => !/flaws? in|^The (first|last) day|^$/.test(line)),
  };
}

test("an archive as it was sealed is said to be so, with the hash that ends its chain", async () => {
  const folder = await newFolder();
  const { hash } = await sealDays(folder, 3);
  expect(await startRecon(["archive", "verify", folder], {}).ended).toMatchObject({
    code: 0,
    stdout: `Every file in ${folder} is as it was sealed, and its lines add up to its statement: 3 days, 3 files, 60 lines.\nThe last day, 2026-11-22, has number 3 and the hash ${hash}: compare it with the one that you wrote down.\n`,
  });
  const json = await verify(folder, "--json");
  expect(JSON.parse(json.stdout)).toEqual({
    ...{ folder, days: 3, files: 3, lines: 60, flaws: [] },
    first: { day: "2026-11-20", number: 1 },
    last: { day: "2026-11-22", number: 3, hash },
  });
});

test("an archive without its first days says which day it begins with", async () => {
  const folder = await newFolder();
  await sealDays(folder, 3);
  rmSync(join(folder, "2026-11-20"), { recursive: true });
  expect(await verify(folder)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      "\nThe first day, 2026-11-21, has number 2: days with a smaller number are not in this folder.\nThe last day, ",
    ),
  });
});

describe("what was altered is named by its day, file and line:", () => {
  test("a flipped bit", async () => {
    const folder = await newFolder();
    await sealDays(folder, 1, 300);
    const path = join(folder, "2026-11-20", FILE);
    const intact = readFileSync(path);
    const named: number[] = [];
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      writeFileSync(path, intact);
      alter(path, (bytes) => {
        const place = Math.floor(bytes.length * share);
        bytes[place] = (bytes[place] ?? 0) ^ 4;
        return bytes;
      });
      const { code, stdout } = await verify(folder, "--json");
      const { flaws } = JSON.parse(stdout);
      expect([code, flaws]).toEqual([
        1,
        [{ day: "2026-11-20", file: FILE, line: expect.any(Number), what: expect.any(String) }],
      ]);
      named.push(flaws[0].line);
    }
    expect(named).toEqual(named.toSorted((a, b) => a - b));
    expect([named[0], named[4]]).toEqual([
      expect.toSatisfy((line) => line < 60),
      expect.toSatisfy((line) => line > 240),
    ]);
  });

  test("bytes outside the lines", async () => {
    const flaws = await verifyAfter((path) =>
      alter(join(path, FILE), (bytes) => {
        bytes[4] = 1;
        return bytes;
      }),
    );
    expect(flaws).toEqual({
      code: 1,
      flaws: [
        `${DAY}/${FILE} has other bytes than its SHA-256 says, although its lines are as they were written.`,
      ],
    });
  });

  test("an amount", async () => {
    const { flaws } = await verifyAfter((path) =>
      alterLines(join(path, FILE), (lines) =>
        lines.map((line, index) => (index === 41 ? line.replace('"0"', '"1"') : line)),
      ),
    );
    expect(flaws).toEqual([`line 42 of ${DAY}/${FILE} was altered.`]);
  });

  test("an amount in a file with so many lines that some share a mark", async () => {
    const { flaws } = await verifyAfter(
      (path) =>
        alterLines(join(path, FILE), (lines) =>
          lines.map((line, index) => (index === 4_999 ? line.replace('"0"', '"1"') : line)),
        ),
      5_000,
    );
    expect(flaws).toEqual([`line 4999 of ${DAY}/${FILE} or one of the next, up to line 5000, was altered.`]);
  });

  test("two lines that changed places", async () => {
    const { flaws } = await verifyAfter((path) =>
      alterLines(join(path, FILE), (lines) => lines.with(41, lines[42] ?? "").with(42, lines[41] ?? "")),
    );
    expect(flaws).toEqual([`line 43 of ${DAY}/${FILE} is out of order: it belongs before line 42.`]);
  });

  test("a line that was removed", async () => {
    const { flaws } = await verifyAfter((path) =>
      alterLines(join(path, FILE), (lines) => lines.toSpliced(299, 1)),
    );
    expect(flaws).toEqual([
      `line 300 of ${DAY}/${FILE} is the first that differs: the file has 299 lines instead of 300.`,
    ]);
  });

  test("a file that is missing, and one too many", async () => {
    const { flaws } = await verifyAfter((path) => {
      rmSync(join(path, FILE));
      writeFileSync(join(path, "P2.ndjson.gz"), "");
    });
    expect(flaws).toEqual([`${DAY}/P2.ndjson.gz is not in the manifest.`, `${DAY}/${FILE} is missing.`]);
  });

  test("something else in the archive", async () => {
    const { flaws } = await verifyAfter((path) => mkdirSync(join(path, "..", "copies")));
    expect(flaws).toEqual(["copies is not the folder of a day."]);
  });

  test("a day that is missing", async () => {
    const { flaws } = await verifyAfter((path) => rmSync(path, { recursive: true }));
    expect(flaws).toEqual([
      "2026-11-22/manifest.json has number 3 after number 1 of 2026-11-20: the days between are missing.",
    ]);
  });

  test("a manifest, by the day after it", async () => {
    const { flaws } = await verifyAfter((path) =>
      alter(join(path, "manifest.json"), (bytes) => Buffer.from(bytes.toString().replace("UTC", "Utc"))),
    );
    expect(flaws).toEqual([
      `2026-11-22/manifest.json does not name the hash of ${DAY}: the chain is broken, so manifest.json of ${DAY}, or this one, was altered.`,
    ]);
  });

  test("a manifest that cannot be read", async () => {
    const { flaws } = await verifyAfter((path) => writeFileSync(join(path, "manifest.json"), '{"day":1}'));
    expect(flaws).toEqual([expect.stringContaining(`${DAY}/manifest.json cannot be read: day: `)]);
  });
});

test("a day that was sealed again with other lines breaks the chain", async () => {
  const folder = await newFolder();
  const { previousHash } = await sealDays(folder, 2);
  await sealDays(folder, 3);
  await sealDay(folder, 2, previousHash, ["P1"], 19);
  const { stdout } = await verify(folder);
  expect(stdout).toContain("the chain is broken");
});

test("a folder that is missing or empty is named", async () => {
  const folder = await newFolder();
  expect(await verify(folder)).toMatchObject({
    code: 1,
    stderr: `recon: "${folder}" holds no closed day\n`,
  });
  expect(await verify(join(folder, "no"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is no folder "${join(folder, "no")}"`),
  });
});
