/** Sessions: money that moves by adjustBalance, with rewards and tips, can only be compared by the sums of a session (§4.A8). */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { MismatchContent } from "../mismatch.ts";
import { type Amount, formatAmount, formatMoney, largerAmount, sumAmounts, ZERO } from "../money.ts";
import type { RewardsAndTips, SideSums } from "../report.ts";
import type { TimeRange } from "../window.ts";
import { amountsListed, stakeOfTip } from "./money-moved.ts";
import { fetchable, type Graces, type RequiredConditions } from "./required-conditions.ts";
import { allowanceOf, differByAtMost, latest, type Tolerance } from "./sums.ts";

/**
 * A player's entries and records in one currency without a pause longer than the quiet time, or several such runs that a
 * record joins.
 */
export interface PlayerSession {
  readonly username: string;
  readonly currency: string;
  /** the times of its first and last movement, reward, tip or record */
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** adjustBalance entries, and all entries of the rewards and tips; in ledger order */
  readonly entries: readonly CallbackEntry[];
  readonly records: readonly StoredRecord[];
  /** the rewards and tips: each counts at the time of its first entry */
  readonly bets: readonly LedgerBet[];
}

/** The place of a record in time. */
export function accountedAt(record: StoredRecord): Instant {
  return parseInstant(record.accountingDate, "accountingDate");
}

/** The sums of both sides of a session. */
export interface SessionSums extends RewardsAndTips {
  readonly provider: SideSums;
  /** debits and tips, credits and rewards; `net` is what the wallet moved. A session has no bets. */
  readonly ledger: SideSums;
  /** what the entries ask to be moved */
  readonly declared: Amount;
}

/** Adds up both sides of a session. Void records count nothing. */
export function sumSession(session: PlayerSession): SessionSums {
  const played = session.records.filter((record) => record.betStatus !== "VOID");
  // The callback of a tip may have no amount, or skip the balance. Then the stake of its record is compared with
  // nothing. A record with a payout is no tip.
  const unsaid = new Set(
    session.bets
      .filter((bet) => bet.tip && bet.status !== "void" && stakeOfTip(bet).eq(ZERO))
      .map(({ txnId }) => txnId),
  );
  const stake = sumAmounts(
    played
      .filter(({ betId, id, payout }) => !payout.eq(ZERO) || !(unsaid.has(betId) || unsaid.has(id)))
      .map((record) => record.stake),
  );
  const payout = sumAmounts(played.map((record) => record.payout));
  const movements = movementsOf(session);
  const ofBets = movements.filter(({ isOfBet }) => isOfBet);
  return {
    provider: { bets: played.length, stake, payout, net: payout.minus(stake) },
    ledger: {
      bets: 0,
      stake: sumAmounts(movements.map((one) => one.taken)),
      payout: sumAmounts(movements.map((one) => one.given)),
      net: sumAmounts(movements.map((one) => one.moved)),
    },
    declared: sumAmounts(movements.map((one) => one.asked)),
    rewards: sumAmounts(ofBets.map((one) => one.given)),
    tips: sumAmounts(ofBets.map((one) => one.taken)),
  };
}

/** An adjustBalance entry, a reward or a tip: what it declares, and what the wallet moved for it. */
interface Movement {
  /** such as "the debit ref-1" */
  readonly name: string;
  readonly taken: Amount;
  readonly given: Amount;
  /** given − taken */
  readonly asked: Amount;
  readonly moved: Amount;
  /** the number of amounts in `moved` */
  readonly amounts: number;
  /** a reward gives, a tip takes */
  readonly isOfBet: boolean;
}

/** Everything that a session asks the wallet to move. */
function movementsOf({ entries, bets }: PlayerSession): Movement[] {
  const adjustments = entries.filter(({ callback }) => callback === "adjustBalance");
  const repeats = repeatsAmong(adjustments);
  return [
    ...adjustments.map((entry) => {
      const isRepeat = repeats.has(entry);
      const taken = isRepeat ? ZERO : (entry.betAmount ?? ZERO);
      const given = isRepeat ? ZERO : (entry.payoutAmount ?? ZERO);
      const asked = given.minus(taken);
      const name = `${isRepeat ? "the repeat of " : ""}the ${entry.status === "DEBIT" ? "debit" : "credit"} ${entry.txnId}`;
      const moved = entry.moved ?? (entry.skipBalanceUpdate ? ZERO : asked);
      return { name, taken, given, asked, moved, amounts: 1, isOfBet: false };
    }),
    ...bets.map((bet) => {
      const { tip, txnId, status, payout, moved, movements } = bet;
      const taken = tip ? stakeOfTip(bet) : ZERO;
      const given = tip || status === "void" ? ZERO : payout;
      const name = `the ${tip ? "tip" : "reward"} ${txnId}`;
      return { name, taken, given, asked: given.minus(taken), moved, amounts: movements, isOfBet: true };
    }),
  ];
}

