/** What tests of closing share: days that are complete, and the invariant of closed books. */

import { expect } from "vitest";
import type { Correction } from "../../../src/closed.ts";
import { readClosedBounds, readClosedDays } from "../../../src/closing/closed-day-store.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { Sql } from "../../../src/db/client.ts";
import { closeDay } from "../../../src/flows/closing/close-day.ts";
import { findCorrections } from "../../../src/flows/closing/find-corrections.ts";
import { type AskedItems, eachItems, readItemPage } from "../../../src/flows/closing/read-items.ts";
import { verifyBooks } from "../../../src/flows/closing/verify-books.ts";
import { type CompareLimits, REPORT_LIMITS } from "../../../src/flows/compare/comparison-context.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { addUpMoney } from "../../../src/flows/reports/sum-money.ts";
import { missingOf } from "../../../src/health/money.ts";
import { silentLog } from "../../../src/log.ts";
import { formatAmount, parseAmount } from "../../../src/money.ts";
import { parseDay } from "../../../src/ops/input/report-query.ts";
import type { ReportRow } from "../../../src/report.ts";
import type { ReportItem } from "../../../src/report-item.ts";
import type { createTestClock } from "../../support/clock.ts";
import { correctionsOfAll } from "../../support/corrections.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { figuresOfItems, figuresOfRows } from "../../support/item-sums.ts";

export const DAY_MS = 24 * HOUR_MS;

export function useClosing(
  sql: Sql,
  clock: ReturnType<typeof createTestClock>,
  settings: Record<string, unknown> = { products: [{ productId: "P1" }] },
  limits: () => CompareLimits = () => REPORT_LIMITS,
) {
  const signal = new AbortController().signal;
  const context = (more: Record<string, unknown> = {}) => ({
    sql,
    config: parseConfig({ ...settings, ...more }),
    clock,
    log: silentLog,
  });

  /** Makes days complete, with windows of an hour. */
  async function fetched(from: number, to: number, productId = "P1"): Promise<void> {
    await sql`
      insert into pull_states (product_id, begin, head, window_ms) values (${productId}, ${from}, ${to}, 3600000)
      on conflict (product_id) do update set head = excluded.head`;
    await sql`
      insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at)
      select ${productId}, 'live', at, at + interval '1 hour', 'done', at + interval '1 hour', at + interval '1 hour'
      from generate_series(${from}::timestamptz, ${to}::timestamptz - interval '1 hour', interval '1 hour') as at`;
  }

  const close = (day: string, zone = "UTC", more: Record<string, unknown> = {}) =>
    closeDay(context(more), parseDay(day, zone), limits());
  const correct = () => findCorrections(context(), signal, limits());

  /** All figures of the closed days, as text by product and currency: closed plus corrections, and today's data. */
  async function bothSums() {
    const closed = new Map<string, Record<string, string>>();
    const today = new Map<string, Record<string, string>>();
    for (const day of await readClosedDays(sql, 0, 1_000)) {
      for (const row of day.rows) addRow(closed, day.day, row);
    }
    for (const one of await correctionsOfAll(sql)) addCorrection(closed, one);
    for (const day of await readClosedBounds(sql)) {
      const report = await readReport(context(), { ...day, zone: "UTC" }, signal, limits());
      for (const row of report.rows) addRow(today, day.day, row);
    }
    return [closed, today].map(withoutZeros);
  }

  async function expectInvariant(): Promise<void> {
    const [closed, today] = await bothSums();
    expect(closed).toEqual(today);
    expect(await verifyBooks(context())).toMatchObject({ flaw: null, sums: { cut: 0 } });
    const [measured, ofBets] = await bothConfirmed();
    expect(measured).toEqual(ofBets);
  }

  /** The stake that was confirmed in time of each day: as it was added up, and of the bets as they count now. */
  async function bothConfirmed() {
    const columns = sql`day::text as day, product_id, currency`;
    const added = await sql`
      select ${columns}, trim_scale(stake) as stake, trim_scale(within_hour) as hour,
        trim_scale(within_day) as one_day, trim_scale(within_week) as week
      from confirmed_days where stake <> 0 order by 1, 2, 3`;
    const upTo = (most: number) => sql`trim_scale(coalesce(sum(provider_stake) filter (
      where array_position(array['hour', 'day', 'week'], coalesce(confirmed, 'hour')) <= ${most}), 0))`;
    const counted = await sql`
      select ${columns}, trim_scale(sum(provider_stake)) as stake, ${upTo(1)} as hour, ${upTo(2)} as one_day,
        ${upTo(3)} as week
      from closed_bets group by day, product_id, currency having sum(provider_stake) <> 0 order by 1, 2, 3`;
    return [[...added], [...counted]] as const;
  }

  /** What the entries moved is in the statements of all days. @returns what of it is outside */
  async function expectAllMoney(): Promise<string[]> {
    const { sums, left } = await addUpMoney(context(), signal);
    expect(left).toEqual([]);
    for (const one of sums)
      expect({ ...one, missing: missingOf(one).toFixed() }).toEqual({ ...one, missing: "0" });
    return sums.filter(({ outside }) => outside !== "0").map(({ productId }) => productId);
  }

  /** The lines of a day. */
  async function linesOf(day: string, limit: number | null = null): Promise<ReportItem[]> {
    const asked = { ...parseDay(day, "UTC"), isZoneAsked: false };
    const all = { productId: null, currency: null, explainedBy: null };
    const making = { signal, limits: limits(), rest: async () => {} };
    const stream: ReportItem[] = [];
    const take = async (items: readonly ReportItem[]) => void stream.push(...items);
    await eachItems(context(), asked, all, take, making);
    if (limit !== null) expect(await pagesOf(asked, limit)).toEqual(stream);
    return stream;
  }

  async function pagesOf(asked: AskedItems, limit: number): Promise<ReportItem[]> {
    const pages: ReportItem[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof readItemPage>> = await readItemPage(
        context(),
        asked,
        { productId: null, currency: null, explainedBy: null },
        { limit, after },
        { signal, limits: limits(), rest: async () => {} },
      );
      pages.push(...page.items);
      after = page.next;
    } while (after !== null);
    return pages;
  }

  /** The lines of each day add up to its rows, to the last digit: as it was closed, or from today's data. */
  async function expectLines(days: readonly string[] = []): Promise<ReportItem[]> {
    const found: ReportItem[] = [];
    const closed = await readClosedDays(sql, 0, 1_000);
    for (const { day, rows } of closed) {
      const items = await linesOf(day, 2);
      expect({ day, ...figuresOfItems(items) }).toEqual({ day, ...figuresOfRows(rows) });
      found.push(...items);
    }
    for (const day of days.filter((one) => closed.every((own) => own.day !== one))) {
      const items = await linesOf(day);
      const { rows } = await readReport(context(), parseDay(day, "UTC"), signal, limits());
      expect({ day, ...figuresOfItems(items) }).toEqual({ day, ...figuresOfRows(rows) });
      found.push(...items);
    }
    return found;
  }

  return { context, fetched, close, correct, bothSums, expectInvariant, expectAllMoney, expectLines };
}

