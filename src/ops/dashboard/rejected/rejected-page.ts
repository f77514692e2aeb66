/** `/rejected`: records and entries that cannot be used, each with its text, and reading them again. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Instant } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  listRejected,
  type RejectedList,
  type RejectedStory,
  readRejected,
} from "../../../flows/rejected/read-rejected.ts";
import { retryThese } from "../../../flows/rejected/retry-rejected.ts";
import { may } from "../../access/access.ts";
import type { LiveTopic, Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { filtersOf } from "../../input/fields.ts";
import { LIST_QUERY, readRef, readRejectedQuery } from "../../input/rejected-query.ts";
import {
  nameItself,
  type Problem,
  problemOf,
  renderInput,
  renderProblem,
  renderSelect,
  renderTimeField,
  type TypedFields,
  typedFields,
} from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { showAge, showAgo, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";

/** The fields of the form: filters of the API. */
const FILTERS = filtersOf(LIST_QUERY);
type RejectedFilters = TypedFields<typeof FILTERS>;

interface ShownList {
  /** those of the config */
  readonly products: readonly string[];
  /** null: the filters have an error */
  readonly list: RejectedList | null;
  /** null: there is none */
  readonly problem: Problem | null;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

function renderRejectedList(
  filters: RejectedFilters,
  { products, list, problem }: ShownList,
  when: When,
): SafeHtml {
  return html`<p class="trail"><a href="/health">Health</a> <span aria-hidden="true">›</span> Rejected</p>
<h1>Rejected</h1>
<p>Records and entries that cannot be used. They are kept with their text, and the bets that they name are not reported as missing.</p>
${list === null ? null : renderCounts(filters, list.counts)}
${renderFilters(filters, products, problem)}
${renderProblem(problem, FILTERS)}
${list === null ? null : list.rejected.length === 0 ? html`<p class="sheet">Nothing matches the filters.</p>` : renderList(filters, list, when)}`;
}

function renderCounts(filters: RejectedFilters, { records, entries }: RejectedList["counts"]): SafeHtml {
  const count = (side: string, name: string, whose: string, many: number) =>
    html`<div><dt><a href="${pathOf({ ...filters, side })}">${name}</a><small>${whose}</small></dt>
<dd>${showCount(many)}</dd></div>`;
  return html`<dl class="figures" aria-label="Rejected by side">
${count("record", "records", "of the provider", records)}
${count("entry", "entries", "of the ledger", entries)}
</dl>`;
}

function pathOf(query: Readonly<Record<string, string>>): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, text]) => text !== ""));
  return given.size === 0 ? "/rejected" : `/rejected?${String(given)}`;
}

function renderFilters(
  { side, kind, product, reason, since }: RejectedFilters,
  products: readonly string[],
  problem: Problem | null,
): SafeHtml {
  const field = (label: string, name: string, value: string) => ({ label, name, value, problem });
  return html`<form method="get" action="/rejected" class="sheet fields" aria-label="Filters">
${renderSelect(field("Side", "side", side), [
  ["", "both"],
  ["record", "records"],
  ["entry", "entries"],
])}
${renderSelect(field("Kind", "kind", kind), [
  ["", "all"],
  ["unusable", "unusable"],
  ["changed", "refused changes"],
])}
${renderSelect(field("Product", "product", product), [["", "all"], ...products.map(nameItself)])}
${renderInput(field("Reason", "reason", reason), html`size="18" autocomplete="off"`)}
${renderTimeField(field("Since", "since", since))}
<button>Filter</button>
<a href="/rejected">Clear</a>
</form>`;
}

const COLUMNS: readonly Column[] = [
  { name: "id" },
  { name: "kind" },
  { name: "product", as: "text" },
  { name: "first seen" },
  { name: "reason", as: "text" },
  { name: "text begins", as: "text" },
];

function renderList(
  filters: RejectedFilters,
  { rejected, next }: RejectedList,
  { now, zone }: When,
): SafeHtml {
  const rows = rejected.map((one) => ({
    cells: [
      html`<a href="/rejected/${one.id}">${one.id}</a>`,
      showState(one.kind),
      one.productId ?? html`<span class="none">–</span>`,
      showAge(one.firstSeenAt, now, zone),
      one.reason,
      html`<code>${one.excerpt}</code>`,
    ],
  }));
  const further = pathOf({ ...filters, after: next ?? "" });
  const caption = "Records before entries, each the newest first";
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Rejected", caption, columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="${further}">Older ones</a></p>`}</section>`;
}

/** A page shows no more of a text; the API has all of it. */
const MOST_CHARACTERS = 200_000;

