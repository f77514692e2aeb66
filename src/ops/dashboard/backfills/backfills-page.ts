/** `/backfills`: starts a backfill after a dry run, shows, pauses, resumes and cancels it. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type BackfillPlan,
  changeBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../../../flows/pull/backfill.ts";
import { watchBackfill } from "../../../flows/read/watch-backfill.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readPage } from "../../input/page-query.ts";
import { readProductRange, withWrongProduct } from "../../input/range-query.ts";
import { problemOf, typedRangeOf } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderBackfill } from "./render-backfill.ts";
import { type BackfillForm, renderBackfills } from "./render-backfills.ts";

type Typed = Readonly<Record<string, unknown>>;
type BackfillsRequest = FastifyRequest<{ Querystring: Typed }>;
interface BackfillRoute {
  Params: { id: string };
}

const PAGE_SIZE = 25;

export function addBackfillsPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/backfills", async (request: BackfillsRequest, reply) => {
    const tidy = tidyQuery(request.query, ["from", "to"], zoneOf(request));
    if (tidy !== null) return await reply.redirect(`/backfills?${new URLSearchParams(tidy)}`, 303);
    return await sendBackfills(context, request, reply, request.query);
  });
  pages.post("/backfills", async (request: BackfillsRequest, reply) => {
    const typed = (request.body ?? {}) as Typed;
    try {
      const asked = readProductRange(typed, context.config);
      const { id } = await requestBackfill(context, await planBackfill(context, asked));
      setNotice(reply, { tone: "good", text: `Backfill ${id} is queued.` });
      return await reply.redirect(`/backfills/${id}`, 303);
    } catch (error) {
      // The form shows its errors, as in the dry run.
      if (statusOfRefusal(error) !== null) return await sendBackfills(context, request, reply, typed);
      throw error;
    }
  });
  pages.get<BackfillRoute>("/backfills/:id", async (request, reply) => {
    const notice = takeNotice(request, reply);
    return await sendBackfill(context, request, reply, notice);
  });
  for (const change of ["pause", "resume", "cancel"] as const) {
    pages.post<BackfillRoute>(`/backfills/:id/${change}`, async (request, reply) => {
      try {
        const { id, status } = await changeBackfill(context, request.params.id, change);
        setNotice(reply, { tone: "good", text: `Backfill ${id} is ${status}.` });
        return await reply.redirect(`/backfills/${id}`, 303);
      } catch (error) {
        if (statusOfRefusal(error) !== 409) throw error;
        const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
        return await sendBackfill(context, request, reply.code(409), notice);
      }
    });
  }
}

/** @param typed the range in the form; with a range, the page shows a dry run */
async function sendBackfills(
  context: FlowContext,
  request: BackfillsRequest,
  reply: FastifyReply,
  typed: Typed,
): Promise<FastifyReply> {
  const { form, after } = await readForm(context, typed);
  const list = await listBackfillPage(context, { limit: PAGE_SIZE, after });
  const reader = { mayWrite: request.asker.role === "write", zone: zoneOf(request) };
  return await sendPage(request, reply.code(form.problem === null ? 200 : 400), {
    title: "Backfill",
    path: "/backfills",
    main: renderBackfills(form, list, reader),
    notice: takeNotice(request, reply),
    live: ["backfills"],
  });
}

async function readForm(
  context: FlowContext,
  typed: Typed,
): Promise<{ form: BackfillForm; after: string | null }> {
  const { config } = context;
  const form = {
    products: config.products
      .filter(({ walletMode }) => walletMode === "seamless")
      .map(({ productId }) => productId),
    typed: typedRangeOf(typed),
  };
  try {
    const { after: typedAfter, ...range } = typed;
    const { after } = readPage({ after: typedAfter });
    const isAsked = Object.keys(range).length > 0;
    const plan: BackfillPlan | null = isAsked
      ? await planBackfill(context, readProductRange(range, config))
      : null;
    return { form: { ...form, plan, problem: null }, after };
  } catch (error) {
    if (statusOfRefusal(error) === null) throw error;
    const problem = problemOf(await withWrongProduct(error, typed, config));
    return { form: { ...form, plan: null, problem }, after: null };
  }
}

async function sendBackfill(
  context: FlowContext,
  request: FastifyRequest<BackfillRoute>,
  reply: FastifyReply,
  notice: Notice | null,
): Promise<FastifyReply> {
  const watched = await watchBackfill(context, request.params.id);
  return await sendPage(request, reply, {
    title: `Backfill ${watched.backfill.id}`,
    path: `/backfills/${watched.backfill.id}`,
    main: renderBackfill(watched, { mayWrite: request.asker.role === "write", zone: zoneOf(request) }),
    notice,
    live: ["backfills", "mismatches"],
  });
}
