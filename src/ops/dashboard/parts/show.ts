/** Formats amounts, times and states for all pages. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant, type Instant, parseInstant, showDuration, showInstant } from "../../../clock.ts";

/** @param at an instant, or ISO 8601 text as the JSON has it; null: a dash */
export function showTime(at: Instant | string | null): SafeHtml {
  if (at === null) return html`<span class="none">–</span>`;
  const instant = typeof at === "string" ? parseInstant(at, "time") : at;
  return html`<time datetime="${formatInstant(instant)}">${showInstant(instant).replace("Z", "")}</time>`;
}

/** "4 min ago", with the exact time in the title. */
export function showAge(at: Instant | string | null, now: Instant): SafeHtml {
  if (at === null) return html`<span class="none">–</span>`;
  const instant = typeof at === "string" ? parseInstant(at, "time") : at;
  const age = showDuration(Math.max(0, now - instant));
  return html`<time datetime="${formatInstant(instant)}" title="${showInstant(instant)}">${age} ago</time>`;
}

/** @param amount decimal text; shows every digit, at least two decimals, with separated thousands */
export function showAmount(amount: string | null, currency: string | null): SafeHtml {
  if (amount === null) return html`<span class="none">–</span>`;
  return html`<span class="amount">${groupDigits(withCents(amount))}${currency === null ? null : ` ${currency}`}</span>`;
}

/** "4.5" → "4.50", so that amounts align in columns. */
export function withCents(amount: string): string {
  const decimals = amount.split(".")[1]?.length ?? 0;
  if (decimals >= 2) return amount;
  return `${amount}${decimals === 0 ? "." : ""}${"0".repeat(2 - decimals)}`;
}

/** "1234567.891" → "1 234 567.891", with narrow spaces that do not break. */
export function groupDigits(amount: string): string {
  const [whole = "", fraction] = amount.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** 12345 → "12 345". */
export function showCount(count: number): string {
  return groupDigits(String(count));
}

/** A state as a word and a colour: colour alone would not be accessible. */
export function showState(state: string): SafeHtml {
  return html`<span class="state" data-state="${state}">${state}</span>`;
}
