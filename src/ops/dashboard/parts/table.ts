/** Tables: in a region that the keyboard can scroll, and on a narrow screen a card for each row. */

import { html, type SafeHtml } from "@remix-run/html-template";

export interface Column {
  /** the head; on a card, the name of the value */
  readonly name: string;
  /** the head's content, if it is more than its name */
  readonly head?: SafeHtml;
  readonly sort?: "ascending" | "descending" | null;
  /** number: aligned to the right. text: long words wrap. head: the name of its row. box: a narrow control */
  readonly as?: "number" | "text" | "head" | "box";
  /** a class of the column's cells, for what only this table needs */
  readonly of?: string;
}

type Cell = SafeHtml | string | null;

export interface Row {
  readonly cells: readonly Cell[];
  readonly id?: string;
  /** a class */
  readonly of?: string | null;
}

export interface Table {
  /** its content, for screen readers: "Gaps" */
  readonly name: string;
  /** a sentence above the table; null: none is seen */
  readonly caption?: string | null;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly id?: string;
  readonly of?: string;
}

const CLOSE = html`</td>`;
const CLOSE_HEAD = html`</th>`;

export function renderTable({ name, caption = null, columns, rows, id, of = "" }: Table): SafeHtml {
  const opens = columns.map(openCell);
  const ends = columns.map(({ as }) => (as === "head" ? CLOSE_HEAD : CLOSE));
  const body = rows.map((row) => {
    const cells = row.cells.flatMap((cell, index) => [opens[index], cell, ends[index]]);
    return html`<tr${row.id === undefined ? null : html` id="${row.id}"`}${row.of == null ? null : html` class="${row.of}"`}>${cells}</tr>
`;
  });
  const said =
    caption === null ? html`<caption class="hidden">${name}</caption>` : html`<caption>${caption}</caption>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${name}, table"><table${id === undefined ? null : html` id="${id}"`} class="${of} ${widthOf(columns.length)}">
${said}
<thead><tr>${columns.map(renderHead)}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

function renderHead({ name, head, sort, as }: Column): SafeHtml {
  if (as === "box") return html`<td></td>`;
  const isNumber = as === "number" ? html` class="number"` : null;
  return html`<th scope="col"${isNumber}${sort == null ? null : html` aria-sort="${sort}"`}>${head ?? capitalize(name)}</th>`;
}

/** The same for all cells of a column, so that a long table costs little. */
function openCell({ name, as, of = "" }: Column): SafeHtml {
  if (as === "head") return html`<th scope="row" class="text ${of}" data-name="${capitalize(name)}">`;
  if (as === "box") return html`<td class="box">`;
  return html`<td class="${as ?? ""} ${of}" data-name="${capitalize(name)}">`;
}

/** Heads are short names; every one of them begins alike. */
function capitalize(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** The more columns, the wider the place that they need beside each other. */
function widthOf(columns: number): "few" | "some" | "many" {
  if (columns <= 4) return "few";
  return columns <= 7 ? "some" : "many";
}
