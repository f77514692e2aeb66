/** Stores the progress of work, so that every process can see stalls. */

import type { Instant } from "../clock.ts";
import { describeError, ReconError } from "../errors.ts";
import { noteDone, noteFailed, type WorkName } from "../work/work-store.ts";
import type { FlowContext } from "./context.ts";

/**
 * Does the work, and stores its success or failure. Work that another worker took over, or that was stopped, counts
 * as neither.
 * @param options.upToOf for comparing, from its result: the time up to which everything was judged; null: the end was
 * not reached; "unknown": another worker did the work
 */
export async function noting<Result>(
  context: FlowContext,
  name: WorkName,
  signal: AbortSignal,
  work: () => Promise<Result>,
  options: {
    readonly upToOf?: (result: Result) => Instant | null | "unknown";
    readonly everyMs?: number;
  } = {},
): Promise<Result> {
  const { sql, clock } = context;
  try {
    const result = await work();
    const upTo = options.upToOf?.(result) ?? null;
    const { everyMs = 0 } = options;
    if (upTo !== "unknown") await noteDone(sql, name, clock.now(), { upTo, everyMs });
    return result;
  } catch (error) {
    const code = error instanceof ReconError ? error.code : null;
    if (!signal.aborted && code !== "lease-lost") {
      await noteFailed(sql, name, clock.now(), { code, message: describeError(error) }).catch(
        (failure: unknown) =>
          context.log.warn({ ...name, error: describeError(failure) }, "a failure could not be stored"),
      );
    }
    throw error;
  }
}

/** The shortest interval between two notes: storing each step of long work would cost more than the step. */
const NOTE_EVERY_MS = 10_000;

/** Stores progress, at most at that interval. Never rejects. */
export type NoteProgress = (name: WorkName, everyMs?: number) => void;

export function openProgress({ sql, clock, log }: FlowContext): NoteProgress {
  const notedAt = new Map<string, Instant>();
  return (name, everyMs = 0) => {
    const key = `${name.work} ${name.subject}`;
    const now = clock.now();
    const last = notedAt.get(key);
    if (last !== undefined && now >= last && now - last < NOTE_EVERY_MS) return;
    notedAt.set(key, now);
    noteDone(sql, name, now, { everyMs }).catch((error: unknown) => {
      notedAt.delete(key);
      log.debug({ ...name, error: describeError(error) }, "progress could not be stored");
    });
  };
}
