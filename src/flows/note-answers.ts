/** Counts, by kind and product, which questions about transfers and top-ups are answered, and notes it now and then. */

import { describeError } from "../errors.ts";
import { noteDone, noteFailed } from "../work/work-store.ts";
import type { Heard } from "./ask-outcome.ts";
import type { FlowContext } from "./context.ts";
import type { NoteProgress } from "./note-work.ts";

/** What was heard of a line since it was noted last. */
interface Tally {
  isAnswered: boolean;
  /** questions without an answer behind the last answer */
  vain: number;
  last: Heard | null;
}

export interface NoteAnswers {
  readonly onHeard: (line: string, heard: Heard) => void;
  /** Writes what was heard since the last time. */
  flush(): Promise<void>;
}

/** @param onProgress hears that verifying goes on, whatever is answered */
export function openNoteAnswers({ sql, clock, log }: FlowContext, onProgress: NoteProgress): NoteAnswers {
  const tallies = new Map<string, Tally>();
  return {
    onHeard: (line, heard) => {
      onProgress({ work: "verifying", subject: "" });
      const tally = tallies.get(line) ?? { isAnswered: false, vain: 0, last: null };
      tallies.set(line, tally);
      const isAnswer = heard.answer.says !== "nothing";
      tally.isAnswered ||= isAnswer;
      tally.vain = isAnswer ? 0 : tally.vain + 1;
      tally.last = heard;
    },
    flush: async () => {
      const now = clock.now();
      const heard = [...tallies];
      tallies.clear();
      try {
        for (const [subject, { isAnswered, vain, last }] of heard) {
          const name = { work: "verifying", subject } as const;
          if (isAnswered) await noteDone(sql, name, now);
          if (vain === 0 || last === null) continue;
          // By its code a refusal is told apart, which has an alert of its own.
          const message = last.message ?? "the answer says nothing";
          await noteFailed(sql, name, now, { code: last.refused?.code ?? null, message, times: vain });
        }
      } catch (error) {
        log.warn({ error: describeError(error) }, "which questions are answered could not be noted");
      }
    },
  };
}
