/**
 * Counts answered questions about transfers and top-ups by kind and product, and stores the counts from time to time.
 */

import { isSame } from "../../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../../alerts/condition-store.ts";
import { describeError } from "../../errors.ts";
import { refusedForTransfers } from "../../health/products.ts";
import { noteDone, noteFailed } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import type { NoteProgress } from "../note-work.ts";
import type { AskOutcome, ClassifiedAnswer } from "./ask-outcome.ts";

/** The answers of one kind and product since the last note. */
interface AnswerTally {
  isAnswered: boolean;
  /** the number of unanswered questions after the last answer */
  unanswered: number;
  last: ClassifiedAnswer | null;
}

export interface NoteVerifyAnswers {
  readonly onAnswer: (line: string, classified: ClassifiedAnswer) => void;
  /** Stores the counts since the last call. */
  flush(): Promise<void>;
}

/** @param onProgress called for every question, answered or not */
export function openNoteVerifyAnswers(
  { sql, clock, log }: FlowContext,
  onProgress: NoteProgress,
): NoteVerifyAnswers {
  const tallies = new Map<string, AnswerTally>();
  return {
    onAnswer: (line, classified) => {
      onProgress({ work: "verifying", subject: "" });
      const tally = tallies.get(line) ?? { isAnswered: false, unanswered: 0, last: null };
      tallies.set(line, tally);
      const isAnswer = classified.answer.says !== "nothing";
      tally.isAnswered ||= isAnswer;
      tally.unanswered = isAnswer ? 0 : tally.unanswered + 1;
      tally.last = classified;
    },
    flush: async () => {
      const now = clock.now();
      const classified = [...tallies];
      tallies.clear();
      try {
        for (const [subject, { isAnswered, unanswered, last }] of classified) {
          const name = { work: "verifying", subject } as const;
          if (isAnswered) await noteDone(sql, name, now);
          if (unanswered === 0 || last === null) continue;
          // The code distinguishes refused credentials, which have their own alert.
          const message = last.message ?? "the answer says nothing";
          await noteFailed(sql, name, now, { code: last.refused?.code ?? null, message, times: unanswered });
        }
      } catch (error) {
        log.warn({ error: describeError(error) }, "the counts of answered questions could not be stored");
      }
    },
  };
}

/**
 * Reports refused credentials for questions about transfers: a product without pulling shows no other sign.
 * Asks as `ask` does, and notices the first refusal and the first real answer after it.
 */
export function reportingRefusals(context: FlowContext, ask: AskOutcome): AskOutcome {
  const { sql, clock } = context;
  // The last report of this process about each product; another process may have reported a refusal before.
  const reported = new Map<string, "refused" | "accepted">();
  return async (sent, signal, isThrottled) => {
    const answer = await ask(sent, signal, isThrottled);
    const { productId } = sent;
    const last = reported.get(productId);
    if (answer.refused !== null && last !== "refused") {
      await beginCondition(sql, refusedForTransfers(productId), clock.now());
      reported.set(productId, "refused");
    } else if (answer.refused === null && answer.answer.says !== "nothing" && last !== "accepted") {
      const refusal = refusedForTransfers(productId);
      const standing = (await readConditions(sql)).find((one) => isSame(one, refusal));
      if (standing !== undefined) await endCondition(sql, standing, clock.now());
      reported.set(productId, "accepted");
    }
    return answer;
  };
}