type Sums = Map<string, Record<string, string>>;

function addRow(sums: Sums, day: string, row: ReportRow): void {
  add(sums, [day, row.productId, row.currency].join(" "), figuresOf(row), 1);
  add(sums, [day, row.productId, row.currency].join(" "), { difference: row.difference }, 1);
}

function addCorrection(
  sums: Sums,
  { day, productId, currency, before, after, difference }: Correction,
): void {
  const key = [day, productId, currency].join(" ");
  add(sums, key, figuresOf(before), -1);
  add(sums, key, figuresOf(after), 1);
  add(sums, key, { difference }, 1);
}

function figuresOf({ provider, ledger, ...row }: Correction["before"]): Record<string, string> {
  const side = (name: string, of: object) =>
    Object.fromEntries(
      Object.entries(of).flatMap(([field, value]) =>
        value === null ? [] : [[`${name}.${field}`, String(value)]],
      ),
    );
  const { mismatches, adjustments, pending, rounding, outside } = row;
  return {
    ...side("provider", provider),
    ...side("ledger", ledger),
    mismatches,
    adjustments,
    pending,
    rounding,
    outside,
  };
}

function add(sums: Sums, key: string, figures: Record<string, string>, sign: 1 | -1): void {
  const sum = sums.get(key) ?? {};
  for (const [field, text] of Object.entries(figures)) {
    const amount = parseAmount(text, field);
    const before = parseAmount(sum[field] ?? "0", field);
    sum[field] = formatAmount(sign === 1 ? before.plus(amount) : before.minus(amount));
  }
  sums.set(key, sum);
}

function withoutZeros(sums: Sums): Record<string, Record<string, string>> {
  return Object.fromEntries(
    [...sums]
      .filter(([, sum]) => Object.values(sum).some((text) => text !== "0"))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** 2026-11-20, the day of the examples. */
export const TODAY = NOON - 12 * HOUR_MS;
