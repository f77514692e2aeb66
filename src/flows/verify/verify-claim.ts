/** Verifies one claimed transfer or top-up: asks the provider when its queue has a turn, and settles the answer. */

import type { LimitFunction } from "p-limit";
import { ReconError } from "../../errors.ts";
import { type Claim, postponeClaims, releaseClaims } from "../../verify/claim-store.ts";
import { Preempted, type Turns } from "../../verify/turns.ts";
import { queueNameOf } from "../../work/verifying.ts";
import { type ClassifiedAnswer, Paused, type VerifyContext } from "./ask-outcome.ts";
import { settleAnswer } from "./settle-answer.ts";
import type { VerifyRunState } from "./verify-run.ts";

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
