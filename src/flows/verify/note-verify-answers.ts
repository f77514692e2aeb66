/**
 * Counts answered questions about transfers and top-ups by kind and product, and stores the counts from time to time.
 */

import { describeError } from "../../errors.ts";
import { noteDone, noteFailed } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import type { NoteProgress } from "../note-work.ts";
import type { ClassifiedAnswer } from "./ask-outcome.ts";

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
