/** Tables and times of a file that is printed and sent. */

import { html, type SafeHtml } from "@remix-run/html-template";

export type Cell = SafeHtml | string | null;

interface PlainTable {
  readonly caption?: string;
  readonly columns: readonly string[];
  /** the columns that are aligned to the right */
  readonly numbers?: readonly string[];
  readonly rows: readonly { readonly cells: readonly Cell[]; readonly of?: string | null }[];
}

export function renderPlainTable({ caption, columns, numbers = [], rows }: PlainTable): SafeHtml {
  const classOf = (index: number) => (numbers.includes(columns[index] ?? "") ? html` class="number"` : null);
  const head = columns.map((name, index) => html`<th scope="col"${classOf(index)}>${name}</th>`);
  const body = rows.map(
    ({ cells, of }) =>
      html`<tr${of == null ? null : html` class="${of}"`}>${cells.map((cell, index) => html`<td${classOf(index)}>${cell ?? "–"}</td>`)}</tr>
`,
  );
  return html`<div class="wide"><table>${caption === undefined ? null : html`<caption>${caption}</caption>`}
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

/** "2026-11-20 11:55:00.123 UTC", with all its digits. @param at ISO 8601 in UTC */
export function sayUtc(at: string): string {
  return at.replace("T", " ").replace(/(\.000)?Z$/, " UTC");
}
