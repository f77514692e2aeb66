/** Formats amounts, times and states for all pages. */

import { html, type SafeHtml } from "@remix-run/html-template";
import {
  formatInstant,
  type Instant,
  localIso,
  parseInstant,
  showDuration,
  showInstant,
} from "../../../clock.ts";
import { groupThousands, sayAmount, sayAmountsWithin } from "../../../money.ts";

export { groupThousands, sayAmount };

const WITHOUT_CURRENCY = "without a currency";
const NONE = html`<span class="none">–</span>`;

/**
 * The time on the person's clocks, with UTC in the title.
 * @param at an instant, or ISO 8601 text as the JSON has it; null: a dash
 */
export function showTime(at: Instant | string | null, zone: string): SafeHtml {
  if (at === null) return NONE;
  const instant = instantOf(at);
  return html`<time datetime="${formatInstant(instant)}" title="${sayUtc(instant)}">${sayTime(instant, zone)}</time>`;
}

/** "4 min ago", with the exact time in the title. The browser keeps it up to date (assets/ago.js). */
export function showAge(at: Instant | string | null, now: Instant, zone: string): SafeHtml {
  if (at === null) return NONE;
  const instant = instantOf(at);
  const title = zone === "UTC" ? sayUtc(instant) : `${sayTime(instant, zone)} (${sayUtc(instant)})`;
  return html`<time datetime="${formatInstant(instant)}" title="${title}" data-now="${formatInstant(now)}">${showDuration(Math.max(0, now - instant))} ago</time>`;
}

/** "(4 min ago)", which no line break tears apart. */
export function showAgo(at: Instant | string, now: Instant, zone: string): SafeHtml {
  return html`<span class="together">(${showAge(at, now, zone)})</span>`;
}

/** "2026-11-20 10:00:00" on the person's clocks. */
export function sayTime(at: Instant | string, zone: string): string {
  return localIso(instantOf(at), zone).slice(0, 19).replace("T", " ");
}

function sayUtc(instant: Instant): string {
  return showInstant(instant).replace("Z", " UTC");
}

function instantOf(at: Instant | string): Instant {
  return typeof at === "string" ? parseInstant(at, "time") : at;
}

/** Money of one currency; null: without a currency. `amount` is decimal text. */
export interface ShownMoney {
  readonly currency: string | null;
  readonly amount: string;
}

/** "12.50 THB, 1.00 EUR and 3.00 USD", without amounts of zero; "no money" if none is left. */
export function sayAmounts(sums: readonly ShownMoney[]): string {
  const said = sums
    .filter(({ amount }) => !/^[0.]+$/.test(amount))
    .map(({ amount, currency }) => sayAmount(amount, currency ?? WITHOUT_CURRENCY));
  if (said.length === 0) return "no money";
  return [said.slice(0, -1).join(", "), said.at(-1)].filter((part) => part !== "").join(" and ");
}

/** @param amount decimal text; null: a dash */
export function showAmount(amount: string | null, currency: string | null): SafeHtml {
  return amount === null ? NONE : html`<span class="amount">${sayAmount(amount, currency)}</span>`;
}

/** An amount among others of several currencies. */
export function showSum(amount: string, currency: string | null): SafeHtml {
  return showAmount(amount, currency ?? WITHOUT_CURRENCY);
}

/** A time within a sentence, but not of an option: a command needs its offset. */
const TIME_IN_WORDS = /(?<!--[a-z-]+ )\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** A sentence that was made for everybody: with its amounts in the one format, and its times in the person's zone. Commands keep UTC. */
export function sayWords(words: string, zone: string): string {
  return sayAmountsWithin(words).replace(TIME_IN_WORDS, (time) => sayTime(time, zone));
}

/** 12345 → "12 345". */
export function showCount(count: number): string {
  return groupThousands(String(count));
}

/** A state as a word and a colour: colour alone would not be accessible. */
export function showState(state: string): SafeHtml {
  return html`<span class="state" data-state="${state}">${state}</span>`;
}