/**
 * What each adjustBalance entry asks the wallet to move. A repeat, or one that is skipped, asks for nothing.
 * @param entries of one player
 */
export function askedByAdjustments(entries: readonly CallbackEntry[]): Map<CallbackEntry, Amount> {
  const sorted = [...entries].sort(inLedgerOrder);
  const repeats = repeatsAmong(sorted);
  return new Map(
    sorted.map((entry) => [
      entry,
      repeats.has(entry) || entry.skipBalanceUpdate
        ? ZERO
        : (entry.payoutAmount ?? ZERO).minus(entry.betAmount ?? ZERO),
    ]),
  );
}

/**
 * The entries whose reference was used before with the same content. They declare nothing new, but money that they
 * moved counts. An equal entry of another request that moved money is no repeat (§4.A8).
 */
function repeatsAmong(entries: readonly CallbackEntry[]): ReadonlySet<CallbackEntry> {
  const known = new Map<string, Set<string>>();
  const repeats = new Set<CallbackEntry>();
  for (const entry of entries) {
    const content = JSON.stringify([
      entry.txnId,
      entry.status,
      (entry.betAmount ?? ZERO).toFixed(),
      (entry.payoutAmount ?? ZERO).toFixed(),
    ]);
    const requests = known.get(content) ?? new Set();
    const movedNothing = entry.moved?.eq(ZERO) ?? true;
    if (requests.size > 0 && (movedNothing || requests.has(entry.requestId))) repeats.add(entry);
    known.set(content, requests.add(entry.requestId));
  }
  return repeats;
}

/**
 * The allowed difference of a session's sums: the tolerance times the number of amounts on the side that has more.
 */
export function allowanceOfSession(
  { records, entries, currency }: PlayerSession,
  tolerance: Tolerance,
): Amount {
  return allowanceOf(tolerance, currency, Math.max(amountsListed(records), entries.length));
}

/** Whether the declared sums of both sides agree. */
export function isClosed(session: PlayerSession, tolerance: Tolerance): boolean {
  const { provider, declared } = sumSession(session);
  return differByAtMost(declared, provider.net, allowanceOfSession(session, tolerance));
}

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
 * @returns null if both agree, or if the session began before the ledger did
 */
export function compareSession(session: PlayerSession, settings: SessionSettings): MismatchContent | null {
  if (session.firstAt < settings.ledgerStart) return null;
  const { currency, records, entries } = session;
  const { provider, declared } = sumSession(session);
  const when = `the session from ${formatInstant(session.firstAt)} to ${formatInstant(session.lastAt)}`;
  if (!isClosed(session, settings.tolerance)) {
    const reason = `${when} has a net of ${formatMoney(provider.net, currency)} at the provider (records: ${records.length}), and of ${formatMoney(declared, currency)} in the ledger (${sayEntries(entries)})`;
    return toContent(
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
  return toContent(session, { kind: "net-differs", reason }, largest, settings);
}

/** The most entries that a reason names. */
const MOST_NAMED = 3;

function sayEntries(entries: readonly CallbackEntry[]): string {
  const others = entries.filter(({ callback }) => callback !== "adjustBalance").length;
  const rest = others === 0 ? "" : `, entries of rewards and tips: ${others}`;
  return `adjustBalance entries: ${entries.length - others}${rest}`;
}

/** @param atLeast the amount at risk if the wallet moved as much as the records ask for */
function toContent(
  session: PlayerSession,
  difference: Pick<MismatchContent, "kind" | "reason">,
  atLeast: Amount,
  { productId }: SessionSettings,
): MismatchContent {
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
 * The conditions for a mismatch of a session: the session is over, its graces are over, and all of its time was
 * fetched.
 */
export function requiredForSession(
  session: PlayerSession,
  quietMs: number,
  graces: Graces,
): RequiredConditions {
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
