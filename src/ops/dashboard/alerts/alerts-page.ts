/** `/alerts`: every alert with its deliveries, sending one again, and a test of the channels (docs/alerts.md#channels). */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { listAlerts, readChannelStates } from "../../../alerts/alert-list-store.ts";
import { describeError, ReconError } from "../../../errors.ts";
import { readAlert, sendAgain, type TestedChannel, testAlerts } from "../../../flows/alerts/send-again.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { may } from "../../access/access.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { ALERT_FILTERS, ONCE, read } from "../../input/fields.ts";
import { problemOf, typedFields } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import type { OwnWorker } from "../parts/own-worker.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { FILTERS, renderAlert, renderAlerts } from "./render-alerts.ts";

type QueryFields = Readonly<Record<string, unknown>>;
type ListRequest = FastifyRequest<{ Querystring: QueryFields }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE_SIZE = 50;
const QUERY = z.strictObject(ALERT_FILTERS);
const AGAIN = z.strictObject({
  channel: ONCE,
  attempts: ONCE.regex(/^\d{1,9}$/, { error: "attempts must be the number that the page showed" }),
});
/** The longest time of a test: the browser waits for it. */
const LONGEST_TEST_MS = 60_000;

export function addAlertsPage(pages: FastifyInstance, context: FlowContext, worker: OwnWorker | null): void {
  const channels = worker?.channels ?? [];
  let isTesting = false;
  pages.get("/alerts", (request: ListRequest, reply) => sendList(context, worker, request, reply));
  pages.get("/alerts/:id", async (request: OneRequest, reply) => {
    const alert = await readAlert(context, request.params.id);
    const names = channels.map(({ name }) => name);
    const states = await readChannelStates(context.sql, names);
    const mayAct = may(request.asker, "admin");
    return await sendPage(request, reply, {
      title: `Alert ${alert.id}: ${alert.kind}`,
      path: "/alerts",
      main: renderAlert(alert, { states, mayAct, zone: zoneOf(request), now: context.clock.now() }),
      notice: takeNotice(request, reply),
      live: ["alerts"],
    });
  });
  pages.post("/alerts/:id/send", async (request: OneRequest, reply) => {
    const { id } = request.params;
    const back = () => reply.redirect(`/alerts/${encodeURIComponent(id)}`, 303);
    try {
      const { channel, attempts } = read(AGAIN, request.body ?? {});
      const error = await sendAgain(context, channels, { id, channel, attempts: Number(attempts) });
      const text =
        error === null ? `${channel} accepted alert ${id}.` : `${channel} did not accept it: ${error}.`;
      setNotice(reply, { tone: error === null ? "good" : "bad", text });
    } catch (error) {
      const status = statusOfRefusal(error);
      if (status !== 400 && status !== 409) throw error;
      setNotice(reply, { tone: "bad", text: `Not sent: ${describeError(error)}.` });
    }
    return await back();
  });
  pages.post("/alerts/test", async (_request, reply) => {
    if (channels.length === 0) throw new ReconError("usage", "no channel is set: there is nothing to test");
    if (isTesting) throw new ReconError("conflict", "a test is under way: wait for its result");
    isTesting = true;
    try {
      const tested = await testAlerts(channels, context.clock, AbortSignal.timeout(LONGEST_TEST_MS));
      const tone = tested.every(({ ok }) => ok) ? "good" : "bad";
      setNotice(reply, { tone, text: tested.map(sayTested).join(" ") });
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
      setNotice(reply, {
        tone: "bad",
        text: "The test has not ended within a minute: a channel is too slow.",
      });
    } finally {
      isTesting = false;
    }
    return await reply.redirect("/alerts", 303);
  });
}

function sayTested({ channel, sent, of, error }: TestedChannel): string {
  if (error === null) return `${channel}: all ${of} test alerts arrived.`;
  return `${channel}: ${sent} of ${of} test alerts arrived, then it failed: ${error}.`;
}

async function sendList(
  context: FlowContext,
  worker: OwnWorker | null,
  request: ListRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { query } = request;
  const tidy = tidyQuery(query, [], zoneOf(request));
  if (tidy !== null) return await reply.redirect(`/alerts?${new URLSearchParams(tidy)}`, 303);
  const names = worker?.channels.map(({ name }) => name) ?? null;
  const around = {
    products: context.config.products.map(({ productId }) => productId),
    channels: names === null ? null : await readChannelStates(context.sql, names),
    mayAct: may(request.asker, "admin"),
  };
  const when = { now: context.clock.now(), zone: zoneOf(request) };
  const shared = { title: "Alerts", path: "/alerts", notice: takeNotice(request, reply) };
  const typed = typedFields(query, FILTERS);
  const filters = { ...typed, state: typed.state || "all" };
  try {
    const { state, product: productId, after } = read(QUERY, query);
    const choice = { isWaiting: state === "all" ? null : state === "waiting", productId };
    const page = { limit: PAGE_SIZE, after: after === null ? null : Number(after) };
    const list = await listAlerts(context.sql, choice, page);
    const main = renderAlerts(filters, { ...around, list, problem: null }, when);
    return await sendPage(request, reply, { ...shared, main, live: ["alerts"] });
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    const main = renderAlerts(filters, { ...around, list: null, problem: problemOf(error) }, when);
    return await sendPage(request, reply.code(400), { ...shared, main });
  }
}
