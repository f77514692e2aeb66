/** Settles one answer: writes its decision, its evidence and its mismatches in one transaction. */

import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import type { MismatchContent } from "../../mismatch.ts";
import { readKnown } from "../../mismatches/store.ts";
import { decideTransitions } from "../../mismatches/transitions.ts";
import { type Claim, keepAfterClose, writeAnswer } from "../../verify/claim-store.ts";
import { decide, type VerifyDecision, type VerifyState } from "../../verify/decide.ts";
import { describeAfterClose, subjectOf } from "../../verify/finding.ts";
import type { FlowContext } from "../context.ts";
import { recordTransitions } from "../mismatches/record-transitions.ts";
import type { ClassifiedAnswer } from "./ask-outcome.ts";

/**
 * Decides by the answer, and writes everything once. A lost claim writes nothing.
 * @throws ReconError `lease-lost`
 */
export async function settleAnswer(
  context: FlowContext,
  claim: Claim,
  classified: ClassifiedAnswer,
): Promise<void> {
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
