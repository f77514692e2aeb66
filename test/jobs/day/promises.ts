/** What the worker promises of each kind of planned work: within which time it is done after it is due. Adding one is adding a line. */

import type { RequestUrgency } from "../../../src/bet.ts";
import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import {
  ANSWERED_AGAIN,
  BACKFILL_ASKED,
  BEGIN,
  HOUR_MS,
  INVENTED,
  MIDNIGHT,
  MINUTE_MS,
  OUTSIDE_SINCE,
  SINCE,
} from "./day-world.ts";
import type { PlayedDay } from "./play-day.ts";
import type { Sight } from "./sight.ts";

const DAY_MS = 24 * HOUR_MS;

/** One piece of work. */
interface Piece {
  readonly what: string;
  readonly dueAt: Instant;
  /** null: it was not done until the day ended */
  readonly doneAt: Instant | null;
}

interface PromisedAge {
  readonly work: string;
  /** what is promised, and where it is written */
  readonly promise: string;
  /** how long after it was due the work may be done */
  within(day: PlayedDay): number;
  find(day: PlayedDay, sql: Sql): Promise<Piece[]> | Piece[];
}

/** One piece of work that came too late, in words. */
export type Broken = string;

/** The interval at which a job with this interval was played. */
const tick = ({ load }: PlayedDay, everyMs: number) => Math.max(everyMs, load.slowestTickMs);
/** What was done is seen at the next look. */
const look = (day: PlayedDay) => tick(day, MINUTE_MS);
/** While others wait, a kind with a tenth of all requests sends one of ten. 0: there is a free slot for each request. */
const tenths = ({ load }: PlayedDay, requests: number) =>
  load.name === "healthy" ? requests * load.requestMs : requests * 10 * load.requestMs;
/** Confirm fetches, resweeps and backfills share a tenth. */
const KINDS_OF_REST = 3;
/** So long a kind of them may wait for its turn, with a turn to spare. */
const turns = ({ load }: PlayedDay) => (KINDS_OF_REST + 1) * 10 * load.requestMs;

