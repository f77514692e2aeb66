/** Draws lists of incidents. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { z } from "zod";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import { describeIncident } from "../../../flows/read/incident-document.ts";
import type { IncidentWithMoney } from "../../../flows/read/read-incident.ts";
import { filtersOf, ONCE, read } from "../../input/fields.ts";
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
  /** whether the visitor may name an owner */
  readonly mayAct: boolean;
  /** of a refused change of owners; null: none was refused */
  readonly typed: IncidentsForm | null;
}

const INCIDENTS_FORM = z.strictObject({
  action: z.enum(["assign-me", "assign"]),
  owner: ONCE.default(""),
  id: z.preprocess((ids = []) => [ids].flat(), z.array(ONCE)),
});
/** The owner as typed, and the ids of the selected incidents. */
export type IncidentsForm = z.output<typeof INCIDENTS_FORM>;

/** @throws ReconError `usage` that names the field and its value */
export function readIncidentsForm(body: unknown): IncidentsForm {
  return read(INCIDENTS_FORM, body ?? {});
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderIncidents(
  filters: IncidentFilters,
  { products, list, problem, ...choosing }: IncidentList,
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
  ["remind-at", "earliest reminder"],
])}
<button>Filter</button>
</form>
${renderProblem(problem, FILTERS)}
${list === null ? null : renderList(filters, list, choosing, when)}`;
}

function renderList(
  filters: IncidentFilters,
  { incidents, next }: NonNullable<IncidentList["list"]>,
  { mayAct, typed: form }: Pick<IncidentList, "mayAct" | "typed">,
  when: When,
): SafeHtml {
  const { currency, sort, state, ...others } = filters;
  if (incidents.length === 0) {
    const isAll =
      state === "open" &&
      sort !== "remind-at" &&
      [currency, ...Object.values(others)].every((one) => one === "");
    return html`<p class="sheet">${isAll ? "No incident is open." : "There is no such incident."}</p>`;
  }
  const caption =
    sort === ""
      ? "Those with undecided mismatches first, then the most recently grown"
      : sort === "remind-at"
        ? "Those with a reminder, the earliest first"
        : currency === ""
          ? "By currency, and of each currency those with the most money at risk first"
          : `Those with the most ${currency} at risk first`;
  const selected = mayAct ? new Set(form?.id) : null;
  const table = renderIncidentTable(incidents, caption, when, { filters, selected });
  return html`<section class="sheet" aria-label="List">${mayAct ? renderChoosing(table, form?.owner ?? "") : table}
${next === null ? null : html`<p><a class="button quiet" href="${pathOfList({ ...filters, after: next })}">More</a></p>`}</section>`;
}

function pathOfList(query: Readonly<Record<string, string>>): string {
  const typed = Object.entries(query).filter(([, text]) => text !== "");
  return `/incidents?${new URLSearchParams(typed)}`;
}

/** Without an action the form is sent to the address of this page of the list. */
function renderChoosing(table: SafeHtml, owner: string): SafeHtml {
  return html`<form method="post" data-select id="choose">
<div class="row"><label class="check"><input type="checkbox" data-select-all>All on this page</label>
<output data-selected-count aria-live="polite" class="faint"></output></div>
<div class="row"><button name="action" value="assign-me">Assign to me</button>
<label>New owner <input name="owner" value="${owner}" size="16" maxlength="200" autocomplete="off" placeholder="nobody"></label>
<button name="action" value="assign" class="quiet">Assign</button></div>
${table}
</form>`;
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

/**
 * @param caption how they are ordered
 * @param filters of the list to which an owner's name leads
 * @param selected ids; null: the rows have no boxes
 */
export function renderIncidentTable(
  incidents: readonly IncidentWithMoney[],
  caption: string,
  { now, zone }: When,
  {
    filters = {},
    selected = null,
  }: {
    readonly filters?: Readonly<Record<string, string>>;
    readonly selected?: ReadonlySet<string> | null;
  } = {},
): SafeHtml {
  const rows = incidents.map((one) => {
    const { id, kind, productId, beganAt, lastAt, amounts, endedAt } = one;
    return {
      id: `incident-${id}`,
      cells: [
        ...(selected === null ? [] : [renderBox(String(id), selected)]),
        html`<a href="/incidents/${id}">${kind}</a> <span class="faint">#${id}: ${MEANING_OF_KIND[kind]}</span>`,
        productId,
        sayCase(describeIncident(one), zone, now, (owner) => pathOfList({ ...filters, owner })),
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
  const columns = selected === null ? COLUMNS : [{ name: "", as: "box" } as const, ...COLUMNS];
  return renderTable({ name: "Incidents", caption, of: "incidents", columns, rows });
}

function renderBox(id: string, selected: ReadonlySet<string>): SafeHtml {
  return html`<input type="checkbox" name="id" value="${id}" id="box${id}" aria-label="Select incident ${id}"${selected.has(id) ? html` checked` : null}>`;
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
