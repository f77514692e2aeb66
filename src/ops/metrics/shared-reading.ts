/** A reading that all callers share, with a shortest interval and a longest wait. */

import type { Clock, Instant } from "../../clock.ts";
import { endsInTime } from "../../in-time.ts";

export interface ReadingLimits {
  /** the time for which a result, or a failure, is used */
  readonly everyMs: number;
  /** the longest wait of a caller; the reading continues, and no other one begins before its end */
  readonly longestMs: number;
}

/**
 * @param onFailure called for each failed reading
 * @returns the last result; null: the last reading failed, or takes too long. Never rejects.
 */
export function shareReading<Read>(
  read: () => Promise<Read>,
  { everyMs, longestMs }: ReadingLimits,
  clock: Clock,
  onFailure: (error: unknown) => void,
): () => Promise<Read | null> {
  let last: { readonly at: Instant; readonly read: Read | null } | null = null;
  let underWay: Promise<Read | null> | null = null;

  const readAnew = async (): Promise<Read | null> => {
    const found = await read().catch((error: unknown) => {
      onFailure(error);
      return null;
    });
    last = { at: clock.now(), read: found };
    underWay = null;
    return found;
  };

  return async () => {
    if (underWay === null && last !== null && clock.now() - last.at < everyMs) return last.read;
    underWay ??= readAnew();
    const reading = underWay;
    return (await endsInTime(reading, longestMs)) ? await reading : null;
  };
}
