/** One answer settled: what it decides, the evidence and the mismatches it begins or ends, in one transaction. */

import type { Query } from "../db/client.ts";
import type { Finding } from "../mismatch.ts";
import { decideTransitions } from "../mismatches/life.ts";
import { readKnown } from "../mismatches/store.ts";
import { type Claim, writeAnswer } from "../verify/claim-store.ts";
import { decide, type VerifyState } from "../verify/decide.ts";
import { subjectOf } from "../verify/finding.ts";
import type { Heard } from "./ask-outcome.ts";
import type { FlowContext } from "./context.ts";
import { recordTransitions } from "./record-transitions.ts";

/**
 * Decides by the answer and writes all of it, once: a claim that was lost meanwhile writes nothing.
 * @throws ReconError `lease-lost`
 */
export async function settleAnswer(context: FlowContext, claim: Claim, heard: Heard): Promise<void> {
  const { sql, config, log } = context;
  const { answer, code, message, raw } = heard;
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
  const isQuiet = finding === "as-before" || (finding === null && claim.state.mismatchKind === null);
  if (isQuiet) {
    await writeAnswer(sql, claim, state, kept);
  } else {
    await sql.begin(async (tx) => {
      await writeAnswer(tx, claim, state, kept);
      await recordFinding(context, tx, claim, finding);
    });
  }
  if (state.status !== claim.state.status) {
    const { transactionRef, productId } = claim.sent;
    const about = { kind: claim.kind, ref: transactionRef, productId };
    log.info({ ...about, from: claim.state.status, to: state.status }, "the outcome has changed");
  }
}

async function recordFinding(
  { config, clock }: FlowContext,
  tx: Query,
  { sent }: Claim,
  finding: Finding | null,
): Promise<void> {
  const subject = subjectOf(sent);
  const known = await readKnown(tx, sent.productId, sent.username, [subject]);
  const seen = finding === null ? [] : [{ finding, subjects: [subject], ripe: true }];
  await recordTransitions(tx, decideTransitions(known, seen), config, clock.now());
}

function isDecisive(before: VerifyState, after: VerifyState): boolean {
  return (
    before.status !== after.status ||
    before.mismatchKind !== after.mismatchKind ||
    before.failedSince !== after.failedSince
  );
}
