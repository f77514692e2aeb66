/** Verifies one claimed transfer or top-up: asks the provider when its queue has a turn, and settles the answer. */

import type { LimitFunction } from "p-limit";
import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import { queueNameOf } from "../../health/verifying.ts";
import type { MismatchContent } from "../../mismatch.ts";
import { readKnown } from "../../mismatches/store.ts";
import { decideTransitions } from "../../mismatches/transitions.ts";
import { Preempted } from "../../preempted.ts";
import {
  type Claim,
  keepAfterClose,
  postponeClaims,
  releaseClaims,
  writeAnswer,
} from "../../verify/claim-store.ts";
import { decide, type VerifyDecision, type VerifyState } from "../../verify/decide.ts";
import { describeAfterClose, subjectOf } from "../../verify/finding.ts";
import type { Turns } from "../../verify/turns.ts";
import type { FlowContext } from "../context.ts";
import { recordTransitions } from "../mismatches/record-transitions.ts";
import { type ClassifiedAnswer, Paused, type VerifyContext } from "./ask-outcome.ts";

/** The state of one run. A line is the name of a queue by `queueNameOf`. */
export interface VerifyRunState {
  settled: number;
  refused: ReconError | null;
  failure: unknown;
  /** the queues with refused credentials, which this run does not ask again */
  readonly refusedLines: Set<string>;
  /** the queues of paused products (429), with the end of each pause */
  readonly pausedLines: Map<string, Instant>;
  /** the claims that the run must settle or release, by token */
  readonly held: Map<string, Claim>;
}

export function newRun(): VerifyRunState {
  return {
    settled: 0,
    refused: null,
    failure: null,
    refusedLines: new Set(),
    pausedLines: new Map(),
    held: new Map(),
  };
}

/**
 * The number of unsettled claims of all runs, for each queue, so that a hanging endpoint does not stop others from
 * being claimed.
 */
export interface UnsettledClaims {
  of(line: string): number;
  add(line: string, change: 1 | -1): void;
}

export function countUnsettled(): UnsettledClaims {
  const counts = new Map<string, number>();
  return {
    of: (line) => counts.get(line) ?? 0,
    add: (line, change) => {
      const left = (counts.get(line) ?? 0) + change;
      if (left > 0) counts.set(line, left);
      else counts.delete(line);
    },
  };
}

/**
 * Decides by the answer, and writes everything once. A lost claim writes nothing.
 * @throws ReconError `lease-lost`
 */
async function settleAnswer(context: FlowContext, claim: Claim, classified: ClassifiedAnswer): Promise<void> {
  const { config, log } = context;
  const { answer, code, message, raw } = classified;
  const { state, finding } = decide(claim.sent, claim.state, answer, config.verify);
  const kept = {
    askedAt: answer.askedAt,
    tookMs: answer.answeredAt - answer.askedAt,
    says: answer.says,
    code,
    message,
    raw,
    isDecisive: isDecisive(claim.state, state),
  };
  try {
    await writeDecision(context, claim, { state, finding, kept });
  } catch (error) {
    if (!(error instanceof ReconError) || error.code !== "lease-lost") throw error;
    if (!(await settleAfterClose(context, claim, classified, kept))) throw error;
    return;
  }
  if (state.status !== claim.state.status) {
    const { transactionRef, productId } = claim.sent;
    const about = { kind: claim.kind, ref: transactionRef, productId };
    log.info({ ...about, from: claim.state.status, to: state.status }, "the outcome has changed");
  }
}

async function writeDecision(
  context: FlowContext,
  claim: Claim,
  { state, finding, kept }: VerifyDecision & { readonly kept: Parameters<typeof writeAnswer>[3] },
): Promise<void> {
  const { sql } = context;
  const isQuiet = finding === "as-before" || (finding === null && claim.state.mismatchKind === null);
  if (isQuiet) {
    await writeAnswer(sql, claim, state, kept);
  } else {
    await sql.begin(async (tx) => {
      await writeAnswer(tx, claim, state, kept);
      await recordFinding(context, tx, claim, finding);
    });
  }
}