function renderRejected(
  story: RejectedStory,
  mayRetry: boolean,
  { now, zone }: { readonly now: Instant; readonly zone: string },
): SafeHtml {
  const { id, side, kind, productId, entryId, reason, firstSeenAt, toDo } = story;
  const of = side === "record" ? "of the provider" : "of the ledger";
  return html`<p class="trail"><a href="/rejected">Rejected</a> <span aria-hidden="true">›</span> ${id}</p>
<h1 class="wrap">Rejected ${id} ${showState(kind)}</h1>
<p>${side === "record" ? "A record" : "An entry"} ${of}${productId === null ? null : html`, at <strong class="wrap">${productId}</strong>`}${entryId === null ? null : html`, entry_id <strong class="wrap">${entryId}</strong>`}, first seen ${showTime(firstSeenAt, zone)} ${showAgo(firstSeenAt, now, zone)}</p>
<p class="problem wrap">${reason}</p>
<p>${toDo}</p>
${mayRetry ? renderForm(id) : null}
${renderText(story)}`;
}

function renderForm(id: string): SafeHtml {
  return html`<form method="post" action="/rejected/${id}/retry" class="sheet" id="retry"><h2>Read it again</h2>
<p class="faint">After an upgrade or a changed setting. If it can be used now, it is stored and compared, and leaves this list; newer content is never replaced. Otherwise it stays, with the current reason.</p>
<p class="row"><button>Retry</button></p></form>`;
}

function renderText({ id, raw }: RejectedStory): SafeHtml {
  const rest = raw.length - MOST_CHARACTERS;
  return html`<section class="sheet" aria-labelledby="text"><h2 id="text">Text as it came</h2>
<pre class="raw whole" tabindex="0" role="group" aria-label="Text of ${id}">${showControls(raw.slice(0, MOST_CHARACTERS))}</pre>
${rest > 0 ? html`<p>and ${showCount(rest)} more characters: <a href="/api/rejected/${id}">the API has all of it</a></p>` : null}</section>`;
}

/** What a browser would not show, or would use to change the direction of reading, is shown as "\u001b". */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu;

function showControls(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

type QueryFields = Readonly<Record<string, unknown>>;
type ListRequest = FastifyRequest<{ Querystring: QueryFields }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

export function addRejectedPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/rejected", (request: ListRequest, reply) => sendList(context, request, reply));
  pages.get("/rejected/:id", async (request: OneRequest, reply) => {
    const story = await readRejected(context, request.params.id);
    const when = { now: context.clock.now(), zone: zoneOf(request) };
    const main = renderRejected(story, may(request.asker, "admin"), when);
    return await send(request, reply, `Rejected ${story.id}`, main, takeNotice(request, reply));
  });
  pages.post("/rejected/:id/retry", async (request: OneRequest, reply) => {
    const { id } = request.params;
    const { records, entries, stayed } = await retryThese(context, [readRef("id", id)]);
    const [still] = stayed;
    if (still !== undefined) {
      setNotice(reply, { tone: "bad", text: `${id} still cannot be used: ${still.reason}` });
      return await reply.redirect(`/rejected/${id}`, 303);
    }
    const isKnown = records.accepted + entries.accepted === 0;
    const text = isKnown
      ? `${id} is no longer rejected: the same or newer content is there.`
      : `${id} is accepted, and will be compared within a minute.`;
    setNotice(reply, { tone: "good", text });
    return await reply.redirect("/rejected", 303);
  });
}

async function sendList(
  context: FlowContext,
  request: ListRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { query } = request;
  const tidy = tidyQuery(query, ["since"], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/rejected?${new URLSearchParams(tidy)}`, 303);
  const filters = typedFields(query, FILTERS);
  const products = context.config.products.map(({ productId }) => productId);
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  try {
    const { choice, page } = await readRejectedQuery(context, query);
    const list = await listRejected(context, choice, page);
    const main = renderRejectedList(filters, { products, list, problem: null }, when);
    return await send(request, reply, "Rejected", main, takeNotice(request, reply));
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    const main = renderRejectedList(filters, { products, list: null, problem: problemOf(error) }, when);
    return await send(request, reply.code(400), "Rejected", main, takeNotice(request, reply));
  }
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  title: string,
  main: ReturnType<typeof renderRejected>,
  notice: Notice | null,
): Promise<FastifyReply> {
  const live: readonly LiveTopic[] = reply.statusCode === 200 ? ["rejected"] : [];
  return await sendPage(request, reply, { title, path: "/rejected", main, notice, live });
}
