/** Plays a year: every day the worker pulls, compares, closes, corrects and deletes; every month is audited. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DateTime } from "luxon";
import type { BetPage, FetchBetPage } from "../../../src/bet.ts";
import type { Instant } from "../../../src/clock.ts";
import { openDatabase } from "../../../src/db/client.ts";
import { closeDueDays } from "../../../src/flows/closing/close-days.ts";
import { findCorrections } from "../../../src/flows/closing/find-corrections.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { inspectEntryDays } from "../../../src/flows/ledger/compare-entry-days.ts";
import { followLedger } from "../../../src/flows/ledger/follow-ledger.ts";
import { planBackfill, requestBackfill } from "../../../src/flows/pull/backfill.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { dropExpired } from "../../../src/flows/retention/drop-expired.ts";
import { keepCounts } from "../../../src/flows/retention/measure-storage.ts";
import { sayGone } from "../../../src/health/other-work.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import { openProvider } from "../../../src/provider/client.ts";
import { startSandbox } from "../../../src/sandbox/server/server.ts";
import { checkArchive } from "../../flows/archive/independent-checker.ts";
import { createMovingClock, type TestClock } from "../../support/clock.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { runBackfills } from "../../support/run-backfills.ts";
import { DAY_MS } from "./bet-stories.ts";
import { judgeDeletions, seeBeforeDeletion } from "./deletion-audit.ts";
import { MismatchAudit } from "./mismatch-audit.ts";
import { MonthAudit } from "./month-audit.ts";
import { decide, type PaidByHand } from "./people.ts";
import { skipQuietHours } from "./quiet-hours.ts";
import { setTime, simulateTime, storeAgain, takeDeleted } from "./simulated-time.ts";
import { countRows, findGrowth, findLeftovers, type TableSizes } from "./table-sizes.ts";
import { configAt, type YearPlan } from "./year-plan.ts";
import { createYearWorld, findEndless, type YearWorld } from "./year-world.ts";

const CREDENTIALS = { username: "simulation", password: "a seeded year" };
const HOUR_MS = 3_600_000;
/** The worker pulls this long after the last record of some play. */
const SOON_MS = 15 * 60_000;
/** At this interval of days an operator stores again the entries that the worker has just deleted. */
const COPIED_EVERY_DAYS = 5;
/** Changed time is fetched again at this interval of days: sooner than the rows of a changed bet may be deleted. */
const REFETCHED_EVERY_DAYS = 2;

export interface PlayedYear {
  readonly seed: number;
  readonly planted: number;
  readonly found: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly summary: string;
  readonly problems: readonly string[];
}

