/** import: entries per second from a file of JSON lines, against COPY of the same rows into the same table. */

import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { importLedger } from "../src/flows/ledger/import-ledger.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";

const BAR = 0.5;
const ENTRIES = 200_000;
const ROUNDS = 3;
const LINES_AT_ONCE = 10_000;

const COLUMNS = [
  "entry_id",
  "callback",
  "request_id",
  "product_id",
  "username",
  "currency",
  "txn_id",
  "round_id",
  "status",
  "bet_amount",
  "payout_amount",
  "transaction_type",
  "skip_balance_update",
  "moved",
  "balance_before",
  "balance_after",
  "occurred_at",
  "received_at",
];
const BEGIN = Date.parse("2026-11-20T10:00:00Z");

/** A placement, or its settlement. */
function rowOf(number: number): (string | boolean | null)[] {
  const bet = Math.floor(number / 2);
  const isSettle = number % 2 === 1;
  const id = String(bet).padStart(10, "0");
  const at = new Date(BEGIN + bet * 20 + (isSettle ? 10_000 : 0)).toISOString();
  const stake = `${(bet % 500) + 1}.25`;
  const payout = bet % 3 === 0 ? `${bet % 900}.50` : "0";
  return [
    `entry-${id}-${isSettle ? 2 : 1}`,
    isSettle ? "settleBets" : "placeBets",
    `request-${id}-${isSettle ? 2 : 1}`,
    "P1",
    `player-${(bet * 7919) % 5000}`,
    "THB",
    `bet-${id}`,
    `round-${id}`,
    isSettle ? "SETTLED" : "OPEN",
    isSettle ? null : stake,
    isSettle ? payout : null,
    isSettle ? "BY_TRANSACTION" : null,
    false,
    isSettle ? payout : `-${stake}`,
    "1000000",
    isSettle ? "1000000.5" : "999990",
    at,
    at,
  ];
}

/** Both in turn, several times, and the median of each: the machine's speed drifts. */
export async function measureImport(): Promise<Figure[]> {
  const imported: number[] = [];
  const copied: number[] = [];
  const folder = await mkdtemp(join(tmpdir(), "recon-import-"));
  try {
    const file = join(folder, "entries.ndjson");
    await writeFile(
      file,
      texts((row) => JSON.stringify(Object.fromEntries(row.map((one, at) => [COLUMNS[at], one])))),
    );
    const copies = [...texts((row) => row.map((one) => one ?? "\\N").join("\t"))];
    for (let round = 0; round < ROUNDS; round += 1) {
      imported.push(await withDatabase((sql) => importFile(sql, file)));
      copied.push(await withDatabase((_sql, url) => copyRows(url, copies)));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const [ours, theirs] = [median(imported), median(copied)];
  const detail = `${Math.round(ours)} entries/s imported, ${Math.round(theirs)} rows/s by COPY, medians of ${ROUNDS} times ${ENTRIES}`;
  return [atLeast("import", ours / theirs, BAR, detail)];
}

function* texts(show: (row: ReturnType<typeof rowOf>) => string): Generator<string> {
  for (let from = 0; from < ENTRIES; from += LINES_AT_ONCE) {
    const rows = Array.from({ length: LINES_AT_ONCE }, (_, index) => rowOf(from + index));
    yield rows.map((row) => `${show(row)}\n`).join("");
  }
}

async function importFile(sql: Sql, file: string): Promise<number> {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  let added = 0;
  const startedAt = performance.now();
  await importLedger({ sql, config }, createReadStream(file), {
    format: "entries",
    shape: null,
    onImported: (taken) => {
      added += taken.added;
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  if (added !== ENTRIES) throw new Error(`${added} entries were added`);
  return ENTRIES / seconds;
}

/** The text of the rows is made before the clock starts. */
async function copyRows(url: string, lines: readonly string[]): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const startedAt = performance.now();
  await pipeline(
    Readable.from(lines),
    client.query(copyFrom(`copy callback_entries (${COLUMNS.join(", ")}) from stdin`)),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  await client.end();
  return ENTRIES / seconds;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