const PROMISED_AGES: readonly PromisedAge[] = [
  {
    work: "live",
    promise:
      "new time is fetched at each tick, once it is older than pull.settleDelay (design 4.1); products take turns (design 4.8)",
    within: (day) =>
      day.config.pull.settleDelay +
      tick(day, day.config.pull.every) +
      look(day) +
      (day.load.name === "healthy" ? MINUTE_MS : 3 * (day.load.products.length + 1) * day.load.requestMs),
    find: (day) =>
      day.sights
        .filter(({ at }) => at > BEGIN + CATCH_UP_MS)
        .flatMap(({ at, heads }) =>
          day.load.products
            .filter((productId) => productId !== "P2" || at > ANSWERED_AGAIN + CATCH_UP_MS)
            .map((productId) => ({
              what: `new time of ${productId}`,
              dueAt: heads.get(productId) ?? 0,
              doneAt: at,
            })),
        ),
  },
  {
    work: "confirm",
    promise:
      "a bet that only the ledger has is a mismatch after diff.providerGrace and a confirm fetch (design 4.3)",
    within: (day) =>
      day.load.name === "healthy" ? 3 * tick(day, day.config.diff.every) + look(day) : turns(day),
    find: async (day, sql) => {
      if (day.load.name === "overloaded") return findTurns(day, "confirm");
      const { config, inventedRow } = day;
      const [opened] = await sql<{ at: Instant }[]>`
        select first_seen_at as at from mismatches
        where kind = 'missing-at-provider' and transaction_id = ${INVENTED}`;
      const dueAt = inventedRow.receivedAt + config.diff.providerGrace;
      return [{ what: "the invented bet", dueAt, doneAt: opened?.at ?? null }];
    },
  },
  {
    work: "resweep",
    promise:
      "time is fetched again at each age of pull.resweepAfter, late by at most a tenth of the age or an hour (design 4.1)",
    within: (day) => (day.load.name === "healthy" ? HOUR_MS : turns(day)),
    find: (day, sql) => (day.load.name === "healthy" ? findResweeps(day, sql) : findTurns(day, "resweep")),
  },
  {
    work: "backfill",
    promise:
      "a backfill begins within 3 s, and its windows take turns with confirm fetches and resweeps (design 4.1)",
    within: (day) => tick(day, 3_000) + 2 * look(day) + tenths(day, 5 * KINDS_OF_REST),
    find: ({ sights }) => [
      { what: "the backfill", dueAt: BACKFILL_ASKED, doneAt: firstSeen(sights, (one) => one.isBackfillDone) },
    ],
  },
  {
    work: "re-read",
    promise: "ledger.relation is read again by day when a resweep of that day is planned (design 3.4)",
    within: (day) => tick(day, day.config.pull.every) + tick(day, day.config.diff.every) + 2 * look(day),
    find: ({ sights, lateRow, config }) => {
      const dueAt = lateRow.receivedAt + config.pull.windowMax + Math.min(...config.pull.resweepAfter);
      return [{ what: "the late row", dueAt, doneAt: firstSeen(sights, (one) => one.hasLateRow) }];
    },
  },
  {
    work: "verify",
    promise:
      "a transfer is asked about by verify.delays, counted from sentAt, the last one repeats (design 4.4)",
    within: (day) => tick(day, day.config.verify.every) + tenths(day, 3),
    find: async ({ config, load, end }, sql) => {
      const asked = await readAsked(sql, "silent");
      const sentAt = await readSentAt(sql, "silent");
      const times = [...config.verify.delays];
      for (const last = times.at(-1) ?? HOUR_MS; sentAt + (times.at(-1) ?? end) < end; )
        times.push((times.at(-1) ?? end) + last);
      // A question that came late stands for those that became due until its answer.
      const dueAfter = (at: Instant) => sentAt + (times.find((one) => sentAt + one > at) ?? end);
      return [0, ...asked.map((at) => at + load.requestMs)].map((before, index) => ({
        what: `question ${index + 1}`,
        dueAt: dueAfter(before),
        doneAt: asked[index] ?? null,
      }));
    },
  },
  {
    work: "recheck",
    promise:
      "a rejected transfer is asked about again at verify.recheckRejectedAfter its rejection (design 4.4)",
    within: (day) => tick(day, day.config.verify.every) + tenths(day, 3),
    find: async ({ config, end }, sql) => {
      const asked = await readAsked(sql, "unknown");
      const [row] = await sql<{ at: Instant | null }[]>`
        select rejected_at as at from transfers where transaction_ref = 'unknown'`;
      return config.verify.recheckRejectedAfter.map((afterMs) => {
        const dueAt = (row?.at ?? end) + afterMs;
        return { what: "the rejected transfer", dueAt, doneAt: asked.find((at) => at >= dueAt) ?? null };
      });
    },
  },
  {
    work: "closing",
    promise: "a day is closed closing.after its end, once it is complete (design 3.10)",
    within: (day) => tick(day, MINUTE_MS) + tick(day, day.config.diff.every) + look(day),
    find: async ({ config, sights }, sql) => {
      const closed = await readClosed(sql);
      return [MIDNIGHT, MIDNIGHT + DAY_MS].map((end) => {
        const after = end + (config.closing.after ?? 0);
        const seen = firstSeen(sights, (one) => one.isDayWhole) ?? Number.POSITIVE_INFINITY;
        const whole = end === MIDNIGHT ? seen : after;
        const doneAt = closed.find((one) => one.to === end)?.closedAt ?? null;
        return {
          what: `the day until ${new Date(end).toISOString()}`,
          dueAt: Math.max(after, whole),
          doneAt,
        };
      });
    },
  },
  {
    work: "retention",
    promise: "rows older than retain.* of closed days are deleted, checked every ten minutes (design 3.10)",
    within: (day) => tick(day, 10 * MINUTE_MS) + look(day),
    find: async ({ sights }, sql) => {
      const [closed] = await readClosed(sql);
      const gone = firstSeen(sights, (one) => !one.hasBody);
      return closed === undefined ? [] : [{ what: "the old body", dueAt: closed.closedAt, doneAt: gone }];
    },
  },
  {
    work: "digest",
    promise: "a digest of unresolved money once a day (design 4.5)",
    within: (day) => tick(day, day.config.alerts.every) + MINUTE_MS,
    find: async (_, sql) => {
      const days = [MIDNIGHT, MIDNIGHT + DAY_MS];
      return await Promise.all(
        days.map(async (dueAt) => {
          const key = `digest/${new Date(dueAt).toISOString().slice(0, 10)}`;
          return { what: key, dueAt, doneAt: await readAlertAt(sql, key) };
        }),
      );
    },
  },
  {
    work: "reminder",
    promise: "money that nothing compares is reported once a day while it lasts (design 4.3)",
    within: (day) => tick(day, day.config.alerts.every) + MINUTE_MS,
    find: async (_, sql) => [
      {
        what: "the second day of the unknown product",
        dueAt: OUTSIDE_SINCE + DAY_MS,
        doneAt: await readAlertAt(sql, "unknown-product/GONE/%/day 1"),
      },
    ],
  },
  {
    work: "gap retry",
    promise:
      "a gap is retried with growing delays, at most hourly (design 4.1), in every tenth turn of its product (design 4.8)",
    within: (day) =>
      HOUR_MS +
      tick(day, day.config.pull.every) +
      look(day) +
      // The windows that overlap the minute are gaps too, and older.
      tenths(day, 8 * day.load.products.length),
    find: ({ sights }) => [
      {
        what: "the minute that was refused",
        dueAt: ANSWERED_AGAIN,
        doneAt: firstSeen(sights, (one) => one.isRefusedFetched),
      },
    ],
  },
];

