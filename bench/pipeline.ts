/**
 * pipeline: a day of a million bets, from the first request to the last verdict. Pulling and comparing at once is
 * measured against the slower of the two alone. The ledger is there already.
 */

import type { Sql } from "../src/db/client.ts";
import { compareProduct } from "../src/flows/compare/compare-product.ts";
import type { PullContext } from "../src/flows/context.ts";
import { planBackfill, requestBackfill } from "../src/flows/pull/backfill.ts";
import { rangeLimits } from "../src/flows/pull/fetch-window.ts";
import { openBackfillRunner } from "../src/flows/pull/run-backfills.ts";
import { ensurePullState } from "../src/sync/pull-state-store.ts";
import { initialRange } from "../src/sync/range-control.ts";
import { createTestClock, type TestClock } from "../test/support/clock.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, type Figure } from "./support/figure.ts";
import { openPull, type PageProvider, startPageProvider } from "./support/page-provider.ts";
import { BEGIN, countRecords, HOUR_MS, type Volume } from "./support/pages.ts";

const PRODUCT = "P1";
const DAY: Volume = { products: [PRODUCT], hours: 24, pagesPerHour: 42, pageSize: 1000 };
const ROUNDS = 3;
/** One bet in this many differs by its payout, but none at the end of the day, whose verdict needs the next day. */
const DIFFERS_EVERY = 5_000;

/** A placement and a settlement of each record, received a second after it. */
const LEDGER_OF_RECORDS = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
  select callback || ' ' || bet_id, callback, callback || ' ' || bet_id, product_id, username, currency, bet_id, round_id,
    status, bet_amount, payout_amount, case callback when 'settleBets' then 'BY_TRANSACTION' end, false, moved,
    accounting_date - after, accounting_date - after + interval '1 s'
  from (
    select *, payout + case when row_number() over (order by bet_id) % ${DIFFERS_EVERY} = ${DIFFERS_EVERY / 2} then 1 else 0 end as paid
    from bet_records
  ) records cross join lateral (values
    ('placeBets', 'OPEN', stake, null::numeric, -stake, interval '30 s'),
    ('settleBets', 'SETTLED', null, paid, paid, interval '0 s')
  ) as entry (callback, status, bet_amount, payout_amount, moved, after)
  order by accounting_date`;

export async function measurePipeline(volume: Volume = DAY, rounds: number = ROUNDS): Promise<Figure[]> {
  const bets = countRecords(volume);
  const provider = await startPageProvider(volume);
  try {
    return await withDatabase(async (sql) => {
      const took = { pulling: [] as number[], comparing: [] as number[], both: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        await forgetRecords(sql);
        took.pulling.push(await measureOne(sql, volume, provider, (work) => work.pull()));
        if (round === 0) await writeLedger(sql);
        took.comparing.push(await measureOne(sql, volume, provider, (work) => work.compareAll()));
        await checkFound(sql, bets);
        await forgetRecords(sql);
        took.both.push(await measureOne(sql, volume, provider, pullAndCompare));
        await checkFound(sql, bets);
        console.error(
          `pipeline: pulled in ${last(took.pulling)} s, compared in ${last(took.comparing)} s, both at once in ${last(took.both)} s`,
        );
      }
      const shares = took.both.map(
        (both, round) => Math.max(took.pulling[round] ?? 0, took.comparing[round] ?? 0) / both,
      );
      const perSecond = (seconds: readonly number[]) => Math.round(bets / median(seconds));
      const detail = `${perSecond(took.both)} bets/s at once, ${perSecond(took.pulling)} pulled, ${perSecond(took.comparing)} compared`;
      return [atLeast("pipeline", median(shares), 0.8, detail)];
    });
  } finally {
    provider.stop();
  }
}

interface Work {
  readonly pull: () => Promise<void>;
  /** compares once what is due; true: more may be due */
  readonly compare: () => Promise<boolean>;
  /** compares everything that is due now, and then what waits for its graces */
  readonly compareAll: () => Promise<void>;
  readonly tickMs: number;
}

/** @returns the seconds that the work took */
async function measureOne(
  sql: Sql,
  volume: Volume,
  provider: PageProvider,
  measured: (work: Work) => Promise<void>,
): Promise<number> {
  const pulled = openPull(sql, volume, provider.url);
  const clock = createTestClock(pulled.context.clock.now());
  const work = openWork({ ...pulled.context, clock }, clock, volume);
  const startedAt = performance.now();
  await measured(work);
  const seconds = (performance.now() - startedAt) / 1000;
  pulled.close();
  return seconds;
}

function openWork(context: PullContext, clock: TestClock, volume: Volume): Work {
  const { sql } = context;
  const { signal } = new AbortController();
  const compare = async () => (await compareProduct(context, PRODUCT, signal)).wantsTurn;
  const compareDue = async () => {
    while (await compare());
  };
  return {
    pull: async () => {
      await ensurePullState(sql, PRODUCT, BEGIN, initialRange(rangeLimits(context)));
      const asked = { productId: PRODUCT, from: BEGIN, to: BEGIN + volume.hours * HOUR_MS };
      await requestBackfill(context, await planBackfill(context, asked));
      await openBackfillRunner(context)(signal);
    },
    compare,
    compareAll: async () => {
      await compareDue();
      clock.advance(48 * HOUR_MS);
      await compareDue();
    },
    tickMs: context.config.diff.every,
  };
}

/** Compares at each tick, as the worker does, and once more after the last page. */
async function pullAndCompare({ pull, compare, compareAll, tickMs }: Work): Promise<void> {
  let isPulled = false;
  const pulling = pull().finally(() => {
    isPulled = true;
  });
  while (!isPulled) {
    const wantsTurn = await compare();
    if (!wantsTurn) await Promise.race([pulling, tick(tickMs)]);
  }
  await pulling;
  await compareAll();
}

async function tick(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

async function forgetRecords(sql: Sql): Promise<void> {
  await sql`truncate bet_records, diff_marks, mismatches, mismatch_events, windows, backfills, pull_states,
    incidents, alerts cascade`;
}

/** Without the marks of its entries: as if they had been compared before the provider listed the bets. */
async function writeLedger(sql: Sql): Promise<void> {
  const [before] = await sql<{ id: number }[]>`select coalesce(max(id), 0) as id from diff_marks`;
  await sql.unsafe(LEDGER_OF_RECORDS);
  await sql`delete from diff_marks where id > ${before?.id ?? 0}`;
  for (const table of ["callback_entries", "bet_records", "diff_marks"])
    await sql.unsafe(`vacuum analyze ${table}`);
}

async function checkFound(sql: Sql, bets: number): Promise<void> {
  const [row] = await sql<{ found: number; marks: number }[]>`
    select (select count(*) from mismatches where status = 'open') as found, (select count(*) from diff_marks) as marks`;
  const expected = Math.round(bets / DIFFERS_EVERY);
  if (row?.found !== expected || row.marks > 0)
    throw new Error(
      `${row?.found} mismatches were found instead of ${expected}, and ${row?.marks} rows of marks were left`,
    );
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function last(seconds: readonly number[]): string {
  return (seconds.at(-1) ?? Number.NaN).toFixed(1);
}
