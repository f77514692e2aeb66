/**
 * `/transfers`: transfers and top-ups by their status, each with every answer, and the closing of an inconclusive
 * one.
 */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { adviceOfKind } from "../../../advice.ts";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import { findMismatches, type MismatchOfBet } from "../../../diff/search-store.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  describeTransfer,
  readTransferStory,
  type TransferStory,
} from "../../../flows/read/read-transfer.ts";
import { closeTransfer } from "../../../flows/verify/operate-transfers.ts";
import { listTransfers } from "../../../verify/list-store.ts";
import { countTransfers } from "../../../verify/store.ts";
import { DECIDES, may } from "../../access/access.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { LONGEST_NOTE, readNote, readTransferChoice, readTransferQuery } from "../../input/transfer-query.ts";
import { type Problem, problemOf, renderArea, typedFields } from "../parts/fields.ts";
import { renderUnsaved, setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { showAgo, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { FILTERS, pathOfTransfer, renderTransfers } from "./render-transfers.ts";

/** The closing as typed, and what is wrong with it. */
interface TypedClosing {
  /** false: the visitor may not close it, or it cannot be closed any more */
  readonly isOffered: boolean;
  readonly note: string;
  readonly problem: Problem | null;
}

/** With the mismatches about it, the newest first. */
type ShownTransfer = TransferStory & { readonly mismatches: readonly MismatchOfBet[] };

function renderTransfer(
  story: ShownTransfer,
  closing: TypedClosing,
  { now, zone }: { readonly now: Instant; readonly zone: string },
): SafeHtml {
  const { kind, transactionRef, status, type, amount, currency, username, productId } = story;
  const back = kind === "top-up" ? "/transfers?kind=top-up" : "/transfers";
  return html`<p class="trail wrap"><a href="${back}">${kind === "top-up" ? "Top-ups" : "Transfers"}</a> <span aria-hidden="true">›</span> ${transactionRef}</p>
<h1 class="wrap">${kind === "top-up" ? "Top-up" : "Transfer"} ${transactionRef} ${showState(status)}</h1>
<p>${type} of ${showAmount(amount, currency)} for <strong class="wrap">${username}</strong> at <span class="wrap">${productId}</span>, sent ${showTime(story.sentAt, zone)} ${showAgo(story.sentAt, now, zone)}</p>
${renderStand(story, zone)}
${closing.isOffered ? renderClosing(story, closing) : renderUnsaved("Your finding", closing.note)}
${renderAnswers(story, zone)}`;
}

function renderStand(story: ShownTransfer, zone: string): SafeHtml {
  const { status, mismatches, closedBy, note, decidedAt, nextVerifyAt } = story;
  const wrong = mismatches.map(renderMismatch);
  const closed =
    closedBy === null ? null : html`<p>Closed by ${closedBy} ${showTime(decidedAt, zone)}: ${note}</p>`;
  const decided =
    closedBy === null && decidedAt !== null
      ? html`<p>Decided ${showTime(decidedAt, zone)}: ${status}.</p>`
      : null;
  const again =
    nextVerifyAt === null
      ? null
      : html`<p>The next question to the provider is due ${showTime(nextVerifyAt, zone)}.</p>`;
  return html`${wrong}${decided}${closed}${again}`;
}

/** A decided mismatch needs no action. */
function renderMismatch({ id, kind, status }: MismatchOfBet): SafeHtml {
  const link = html`<a href="/mismatches/${id}">Mismatch #${id}</a> ${showState(status)} ${kind}: ${MEANING_OF_KIND[kind]}.`;
  if (status !== "open" && status !== "acknowledged") return html`<p>${link}</p>`;
  return html`<p class="problem">${link}</p>
<p><strong>What to do now:</strong> ${adviceOfKind(kind)}</p>`;
}

function renderClosing(
  { transactionRef, kind, productId, username }: TransferStory,
  { note, problem }: TypedClosing,
): SafeHtml {
  const choice = kind === "top-up" ? { kind, product: productId, username } : {};
  const action = pathOfTransfer(`${transactionRef}`, choice).replace(/(\?|$)/, "/close$1");
  return html`<form method="post" action="${action}" class="sheet" id="close"><h2>Close</h2>
<p class="faint">First find the transfer in the provider's statement. Closing ends the verification and resolves the mismatch in your name. Closing moves no money.</p>
<div class="row">${renderArea({ label: "Your finding", name: "note", value: note, problem }, html`rows="2" maxlength="${LONGEST_NOTE}" required`)}
<button>Close</button></div></form>`;
}

const SAYS: Readonly<Record<TransferStory["answers"][number]["says"], string>> = {
  booked: "booked",
  failed: "failed",
  nothing: "no answer",
};

const FAILED_TWICE =
  "A first failure does not change the status, because the money may still be on its way. If the provider repeats it after verify.rejectedFinalAfter, the status becomes rejected. The worker asks about a rejected one again later, because providers book some after all.";

const COLUMNS: readonly Column[] = [
  { name: "attempt", as: "number" },
  { name: "asked at" },
  { name: "took", as: "number" },
  { name: "answer" },
  { name: "code and message", as: "text" },
  { name: "status afterwards" },
  { name: "text", of: "raw-text" },
];

function renderAnswers({ answers }: TransferStory, zone: string): SafeHtml {
  if (answers.length === 0) return html`<p class="sheet">The provider has not been asked yet.</p>`;
  const rows = answers.map((one) => ({
    id: `answer-${one.attempt}`,
    cells: [
      String(one.attempt),
      showTime(one.askedAt, zone),
      `${showCount(one.tookMs)} ms`,
      html`${SAYS[one.says]}${one.isDecisive ? html` <strong>(decisive)</strong>` : null}`,
      one.code === null && one.message === null
        ? html`<span class="none">–</span>`
        : html`${one.code === null ? null : html`<code>${one.code}</code> `}${one.message}`,
      showState(one.status),
      one.raw === null
        ? html`<span class="none">–</span>`
        : html`<details><summary>show</summary><pre class="raw">${one.raw}</pre></details>`,
    ],
  }));
  return html`<section class="sheet" aria-labelledby="answers"><h2 id="answers">Every answer</h2>
<p class="faint">A decisive answer changed what is known. ${answers.some(({ says }) => says === "failed") ? FAILED_TWICE : null}</p>
${renderTable({ name: "Answers", columns: COLUMNS, rows })}</section>`;
}

type QueryFields = Readonly<Record<string, unknown>>;
type TransfersRequest = FastifyRequest<{ Querystring: QueryFields }>;
type TransferRequest = FastifyRequest<{ Params: { ref: string }; Querystring: QueryFields }>;

const PAGE_SIZE = 100;
/** The default statuses: those that wait for an answer or a decision. */
const UNSETTLED = "pending,inconclusive,rejected";

export function addTransfersPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/transfers", (request: TransfersRequest, reply) => sendTransfers(context, request, reply));
  pages.get("/transfers/:ref", async (request: TransferRequest, reply) => {
    const notice = takeNotice(request, reply);
    return await sendTransfer(context, request, reply, { notice, typed: "", problem: null });
  });
  pages.post("/transfers/:ref/close", DECIDES, async (request: TransferRequest, reply) => {
    const body = (request.body ?? {}) as QueryFields;
    try {
      const choice = readTransferChoice(request.params.ref, request.query);
      const said = { by: request.asker.name, note: readNote(body) };
      const closed = describeTransfer(await closeTransfer(context, choice, said));
      const text = `${closed.transactionRef} is closed. The worker does not verify it any more, and its mismatch is resolved.`;
      setNotice(reply, { tone: "good", text });
      const { kind, product, username } = request.query;
      return await reply.redirect(pathOfTransfer(request.params.ref, { kind, product, username }), 303);
    } catch (error) {
      const status = statusOfRefusal(error);
      if (status !== 400 && status !== 409) throw error;
      const notice = { tone: "bad", text: `Not closed: ${describeError(error)}.` } as const;
      const typed = typeof body["note"] === "string" ? body["note"] : "";
      return await sendTransfer(context, request, reply.code(status), {
        notice,
        typed,
        problem: problemOf(error),
      });
    }
  });
}

async function sendTransfers(
  context: FlowContext,
  request: TransfersRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { sql, config } = context;
  const { query } = request;
  const tidy = tidyQuery(query, [], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/transfers?${new URLSearchParams(tidy)}`, 303);
  const filters = typedFields(query, FILTERS);
  const products = config.products.map(({ productId }) => productId);
  const counts = await countTransfers(sql);
  let main: ReturnType<typeof renderTransfers>;
  let isRefused = false;
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  try {
    const asked = readTransferQuery({ status: UNSETTLED, ...query }, config);
    const { transfers, next } = await listTransfers(sql, { ...asked, limit: PAGE_SIZE });
    const page = { transfers: transfers.map(describeTransfer), next };
    main = renderTransfers(filters, { products, counts, page, problem: null }, when);
  } catch (error) {
    if (statusOfRefusal(error) === null) throw error;
    isRefused = true;
    const refused = { products, counts, page: null, problem: problemOf(error) };
    main = renderTransfers(filters, refused, when);
  }
  return await sendPage(request, reply.code(isRefused ? 400 : 200), {
    title: "Transfers",
    path: "/transfers",
    main,
    notice: takeNotice(request, reply),
    live: ["transfers"],
  });
}

async function sendTransfer(
  context: FlowContext,
  request: TransferRequest,
  reply: FastifyReply,
  {
    notice,
    typed,
    problem,
  }: { readonly notice: Notice | null; readonly typed: string; readonly problem: Problem | null },
): Promise<FastifyReply> {
  const story = await readTransferStory(context, readTransferChoice(request.params.ref, request.query));
  const subject = `${story.kind}:${story.transactionRef}`;
  const mismatches = await findMismatches(context.sql, story, [subject]);
  const isOffered =
    may(request.asker, "decide") && story.status === "inconclusive" && story.closedBy === null;
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  return await sendPage(request, reply, {
    title: `Transfer ${story.transactionRef}`,
    path: "/transfers/",
    main: renderTransfer({ ...story, mismatches }, { isOffered, note: typed, problem }, when),
    notice,
    live: ["transfers", "mismatches"],
  });
}
