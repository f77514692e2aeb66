/** Events for programs: what endpoints get of single mismatches, incidents and closed days. Pure. */

import { z } from "zod";
import { type AnswerOf, COUNT, INSTANT, listOf, objectOf, TEXT } from "../answer.ts";
import { formatInstant } from "../clock.ts";
import type { Endpoint, EventType } from "../endpoints.ts";
import {
  MISMATCH,
  MISMATCH_EVENT_TYPES,
  MISMATCH_KINDS,
  type Mismatch,
  type MismatchChange,
  type MismatchEventType,
} from "../mismatch.ts";
import type { Alert } from "./alert.ts";
import { isWorthReporting, type Money } from "./incident.ts";
import { CLOSED_BODY, STATEMENT_CLOSED } from "./statement-closed.ts";

/** The alerts that endpoints get too, under the name of an event. */
const EVENT_OF_ALERT: Readonly<Record<string, EventType>> = {
  "incident-opened": "incident.opened",
  "incident-grown": "incident.grown",
  "incident-over": "incident.over",
  [STATEMENT_CLOSED]: "statement.closed",
};

/** The event as which endpoints get an alert; undefined: they do not get it. */
export function eventOf({ kind }: Pick<Alert, "kind">): EventType | undefined {
  return EVENT_OF_ALERT[kind];
}

/** The events of an endpoint, and which of their subjects it wants. */
export type EventFilter = Pick<Endpoint, "name" | "events" | "products" | "kinds" | "minAmount">;

/** The kinds of alerts that an endpoint gets. */
export function alertKindsOf({ events }: EventFilter): string[] {
  return Object.entries(EVENT_OF_ALERT).flatMap(([kind, type]) => (events.includes(type) ? [kind] : []));
}

/** Whether an endpoint wants an alert of one of its kinds. The end of an incident is sent whatever its money. */
export function wantsAlert(
  { products, kinds, minAmount }: EventFilter,
  { kind, productId, body }: Alert,
): boolean {
  if (kind === STATEMENT_CLOSED) return true;
  if (products !== null && !products.includes(productId ?? "")) return false;
  if (kinds !== null && !kinds.some((one) => one === body["kind"])) return false;
  return kind === "incident-over" || isWorthReporting((body["amounts"] ?? []) as Money[], minAmount);
}

/** A decision is what a reviewer does; resolved is a mismatch whose difference ended by itself. */
export function eventTypeOf({ change, by }: Pick<MismatchChange, "change" | "by">): MismatchEventType {
  switch (change) {
    case "open":
      return "mismatch.opened";
    case "refresh":
      return "mismatch.changed";
    case "reopen":
    case "restore":
      return "mismatch.reopened";
    case "resolve":
      return by === undefined ? "mismatch.resolved" : "mismatch.decided";
    case "acknowledge":
    case "ignore":
      return "mismatch.decided";
  }
}

/**
 * The names of the endpoints that get the event of a change.
 * @param told the endpoints that got an earlier event of the mismatch: they get the later ones whatever its amount, so that no
 * program waits for the end of a mismatch whose amount has become small
 */
export function endpointsFor(
  endpoints: readonly EventFilter[],
  change: Pick<MismatchChange, "change" | "by" | "productId" | "kind" | "amount" | "currency">,
  told: readonly string[],
): string[] {
  const { productId, kind, currency, amount } = change;
  const type = eventTypeOf(change);
  return endpoints
    .filter(
      ({ name, events, products, kinds, minAmount }) =>
        events.includes(type) &&
        (products === null || products.includes(productId)) &&
        (kinds === null || kinds.includes(kind)) &&
        (told.includes(name) || isWorthReporting([{ currency, amount }], minAmount)),
    )
    .map(({ name }) => name);
}

/** What is stored of an event of a single mismatch until it is sent. */
export interface MismatchEventBody {
  readonly what: string;
  readonly by: string;
  readonly mismatch: Mismatch;
}

const HEAD = {
  id: TEXT.meta({
    description:
      "of the event, and the header webhook-id: the same when it is sent again, so drop ids that you have seen",
  }),
  timestamp: INSTANT,
};
const TEST = z.optional(
  z.literal(true).meta({ description: "only of `recon alerts test`: nothing happened, so do nothing" }),
);

const MISMATCH_EVENT = objectOf({
  type: z.enum(MISMATCH_EVENT_TYPES),
  ...HEAD,
  by: TEXT.meta({ description: "the person who decided; recon: the program" }),
  test: TEST,
  data: MISMATCH.meta({
    description: "the mismatch right after the change, as GET /api/mismatches/{id} shows it",
  }),
});

const AMOUNTS = listOf(objectOf({ currency: z.nullable(TEXT), amount: MISMATCH.shape.amountAtRisk }));
const INCIDENT_EVENT = objectOf({
  type: z.enum(["incident.opened", "incident.grown", "incident.over"]),
  ...HEAD,
  data: objectOf({
    incidentId: TEXT,
    kind: z.enum(MISMATCH_KINDS),
    productId: TEXT,
    backfillId: z.nullable(TEXT),
    what: TEXT,
    since: INSTANT,
    until: z.nullable(INSTANT),
    count: COUNT.meta({ description: "its mismatches, those that have ended included" }),
    open: COUNT.meta({ description: "its open or acknowledged mismatches" }),
    amounts: AMOUNTS,
    largest: listOf(
      MISMATCH.pick({ id: true, username: true, amountAtRisk: true, currency: true, reason: true }),
    ),
    toDo: z.optional(TEXT),
    test: TEST,
  }),
});

const STATEMENT_EVENT = objectOf({
  type: z.literal("statement.closed"),
  ...HEAD,
  data: CLOSED_BODY.extend({ test: TEST }),
});

const SUMMARIES: Readonly<Record<EventType, string>> = {
  "mismatch.opened": "A mismatch was found",
  "mismatch.changed":
    "A value of an open or acknowledged mismatch changed, a person undid an acknowledgement, or one of any status got another owner, ticket or reminder: compare the amounts before you repair",
  "mismatch.decided": "A person acknowledged, resolved or ignored a mismatch",
  "mismatch.resolved": "The difference is gone, so recon resolved the mismatch",
  "mismatch.reopened":
    "A mismatch is open again: its difference came back, or a person reopened it or undid a decision",
  "incident.opened": "Mismatches of one kind began, or an incident is open again",
  "incident.grown": "An incident has grown tenfold",
  "incident.over": "No mismatch of an incident is open any more",
  "statement.closed": "A day was closed",
};

/** Every event with its sentence and the schema of its payload, for the OpenAPI document. */
export const EVENTS = (Object.keys(SUMMARIES) as EventType[]).map((type) => {
  const literal = { type: z.literal(type) };
  const schema = type.startsWith("mismatch.")
    ? MISMATCH_EVENT.extend(literal)
    : type.startsWith("incident.")
      ? INCIDENT_EVENT.extend(literal)
      : STATEMENT_EVENT;
  return { type, summary: SUMMARIES[type], schema };
});

/** What an endpoint gets. @param id the value of the header webhook-id */
export function eventPayload({ kind, body, at }: Alert, id: string): object {
  const timestamp = formatInstant(at);
  const type = eventOf({ kind });
  if (type !== undefined) return { type, id, timestamp, data: body };
  const { by, mismatch, test } = body as unknown as MismatchEventBody & { readonly test?: true };
  const payload: AnswerOf<typeof MISMATCH_EVENT> = {
    type: kind as MismatchEventType,
    id,
    timestamp,
    by,
    ...(test === undefined ? {} : { test }),
    data: mismatch,
  };
  return payload;
}
