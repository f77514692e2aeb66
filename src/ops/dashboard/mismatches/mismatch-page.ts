/** `/mismatches/:id`: one mismatch with everything known about it, and the form for a person's decision. */

import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { actOnMismatches } from "../../../flows/mismatches/act-on-mismatches.ts";
import { readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import { ACTS } from "../../../mismatches/act.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { usage } from "../../input/fields.ts";
import { readAction } from "../../input/mismatch-action.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { type StepNotice, setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayAmount, sayAmounts } from "../parts/show.ts";
import { zoneOf } from "../parts/zone.ts";
import { readSingleForm, type SingleForm } from "./mismatch-form.ts";
import { renderMismatch, type TypedDecision } from "./render-mismatch.ts";

type MismatchRequest = FastifyRequest<{ Params: { id: string } }>;

export function addMismatchPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/mismatches/:id", (request: MismatchRequest, reply) =>
    sendMismatch(context, request, reply, { notice: takeNotice(request, reply), typed: null, problem: null }),
  );
  pages.post("/mismatches/:id", async (request: MismatchRequest, reply) => {
    const { id } = request.params;
    const form = readSingleForm(request.body);
    try {
      setNotice(reply, await decide(context, id, form, request.asker.name));
      return await reply.redirect(`/mismatches/${encodeURIComponent(id)}`, 303);
    } catch (error) {
      const status = statusOfRefusal(error);
      if (status === null || status === 404) throw error;
      const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
      return await sendMismatch(context, request, reply.code(status), {
        notice,
        typed: form,
        problem: problemOf(error),
      });
    }
  });
}

/** A decision that failed. */
interface ShownDecision {
  readonly notice: Notice | null;
  readonly typed: TypedDecision | null;
  readonly problem: Problem | null;
}

async function sendMismatch(
  context: FlowContext,
  request: MismatchRequest,
  reply: FastifyReply,
  { notice, typed, problem }: ShownDecision,
): Promise<FastifyReply> {
  const { params, asker } = request;
  const story = await readMismatchStory(context, params.id);
  const { kind, productId, amountAtRisk, currency, status } = story;
  return await sendPage(request, reply, {
    title: `${kind} in ${productId}, ${sayAmount(amountAtRisk, currency)}, ${status}`,
    path: "/mismatches",
    main: renderMismatch({ story, mayAct: asker.role === "write", typed, problem, zone: zoneOf(request) }),
    notice,
    live: ["mismatches"],
  });
}

/** @throws ReconError `usage`, `conflict` where the status has changed since the visitor saw it, or `not-found` */
async function decide(context: FlowContext, id: string, form: SingleForm, by: string): Promise<StepNotice> {
  const { action, seen, note, adjustment, ref } = form;
  const isCorrected = adjustment !== "" || ref !== "";
  if (isCorrected && action !== "resolve") {
    throw usage(
      "only a resolution can have a correction: resolve the mismatch, or leave amount and reference empty",
    );
  }
  const corrected = { ...(adjustment === "" ? {} : { adjustment }), ...(ref === "" ? {} : { ref }) };
  const said = readAction({ note, from: seen, ...corrected });
  const step = randomUUID();
  const { amounts } = await actOnMismatches(context, { action, target: { ids: [id] }, ...said, by, step });
  const done = `Mismatch #${id} ${ACTS[action].done}: ${sayAmounts(amounts)} at risk.`;
  if (said.adjustment === null) return { tone: "good", text: done, undo: step };
  const corrections = `Its correction of ${sayAmount(said.adjustment.amount, null)} (${said.adjustment.ref}) cannot be undone here, because it moved money. If the correction was wrong, reopen the mismatch and record the opposite amount.`;
  return { tone: "good", text: `${done} ${corrections}` };
}
