/** Draws the lines of a statement, and the links that lead from its figures to them. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { ItemPage } from "../../../flows/closing/read-items.ts";
import type { ReportItem } from "../../../report-item.ts";
import { type Problem, renderProblem } from "../parts/fields.ts";
import { showAmount, showState } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";

/** What is asked for, as typed: the fields of the query. */
export type ItemsForm = Readonly<
  Record<"day" | "month" | "zone" | "productId" | "currency" | "explainedBy", string>
>;

/** The query of lines; empty fields are left out. */
function queryOfItems(fields: Partial<ItemsForm> & { readonly after?: string }): string {
  return new URLSearchParams(Object.entries(fields).filter(([, text]) => text !== "")).toString();
}

/** A figure that leads to the lines that it is made of. */
export function linkToItems(figure: SafeHtml, fields: Partial<ItemsForm>): SafeHtml {
  return html`<a href="/report/items?${queryOfItems(fields)}">${figure}</a>`;
}

const COLUMNS: readonly Column[] = [
  { name: "bet", as: "head" },
  { name: "player", as: "text" },
  { name: "round", as: "text" },
  { name: "provider" },
  { name: "provider's stake", as: "number" },
  { name: "provider's payout", as: "number" },
  { name: "ledger" },
  { name: "ledger's stake", as: "number" },
  { name: "ledger's payout", as: "number" },
  { name: "moved", as: "number" },
  { name: "difference", as: "number" },
  { name: "explained by", as: "text" },
];

/** What each `explainedBy` is called in a statement. */
const WORDS: Readonly<Record<string, string>> = {
  agreed: "both sides agree",
  mismatch: "mismatch",
  correction: "corrected by hand",
  pending: "pending",
  rounding: "rounding",
  outside: "outside the comparison",
  nothing: "nothing",
};

export interface ShownItems {
  /** null: the query has an error */
  readonly page: ItemPage | null;
  readonly problem: Problem | null;
}

export function renderItems(form: ItemsForm, { page, problem }: ShownItems): SafeHtml {
  const { day, month, zone, productId, currency, explainedBy } = form;
  const when = month === "" ? { day, zone } : { month };
  const back = new URLSearchParams(Object.entries(when).filter(([, text]) => text !== ""));
  const words = explainedBy === "" ? "" : `explained by: ${WORDS[explainedBy] ?? explainedBy}`;
  const what = [productId, currency, words].filter((one) => one !== "");
  const csv = `/report/items.csv?${queryOfItems(form)}`;
  return html`<p class="trail wrap"><a href="/report?${back.toString()}">Statement of ${month === "" ? day : month}</a> <span aria-hidden="true">›</span> Lines</p>
<h1 class="wrap">Lines of the statement of ${month === "" ? day : month}</h1>
<p class="wrap">${what.length === 0 ? "All lines" : what.join(", ")}</p>
${renderProblem(problem, [])}
${page === null ? null : renderPage(form, page, csv)}`;
}

function renderPage(form: ItemsForm, { items, next }: ItemPage, csv: string): SafeHtml {
  const more =
    next === null
      ? null
      : html` <a href="/report/items?${queryOfItems({ ...form, after: next })}">Next page</a>`;
  if (items.length === 0) return html`<p class="sheet">No line.</p>`;
  return html`<p class="row"><a href="${csv}" download="report-items.csv">Download all as CSV</a>${more}</p>
<section class="sheet">${renderTable({ name: "Lines", id: "items", columns: COLUMNS, rows: items.map((item) => renderItem(item, form)) })}
<p class="faint">A line is a bet, or what is compared as one: a round, a session. Lines add up to the row; if two things explain parts of one difference, each has a line.</p></section>
${more === null ? null : html`<p class="row">${more}</p>`}`;
}

function renderItem(item: ReportItem, form: ItemsForm): Row {
  const { username, transactionId, betId, roundId, provider, ledger, difference, currency } = item;
  const id = transactionId ?? betId;
  const amount = (text: string | undefined) => (text === undefined ? null : showAmount(text, null));
  return {
    cells: [
      html`${id === null ? (roundId === null ? "session" : "several") : linkToSearch(id)}${form.month === "" ? null : html` <span class="faint">${item.day}</span>`}`,
      username ?? "all players",
      roundId === null ? null : linkToSearch(roundId),
      renderSide(provider),
      amount(provider?.stake),
      amount(provider?.payout),
      renderSide(ledger),
      amount(ledger?.stake),
      withPart(amount(ledger?.payout), "rewards", ledger?.rewards),
      withPart(amount(ledger?.moved), "tips", ledger?.tips),
      showAmount(difference, currency),
      renderExplained(item),
    ],
  };
}

/** An amount, and what part of it is a reward or a tip. */
function withPart(figure: SafeHtml | null, name: string, amount: string | null | undefined): SafeHtml | null {
  if (amount == null || amount === "0") return figure;
  return html`${figure} <span class="faint">${name} ${showAmount(amount, null)}</span>`;
}

function linkToSearch(id: string): SafeHtml {
  return html`<a class="wrap" href="/search?${new URLSearchParams({ q: id }).toString()}">${id}</a>`;
}

function renderSide(
  side: { readonly status: string | null; readonly bets: number } | null,
): SafeHtml | string {
  if (side === null) return "none";
  return side.status === null ? `${side.bets} bets` : showState(side.status);
}

function renderExplained({ explainedBy, mismatchId }: ReportItem): SafeHtml | string {
  const words = WORDS[explainedBy ?? "nothing"] ?? "";
  if (mismatchId === null) return words;
  return html`<a href="/mismatches/${mismatchId}">${words} ${mismatchId}</a>`;
}
