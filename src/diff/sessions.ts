/** Sessions: what moves by adjustBalance, with rewards and tips, can only be compared by the sums of a session (§4.A8). */

import type { CallbackEntry } from "../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { Finding } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, largerAmount, ZERO } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { Conditions, Graces } from "./ripeness.ts";
import { fetchable } from "./ripeness.ts";
import { accountedAt, isClosed, movementsOf, type PlayerSession, sumSession } from "./session-sums.ts";
import { latest } from "./sums.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./tolerance.ts";

/** The subject of a session names its first moment. A session that gets an earlier beginning gets another subject. */
export function subjectOfSession(firstAt: Instant, currency: string): string {
  return `session:${formatInstant(firstAt)} ${currency}`;
}

/** Every subject that a session could have had before an earlier beginning was known. */
export function subjectsOfSession({ entries, records, currency }: PlayerSession): string[] {
  const times = [...entries.map((entry) => entry.occurredAt), ...records.map(accountedAt)];
  return [...new Set(times)].map((at) => subjectOfSession(at, currency));
}

interface SessionSettings {
  readonly productId: string;
  readonly ledgerStart: Instant;
  readonly tolerance: Tolerance;
}

/**
 * Compares what both sides declare, and then what the wallet moved with what each entry asks for.
 * @returns null where both agree, or the session began before the ledger did
 */
export function compareSession(session: PlayerSession, settings: SessionSettings): Finding | null {
  if (session.firstAt < settings.ledgerStart) return null;
  const { currency, records, entries } = session;
  const { provider, declared } = sumSession(session);
  const when = `the session from ${formatInstant(session.firstAt)} to ${formatInstant(session.lastAt)}`;
  if (!isClosed(session, settings.tolerance)) {
    const reason = `${when} has a net of ${formatMoney(provider.net, currency)} at the provider (records: ${records.length}), and of ${formatMoney(declared, currency)} in the ledger (${sayEntries(entries)})`;
    return toFinding(
      session,
      { kind: "session-differs", reason },
      declared.minus(provider.net).abs(),
      settings,
    );
  }
  const wrong = movementsOf(session).filter(
    ({ asked, moved, amounts }) =>
      !differByAtMost(moved, asked, allowanceOf(settings.tolerance, currency, amounts)),
  );
  if (wrong.length === 0) return null;
  const said = wrong
    .slice(0, MOST_NAMED)
    .map(
      ({ name, moved, asked }) =>
        `${formatMoney(moved, currency)} for ${name}, which asks for ${formatMoney(asked, currency)}`,
    );
  const more = wrong.length > MOST_NAMED ? `, and another amount for ${wrong.length - MOST_NAMED} more` : "";
  const reason = `in ${when} the wallet moved ${said.join(", and ")}${more}`;
  const largest = wrong.map(({ moved, asked }) => moved.minus(asked).abs()).reduce(largerAmount);
  return toFinding(session, { kind: "net-differs", reason }, largest, settings);
}

/** The most entries that a reason names. */
const MOST_NAMED = 3;

function sayEntries(entries: readonly CallbackEntry[]): string {
  const others = entries.filter(({ callback }) => callback !== "adjustBalance").length;
  const rest = others === 0 ? "" : `, entries of rewards and tips: ${others}`;
  return `adjustBalance entries: ${entries.length - others}${rest}`;
}

/** @param atLeast the amount at risk if the wallet moved as much as the records ask for */
function toFinding(
  session: PlayerSession,
  difference: Pick<Finding, "kind" | "reason">,
  atLeast: Amount,
  { productId }: SessionSettings,
): Finding {
  const { currency, username, records, entries } = session;
  const { provider, ledger } = sumSession(session);
  const atRisk = ledger.net.minus(provider.net).abs();
  return {
    ...difference,
    productId,
    username,
    currency,
    subject: subjectOfSession(session.firstAt, currency),
    betId: null,
    transactionId: null,
    roundId: null,
    transactionRef: null,
    amountAtRisk: atRisk.eq(ZERO) ? atLeast : atRisk,
    provider:
      records.length === 0
        ? null
        : {
            id: null,
            betId: null,
            status: null,
            stake: formatAmount(provider.stake),
            payout: formatAmount(provider.payout),
            currency,
            username,
            updatedDate: latest(records.map((record) => record.updatedDate)),
            accountingDate: latest(records.map((record) => record.accountingDate)),
          },
    ledger:
      entries.length === 0
        ? null
        : {
            txnId: null,
            status: null,
            stake: formatAmount(ledger.stake),
            payout: formatAmount(ledger.payout),
            moved: formatAmount(ledger.net),
            currency,
            username,
            firstEntryAt: formatInstant(Math.min(...entries.map((entry) => entry.occurredAt))),
            lastEntryAt: formatInstant(Math.max(...entries.map((entry) => entry.occurredAt))),
          },
    occurredAt: session.firstAt,
  };
}

/**
 * What must hold before a session's finding becomes a mismatch: the session is over, its graces are over, and all of
 * its time was fetched.
 */
export function whatSessionNeeds(session: PlayerSession, quietMs: number, graces: Graces): Conditions {
  const receivedAt = Math.max(session.lastAt, ...session.entries.map((entry) => entry.receivedAt));
  const seenAt = Math.max(receivedAt, ...session.records.map((record) => record.versionSeenAt));
  const whole = { from: session.firstAt - graces.overlapMs, to: session.lastAt + graces.providerGraceMs };
  const dates = session.records
    .map((record) => parseInstant(record.updatedDate, "updatedDate"))
    .filter((at) => at < whole.from || at >= whole.to)
    .map((at): TimeRange => ({ from: at, to: at + 1 }));
  return {
    ...(session.records.length > 0 ? { ofRecords: true } : {}),
    notBefore: Math.max(session.lastAt + quietMs + 1, seenAt + graces.callbackGraceMs),
    eitherFetched: [
      { ranges: fetchable([whole, ...dates], graces), since: receivedAt + graces.providerGraceMs },
    ],
  };
}
