/** A reading that all who ask share: taken anew at the most every so often, and waited for no longer than so long. */

import type { Clock, Instant } from "../../clock.ts";
import { endsInTime } from "../../in-time.ts";

export interface ReadingLimits {
  /** what was read serves for so long, a failure too */
  readonly everyMs: number;
  /** who has waited so long gets nothing; the reading goes on, and no other one begins before it has ended */
  readonly longestMs: number;
}

/**
 * @param onFailure hears of each reading that failed
 * @returns what was read last; null: the last reading failed, or takes too long. Never rejects.
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
