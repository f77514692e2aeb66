/** Sessions: where money moves only by adjustBalance, the sums of a session are all that can be compared (§4.A8). */

import type { StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { inLedgerOrder } from "../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { Finding } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, sumAmounts, ZERO } from "../money.ts";
import type { SideSums } from "../report.ts";
import type { TimeRange } from "../window.ts";
import { amountsListed } from "./money-moved.ts";
import type { Conditions, Graces } from "./ripeness.ts";
import { fetchable } from "./ripeness.ts";
import { latest } from "./sums.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./tolerance.ts";

/** A player's entries and records in one currency without a pause longer than the quiet time. */
export interface PlayerSession {
  readonly username: string;
  readonly currency: string;
  /** the times of its first and last entry or record */
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** in ledger order */
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly StoredRecord[];
}

interface SessionEvent {
  readonly at: Instant;
  readonly currency: string;
  readonly entry?: CallbackEntry;
  readonly record?: StoredRecord;
}

/** @param quietMs a pause longer than this ends a session */
export function splitSessions(
  username: string,
  entries: readonly CallbackEntry[],
  records: readonly StoredRecord[],
  quietMs: number,
): PlayerSession[] {
  const moments: SessionEvent[] = [
    ...entries
      .filter(({ callback }) => callback === "adjustBalance")
      .map((entry) => ({ at: entry.occurredAt, currency: entry.currency, entry })),
    ...records.map((record) => ({
      at: parseInstant(record.accountingDate, "accountingDate"),
      currency: record.currency,
      record,
    })),
  ].sort((a, b) => a.at - b.at);
  return [...Map.groupBy(moments, ({ currency }) => currency).values()].flatMap((inCurrency) =>
    splitRuns(inCurrency, quietMs).map((run) => toSession(username, run)),
  );
}

function splitRuns(moments: readonly SessionEvent[], quietMs: number): SessionEvent[][] {
  const runs: SessionEvent[][] = [];
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const moment of moments) {
    if (moment.at - lastAt > quietMs) runs.push([]);
    runs.at(-1)?.push(moment);
    lastAt = moment.at;
  }
  return runs;
}

function toSession(username: string, run: readonly SessionEvent[]): PlayerSession {
  return {
    username,
    currency: run[0]?.currency ?? "",
    firstAt: run[0]?.at ?? 0,
    lastAt: run.at(-1)?.at ?? 0,
    entries: run.flatMap(({ entry }) => entry ?? []).sort(inLedgerOrder),
    records: run.flatMap(({ record }) => record ?? []),
  };
}

/** The subject of a session names its first moment. A session that gets an earlier beginning gets another subject. */
export function subjectOfSession(firstAt: Instant, currency: string): string {
  return `session:${formatInstant(firstAt)} ${currency}`;
}

/** Every subject that a session could have had before an earlier beginning was known. */
export function subjectsOfSession({ entries, records, currency }: PlayerSession): string[] {
  const times = [
    ...entries.map((entry) => entry.occurredAt),
    ...records.map((record) => parseInstant(record.accountingDate, "accountingDate")),
  ];
  return [...new Set(times)].map((at) => subjectOfSession(at, currency));
}

interface SessionSettings {
  readonly productId: string;
  readonly ledgerStart: Instant;
  readonly tolerance: Tolerance;
}

/** @returns null where ΣCREDIT − ΣDEBIT is Σ(payout − stake), or the session began before the ledger did */
export function compareSession(session: PlayerSession, settings: SessionSettings): Finding | null {
  const { productId, ledgerStart } = settings;
  if (session.firstAt < ledgerStart) return null;
  const { currency, username, records, entries } = session;
  const { provider, ledger } = sumSession(session);
  const { stake, payout } = provider;
  const [debits, credits] = [ledger.stake, ledger.payout];
  const net = { ledger: ledger.net, provider: provider.net };
  if (differByAtMost(net.ledger, net.provider, allowanceOfSession(session, settings))) return null;
  return {
    kind: "session-differs",
    productId,
    username,
    currency,
    subject: subjectOfSession(session.firstAt, currency),
    betId: null,
    transactionId: null,
    roundId: null,
    transactionRef: null,
    amountAtRisk: net.ledger.minus(net.provider).abs(),
    reason: `the session from ${formatInstant(session.firstAt)} to ${formatInstant(session.lastAt)} has a net of ${formatMoney(net.provider, currency)} at the provider (records: ${records.length}), and of ${formatMoney(net.ledger, currency)} in the ledger (adjustBalance entries: ${entries.length})`,
    provider:
      records.length === 0
        ? null
        : {
            id: null,
            betId: null,
            status: null,
            stake: formatAmount(stake),
            payout: formatAmount(payout),
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
            stake: formatAmount(debits),
            payout: formatAmount(credits),
            moved: formatAmount(net.ledger),
            currency,
            username,
            firstEntryAt: formatInstant(Math.min(...entries.map((entry) => entry.occurredAt))),
            lastEntryAt: formatInstant(Math.max(...entries.map((entry) => entry.occurredAt))),
          },
    occurredAt: session.firstAt,
  };
}

/**
 * The allowed difference of a session's sums: the tolerance times the number of amounts on the side that has more.
 */
export function allowanceOfSession(
  { records, entries, currency }: PlayerSession,
  { tolerance }: Pick<SessionSettings, "tolerance">,
): Amount {
  return allowanceOf(tolerance, currency, Math.max(amountsListed(records), entries.length));
}

/**
 * The sums of both sides: stakes and payouts of the records, debits and credits of adjustBalance. The ledger side has
 * no bets.
 */
export function sumSession({ records, entries }: PlayerSession): { provider: SideSums; ledger: SideSums } {
  const played = records.filter((record) => record.betStatus !== "VOID");
  const stake = sumAmounts(played.map((record) => record.stake));
  const payout = sumAmounts(played.map((record) => record.payout));
  const { debits, credits } = sumEntries(entries);
  return {
    provider: { bets: played.length, stake, payout, net: payout.minus(stake) },
    ledger: { bets: 0, stake: debits, payout: credits, net: credits.minus(debits) },
  };
}

/** A repeated reference declares nothing new (§4.A8). Where it moved money nevertheless, that money counts. */
function sumEntries(entries: readonly CallbackEntry[]): { debits: Amount; credits: Amount } {
  const known = new Set<string>();
  let [debits, credits] = [ZERO, ZERO];
  for (const entry of entries) {
    const isRepeat = known.has(entry.txnId);
    known.add(entry.txnId);
    if (isRepeat && (entry.moved?.eq(ZERO) ?? true)) continue;
    debits = debits.plus(entry.betAmount ?? ZERO);
    credits = credits.plus(entry.payoutAmount ?? ZERO);
  }
  return { debits, credits };
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
