/** Draws lists of incidents. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import { describeIncident } from "../../../flows/read/incident-document.ts";
import type { IncidentWithMoney } from "../../../flows/read/read-incident.ts";
import { filtersOf } from "../../input/fields.ts";
import { INCIDENT_QUERY } from "../../input/incident-query.ts";
import { renderCaseFilters, sayCase } from "../comments/render-comments.ts";
import {
  nameItself,
  type Problem,
  renderInput,
  renderProblem,
  renderSelect,
  renderTimePicker,
  type TypedFields,
} from "../parts/fields.ts";
import { showAge, showCount, showSum } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

/** The fields of the form: filters of the API. */
export const FILTERS = filtersOf(INCIDENT_QUERY);
type IncidentFilters = TypedFields<typeof FILTERS>;

interface IncidentList {
  readonly products: readonly string[];
  /** null: the filters have an error */
  readonly list: { readonly incidents: readonly IncidentWithMoney[]; readonly next: string | null } | null;
  readonly problem: Problem | null;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderIncidents(
  filters: IncidentFilters,
  { products, list, problem }: IncidentList,
  when: When,
): SafeHtml {
  const { state, product, currency, sort, happenedFrom, happenedTo } = filters;
  return html`<h1>Incidents</h1>
<p>An incident groups mismatches that probably have one cause: one kind, one product, each first seen soon after the one before.</p>
<form method="get" action="/incidents" class="sheet fields" aria-label="Filters">
${renderSelect({ label: "State", name: "state", value: state, problem }, [
  ["open", "open"],
  ["over", "over"],
  ["all", "all"],
])}
${renderSelect({ label: "Product", name: "product", value: product, problem }, [["", "all"], ...products.map(nameItself)])}
${renderCaseFilters(filters, problem)}
${renderInput({ label: "Currency", name: "currency", value: currency, problem }, html`size="5" autocomplete="off"`)}
${renderTimePicker({ label: "Happened from", name: "happenedFrom", value: happenedFrom, problem }, when.zone)}
${renderTimePicker({ label: "Happened before", name: "happenedTo", value: happenedTo, problem }, when.zone)}
${renderSelect({ label: "First", name: "sort", value: sort, problem }, [
  ["", "recently grown"],
  ["at-risk", "most at risk"],
])}
<button>Filter</button>
</form>
${renderProblem(problem, FILTERS)}
${list === null ? null : renderList(filters, list, when)}`;
}

function renderList(
  filters: IncidentFilters,
  { incidents, next }: NonNullable<IncidentList["list"]>,
  when: When,
): SafeHtml {
  const { currency, sort, state, ...others } = filters;
  if (incidents.length === 0) {
    const isAll = state === "open" && [currency, ...Object.values(others)].every((one) => one === "");
    return html`<p class="sheet">${isAll ? "No incident is open." : "There is no such incident."}</p>`;
  }
  const typed = Object.entries(filters).filter(([, text]) => text !== "");
  const more = new URLSearchParams([...typed, ["after", next ?? ""]]);
  const caption =
    sort === ""
      ? "Those with undecided mismatches first, then the most recently grown"
      : currency === ""
        ? "By currency, and of each currency those with the most money at risk first"
        : `Those with the most ${currency} at risk first`;
  return html`<section class="sheet" aria-label="List">${renderIncidentTable(incidents, caption, when)}
${next === null ? null : html`<p><a class="button quiet" href="/incidents?${String(more)}">More</a></p>`}</section>`;
}

const COLUMNS: readonly Column[] = [
  { name: "incident", as: "text", of: "cause" },
  { name: "product", as: "text" },
  { name: "owner", as: "text" },
  { name: "since" },
  { name: "newest" },
  { name: "open", as: "number" },
  { name: "at risk", as: "number" },
];

/** @param caption how they are ordered */
export function renderIncidentTable(
  incidents: readonly IncidentWithMoney[],
  caption: string,
  { now, zone }: When,
): SafeHtml {
  const rows = incidents.map((one) => {
    const { id, kind, productId, beganAt, lastAt, amounts, endedAt } = one;
    return {
      id: `incident-${id}`,
      cells: [
        html`<a href="/incidents/${id}">${kind}</a> <span class="faint">#${id}: ${MEANING_OF_KIND[kind]}</span>`,
        productId,
        sayCase(describeIncident(one), zone, now),
        showAge(beganAt, now, zone),
        endedAt === null
          ? showAge(lastAt, now, zone)
          : html`<span class="state" data-state="resolved">over</span>`,
        renderCount(one),
        endedAt === null || amounts.length === 0
          ? renderMoney(amounts)
          : html`<span class="faint">was</span> ${renderMoney(amounts)}`,
      ],
    };
  });
  return renderTable({ name: "Incidents", caption, of: "incidents", columns: COLUMNS, rows });
}

/** Acknowledged ones are counted apart from undecided ones. */
function renderCount({ open, acknowledged, total }: IncidentWithMoney): SafeHtml {
  const undecided = showCount(open - acknowledged);
  const of = open === total ? undecided : `${undecided} of ${showCount(total)}`;
  if (acknowledged === 0) return html`${of}`;
  return html`${of}<br><span class="faint">${showCount(acknowledged)} acknowledged</span>`;
}

function renderMoney(amounts: IncidentWithMoney["amounts"]): SafeHtml {
  const lines = amounts.map(
    ({ amount, currency }, index) => html`${index === 0 ? null : html`<br>`}${showSum(amount, currency)}`,
  );
  return lines.length === 0 ? html`<span class="none">–</span>` : html`${lines}`;
}
