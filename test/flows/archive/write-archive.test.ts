import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { fileOf, productOf } from "../../../src/closing/archive.ts";
import { verifyArchive } from "../../../src/flows/archive/verify-archive.ts";
import { linesOf, newFolder, sealDay, sealDays } from "./sealed-files.ts";

/** Only root may, and not in every container. */
const mayMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

describe("the files of a closed day", () => {
  test("are one file a product and a manifest, and nothing else is left", async () => {
    const folder = await newFolder();
    await sealDay(folder, 1, null, ["P2", "P1"]);
    expect(readdirSync(folder)).toEqual(["2026-11-20"]);
    expect(readdirSync(join(folder, "2026-11-20"))).toEqual([
      "P1.ndjson.gz",
      "P2.ndjson.gz",
      "manifest.json",
    ]);
    expect(JSON.parse(readFileSync(join(folder, "2026-11-20", "manifest.json"), "utf8"))).toMatchObject({
      day: "2026-11-20",
      zone: "UTC",
      number: 1,
      previousHash: null,
      files: [
        { name: "P1.ndjson.gz", lines: 20, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { name: "P2.ndjson.gz", lines: 20 },
      ],
    });
  });

  test("have the same bytes each time, also of more lines than are sorted at once", async () => {
    const folders = [await newFolder(), await newFolder()];
    const [a, b] = [await sealDays(folders[0] ?? "", 1, 9_000), await sealDays(folders[1] ?? "", 1, 9_000)];
    expect(a.archive).toBe(b.archive);
    const lines = linesOf(join(folders[0] ?? "", "2026-11-20", "P1.ndjson.gz"));
    expect(lines).toHaveLength(9_000);
    expect(lines).toEqual(lines.toSorted());
  });

  test.each(["P1", "a/b", "..", ".hidden", "con:1*?", "ไทย", "50%", "a b~'!()"])(
    "the product %j has a name that no folder misreads, from which its id is read back",
    (productId) => {
      expect(fileOf(productId)).toMatch(/^[\w%-][\w.%-]*\.ndjson\.gz$/);
      expect(productOf(fileOf(productId))).toBe(productId);
    },
  );

  test("replace what an interrupted closing of the same day left", async () => {
    const folder = await newFolder();
    mkdirSync(join(folder, "2026-11-20.unfinished"));
    writeFileSync(join(folder, "2026-11-20.unfinished", "P1.ndjson.gz"), "half");
    await sealDay(folder, 1, null, ["P1"], 5);
    await sealDay(folder, 1, null, ["P1", "P2"], 7);
    expect(linesOf(join(folder, "2026-11-20", "P1.ndjson.gz"))).toHaveLength(7);
    expect(readdirSync(folder)).toEqual(["2026-11-20"]);
  });
});

test("an archive with a disk of its own may hold the file system's lost+found", async () => {
  const folder = await newFolder();
  mkdirSync(join(folder, "lost+found"));
  await sealDay(folder, 1, null);
  expect((await verifyArchive(folder)).flaws).toEqual([]);
});

describe("a folder that cannot be used", () => {
  test("because it holds something else is left as it is", async () => {
    const folder = await newFolder();
    writeFileSync(join(folder, "notes.txt"), "");
    await expect(sealDay(folder, 1, null)).rejects.toThrow(
      `closing.archive "${folder}" cannot be used: it holds something else: "notes.txt".`,
    );
    expect(readdirSync(folder)).toEqual(["notes.txt"]);
  });

  test("because another closing's files have the day's name is left as it is", async () => {
    const folder = await newFolder();
    await sealDay(folder, 1, null);
    await expect(sealDay(folder, 1, "0".repeat(64))).rejects.toThrow("not of this closing of 2026-11-20");
    mkdirSync(join(folder, "2026-11-21"));
    writeFileSync(join(folder, "2026-11-21", "notes.txt"), "");
    await expect(sealDay(folder, 2, null)).rejects.toThrow("notes.txt");
    expect(readdirSync(join(folder, "2026-11-21"))).toEqual(["notes.txt"]);
  });

  test("because it is a file, or lies nowhere, is named with what to do", async () => {
    const folder = await newFolder();
    writeFileSync(join(folder, "file"), "");
    await expect(sealDay(join(folder, "file"), 1, null)).rejects.toThrow("it is a file, not a folder");
    await expect(sealDay(join(folder, "no", "where"), 1, null)).rejects.toThrow("does not exist");
  });

  test.skipIf(!mayMount)("because its disk is full or read-only is named with what to do", async () => {
    const folder = await newFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16k", "tmpfs", folder]);
    onTestFinished(() => {
      execFileSync("umount", [folder]);
      rmSync(folder, { recursive: true });
    });
    await expect(sealDay(folder, 1, null, ["P1"], 3_000)).rejects.toThrow("its disk is full");
    execFileSync("mount", ["-o", "remount,ro", folder]);
    await expect(sealDay(folder, 1, null)).rejects.toThrow("it is read-only");
  });
});
