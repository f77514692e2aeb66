/**
 * history-…: frequent work of ops and of the worker with a year of history, compared with the same after
 * a twentieth of it. Both have the same bets in an hour and a day. The two sides take turns.
 */

import type { BetPage, BetRecord } from "../src/bet.ts";
import { formatInstant } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import { openDatabase, type Sql } from "../src/db/client.ts";
import { readStatement } from "../src/flows/closing/read-statement.ts";
import { compareProduct } from "../src/flows/compare/compare-product.ts";
import type { PullContext } from "../src/flows/context.ts";
import { fetchWindow } from "../src/flows/pull/fetch-window.ts";
import { openOverview } from "../src/flows/read/read-overview.ts";
import { readStatusForPeople } from "../src/flows/read/read-status.ts";
import { readReport } from "../src/flows/reports/read-report.ts";
import { keepCounts } from "../src/flows/retention/measure-storage.ts";
import { silentLog } from "../src/log.ts";
import { MISMATCH_STATUSES } from "../src/mismatch.ts";
import { listInOrder, sumChosen } from "../src/mismatches/order-store.ts";
import { listMismatches } from "../src/mismatches/store.ts";
import { parseAmount } from "../src/money.ts";
import { planWindows } from "../src/sync/window-store.ts";
import { createTestClock } from "../test/support/clock.ts";
import { leaseNextWindow } from "../test/support/lease-window.ts";
import { withDatabase, withTemporaryServer } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import {
  CLOSED_UP_TO,
  countDiffering,
  coverNextDays,
  PRODUCT_IDS,
  writeHistory,
  writeHour,
  YEAR_END,
} from "./support/history.ts";
import { HOUR_MS } from "./support/pages.ts";

const BETS_OF_YEAR = Number(process.env["RECON_BENCH_BETS"] ?? 20_000_000);
/** The short history has this part of the year. */
const SHARE = 20;
/** How often the reads, and the work that takes longer, are measured on each side. */
const READS = 60;
const WORKS = 14;
/** The first rounds bring what is read and written into memory: five pages of four rounds have every player. */
const WARM_UP = 5;
const BAR = 1.5;
const DAY_MS = 24 * HOUR_MS;
const NOW = YEAR_END + 4 * DAY_MS;
const PAGES = 5;
const PAGE_SIZE = 1_000;
/** The names of one run, so that a second one on the same data also writes new records. */
const RUN = Date.now().toString(36);

/** One history. */
interface Side {
  readonly context: PullContext;
  readonly ofYear: number;
  readonly name: string;
}

/** One thing that is measured, in ms. A figure is the worst ratio of its things. */
interface Doing {
  readonly figure: string;
  readonly what: string;
  readonly rounds: number;
  /** prepares what is not measured, and returns what is */
  readonly prepare: (side: Side, round: number) => Promise<() => Promise<unknown>>;
}

export async function measureHistory(isWanted: (figure: string) => boolean = () => true): Promise<Figure[]> {
  return await withTemporaryServer(
    async (server) => {
      const withHistory = <Result>(count: number, work: (side: Side) => Promise<Result>) =>
        withDatabase(async (sql, url) => {
          await fillDatabase(url, count, BETS_OF_YEAR);
          return await work(await openSide(sql, `${count} bets`, BETS_OF_YEAR));
        }, server);
      return await withHistory(BETS_OF_YEAR / SHARE, (short) =>
        withHistory(BETS_OF_YEAR, (long) => measureSides(short, long, isWanted)),
      );
    },
    // What is read again and again is in memory, as on a server of this size.
    { shared_buffers: "2GB", maintenance_work_mem: "1GB" },
  );
}

