/** `/mismatches/:id`: one mismatch with everything known about it, and the form for a person's decision. */

import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { actOnMismatches } from "../../../flows/mismatches/act-on-mismatches.ts";
import { readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import { ACTS } from "../../../mismatches/act.ts";
import { type Notice, renderPage } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { usage } from "../../input/fields.ts";
import { readAction } from "../../input/mismatch-action.ts";
import { type StepNotice, setNotice, takeNotice } from "../parts/notice.ts";
import { groupDigits, withCents } from "../parts/show.ts";
import { readSingleForm, type SingleForm } from "./mismatch-form.ts";
import { saySums } from "./mismatch-words.ts";
import { renderMismatch, type TypedDecision } from "./render-mismatch.ts";

type MismatchRequest = FastifyRequest<{ Params: { id: string } }>;

export function addMismatchPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/mismatches/:id", (request: MismatchRequest, reply) =>
    sendMismatch(context, request, reply, { notice: takeNotice(request, reply), typed: null }),
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
      return await sendMismatch(context, request, reply.code(status), { notice, typed: form });
    }
  });
}

async function sendMismatch(
  context: FlowContext,
  { params, asker }: MismatchRequest,
  reply: FastifyReply,
  { notice, typed }: { readonly notice: Notice | null; readonly typed: TypedDecision | null },
): Promise<FastifyReply> {
  const story = await readMismatchStory(context, params.id);
  const { kind, productId, amountAtRisk, currency, status } = story;
  const document = renderPage({
    title: `${kind} in ${productId}, ${groupDigits(withCents(amountAtRisk))} ${currency ?? ""}, ${status}`,
    visitor: asker,
    path: "/mismatches",
    main: renderMismatch({ story, mayAct: asker.role === "write", typed }),
    notice,
    live: ["mismatches"],
  });
  return await reply.type("text/html; charset=utf-8").send(document);
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
  const done = `Mismatch #${id} ${ACTS[action].done}: ${saySums(amounts)} at risk.`;
  if (said.adjustment === null) return { tone: "good", text: done, undo: step };
  const corrections = `Its correction of ${said.adjustment.amount} (${said.adjustment.ref}) cannot be undone here, because it moved money. If the correction was wrong, reopen the mismatch and record the opposite amount.`;
  return { tone: "good", text: `${done} ${corrections}` };
}