/**
 * Stores an answer that arrives after ops closed the transfer. The decision stays. If the answer has an outcome, a
 * mismatch shows it, because it was not known when ops decided (decision 103).
 * @returns false if the transfer is not closed
 */
async function settleAfterClose(
  context: FlowContext,
  claim: Claim,
  { answer }: ClassifiedAnswer,
  kept: Parameters<typeof keepAfterClose>[2],
): Promise<boolean> {
  return await context.sql.begin(async (tx) => {
    const closed = await keepAfterClose(tx, claim, kept);
    if (closed === null) return false;
    const finding = describeAfterClose(claim.sent, answer, closed);
    if (finding !== null) await recordFinding(context, tx, claim, finding);
    return true;
  });
}

async function recordFinding(
  { config, clock }: FlowContext,
  tx: Query,
  { sent }: Claim,
  finding: MismatchContent | null | "as-before",
): Promise<void> {
  if (finding === "as-before") return;
  const subject = subjectOf(sent);
  const known = await readKnown(tx, sent.productId, sent.username, [subject]);
  const seen = finding === null ? [] : [{ content: finding, subjects: [subject], confirmed: true }];
  await recordTransitions(tx, decideTransitions(known, seen), config, clock.now());
}

function isDecisive(before: VerifyState, after: VerifyState): boolean {
  return (
    before.status !== after.status ||
    before.mismatchKind !== after.mismatchKind ||
    before.failedSince !== after.failedSince
  );
}

/** Called for each settled question, answered or not; must not throw. @param line the name by `queueNameOf` */
export type OnAnswer = (line: string, classified: ClassifiedAnswer) => void;

/** What all runs of a runner share. */
export interface VerifyLimits {
  readonly turns: Turns;
  /** limits the simultaneous commits */
  readonly settling: LimitFunction;
}

/** If a claim fails in a way that ends the run, `run.failure` has the first such error. */
export async function verifyClaim(
  context: VerifyContext,
  { turns, settling }: VerifyLimits,
  run: VerifyRunState,
  claim: Claim,
  signal: AbortSignal,
  onAnswer: OnAnswer,
): Promise<void> {
  const line = queueNameOf(claim.kind, claim.sent.productId);
  const isEnding = () => signal.aborted || run.failure !== null || run.refusedLines.has(line);
  const isPaused = () => run.pausedLines.has(line);
  try {
    const classified = await turns.take(line, async (turn, isThrottled) =>
      isEnding() || isPaused()
        ? null
        : await context.ask(claim.sent, AbortSignal.any([signal, turn]), isThrottled),
    );
    if (classified === null) return isPaused() ? await postpone(context, run, line, claim) : undefined;
    if (classified.refused !== null) {
      run.refused = classified.refused;
      run.refusedLines.add(line);
    }
    await settling(() => settleAnswer(context, claim, classified));
    onAnswer(line, classified);
    run.held.delete(claim.token);
    run.settled += 1;
  } catch (error) {
    if (!signal.aborted) await afterFailure(context, run, line, claim, error);
  }
}

async function afterFailure(
  context: VerifyContext,
  run: VerifyRunState,
  line: string,
  claim: Claim,
  error: unknown,
): Promise<void> {
  const { sql, clock, log } = context;
  if (error instanceof Paused) {
    if (!run.pausedLines.has(line)) log.info({ line, forMs: error.forMs }, error.message);
    run.pausedLines.set(line, clock.now() + error.forMs);
    return await postpone(context, run, line, claim);
  }
  // A claim that cannot be settled must not stop others: it ends with its lease.
  run.held.delete(claim.token);
  if (error instanceof Preempted) await releaseClaims(sql, claim.kind, [claim]);
  else if (error instanceof ReconError && error.code === "lease-lost") log.info(error.message);
  else run.failure ??= error;
}

/** Releases a claim until its pause is over. If that cannot be written, the claim ends with its lease. */
async function postpone(
  { sql, clock }: VerifyContext,
  run: VerifyRunState,
  line: string,
  claim: Claim,
): Promise<void> {
  run.held.delete(claim.token);
  await postponeClaims(sql, claim.kind, [claim], run.pausedLines.get(line) ?? clock.now()).catch((error) => {
    run.failure ??= error;
  });
}
