/** Draws the form that imports a file, and the list of imports. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showBytes } from "../../../bytes.ts";
import type { Instant } from "../../../clock.ts";
import type { PastImport } from "../../../ledger/past-import-store.ts";
import { type Problem, renderInput, renderProblem, renderSelect } from "../parts/fields.ts";
import { showAge, showCount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

interface ShownImports {
  readonly list: { readonly imports: readonly PastImport[]; readonly next: number | null };
  /** as chosen */
  readonly format: string;
  readonly problem: Problem | null;
  readonly mayImport: boolean;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderImports({ list, format, problem, mayImport }: ShownImports, when: When): SafeHtml {
  return html`<p class="trail"><a href="/health">Health</a> <span aria-hidden="true">›</span> Imports</p>
<h1>Ledger imports</h1>
<p>Entries and recorded callbacks that were imported from files, by programs through the API, and by <code>recon ledger import</code>. Importing the same lines again changes nothing.</p>
${mayImport ? renderForm(format, problem) : null}
${renderList(list, when)}`;
}

function renderForm(format: string, problem: Problem | null): SafeHtml {
  return html`<form method="post" action="/imports" enctype="multipart/form-data" class="sheet fields" aria-label="Import a file">
${renderInput({ label: "File", name: "file", value: "", problem }, html`type="file" required`)}
${renderSelect({ label: "Its lines are", name: "format", value: format, problem }, [
  ["entries", "entries (JSON lines, or CSV with a header)"],
  ["callbacks", "callbacks with your answers (JSON lines)"],
])}
<button>Import</button>
<p class="faint">At most 16 MB and 10 000 lines; <code>recon ledger import</code> accepts more. Each line is accepted or rejected on its own.</p>
</form>
${renderExamples()}
${renderProblem(problem, ["file", "format"])}`;
}

const EXAMPLE_ENTRY = {
  entry_id: "c0ffee-1",
  callback: "placeBets",
  request_id: "c0ffee",
  product_id: "P1",
  username: "anna",
  currency: "THB",
  txn_id: "bet-1",
  round_id: "round-1",
  status: "OPEN",
  bet_amount: 10.5,
  skip_balance_update: false,
  moved: -10.5,
  occurred_at: "2026-11-20T10:00:00Z",
  received_at: "2026-11-20T10:00:01Z",
};

function renderExamples(): SafeHtml {
  const example = (title: string, text: string) =>
    html`<p>${title}</p><pre class="raw whole" tabindex="0" role="group" aria-label="${title}">${text}</pre>`;
  return html`<details class="sheet"><summary>Example lines</summary>
${example("An entry as a line of JSON", JSON.stringify(EXAMPLE_ENTRY))}
${example("The same entry as CSV", [Object.keys(EXAMPLE_ENTRY), Object.values(EXAMPLE_ENTRY)].map(String).join("\n"))}
</details>`;
}

const COLUMNS: readonly Column[] = [
  { name: "import", as: "text" },
  { name: "when" },
  { name: "by", as: "text" },
  { name: "format" },
  { name: "added", as: "number" },
  { name: "known", as: "number" },
  { name: "changed", as: "number" },
  { name: "skipped", as: "number" },
  { name: "rejected", as: "number" },
  { name: "state" },
];

function renderList({ imports, next }: ShownImports["list"], { now, zone }: When): SafeHtml {
  if (imports.length === 0) return html`<p class="sheet">Nothing was imported.</p>`;
  const rows = imports.map((one) => {
    const { id, at, who, via, format, name, bytes, totals } = one;
    const count = (of: keyof NonNullable<PastImport["totals"]>) =>
      totals === null ? "unknown" : showCount(totals[of]);
    return {
      id: `import-${id}`,
      cells: [
        html`<a href="/imports/${id}">#${id}</a> ${name ?? ""} <span class="faint">${bytes === null ? "" : showBytes(bytes)}</span>`,
        showAge(at, now, zone),
        html`${who} <span class="faint">${SAYS_VIA[via]}</span>`,
        format,
        count("added"),
        count("known"),
        count("changed"),
        count("skipped"),
        count("rejectedLines"),
        renderState(one),
      ],
    };
  });
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Imports", caption: "The newest first", columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/imports?after=${next}">Older ones</a></p>`}</section>`;
}

export const SAYS_VIA: Readonly<Record<PastImport["via"], string>> = {
  page: "on the page",
  api: "through the API",
  command: "by command",
};

export function renderState({ endedAt, error, totals }: PastImport): SafeHtml {
  if (endedAt === null) return html`<span class="state" data-state="running">not ended</span>`;
  if (error !== null) return html`<span class="state" data-state="failed">ended early</span>`;
  if (totals !== null && totals.rejectedLines > 0) {
    const isAll = totals.added + totals.known + totals.changed + totals.skipped === 0;
    return isAll
      ? html`<span class="state" data-state="failed">all rejected</span>`
      : html`<span class="state" data-state="pending">some rejected</span>`;
  }
  return html`<span class="state" data-state="resolved">done</span>`;
}
