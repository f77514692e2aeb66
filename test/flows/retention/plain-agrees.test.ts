/** What the statement for plain bets deletes is what loading and judging each bet deletes (§3.10). */

import fc from "fast-check";
import { expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import type { Query, Sql } from "../../../src/db/client.ts";
import type { TransactionWork } from "../../../src/db/driver-workarounds.ts";
import { dropBets } from "../../../src/flows/retention/drop-bets.ts";
import { MOST_OF_ROUND } from "../../../src/flows/retention/load-groups.ts";
import { silentLog } from "../../../src/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { NOON } from "../../support/examples.ts";
import {
  CLOSED_FROM,
  DAY_MS,
  PRODUCTS,
  UP_TO,
  type WideRound,
  type World,
  world,
  writeWideRound,
  writeWorlds,
} from "./random-worlds.ts";

const databases = { plain: useDatabase().sql, judged: useDatabase().sql };
const clock = createTestClock(NOON + 40 * DAY_MS);
const config = parseConfig({ products: PRODUCTS, retain: { records: "P30D", entries: "P30D" } });
const WORLDS = 60;
const never = new AbortController().signal;

const upTo = fc.constantFrom(null, ...UP_TO, UP_TO[0]);
const setting = fc.record({
  /** the settings of one run, or of two after each other */
  runs: fc.array(fc.record({ records: upTo, entries: upTo }), { minLength: 1, maxLength: 2 }),
  closedFrom: fc.constantFrom(...CLOSED_FROM),
  rows: fc.constantFrom(25, 1000),
  wide: fc.constantFrom<(WideRound | null)[]>(
    ...Array<null>(4).fill(null),
    { bets: MOST_OF_ROUND / 2 - 1, first: "ended" },
    { bets: MOST_OF_ROUND, first: "open" },
    { bets: MOST_OF_ROUND, first: "running" },
    { bets: MOST_OF_ROUND + 1, first: "mismatch" },
  ),
});
type Setting = typeof setting extends fc.Arbitrary<infer One> ? One : never;

/** Calls `onPlain` in the place of the statement for plain bets. */
function intercept(sql: Sql, onPlain: (run: () => Promise<unknown>) => Promise<unknown>): Sql {
  const within = (tx: Query): Query =>
    new Proxy(tx, {
      get: (target, name) => {
        if (name !== "unsafe") return Reflect.get(target, name);
        return (text: string, ...others: unknown[]) => {
          const run = () => Reflect.apply(target.unsafe, target, [text, ...others]);
          return text.includes("doomed_entries") ? onPlain(run) : run();
        };
      },
    });
  return new Proxy(sql, {
    get: (target, name) =>
      name === "begin"
        ? (isolation: string, work: TransactionWork) =>
            Reflect.apply(target.begin, target, [isolation, (tx: Query) => work(within(tx))])
        : Reflect.get(target, name),
  });
}

async function drop(sql: Sql, { runs, closedFrom, rows }: Setting): Promise<void> {
  for (const run of runs)
    await dropBets(
      { sql, config, clock, log: silentLog },
      { closedFrom, ...run },
      { rows, batches: 1e5 },
      never,
    );
}

const TABLES = [
  "callback_entries",
  "bet_records",
  "entry_versions",
  "bet_record_versions",
  "record_absences",
  "wallet_bets",
  "callback_requests",
  "closed_bets",
  "deleted_bets",
];

/** All rows that deleting may touch, as text, and the noted numbers of rows. */
async function readRows(sql: Sql): Promise<string[]> {
  const [row] = await sql.unsafe<{ rows: string[] }[]>(`select array(${TABLES.map(
    (table) => `select '${table} ' || (to_jsonb(t) - 'id' - 'appended_in' || jsonb_build_object('id',
      case when '${table}' like '%record%' then to_jsonb(t) -> 'id' end))::text from ${table} t`,
  ).join(" union all ")} union all
    select 'noted ' || table_name || product_id || sum(added) from rows_added group by table_name, product_id having sum(added) <> 0
    union all select 'noted of ' || day || ' ' || sum(added) || ' ' || bit_xor(digest) from entry_notes group by day
    order by 1) as rows`);
  return row?.rows ?? [];
}

async function writeAll(worlds: readonly World[], { wide }: Setting): Promise<void> {
  await Promise.all(
    Object.values(databases).map(async (sql) => {
      await emptyTables(sql);
      await writeWorlds(sql, worlds);
      if (wide !== null) await writeWideRound(sql, wide);
    }),
  );
}

const counts = { plain: 0, before: 0, after: 0 };
const plain = intercept(databases.plain, async (run) => {
  const result = (await run()) as { records: number; entries: number }[];
  counts.plain += (result[0]?.records ?? 0) + (result[0]?.entries ?? 0);
  return result;
});
/** As if other transactions had locked rows of every plain bet. */
const judged = intercept(databases.judged, () =>
  Promise.reject(Object.assign(new Error("locked"), { code: "55P03" })),
);

/**
 * Parts of a round that is too large are judged alone until the rest of it is small enough to be judged with its first bet.
 * When that happens depends on which rows are visited first, so only the first bet is the same in both ways then.
 */
function isCertain(row: string, { wide }: Setting): boolean {
  if (wide === null || wide.first === "ended") return true;
  if (/^(noted|deleted_bets) /.test(row)) return false;
  return !row.includes('"wide') || /"wide( tx)? 1"/.test(row);
}

/** Deletes in both ways. @returns the rows that only one way leaves */
async function findDifferences(worlds: readonly World[], given: Setting) {
  await writeAll(worlds, given);
  expect(await databases.plain`select reason from rejected_entries limit 1`).toEqual([]);
  counts.before += (await readRows(databases.plain)).length;
  await Promise.all([drop(plain, given), drop(judged, given)]);
  const rows = await Promise.all([readRows(databases.plain), readRows(databases.judged)]);
  const [a, b] = rows.map((some) => some.filter((row) => isCertain(row, given))) as [string[], string[]];
  counts.after += rows[0].length;
  const [inA, inB] = [new Set(a), new Set(b)];
  return {
    onlyPlainLeaves: a.filter((row) => !inB.has(row)),
    onlyJudgingLeaves: b.filter((row) => !inA.has(row)),
  };
}

/** The part of a world that makes the difference. */
async function reduce(world: World, given: Setting): Promise<World> {
  for (const part of ["bets", "steps", "entries", "records", "mismatches"] as const) {
    for (const [index] of world[part].entries()) {
      const smaller = { ...world, [part]: world[part].toSpliced(index, 1) };
      const { onlyPlainLeaves, onlyJudgingLeaves } = await findDifferences([smaller], given);
      if (onlyPlainLeaves.length + onlyJudgingLeaves.length > 0) return await reduce(smaller, given);
    }
  }
  return world;
}

test("plain bets are deleted as they are where each bet is judged", async () => {
  const property = fc.asyncProperty(
    fc.array(world, { minLength: WORLDS, maxLength: WORLDS, size: "max" }),
    setting,
    async (worlds, given) => {
      const found = await findDifferences(worlds, given);
      const rows = Object.values(found)
        .flat()
        .filter((row) => !row.startsWith("noted"));
      const number = /"w(\d+)-/.exec(rows[0] ?? "")?.[1];
      const world = number === undefined ? undefined : worlds[Number(number)];
      const reduced = world === undefined ? null : await reduce(world, given);
      if (reduced !== null) {
        const what = await findDifferences([reduced], given);
        throw new Error(JSON.stringify([given, reduced, what], null, 1));
      }
      expect(found).toEqual({ onlyPlainLeaves: [], onlyJudgingLeaves: [] });
    },
  );
  const numRuns = Number(process.env["RECON_TEST_RUNS"] ?? 3);
  await fc.assert(property, {
    numRuns,
    seed: Number(process.env["RECON_TEST_SEED"] ?? 20261123),
    endOnFailure: true,
  });
  // Many rows go, many stay, and the statement deletes many of them.
  expect([
    counts.after < counts.before * 0.8,
    counts.after > counts.before / 5,
    counts.plain > numRuns * 40,
  ]).toEqual([true, true, true]);
});
