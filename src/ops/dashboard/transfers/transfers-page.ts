/**
 * `/transfers`: transfers and top-ups by their status, each with every answer, and the closing of an inconclusive
 * one.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findMismatches } from "../../../diff/search-store.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { describeTransfer, readTransferStory } from "../../../flows/read/read-transfer.ts";
import { closeTransfer } from "../../../flows/verify/close-transfer.ts";
import { countTransfers, listTransfers } from "../../../verify/store.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readNote, readTransferChoice, readTransferQuery } from "../../input/transfer-query.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderTransfer } from "./render-transfer.ts";
import { pathOfTransfer, renderTransfers, type TransferFilters } from "./render-transfers.ts";

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
  pages.post("/transfers/:ref/close", async (request: TransferRequest, reply) => {
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
  // An empty field of the form filters nothing.
  const query = Object.fromEntries(Object.entries(request.query).filter(([, text]) => text !== ""));
  const { sql, config } = context;
  const filters = readTyped(query);
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

function readTyped(query: QueryFields): TransferFilters {
  const textOf = (name: string) => (typeof query[name] === "string" ? query[name] : "");
  return {
    kind: textOf("kind"),
    status: textOf("status"),
    product: textOf("product"),
    username: textOf("username"),
  };
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
    request.asker.role === "write" && story.status === "inconclusive" && story.closedBy === null;
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  return await sendPage(request, reply, {
    title: `Transfer ${story.transactionRef}`,
    path: "/transfers/",
    main: renderTransfer({ ...story, mismatches }, { isOffered, note: typed, problem }, when),
    notice,
    live: ["transfers", "mismatches"],
  });
}