/** @param databaseUrl a migrated, empty database */
export async function runYear(
  plan: YearPlan,
  databaseUrl: string,
  progress: (line: string) => void,
): Promise<PlayedYear> {
  await simulateTime(databaseUrl, plan.seed);
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-year-"));
  const clock = createMovingClock(plan.begin, plan.seed);
  const world = createYearWorld(plan);
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 40,
    faults: plan.faults,
  });
  const config = configAt(plan, plan.begin, join(folder, "archive"));
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 4, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const sql = openDatabase(databaseUrl, 4);
  const fetchPage = askWherePlayed(world, clock.now, (request, signal) =>
    provider.fetchBetPage(request, signal),
  );
  const year = new Year(plan, world, { sql, config, clock, log: silentLog, fetchPage }, clock, progress);
  try {
    const environment = { DATABASE_URL: databaseUrl, RECON_CONFIG: join(folder, "recon.config.json") };
    return await year.play((now) => {
      writeFileSync(environment.RECON_CONFIG, JSON.stringify(plan.settingsAt(now)));
      return environment;
    });
  } finally {
    await sql.end({ timeout: 5 });
    provider.close();
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Answers for an hour without any record directly, as the provider would: a year has tens of thousands of them. */
function askWherePlayed(world: YearWorld, now: () => Instant, ask: FetchBetPage): FetchBetPage {
  return async (request, signal) => {
    const { productId, from, to } = request;
    if (world.recordsIn(productId, { from, to: to + 1 }, now()).length > 0) return await ask(request, signal);
    const empty: BetPage = { records: [], rejected: [], nextId: null, requestedAt: now(), tookMs: 5 };
    return empty;
  };
}

class Year {
  readonly #plan: YearPlan;
  readonly #world: YearWorld;
  readonly #context: PullContext;
  readonly #clock: TestClock;
  readonly #progress: (line: string) => void;
  readonly #mismatches = new MismatchAudit();
  readonly #months: MonthAudit;
  readonly #paid: PaidByHand[] = [];
  readonly #sizes: TableSizes[] = [];
  readonly #kept: number[] = [];
  readonly #problems: string[] = [];
  readonly #counts = { corrections: 0, deleted: 0, copied: 0, downDays: 0 };
  readonly #edits;
  readonly #refetches;
  readonly #betsById;
  #deliveredTo: Instant;
  #never = new AbortController().signal;

  constructor(
    plan: YearPlan,
    world: YearWorld,
    context: PullContext,
    clock: TestClock,
    progress: (line: string) => void,
  ) {
    this.#plan = plan;
    this.#world = world;
    this.#context = context;
    this.#clock = clock;
    this.#progress = progress;
    this.#months = new MonthAudit(plan, world);
    this.#deliveredTo = plan.begin;
    this.#edits = world.changing.flatMap((bet) => bet.edits).sort((a, b) => a.at - b.at);
    this.#refetches = world.changing
      .flatMap((bet) => bet.refetch.map((range) => ({ productId: bet.productId, ...range })))
      .sort((a, b) => a.after - b.after);
    this.#betsById = new Map(world.changing.flatMap((bet) => bet.ids.map((id) => [id, bet] as const)));
  }

  async play(environmentAt: (now: Instant) => Readonly<Record<string, string>>): Promise<PlayedYear> {
    const months = monthsOf(this.#plan);
    for (const [day, steps] of this.#plan.days.entries()) {
      for (const now of steps) await this.#step(now);
      if (steps.length === 0) this.#counts.downDays += 1;
      else await this.#endDay(day);
      const now = this.#plan.begin + (day + 1) * DAY_MS;
      const due = months.find(({ auditedAt }) => auditedAt > now - DAY_MS && auditedAt <= now);
      if (due !== undefined) await this.#audit(environmentAt(now), [due.month]);
      if (this.#problems.length > 0) break;
    }
    if (this.#problems.length === 0) {
      const all = months.map(({ month }) => month);
      await this.#audit(environmentAt(this.#clock.now()), all);
      this.#problems.push(...findGrowth(this.#sizes.slice(2), this.#kept.slice(2)));
    }
    return this.#describe();
  }

  get #now(): PullContext {
    const { archive } = this.#context.config.closing;
    return { ...this.#context, config: configAt(this.#plan, this.#clock.now(), archive) };
  }

  /** One run of each of the worker's jobs. Time with records is pulled soon after it, as a worker does. */
  async #step(now: Instant): Promise<void> {
    for (const soon of this.#endsOfPlay(this.#clock.now(), now - HOUR_MS)) {
      this.#clock.set(Math.max(soon, this.#clock.now()));
      await this.#pull();
    }
    this.#clock.set(Math.max(now, this.#clock.now()));
    await this.#setTime();
    const context = this.#now;
    await followLedger(context, this.#never);
    await this.#deliver(now);
    const ids = context.config.products.map(({ productId }) => productId);
    await Promise.all([
      this.#pull(),
      ...ids.map((productId) => compareProduct(context, productId, this.#never)),
    ]);
    await Promise.all(ids.map((productId) => compareProduct(context, productId, this.#never)));
    await this.#close();
  }

  /** Moments right after records, in a range. Records with less than an hour between them have one. */
  #endsOfPlay(from: Instant, to: Instant): Instant[] {
    const times = this.#world.products
      .flatMap(({ productId }) => this.#world.recordsIn(productId, { from, to }, to))
      .map(({ accountingDate }) => Date.parse(accountingDate))
      .sort((a, b) => a - b);
    return times.flatMap((at, index) => ((times[index + 1] ?? to) - at > HOUR_MS ? [at + SOON_MS] : []));
  }

  async #pull(): Promise<void> {
    const context = this.#now;
    const now = this.#clock.now();
    const ageMs = Math.max(...context.config.pull.resweepAfter);
    await Promise.all(
      context.config.products.map(async ({ productId }) => {
        await skipQuietHours(context.sql, this.#world, productId, now, ageMs);
        await pullProduct(context, productId, this.#never);
      }),
    );
  }

  async #setTime(): Promise<void> {
    await setTime(this.#context.sql, this.#clock.now());
  }

  /** The operator's side: what was received, and what was changed by hand. */
  async #deliver(now: Instant): Promise<void> {
    const { sql } = this.#context;
    await appendEntries(sql, this.#world.entriesReceived({ from: this.#deliveredTo, to: now }));
    this.#deliveredTo = now;
    while ((this.#edits[0]?.at ?? now) < now) {
      const { entryId, payout } = this.#edits.shift() ?? { entryId: "", payout: null };
      if (payout === null) await sql`delete from callback_entries where entry_id = ${entryId}`;
      else {
        await sql`
          update callback_entries set payout_amount = ${payout}::text::numeric, moved = ${payout}::text::numeric
          where entry_id = ${entryId}`;
      }
    }
  }

  async #close(): Promise<void> {
    await this.#setTime();
    const context = this.#now;
    this.#counts.corrections += await findCorrections(context, this.#never);
    await closeDueDays(context, this.#never);
  }

  async #endDay(day: number): Promise<void> {
    const { sql } = this.#context;
    const now = this.#clock.now();
    if (day % REFETCHED_EVERY_DAYS === 0) await this.#refetch();
    const mismatches = await this.#mismatches.read(sql);
    this.#paid.push(...(await decide(this.#now, this.#plan.seed, mismatches, this.#betsById)));
    await this.#close();
    await takeDeleted(sql);
    const before = await seeBeforeDeletion(sql, now, this.#world.changing, this.#world.plantedBy(now));
    await dropExpired(this.#now, this.#never);
    await dropClosed(this.#now, this.#never);
    await keepCounts(this.#now);
    if (day % COPIED_EVERY_DAYS === 0) this.#counts.copied += await storeAgain(sql);
    const deleted = await takeDeleted(sql);
    this.#counts.deleted += deleted.length;
    this.#problems.push(...judgeDeletions(deleted, before));
    await this.#mismatches.read(sql);
    if (day % 10 === 0) await sql`vacuum analyze`;
  }

  /** Backfills of the old time in which the provider changed something. */
  async #refetch(): Promise<void> {
    const context = this.#now;
    const due = this.#refetches.filter(({ after }) => after < this.#clock.now());
    this.#refetches.splice(0, due.length);
    for (const { productId, from, to } of due) {
      const hour = (at: Instant) => Math.floor(at / HOUR_MS) * HOUR_MS;
      const asked = { productId, from: hour(from), to: hour(to) + HOUR_MS };
      await requestBackfill(context, await planBackfill(context, asked));
    }
    if (due.length === 0) return;
    await runBackfills(context, this.#clock);
    await this.#setTime();
    const changed = new Set(due.map(({ productId }) => productId));
    for (const productId of changed) await compareProduct(context, productId, this.#never);
  }

  async #audit(environment: Readonly<Record<string, string>>, months: readonly string[]): Promise<void> {
    const { sql } = this.#context;
    const now = this.#clock.now();
    const planted = this.#world.plantedBy(now);
    const before = await seeBeforeDeletion(sql, now, this.#world.changing, planted);
    const { retain } = this.#now.config;
    const [records, entries] = [retain.records ?? 0, retain.entries ?? 0];
    const keep = {
      records,
      entries,
      mismatches: retain.mismatches ?? 0,
      windows: retain.windows ?? 0,
      slack: this.#slackMs,
    };
    this.#problems.push(
      ...this.#mismatches.findProblems(
        planted,
        findEndless(this.#world, { from: this.#plan.begin, to: now }),
        this.#world.changing,
        now,
      ),
      ...(await this.#months.compare(sql, environment, months, this.#paid, now)),
      ...(await findLeftovers(sql, now, keep, before.open)),
      ...checkArchive(this.#context.config.closing.archive ?? ""),
      ...(await inspectEntryDays(this.#now)).gone.map((day) => `entries have vanished: ${sayGone(day)}`),
    );
    const sizes = await countRows(sql);
    this.#sizes.push(sizes);
    this.#kept.push(before.open.size * 3 + this.#paid.length * 3);
    const count = (table: string) => sizes.get(table) ?? 0;
    this.#progress(
      `seed ${this.#plan.seed}: ${months.join(", ").slice(0, 7)}: ${count("closed_days")} closed days, ${this.#counts.corrections} corrections, ` +
        `${this.#counts.deleted} rows deleted; now ${count("bet_records")} records, ${count("callback_entries")} entries, ` +
        `${count("windows")} windows, ${count("mismatches")} mismatches, ${count("closed_bets")} closed bets` +
        `${this.#problems.length === 0 ? "" : `; ${this.#problems.length} problems`}`,
    );
  }

  /** The latest change of a bet or decision, a pause of the worker, and some days. */
  get #slackMs(): number {
    return (this.#plan.length.late.most + 10) * DAY_MS;
  }

  #describe(): PlayedYear {
    const planted = this.#world.plantedBy(this.#clock.now());
    const kinds: Record<string, number> = {};
    for (const { kind } of planted) kinds[kind] = (kinds[kind] ?? 0) + 1;
    const { corrections, deleted, copied, downDays } = this.#counts;
    return {
      seed: this.#plan.seed,
      planted: planted.length,
      found: this.#mismatches.foundOf(planted).length,
      kinds,
      summary:
        `${this.#plan.length.days} days in ${this.#plan.zones.join(", then ")}; ${this.#world.changing.length} bets that change, ` +
        `${corrections} corrections, ${this.#paid.length} paid by hand, ${deleted} rows deleted, ` +
        `${copied} deleted entries stored again, down on ${downDays} days`,
      problems: this.#problems,
    };
  }
}

/** The months with play, and when each is audited. */
function monthsOf({ begin, length }: YearPlan): { readonly month: string; readonly auditedAt: Instant }[] {
  const months = new Set(
    Array.from({ length: length.days }, (_, day) => new Date(begin + day * DAY_MS).toISOString().slice(0, 7)),
  );
  return [...months].map((month) => {
    const end = DateTime.fromISO(`${month}-01`, { zone: "utc" }).plus({ months: 1 });
    return { month, auditedAt: end.toMillis() + length.auditedAfter * DAY_MS };
  });
}
