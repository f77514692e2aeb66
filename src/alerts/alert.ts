/** The content of an alert. Each channel decides its format at delivery. */

import { adviceOfSome } from "../advice.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { Judged } from "../effect.ts";
import type { DueReminder, MismatchKind } from "../mismatch.ts";
import { formatMoney, parseAmount } from "../money.ts";
import { type Incident, type IncidentNews, type Money, sumByCurrency } from "./incident.ts";

/** An alert that is to be delivered. */
export interface Alert {
  /** one key is one alert, which is sent once */
  readonly idempotencyKey: string;
  /** the kind of alert, such as "incident-opened" or "ledger-stale" */
  readonly kind: string;
  readonly productId: string | null;
  /** JSON; `what` is the sentence that channels show */
  readonly body: Readonly<Record<string, unknown>> & { readonly what: string };
  readonly at: Instant;
}

/** One of the largest mismatches of an incident. */
export interface LargeMismatch {
  readonly id: string;
  readonly username: string;
  /** decimal text */
  readonly amountAtRisk: string;
  readonly currency: string | null;
  readonly reason: string;
}

/** What is known of one of them, from which its advice follows. */
export interface KnownMismatch extends LargeMismatch, Judged {
  readonly amountAtRisk: string;
}

/** The body of an incident's alert. Times are ISO 8601, amounts decimal text. */
interface IncidentBody {
  readonly incidentId: string;
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly backfillId: string | null;
  readonly what: string;
  readonly since: string;
  readonly until: string | null;
  /** the number of its mismatches, those that have ended included */
  readonly count: number;
  /** the number of its open or acknowledged mismatches */
  readonly open: number;
  /** the money at risk in its open or acknowledged mismatches; once the incident is over, in all of them */
  readonly amounts: readonly Money[];
  readonly largest: readonly LargeMismatch[];
  /** what to do, with the money of the largest ones; absent once the incident is over */
  readonly toDo?: string;
}

/** `returned`: open again because an action was undone after the end was reported */
export type ReportedNews = IncidentNews | "returned";

/** How the keys of all alerts of an incident begin. A restored database gives ids again that another had (docs/backup.md). */
export function keyOfIncident({ id, beganAt }: Pick<Incident, "beganAt"> & { readonly id: number }): string {
  return `incident/${id}/${formatInstant(beganAt)}/`;
}

/** An incident begins once; it may end and return several times. @param at the time of this end or return */
export function keyOfAlert(
  incident: Pick<Incident, "beganAt" | "total"> & { readonly id: number },
  news: ReportedNews,
  at: Instant,
): string {
  const step = {
    opened: "opened",
    grown: `grown/${incident.total}`,
    over: `over/${formatInstant(at)}`,
    returned: `opened/${formatInstant(at)}`,
  }[news];
  return keyOfIncident(incident) + step;
}

/** @param incident its values after the transaction that also writes the alert */
export function incidentAlert(
  incident: Incident & { readonly id: number },
  news: ReportedNews,
  { amounts, largest }: { readonly amounts: readonly Money[]; readonly largest: readonly KnownMismatch[] },
  at: Instant,
): Alert {
  const { id, productId, kind, backfillId, total, open, beganAt, endedAt } = incident;
  const body: IncidentBody = {
    incidentId: String(id),
    kind,
    productId,
    backfillId: backfillId === 0 ? null : String(backfillId),
    what: sayWhat(incident, news, amounts),
    since: formatInstant(beganAt),
    until: endedAt === null ? null : formatInstant(endedAt),
    count: total,
    open,
    amounts,
    largest: largest.map(({ id, username, amountAtRisk, currency, reason }) => ({
      id,
      username,
      amountAtRisk,
      currency,
      reason,
    })),
    ...(news === "over" ? {} : { toDo: adviceOfSome(kind, open, largest) }),
  };
  return {
    idempotencyKey: keyOfAlert(incident, news, at),
    kind: `incident-${news === "returned" ? "opened" : news}`,
    productId,
    body: { ...body },
    at,
  };
}

function sayWhat(
  { kind, productId, backfillId, total }: Incident,
  news: ReportedNews,
  amounts: readonly Money[],
): string {
  const whose = `${kind} in ${productId}${backfillId === 0 ? "" : `, found by backfill ${backfillId}`}`;
  const many = `${total} ${total === 1 ? "mismatch" : "mismatches"}`;
  const money = amounts.map(showMoney).join(", ");
  if (news === "over") return `${whose}: over, none of ${many} is open any more (${money})`;
  if (news === "returned")
    return `${whose}: open again, because a decision was undone: ${many}, ${money} at risk`;
  return news === "opened"
    ? `${whose}: ${many}, ${money} at risk`
    : `${whose}: grown to ${many}, ${money} at risk`;
}

const MOST_REMINDED = 3;

/** One alert for each incident, and one for all mismatches of an owner with the same time: many are reminded of in one step. */
export function reminderAlerts(due: readonly DueReminder[], at: Instant): Alert[] {
  const together = Map.groupBy(due, ({ about, id, owner, remindAt }) =>
    JSON.stringify(about === "incident" ? [about, id] : [about, owner, remindAt]),
  );
  return [...together.values()].map((those) => reminderAlert(those, at));
}

function reminderAlert(those: readonly DueReminder[], at: Instant): Alert {
  const [first] = those;
  if (first === undefined) throw new Error("no reminder");
  const { about, id, owner, remindAt, kind, productId } = first;
  const amounts = sumByCurrency(
    those.flatMap(({ currency, amount }) => (amount === null ? [] : [{ currency, amount }])),
  );
  const isOne = those.length === 1;
  const tickets = [...new Set(those.flatMap(({ ticket }) => ticket ?? []))];
  const money = amounts.length === 0 ? "" : `, ${amounts.map(showMoney).join(", ")} at risk`;
  const ticket = isOne && first.ticket !== null ? `, ticket ${first.ticket}` : "";
  const what = isOne ? `${about} ${id}, ${kind} in ${productId}` : `${those.length} mismatches`;
  const risk = (one: DueReminder) => parseAmount(one.amount ?? "0", "amountAtRisk");
  const largest = those.toSorted((a, b) => risk(b).cmp(risk(a))).slice(0, MOST_REMINDED);
  const body = {
    what: `reminder${owner === null ? ", nobody's" : ` for ${owner}`}: ${what}${money}${ticket}`,
    about,
    owner,
    remindAt: formatInstant(remindAt),
    count: those.length,
    ids: those.slice(0, MOST_NAMED).map((one) => String(one.id)),
    tickets: tickets.slice(0, MOST_NAMED),
    ...(about === "incident" ? { incidentId: String(id) } : { amounts, largest: largest.flatMap(asLarge) }),
    toDo: isOne
      ? `To see it: recon ${about === "mismatch" ? "mismatches" : "incidents"} show ${id}`
      : "To see them: recon mismatches list --due",
  };
  const products = new Set(those.map((one) => one.productId));
  return {
    idempotencyKey: `${REMINDER_DUE}/${about}/${id}/${formatInstant(remindAt)}`,
    kind: REMINDER_DUE,
    productId: products.size === 1 ? productId : null,
    body,
    at,
  };
}

export const REMINDER_DUE = "reminder-due";
/** The most ids and tickets in an alert. */
const MOST_NAMED = 100;

function asLarge({ id, username, amount, currency, reason }: DueReminder): LargeMismatch[] {
  if (username === null || amount === null || reason === null) return [];
  return [{ id: String(id), username, amountAtRisk: amount, currency, reason }];
}

function showMoney({ currency, amount }: Money): string {
  return formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd();
}
