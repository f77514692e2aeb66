/** An alert as text: what happened, since when, how much money, what to do, and the page to open. */

import { parseInstant, showInstant } from "../clock.ts";
import { NOBODY } from "../mismatch.ts";
import { formatMoney, parseAmount } from "../money.ts";
import { type Alert, type LargeMismatch, REMINDER_DUE } from "./alert.ts";
import type { AgeOfMoney, OwnerOfMoney } from "./digest.ts";
import type { MismatchEventBody } from "./event.ts";
import type { Money } from "./incident.ts";
import { MEANING_OF_KIND } from "./kind-meanings.ts";
import { STATEMENT_CLOSED } from "./statement-closed.ts";

/** Text without escaping: each channel escapes the text for its own format. */
export interface AlertMessage {
  readonly title: string;
  readonly lines: readonly string[];
  /** a link to the page; null: the address is unknown */
  readonly link: string | null;
}

export type DescribeAlert = (alert: Alert) => AlertMessage;

/** The words before the sentence of an alert, for the kinds that need some. */
const NEWS: Readonly<Record<string, string>> = {
  "incident-opened": "New: ",
  "incident-grown": "Growing: ",
  "incident-over": "Over: ",
};

/** @param opsUrl the address of the ops server without a slash at its end; null: unknown from outside */
export function describeAlerts(opsUrl: string | null): DescribeAlert {
  return (alert) => ({
    title: `${alert.body["test"] === true ? "TEST, nothing happened: " : ""}${NEWS[alert.kind] ?? ""}${alert.body.what}`,
    lines: linesOf(alert),
    link: opsUrl === null ? null : `${opsUrl}${pageOf(alert)}`,
  });
}

/**
 * The address of the ops server for other machines; null if it is not in the settings and the server listens on every
 * address, or on a random port.
 */
export function opsUrlOf({ host, port, publicUrl }: OpsAddress): string | null {
  if (publicUrl !== undefined) return publicUrl;
  if (port === 0 || host === "0.0.0.0" || host === "::") return null;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export interface OpsAddress {
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string | undefined;
}

/** The parts of a body that a message shows. Each kind of alert has only some of them. */
interface AlertBody {
  readonly incidentId?: string;
  readonly test?: boolean;
  readonly kind?: keyof typeof MEANING_OF_KIND;
  readonly since?: string;
  readonly until?: string | null;
  readonly amounts?: readonly Money[];
  readonly largest?: readonly LargeMismatch[];
  readonly ages?: readonly AgeOfMoney[];
  readonly owners?: readonly OwnerOfMoney[];
  /** the number of mismatches of other owners */
  readonly othersOwn?: number;
  readonly toDo?: string;
}

function linesOf({ body, productId }: Alert): string[] {
  const { kind, since, until, amounts = [], largest = [], ages = [], toDo } = body as AlertBody;
  const { owners = [], othersOwn = 0 } = body as AlertBody;
  const lines: string[] = [];
  if (kind !== undefined) lines.push(`${kind} means: ${MEANING_OF_KIND[kind]}`);
  if (since !== undefined) lines.push(`since ${showTime(since)}${until ? `, until ${showTime(until)}` : ""}`);
  if (amounts.length > 0) lines.push(`money: ${amounts.map(showMoney).join(", ")}`);
  for (const one of largest) {
    const money = showMoney({ amount: one.amountAtRisk, currency: one.currency });
    lines.push(`mismatch ${one.id}: ${money} of ${one.username}: ${one.reason}`);
  }
  for (const { age, count, amounts: sums } of ages) {
    lines.push(`${age}: ${sayCount(count, sums)}`);
  }
  for (const { owner, count, amounts: sums, oldest, ages: own } of owners) {
    const whose = owner === null ? "nobody's" : `of ${owner}`;
    const byAge = own.map((one) => `${one.count} ${one.age}`).join(", ");
    lines.push(`${whose}: ${sayCount(count, sums)}; ${byAge}; the oldest since ${showTime(oldest)}`);
  }
  if (othersOwn > 0) lines.push(`of other owners: ${othersOwn}`);
  if (toDo !== undefined) lines.push(toDo);
  if (kind !== undefined)
    lines.push(`to see them: recon mismatches list --product ${productId} --kind ${kind}`);
  return lines;
}

function sayCount(count: number, sums: readonly Money[]): string {
  return `${count}${sums.length === 0 ? "" : `, ${sums.map(showMoney).join(", ")}`}`;
}

function showTime(text: string): string {
  return showInstant(parseInstant(text, "time"));
}

function showMoney({ amount, currency }: Money): string {
  return formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd();
}

/** The filters of the page that shows what an alert about rejected ones speaks of. */
const REJECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "rejected-records": { side: "record" },
  "rejected-entries": { side: "entry", kind: "unusable" },
  "ledger-changed": { side: "entry", kind: "changed" },
};

/** The path of the page that shows what an alert speaks of: its incident, the rejected ones, the backfills, or the health of all work. */
export function pageOf({ kind, body, productId }: Pick<Alert, "kind" | "body" | "productId">): string {
  if (kind === "digest") return "/mismatches";
  if (kind.startsWith("mismatch."))
    return `/mismatches/${(body as unknown as MismatchEventBody).mismatch.id}`;
  if (kind === STATEMENT_CLOSED) return `/report?${new URLSearchParams({ day: String(body["day"]) })}`;
  const rejected = REJECTED[kind];
  if (rejected !== undefined) {
    const whose = productId === null ? {} : { product: productId };
    return `/rejected?${new URLSearchParams({ ...rejected, ...whose })}`;
  }
  const { incidentId, test: isTest } = body as AlertBody;
  if (kind === REMINDER_DUE && incidentId === undefined) return pageOfReminder(body);
  if (kind.startsWith("backfill-failed")) return "/backfills";
  if (incidentId === undefined) return "/health";
  // The incident of a test does not exist.
  return isTest === true ? "/incidents" : `/incidents/${incidentId}`;
}

/** The mismatch, or all due ones of its owner; the mismatch of a test does not exist. */
function pageOfReminder(body: Alert["body"]): string {
  const { ids, count, owner, test: isTest } = body as { ids?: string[]; count?: number } & Alert["body"];
  if (isTest === true) return "/mismatches";
  if (count === 1) return `/mismatches/${ids?.[0]}`;
  return `/mismatches?${new URLSearchParams({ owner: typeof owner === "string" ? owner : NOBODY, due: "true" })}`;
}
