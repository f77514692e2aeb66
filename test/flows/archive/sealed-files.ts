/** Sealed days of which everything is known, for tests of the archive. */

import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { hashOf, type Statement } from "../../../src/closing/statement.ts";
import { openDayArchive } from "../../../src/flows/archive/write-archive.ts";

const DAY_MS = 86_400_000;
const FIRST = Date.parse("2026-11-20T00:00:00Z");

export const newFolder = () => mkdtemp(join(tmpdir(), "recon-archive-"));

/** A line that compresses as badly as those of real bets. */
function lineOf(day: string, productId: string, number: number) {
  const id = `${(number * 7_919) % 100_003}-${number}`;
  const sides = { provider: null, ledger: null, difference: "0", explainedBy: "agreed" };
  return { day, productId, currency: "THB", username: `player-${id}`, betId: `bet-${id}`, ...sides };
}

/** @param previousHash of the day before @returns the statement, sealed, with its hash */
export async function sealDay(
  folder: string,
  number: number,
  previousHash: string | null,
  productIds: readonly string[] = ["P1"],
  lines = 20,
) {
  const from = FIRST + (number - 1) * DAY_MS;
  const day = new Date(from).toISOString().slice(0, 10);
  const archive = await openDayArchive(folder, day);
  for (const productId of productIds) {
    const file = archive.openFile(productId);
    for (let line = 0; line < lines; line += 1) await file.add(lineOf(day, productId, line));
    await file.close();
  }
  const statement: Statement = {
    ...{ day, zone: "UTC", from, to: from + DAY_MS, rows: [], corrections: [] },
    ...{ number, previousHash, closedAt: from + 2 * DAY_MS },
  };
  const sealed = await archive.seal(statement);
  return { ...sealed, hash: hashOf(sealed) };
}

/** Seals consecutive days, and returns the last. */
export async function sealDays(folder: string, count: number, lines?: number) {
  let last = await sealDay(folder, 1, null, ["P1"], lines);
  for (let number = 2; number <= count; number += 1)
    last = await sealDay(folder, number, last.hash, ["P1"], lines);
  return last;
}

/** Changes the bytes of a file. */
export function alter(path: string, change: (bytes: Buffer) => Buffer): void {
  writeFileSync(path, change(readFileSync(path)));
}

/** Changes the lines of a packed file. */
export function alterLines(path: string, change: (lines: string[]) => string[]): void {
  alter(path, (bytes) => {
    const lines = gunzipSync(bytes).toString().split("\n").slice(0, -1);
    return gzipSync(`${change(lines).join("\n")}\n`);
  });
}

export function linesOf(path: string): string[] {
  return gunzipSync(readFileSync(path)).toString().split("\n").slice(0, -1);
}