async function fillDatabase(url: string, count: number, ofYear: number): Promise<void> {
  const sql = openDatabase(url, 3, { statementMs: 0, lockMs: 0 });
  try {
    await writeHistory(sql, { ofYear, from: ofYear - count, count }, (done) => tell(`${count}: ${done}`));
    await coverNextDays(sql, 3, NOW);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function openSide(sql: Sql, name: string, ofYear: number): Promise<Side> {
  const products = PRODUCT_IDS.map((productId) => ({ productId }));
  const config = parseConfig({ products, closing: { zone: "UTC" } });
  const fetchPage = async () => {
    throw new Error("no page is expected here");
  };
  const context = { sql, config, clock: createTestClock(NOW), log: silentLog, fetchPage };
  // Large tables are counted once; the retention job does it.
  await keepCounts(context);
  return { context, ofYear, name };
}

async function measureSides(
  short: Side,
  long: Side,
  isWanted: (figure: string) => boolean,
): Promise<Figure[]> {
  const figures = new Map<string, Figure>();
  for (const doing of DOINGS.filter(({ figure }) => isWanted(figure))) {
    const took = { short: [] as number[], long: [] as number[] };
    for (let round = 0; round < doing.rounds; round += 1) {
      const sides = [
        [short, took.short],
        [long, took.long],
      ] as const;
      for (const [side, times] of round % 2 === 0 ? sides : sides.toReversed()) {
        const ms = await timed(await doing.prepare(side, round));
        if (round >= WARM_UP) times.push(ms);
      }
    }
    const [a, b] = [median(took.long), median(took.short)];
    const detail = `${doing.what}: ${a.toFixed(1)} ms with ${long.name}, ${b.toFixed(1)} ms with ${short.name}`;
    tell(`${doing.figure} ${(a / b).toFixed(2)}: ${detail}`);
    const known = figures.get(doing.figure);
    if (known === undefined || a / b > known.value) {
      figures.set(doing.figure, atMost(doing.figure, a / b, BAR, detail));
    }
  }
  return [...figures.values()];
}

const ALL = { statuses: [], kind: null, productId: null, username: null };
const PAGE = { limit: 100, from: null };
const NEWEST_FIRST = { by: "firstSeenAt", descending: true } as const;

const DOINGS: readonly Doing[] = [
  {
    figure: "history-commit",
    what: `${PAGES} pages of ${PAGE_SIZE} new records`,
    rounds: WORKS,
    prepare: preparePages,
  },
  { figure: "history-hour", what: "comparing an hour", rounds: WORKS, prepare: prepareHour },
  // A reader that was just opened also reads the history of the last hours.
  reading("history-overview", "the overview", ({ context }) => openOverview(context)()),
  listing("the open mismatches", ALL),
  listing("the open mismatches of a product", { ...ALL, productId: "P3" }),
  listing("the resolved ones of a product and kind", {
    ...ALL,
    statuses: ["resolved"],
    productId: "P3",
    kind: "net-differs",
  }),
  listing("all mismatches of a player", { ...ALL, statuses: MISMATCH_STATUSES, username: "player-1" }),
  reading("history-status", "the status", ({ context }) => readStatusForPeople(context)),
  reading("history-statement", "the statement of an open day", readOpenDay, WORKS),
  reading("history-statement", "the statement of a closed day", readClosed),
];

function reading(
  figure: string,
  what: string,
  read: (side: Side) => Promise<unknown>,
  rounds = READS,
): Doing {
  return { figure, what, rounds, prepare: async (side) => () => read(side) };
}

/** A list as the page, the API and the command read it. */
function listing(what: string, choice: Parameters<typeof sumChosen>[1]): Doing {
  return reading("history-list", what, async ({ context: { sql } }) => {
    await listInOrder(sql, choice, NEWEST_FIRST, PAGE);
    await sumChosen(sql, choice);
    await listMismatches(sql, { ...choice, limit: 100, after: null });
  });
}

function readOpenDay({ context }: Side): Promise<unknown> {
  return readDay(context, YEAR_END - DAY_MS);
}

function readClosed({ context }: Side): Promise<unknown> {
  return readDay(context, CLOSED_UP_TO - DAY_MS);
}

async function readDay(context: PullContext, from: number) {
  const day = {
    day: formatInstant(from).slice(0, 10),
    zone: "UTC",
    from,
    to: from + DAY_MS,
    isZoneAsked: true,
  };
  return await readStatement(context, day, (open) => readReport(context, open));
}

/** Pulls a window whose pages are in memory, so that only writing is measured. */
async function preparePages({ context }: Side, round: number): Promise<() => Promise<unknown>> {
  const [productId = ""] = PRODUCT_IDS;
  const from = YEAR_END + (24 + round) * HOUR_MS;
  await planWindows(context.sql, productId, "backfill", [{ from, to: from + HOUR_MS }]);
  const window = await leaseNextWindow(context.sql, productId, NOW, ["backfill"]);
  if (window === null) throw new Error("there is no window to fetch");
  const pages = Array.from({ length: PAGES }, (_, page) => pageOf(productId, from, round, page));
  let next = 0;
  const fetchPage = async () => pages[next++] as BetPage;
  return async () => {
    const fetched = await fetchWindow({ ...context, fetchPage }, window, new AbortController().signal);
    if (fetched.outcome !== "done") throw new Error(`the window is ${fetched.outcome}`);
  };
}

function pageOf(productId: string, from: number, round: number, page: number): BetPage {
  // Windows with the same number of records, several in a row, would be checked for a silent limit of the provider.
  const length = page + 1 < PAGES ? PAGE_SIZE : PAGE_SIZE - 1 - round;
  const records = Array.from({ length }, (_, index): BetRecord => {
    const number = (round * PAGES + page) * PAGE_SIZE + index;
    const at = formatInstant(from + Math.floor(((page * PAGE_SIZE + index) * HOUR_MS) / (PAGES * PAGE_SIZE)));
    return {
      id: `tx-${RUN}-${number}`,
      betId: `bet-${RUN}-${number}`,
      username: `player-${(number * 7919) % 20_000}`,
      currency: "THB",
      accountingDate: at,
      updatedDate: at,
      stake: parseAmount("10.25", "stake"),
      payout: parseAmount("0", "payout"),
      productId,
      gameCode: "game",
      gameName: "Game",
      roundId: `round-${RUN}-${number}`,
      betStatus: "SETTLED",
      payoutStatus: "LOSE",
      extra: null,
    };
  });
  const nextId = page + 1 < PAGES ? String(page + 1) : null;
  return { records, rejected: [], nextId, requestedAt: NOW, tookMs: 10 };
}

/** Compares the bets of the next hour of all products. */
async function prepareHour(side: Side, round: number): Promise<() => Promise<unknown>> {
  const { sql } = side.context;
  await sql`truncate diff_marks`;
  await writeHour(sql, side.ofYear, round);
  const [before] = await sql<{ last: number }[]>`select coalesce(max(id), 0) as last from mismatches`;
  return async () => {
    for (const productId of PRODUCT_IDS) {
      await compareProduct(side.context, productId, new AbortController().signal);
    }
    const [found] = await sql<{ count: number }[]>`
      select count(*) as count from mismatches where id > ${before?.last ?? 0}`;
    const expected = countDiffering(side, round);
    if (found?.count !== expected)
      throw new Error(`${found?.count} mismatches were found instead of ${expected}`);
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Prints progress, because writing the history takes minutes. */
function tell(done: string): void {
  console.error(`history: ${done}`);
}
