/** `/imports`: what was imported into the ledger, and a form that imports a file (docs/ledger.md#hand-over-entries). */

import type { IncomingMessage } from "node:http";
import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { showBytes } from "../../../bytes.ts";
import type { Instant } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { readImportStory, recordImport } from "../../../flows/ledger/import-ledger.ts";
import { IMPORT_FORMATS, type ImportFormat } from "../../../flows/ledger/read-import.ts";
import type { ImportCounts } from "../../../ledger/import-lines.ts";
import { listImports, type PastImport } from "../../../ledger/past-import-store.ts";
import { may } from "../../access/access.ts";
import { sendProblem } from "../../http/problem.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { type ImportSeats, MOST_AT_ONCE, MOST_BYTES, MOST_LINES, SentLines } from "../../http/sent-lines.ts";
import { PAGE, read, readOneOf, usage } from "../../input/fields.ts";
import {
  type Problem,
  problemOf,
  readForm,
  renderInput,
  renderProblem,
  renderSelect,
} from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { showAge, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { zoneOf } from "../parts/zone.ts";

const LONGEST_NAME = 200;

/** A sent form. Its JSON is for the audit. */
interface SentFile {
  /** as chosen; empty: nothing was */
  readonly format: string;
  /** of the file, cut off; empty: no file was chosen */
  readonly name: string;
  /** null: there is no file, or it cannot be used */
  readonly lines: SentLines | null;
  /** a sentence about the file; null: it can be used */
  readonly problem: string | null;
}

/** @param type the content type, which names what separates the parts of the form */
async function readSentFile(payload: IncomingMessage, type: string): Promise<SentFile> {
  const form = await readForm(payload, type, MOST_BYTES);
  if (form === "too-large") return refused("", "", sayTooLarge());
  if (form === "unreadable")
    return refused("", "", "the form cannot be read: choose the file, and send it again");
  const [format, file] = [form.get("format"), form.get("file")];
  const chosen = typeof format === "string" ? format : "";
  if (!(file instanceof File) || (file.size === 0 && file.name === "")) {
    return refused(chosen, "", "choose a file");
  }
  const name = file.name.slice(0, LONGEST_NAME);
  if (file.size > MOST_BYTES) return refused(chosen, name, sayTooLarge());
  const bytes = Buffer.from(await file.arrayBuffer());
  return { format: chosen, name, lines: new SentLines(bytes, null), problem: null };
}

function refused(format: string, name: string, problem: string): SentFile {
  return { format, name, lines: null, problem };
}

function sayTooLarge(): string {
  return `the file is larger than ${MOST_BYTES / 1024 / 1024} MB: split it, or use "recon ledger import". Nothing was imported`;
}

function renderImport(story: PastImport & Pick<ImportCounts, "rejected">, zone: string): SafeHtml {
  const { id, at, endedAt, who, via, format, name, bytes } = story;
  const size = bytes === null ? "of unknown size" : showBytes(bytes);
  const ended = endedAt === null ? null : html`, ended ${showTime(endedAt, zone)}`;
  return html`<p class="trail"><a href="/imports">Imports</a> <span aria-hidden="true">›</span> ${id}</p>
<h1>Import ${id} ${renderState(story)}</h1>
<p>${name === null ? html`${format}` : html`<strong class="wrap">${name}</strong>, ${format}`}, ${size}; imported by <strong>${who}</strong> ${SAYS_VIA[via]}, begun ${showTime(at, zone)}${ended}.</p>
${renderTotals(story)}
${renderRejected(story)}`;
}

function renderTotals({ totals, error, endedAt }: PastImport): SafeHtml {
  if (totals === null || endedAt === null) {
    return html`<p class="sheet">Still running, or its process was killed. Lines imported so far are kept. If it does not end, import the same file again: those lines count as known.</p>`;
  }
  const figure = (label: string, meaning: string, count: number) =>
    html`<div><dt>${label}<small>${meaning}</small></dt><dd>${showCount(count)}</dd></div>`;
  const early =
    error === null
      ? null
      : html`<p class="problem" role="alert">It ended early: ${error}. Import the same file again: lines imported so far count as known.</p>`;
  const changed =
    totals.changed === 0
      ? null
      : html`<p><code>ledger.rowsChange</code> decides what happens to changed entries: with "never" the first content stays, and <a href="/rejected?side=entry&amp;kind=changed">the change is kept</a>.</p>`;
  return html`${early}<dl class="figures" aria-label="Result by line">
${figure("added", "new entries", totals.added)}
${figure("known", "entries that were there", totals.known)}
${figure("changed", "entries with other content", totals.changed)}
${figure("skipped", "callbacks that are not entries", totals.skipped)}
${figure("rejected", "lines that cannot be used", totals.rejectedLines)}
</dl>${changed}`;
}

const REJECTED_COLUMNS: readonly Column[] = [
  { name: "line", as: "number" },
  { name: "why it was rejected", as: "text", of: "long" },
];

function renderRejected({ rejected, totals }: PastImport & Pick<ImportCounts, "rejected">): SafeHtml | null {
  if (rejected.length === 0) return null;
  const rows = rejected.map(({ line, reason }) => ({ cells: [showCount(line), reason] }));
  const more = (totals?.rejectedLines ?? rejected.length) - rejected.length;
  return html`<section class="sheet" aria-labelledby="rejected"><h2 id="rejected">Rejected lines</h2>
<p>Correct these lines, and import them again. Each is kept with its text <a href="/rejected?side=entry">among the rejected entries</a>, and leaves that list once its entry is written.</p>
${renderTable({ name: "Rejected lines", columns: REJECTED_COLUMNS, rows })}
${more > 0 ? html`<p>and ${showCount(more)} more.</p>` : null}</section>`;
}

type ListRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE_SIZE = 50;
const QUERY = z.strictObject({ after: PAGE.after });

export function addImportsPage(pages: FastifyInstance, context: FlowContext, seats: ImportSeats): void {
  pages.get("/imports", async (request: ListRequest, reply) => {
    const { after } = read(QUERY, request.query);
    return await sendList(context, request, reply, { after, format: "entries", problem: null });
  });
  pages.get("/imports/:id", async (request: OneRequest, reply) => {
    const story = await readImportStory(context, request.params.id);
    return await sendPage(request, reply, {
      title: `Import ${story.id}`,
      path: "/imports",
      main: renderImport(story, zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["imports"],
    });
  });
  pages.register(async (scope) => {
    scope.addContentTypeParser(
      "multipart/form-data",
      async ({ headers }: FastifyRequest, payload: IncomingMessage) =>
        readSentFile(payload, headers["content-type"] ?? ""),
    );
    scope.addHook("onRequest", async (_request, reply) => {
      if (seats.take(reply)) return;
      reply.header("retry-after", 1);
      const detail = `${MOST_AT_ONCE} imports are under way, which is the limit: send it again when one of them has ended`;
      return await sendProblem(reply, 503, "Service Unavailable", detail);
    });
    scope.post("/imports", async (request, reply) => {
      const sent = isSentFile(request.body) ? request.body : null;
      try {
        const id = await takeFile(context, sent, request.asker.name);
        return await reply.redirect(`/imports/${id}`, 303);
      } catch (error) {
        if (statusOfRefusal(error) !== 400) throw error;
        const format = sent?.format === "" ? "entries" : (sent?.format ?? "entries");
        return await sendList(context, request, reply.code(400), {
          after: null,
          format,
          problem: atFile(problemOf(error)),
        });
      }
    });
  });
}

function isSentFile(body: unknown): body is SentFile {
  return typeof body === "object" && body !== null && "lines" in body && "problem" in body;
}

/** What is not about the format is about the file. */
function atFile(problem: Problem): Problem {
  if (problem.fields.length > 0) return problem;
  return { ...problem, fields: [{ name: "file", message: problem.text }] };
}

/** @returns the id of the import */
async function takeFile(context: FlowContext, sent: SentFile | null, who: string): Promise<number> {
  if (sent === null) throw usage("the form must have a file", "file");
  const { lines, problem, name } = sent;
  if (lines === null) throw usage(problem ?? "choose a file", "file");
  if (lines.count === 0) throw usage(`${name} is empty: choose a file that has lines`, "file");
  const format: ImportFormat = readOneOf("format", sent.format, IMPORT_FORMATS);
  if (lines.count > MOST_LINES) {
    throw usage(
      `${name} has ${lines.count} lines, but may have ${MOST_LINES}: split it, or use "recon ledger import". Nothing was imported`,
      "file",
    );
  }
  const source = { who, via: "page", format, name, bytes: lines.bytes.length } as const;
  return await recordImport(context, lines.chunks(), { shape: null, onImported: () => {} }, source);
}

interface ShownForm {
  readonly after: string | null;
  readonly format: string;
  readonly problem: Problem | null;
}

async function sendList(
  context: FlowContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { after, format, problem }: ShownForm,
): Promise<FastifyReply> {
  const page = { limit: PAGE_SIZE, after: after === null ? null : Number(after) };
  const list = await listImports(context.sql, page);
  const shown = { list, format, problem, mayImport: may(request.asker, "admin") };
  return await sendPage(request, reply, {
    title: "Ledger imports",
    path: "/imports",
    main: renderImports(shown, { now: context.clock.now(), zone: zoneOf(request) }),
    notice: takeNotice(request, reply),
    live: problem === null ? ["imports"] : [],
  });
}

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

function renderImports({ list, format, problem, mayImport }: ShownImports, when: When): SafeHtml {
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

const SAYS_VIA: Readonly<Record<PastImport["via"], string>> = {
  page: "on the page",
  api: "through the API",
  command: "by command",
};

function renderState({ endedAt, error, totals }: PastImport): SafeHtml {
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
