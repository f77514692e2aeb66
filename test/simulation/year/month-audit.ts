/** Compares the stored months with what the world knows, and checks the chain of the closed days. */

import { DateTime } from "luxon";
import type { Instant } from "../../../src/clock.ts";
import type { Correction } from "../../../src/closed.ts";
import type { Sql } from "../../../src/db/client.ts";
import type { TimeRange } from "../../../src/window.ts";
import type { PaidByHand } from "./people.ts";
import { Sums, sumChanging, sumThinned } from "./year-books.ts";
import { CHANGING, type YearPlan } from "./year-plan.ts";
import { addCorrection, addRow, readMonthJson, verifyChain } from "./year-statements.ts";
import type { YearWorld } from "./year-world.ts";

interface ClosedBounds extends TimeRange {
  readonly day: string;
  readonly number: number;
  readonly zone: string;
  readonly hash: string;
  readonly previousHash: string | null;
}

/** A day is closed at most this long after it began, also if the worker was down. */
const CLOSED_WITHIN_MS = 7 * 86_400_000;

const OWN: readonly string[] = Object.values(CHANGING);

export class MonthAudit {
  readonly #plan: YearPlan;
  readonly #world: YearWorld;
  readonly #hashes = new Map<number, string>();

  constructor(plan: YearPlan, world: YearWorld) {
    this.#plan = plan;
    this.#world = world;
  }

  /** @param months whose last changes are long over @returns one line for each difference */
  async compare(
    sql: Sql,
    environment: Readonly<Record<string, string>>,
    months: readonly string[],
    paid: readonly PaidByHand[],
    now: Instant,
  ): Promise<string[]> {
    const bounds = await sql<ClosedBounds[]>`
      select day::text as day, number, zone, from_at as "from", to_at as "to", hash, previous_hash as "previousHash"
      from closed_days order by number`;
    const problems = [...this.#checkChain(bounds), ...(await verifyChain(environment))];
    problems.push(...(await checkArrivals(sql)));
    const dayOf = (at: Instant) => findDay(bounds, at);
    const expected = sumChanging(this.#world.changing, now, dayOf);
    for (const one of paid) {
      const day = dayOf(one.at);
      if (day !== null) expected.get(day)?.add(`${one.productId} ${one.currency} adjustments`, one.amount);
    }
    for (const month of months)
      problems.push(...(await this.#compareMonth(environment, month, expected, now)));
    return problems;
  }

  async #compareMonth(
    environment: Readonly<Record<string, string>>,
    month: string,
    expected: ReadonlyMap<string, Sums>,
    now: Instant,
  ): Promise<string[]> {
    const report = await readMonthJson(environment, month);
    const problems: string[] = [];
    const first = DateTime.fromISO(`${month}-01`, { zone: "utc" });
    const dates = Array.from({ length: first.daysInMonth ?? 0 }, (_, index) =>
      first.plus({ days: index }).toFormat("yyyy-MM-dd"),
    ).filter((date) => date >= this.#firstDay && Date.parse(date) < now - CLOSED_WITHIN_MS);
    const closed = new Set(report.days.map(({ day }) => day));
    for (const date of dates) if (!closed.has(date)) problems.push(`${date} is not closed`);
    const whole = new Sums();
    const byDays = new Sums();
    for (const row of report.rows) addRow(whole, row);
    for (const row of report.days.flatMap(({ rows }) => rows)) addRow(byDays, row);
    problems.push(...whole.differences(byDays, `the sums of ${month}, which are those of its days`));
    for (const one of report.corrections) addCorrection(whole, one);
    const range = { from: first.toMillis(), to: first.plus({ months: 1 }).toMillis() };
    problems.push(
      ...whole.differences(
        sumThinned(this.#world.thinned, range),
        `the statement of ${month} with its corrections`,
        (name) =>
          !isOwn(name) && / (provider\..*|ledger\.(net|moved)|outside|pending|adjustments|rest)$/.test(name),
      ),
    );
    for (const { day, rows } of report.days) {
      const sums = new Sums();
      for (const row of rows) addRow(sums, row);
      for (const one of report.corrections.filter((correction) => correction.day === day))
        addCorrection(sums, one);
      problems.push(
        ...sums.differences(
          expected.get(day) ?? new Sums(),
          `the statement of ${day} with its corrections`,
          (name) => isOwn(name) && / (provider\..*|ledger\..*|outside|pending|adjustments|rest)$/.test(name),
        ),
      );
    }
    return problems;
  }

  /** The first day that can be closed: the first whole day that was pulled. */
  get #firstDay(): string {
    const { begin, zoneAt } = this.#plan;
    const local = DateTime.fromMillis(begin, { zone: zoneAt(begin) });
    const day = local.startOf("day").toMillis() === begin ? local : local.plus({ days: 1 });
    return day.toFormat("yyyy-MM-dd");
  }

  #checkChain(days: readonly ClosedBounds[]): string[] {
    const problems: string[] = [];
    for (const [index, day] of days.entries()) {
      const before = days[index - 1];
      const about = `closed day ${day.number} (${day.day})`;
      if (day.number !== index + 1) problems.push(`${about} has place ${index + 1}`);
      if (
        before !== undefined &&
        (day.from !== before.to || day.previousHash !== before.hash || day.day <= before.day)
      )
        problems.push(`${about} does not follow ${before.day}`);
      const endsAt = DateTime.fromISO(day.day, { zone: day.zone })
        .plus({ days: 1 })
        .startOf("day")
        .toMillis();
      if (day.to !== endsAt) problems.push(`${about} does not end at midnight of ${day.zone}`);
      const known = this.#hashes.get(day.number);
      if (known !== undefined && known !== day.hash)
        problems.push(`${about} has another hash than a month ago`);
      this.#hashes.set(day.number, day.hash);
    }
    return problems;
  }
}

/** Whether each correction of closed time is in the statement of the day on which it arrived, once. */
async function checkArrivals(sql: Sql): Promise<string[]> {
  const rows = await sql<{ day: string; correction: Correction | null; stated: number }[]>`
    with stated as (
      select d.day, c.value as correction from closed_days d, jsonb_array_elements(d.statement -> 'corrections') c
    ),
    arrived as (
      select d.day, c.correction from corrections c join closed_days d on c.at >= d.from_at and c.at < d.to_at
    )
    (select day::text, correction from stated except all select day::text, correction from arrived)
    union all
    (select day::text, correction from arrived except all select day::text, correction from stated)`;
  return rows.map(
    ({ day, correction }) => `a correction of ${day} is not where it arrived: ${JSON.stringify(correction)}`,
  );
}

function findDay(bounds: readonly ClosedBounds[], at: Instant): string | null {
  return bounds.find(({ from, to }) => from <= at && at < to)?.day ?? null;
}

function isOwn(name: string): boolean {
  return OWN.some((productId) => name.startsWith(`${productId} `));
}
