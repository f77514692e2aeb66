/** Alerts over HTTP: list, show, send one again. */

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { listAlerts } from "../../alerts/alert-list-store.ts";
import type { AlertChannel } from "../../alerts/channel.ts";
import { objectOf, TEXT } from "../../answer.ts";
import { ALERT, ALERT_LIST, describeAlert, readAlert, sendAgain } from "../../flows/alerts/send-again.ts";
import type { FlowContext } from "../../flows/context.ts";
import { ALERT_FILTERS, PAGE, read, TEXT as SENT_TEXT, type Typed } from "../input/fields.ts";
import { bodyWith, must } from "../input/messages.ts";
import { describeOperation, ONE_ID } from "./operation.ts";

const QUERY = z.strictObject({ ...ALERT_FILTERS, limit: PAGE.limit });

const ATTEMPTS = must("be a whole number from 0 up");
const AGAIN_FORM = z.strictObject(
  {
    channel: SENT_TEXT,
    attempts: z
      .int(ATTEMPTS)
      .min(0, ATTEMPTS)
      .max(1e9, ATTEMPTS)
      .meta({ description: "that you saw: 409 if there was another one since" })
      .optional(),
  },
  bodyWith("a channel"),
);

const LIST = describeOperation({
  id: "listAlerts",
  summary: "alerts with their deliveries, the newest first",
  query: QUERY,
  answers: { 200: ALERT_LIST },
});

const SHOW = describeOperation({
  id: "readAlert",
  summary: "one alert with its deliveries",
  params: ONE_ID,
  answers: { 200: objectOf({ alert: ALERT }) },
});

const RESEND = describeOperation({
  id: "resendAlert",
  summary: "sends an alert again at once, to one channel",
  params: ONE_ID,
  body: AGAIN_FORM,
  answers: {
    200: objectOf({
      alert: ALERT,
      error: z.nullable(TEXT).meta({ description: "of the channel; null: it accepted the alert" }),
    }),
  },
});

interface OneAlert {
  Params: { id: string };
}

/** @param channels those of the worker in this process */
export function addAlertRoutes(
  api: FastifyInstance,
  context: FlowContext,
  channels: readonly AlertChannel[],
): void {
  api.get<{ Querystring: Typed }>("/alerts", { schema: LIST }, async ({ query }) => {
    const { state, product: productId, limit, after } = read(QUERY, query);
    const choice = { isWaiting: state === "all" ? null : state === "waiting", productId };
    const page = { limit, after: after === null ? null : Number(after) };
    const { alerts, next } = await listAlerts(context.sql, choice, page);
    return { alerts: alerts.map(describeAlert), next: next === null ? null : String(next) };
  });
  api.get<OneAlert>("/alerts/:id", { schema: SHOW }, async ({ params }) => ({
    alert: describeAlert(await readAlert(context, params.id)),
  }));
  api.post<OneAlert>("/alerts/:id/resend", { schema: RESEND }, async ({ params: { id }, body }) => {
    const { channel, attempts } = read(AGAIN_FORM, body);
    const found = (await readAlert(context, id)).deliveries.find((one) => one.channel === channel);
    const seen = attempts ?? found?.attempts ?? 0;
    const error = await sendAgain(context, channels, { id, channel, attempts: seen });
    return { alert: describeAlert(await readAlert(context, id)), error };
  });
}
