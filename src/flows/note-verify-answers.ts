/** Counts, by kind and product, which questions about transfers and top-ups are answered, and notes it now and then. */

import { describeError } from "../errors.ts";
import { noteDone, noteFailed } from "../work/work-store.ts";
import type { ClassifiedAnswer } from "./ask-outcome.ts";
import type { FlowContext } from "./context.ts";
import type { NoteProgress } from "./note-work.ts";

/** What was heard of a line since it was noted last. */
interface AnswerTally {
  isAnswered: boolean;
  /** questions without an answer behind the last answer */
  unanswered: number;
  last: ClassifiedAnswer | null;
}

export interface NoteVerifyAnswers {
  readonly onAnswer: (line: string, classified: ClassifiedAnswer) => void;
  /** Writes what was heard since the last time. */
  flush(): Promise<void>;
}

/** @param onProgress hears that verifying goes on, whatever is answered */
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
          // By its code a refusal is told apart, which has an alert of its own.
          const message = last.message ?? "the answer says nothing";
          await noteFailed(sql, name, now, { code: last.refused?.code ?? null, message, times: unanswered });
        }
      } catch (error) {
        log.warn({ error: describeError(error) }, "which questions are answered could not be noted");
      }
    },
  };
}
