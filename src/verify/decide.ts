/** What one more answer, or the lack of one, makes of a transfer or top-up: the three-valued outcome. Pure. */

import type { Instant } from "../clock.ts";
import type { Config } from "../config-file.ts";
import type { Finding, MismatchKind } from "../mismatch.ts";
import { isTopUp, type TopUp, type Transfer, type TransferStatus } from "../transfer.ts";
import { type Booking, compareBooking, type FieldDifference, type VerifyAnswer } from "./answer.ts";
import { describeDiffering, describeInconclusive, describeLateSuccess, describeRejected } from "./finding.ts";

export type VerifySettings = Config["verify"];

/** All that is known of a verification: what its answers so far have made of it. */
export interface VerifyState {
  readonly status: TransferStatus;
  readonly handedAt: Instant;
  /** answers, or the lack of one, so far */
  readonly attempts: number;
  /** null: it is not asked any more */
  readonly nextVerifyAt: Instant | null;
  /** when it became accepted or rejected, or a person closed it */
  readonly decidedAt: Instant | null;
  /** since when every answer that said something said that it failed */
  readonly failedSince: Instant | null;
  /** of the last rejection, also of one that a later answer overthrew */
  readonly rejectedAt: Instant | null;
  /** the mismatch that its answers have led to */
  readonly mismatchKind: MismatchKind | null;
}

export interface VerifyDecision {
  readonly state: VerifyState;
  /** the one mismatch there is now, if any; "as-before": this answer says nothing about it */
  readonly finding: Finding | null | "as-before";
}

/** An inconclusive one is asked for as long as nobody closes it. */
const INCONCLUSIVE_EVERY_MS = 3_600_000;
/** Where the settings name no delay. */
const DEFAULT_DELAY_MS = 3_600_000;
/** The last delay repeats; none can be so short that nothing else gets its turn. */
const SHORTEST_REPEAT_MS = 100;

/** Of something that nobody has asked for yet: at the first delay after it was sent, at once where that is over. */
export function firstVerifyAt(sentAt: Instant, settings: VerifySettings): Instant {
  return sentAt + firstDelayMs(settings);
}

/** @param state of something that is still asked: neither accepted nor closed */
export function decide(
  sent: Transfer | TopUp,
  state: VerifyState,
  answer: VerifyAnswer,
  settings: VerifySettings,
): VerifyDecision {
  const asked = { ...state, attempts: state.attempts + 1 };
  const decision =
    answer.says === "booked"
      ? decideBooked(sent, asked, answer, answer.booking)
      : answer.says === "failed"
        ? decideFailed(sent, asked, answer, settings)
        : decideNothing(sent, asked, answer, settings);
  if (decision.finding === "as-before") return decision;
  return { ...decision, state: { ...decision.state, mismatchKind: decision.finding?.kind ?? null } };
}

function decideBooked(
  sent: Transfer | TopUp,
  state: VerifyState,
  { answeredAt }: VerifyAnswer,
  booking: Booking,
): VerifyDecision {
  const differences: readonly FieldDifference[] = compareBooking(sent, booking);
  if (differences.length > 0) {
    const nextVerifyAt = answeredAt + INCONCLUSIVE_EVERY_MS;
    return {
      state: { ...state, status: "inconclusive", nextVerifyAt, decidedAt: null, failedSince: null },
      finding: describeDiffering(sent, booking, differences, answeredAt),
    };
  }
  const isLate = state.rejectedAt !== null;
  return {
    state: { ...state, status: "accepted", nextVerifyAt: null, decidedAt: answeredAt, failedSince: null },
    finding: isLate ? describeLateSuccess(sent, booking, state.rejectedAt, answeredAt) : null,
  };
}

/** A failure is final only when it is repeated late enough: until then the transfer may still be on its way. */
function decideFailed(
  sent: Transfer | TopUp,
  state: VerifyState,
  { askedAt, answeredAt }: VerifyAnswer,
  settings: VerifySettings,
): VerifyDecision {
  const finalFrom = sent.sentAt + settings.rejectedFinalAfter;
  const isRejected = state.status === "rejected";
  if (isRejected || (state.failedSince !== null && askedAt >= finalFrom)) {
    const rejectedAt = isRejected && state.rejectedAt !== null ? state.rejectedAt : answeredAt;
    const decidedAt = isRejected ? state.decidedAt : answeredAt;
    const nextVerifyAt = nextRecheckAt(rejectedAt, askedAt, settings);
    return {
      state: { ...state, status: "rejected", nextVerifyAt, decidedAt, rejectedAt },
      finding: isTopUp(sent) ? describeRejected(sent, answeredAt) : null,
    };
  }
  const nextVerifyAt = Math.max(finalFrom, answeredAt + firstDelayMs(settings));
  return {
    state: { ...state, nextVerifyAt, failedSince: state.failedSince ?? askedAt },
    finding: "as-before",
  };
}

function decideNothing(
  sent: Transfer | TopUp,
  state: VerifyState,
  { askedAt, answeredAt }: VerifyAnswer,
  settings: VerifySettings,
): VerifyDecision {
  const byDelays = nextByDelays(sent.sentAt, answeredAt, settings);
  if (state.status === "rejected") {
    const recheckAt = nextRecheckAt(state.rejectedAt ?? answeredAt, askedAt, settings) ?? byDelays;
    return { state: { ...state, nextVerifyAt: Math.min(byDelays, recheckAt) }, finding: "as-before" };
  }
  const giveUpAt = state.handedAt + settings.giveUpAfter;
  if (state.status === "pending" && answeredAt < giveUpAt) {
    return { state: { ...state, nextVerifyAt: Math.min(byDelays, giveUpAt) }, finding: "as-before" };
  }
  const isDiffering = state.mismatchKind === "transfer-differs" || state.mismatchKind === "top-up-differs";
  return {
    state: { ...state, status: "inconclusive", nextVerifyAt: answeredAt + INCONCLUSIVE_EVERY_MS },
    finding: isDiffering ? "as-before" : describeInconclusive(sent, state.handedAt, state.attempts),
  };
}

/** The first moment after `now` that is a delay behind `sentAt`; the last delay repeats. */
function nextByDelays(sentAt: Instant, now: Instant, { delays }: VerifySettings): Instant {
  const ahead = delays.map((delayMs) => sentAt + delayMs).filter((at) => at > now);
  if (ahead.length > 0) return Math.min(...ahead);
  const lastMs = delays.length === 0 ? DEFAULT_DELAY_MS : Math.max(...delays);
  const repeatMs = Math.max(lastMs, SHORTEST_REPEAT_MS);
  const repeats = Math.max(0, Math.floor((now - sentAt - lastMs) / repeatMs) + 1);
  return sentAt + lastMs + repeats * repeatMs;
}

/** Whether a rejection holds is asked again some time later; null: it was asked often enough. */
function nextRecheckAt(
  rejectedAt: Instant,
  askedAt: Instant,
  { recheckRejectedAfter }: VerifySettings,
): Instant | null {
  const ahead = recheckRejectedAfter.map((afterMs) => rejectedAt + afterMs).filter((at) => at > askedAt);
  return ahead.length === 0 ? null : Math.min(...ahead);
}

/** From the sending to the first ask. */
export function firstDelayMs({ delays }: VerifySettings): number {
  return delays.length === 0 ? DEFAULT_DELAY_MS : Math.min(...delays);
}