/**
 * Each look at which a window of the kind was due: until the next request for one, or until none is due.
 */
function findTurns({ sent, sights }: PlayedDay, kind: RequestUrgency): Piece[] {
  return sights.flatMap(({ at, due }) => {
    if (!due.has(kind)) return [];
    const request = sent.find((one) => one.kind === kind && one.at > at)?.at;
    const ended = sights.find((one) => one.at > at && !one.due.has(kind))?.at;
    const doneAt = Math.min(request ?? Number.POSITIVE_INFINITY, ended ?? Number.POSITIVE_INFINITY);
    return [{ what: `a ${kind} window`, dueAt: at, doneAt: Number.isFinite(doneAt) ? doneAt : null }];
  });
}

/** At the beginning, and after an outage, a product has hours to fetch. */
const CATCH_UP_MS = HOUR_MS;

/**
 * @returns of each kind of work the pieces that were not done within the promised age; a kind of which nothing became due is
 * broken too, because the day proves nothing about it
 */
export async function findBroken(day: PlayedDay, sql: Sql): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (const { work, promise, within, find } of PROMISED_AGES) {
    const allowedMs = within(day);
    const pieces = await find(day, sql);
    const judged = pieces.filter(({ dueAt }) => dueAt + allowedMs <= day.end);
    if (judged.length === 0) broken.push(`${work}: nothing was due, of ${pieces.length} pieces`);
    const late = judged.filter(({ dueAt, doneAt }) => doneAt === null || doneAt > dueAt + allowedMs);
    for (const { what, dueAt, doneAt } of late.slice(0, MOST_NAMED)) {
      const when = doneAt === null ? "not at all" : `${minutes(doneAt - dueAt)} min later`;
      broken.push(
        `${work}: ${what}, due at ${new Date(dueAt).toISOString()}, was done ${when}; allowed are ${minutes(allowedMs)} min: ${promise}`,
      );
    }
    if (late.length > MOST_NAMED) broken.push(`${work}: ${late.length} of ${judged.length} in all`);
  }
  return broken;
}

const MOST_NAMED = 3;
const minutes = (lengthMs: number) => Math.round(lengthMs / 6_000) / 10;

function firstSeen(sights: readonly Sight[], holds: (one: Sight) => boolean): Instant | null {
  return sights.find(holds)?.at ?? null;
}

const INSTANT_EVERY_MS = 10 * MINUTE_MS;

/** Instants of each product at each age: after a whole window of the longest length they must have been fetched again. */
async function findResweeps({ config, load, end }: PlayedDay, sql: Sql): Promise<Piece[]> {
  const windows = await sql<{ productId: string; from: Instant; to: Instant; startedAt: Instant }[]>`
    select product_id as "productId", from_at as "from", to_at as "to", started_at as "startedAt" from windows
    where status = 'done' order by started_at`;
  const { resweepAfter, windowMax } = config.pull;
  const pieces: Piece[] = [];
  for (const productId of load.products) {
    const own = windows.filter((window) => window.productId === productId);
    for (const ageMs of resweepAfter) {
      for (let at = Math.max(SINCE, BEGIN - ageMs); at < end; at += INSTANT_EVERY_MS) {
        const again = own.find(({ from, to, startedAt }) => from <= at && at < to && startedAt >= at + ageMs);
        const what = `${new Date(at).toISOString()} of ${productId} at the age of ${ageMs / HOUR_MS} h`;
        pieces.push({ what, dueAt: at + ageMs + windowMax, doneAt: again?.startedAt ?? null });
      }
    }
  }
  return pieces;
}

async function readAsked(sql: Sql, ref: string): Promise<Instant[]> {
  const rows = await sql<{ at: Instant }[]>`
    select asked_at as at from transfer_answers a join transfers t on t.id = a.of_id
    where transaction_ref = ${ref} order by asked_at`;
  return rows.map(({ at }) => at);
}

async function readSentAt(sql: Sql, ref: string): Promise<Instant> {
  const [row] = await sql<
    { at: Instant }[]
  >`select sent_at as at from transfers where transaction_ref = ${ref}`;
  return row?.at ?? Number.NaN;
}

async function readClosed(sql: Sql): Promise<{ to: Instant; closedAt: Instant }[]> {
  return await sql<{ to: Instant; closedAt: Instant }[]>`
    select to_at as "to", closed_at as "closedAt" from closed_days order by to_at`;
}

async function readAlertAt(sql: Sql, key: string): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant }[]>`
    select created_at as at from alerts where idempotency_key like ${key} order by id limit 1`;
  return row?.at ?? null;
}
