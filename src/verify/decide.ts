/** Decides the state of a transfer or top-up after each answer, or after a question without an answer. Pure. */

import type { Instant } from "../clock.ts";
import type { Config } from "../config-file.ts";
import type { MismatchContent, MismatchKind } from "../mismatch.ts";
import { isTopUp, type TopUp, type Transfer, type TransferStatus } from "../transfer.ts";
import { type Booking, compareBooking, type FieldDifference, type VerifyAnswer } from "./answer.ts";
import { describeDiffering, describeInconclusive, describeLateSuccess, describeRejected } from "./finding.ts";

export type VerifySettings = Config["verify"];

/** The state of a verification after its answers so far. */
export interface VerifyState {
  readonly status: TransferStatus;
  readonly handedAt: Instant;
  /** the number of questions so far, answered or not */
  readonly attempts: number;
  /** null: no further question */
  readonly nextVerifyAt: Instant | null;
  /** when the status became accepted or rejected, or ops closed the row */
  readonly decidedAt: Instant | null;
  /** the time of the first in an unbroken row of answers "failed"; answers that say nothing do not break the row */
  readonly failedSince: Instant | null;
  /** the time of the last rejection, even if a later answer reversed it */
  readonly rejectedAt: Instant | null;
  /** the kind of the mismatch that the answers led to */
  readonly mismatchKind: MismatchKind | null;
}

export interface VerifyDecision {
  readonly state: VerifyState;
  /** the mismatch that holds now; null: none; "as-before": the answer changes nothing about it */
  readonly finding: MismatchContent | null | "as-before";
}

/** The pause between questions about an inconclusive row, until ops close it. */
const INCONCLUSIVE_EVERY_MS = 3_600_000;
/** Used if the settings have no delays. */
const DEFAULT_DELAY_MS = 3_600_000;
/** The shortest pause when the last delay repeats, so that other rows get their turn. */
const SHORTEST_REPEAT_MS = 100;

/**
 * The time of the first question: the shortest delay after `sentAt`, but never before `handedAt`. A transfer that was sent
 * yesterday and is handed over now has been due since now, so it does not look as if verifying had stalled since yesterday.
 */
export function firstVerifyAt(sentAt: Instant, handedAt: Instant, settings: VerifySettings): Instant {
  return Math.max(handedAt, sentAt + firstDelayMs(settings));
}

/** @param state that of a row that is neither accepted nor closed */
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

/**
 * A failure is final only when an answer repeats it after `rejectedFinalAfter`. Until then the transfer may still be
 * on its way.
 */
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

/** The first time after `now` that is one of the delays after `sentAt`. The last delay repeats. */
function nextByDelays(sentAt: Instant, now: Instant, { delays }: VerifySettings): Instant {
  const ahead = delays.map((delayMs) => sentAt + delayMs).filter((at) => at > now);
  if (ahead.length > 0) return Math.min(...ahead);
  const lastMs = delays.length === 0 ? DEFAULT_DELAY_MS : Math.max(...delays);
  const repeatMs = Math.max(lastMs, SHORTEST_REPEAT_MS);
  const repeats = Math.max(0, Math.floor((now - sentAt - lastMs) / repeatMs) + 1);
  return sentAt + lastMs + repeats * repeatMs;
}

/** The time of the next question about a rejected row, from `recheckRejectedAfter`; null: no further question. */
function nextRecheckAt(
  rejectedAt: Instant,
  askedAt: Instant,
  { recheckRejectedAfter }: VerifySettings,
): Instant | null {
  const ahead = recheckRejectedAfter.map((afterMs) => rejectedAt + afterMs).filter((at) => at > askedAt);
  return ahead.length === 0 ? null : Math.min(...ahead);
}

/** Milliseconds from `sentAt` to the first question. */
export function firstDelayMs({ delays }: VerifySettings): number {
  return delays.length === 0 ? DEFAULT_DELAY_MS : Math.min(...delays);
}
