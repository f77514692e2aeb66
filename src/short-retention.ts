/** Checks that `retain` keeps rows for as long as other settings need them (§3.10). */

import { Duration } from "luxon";

const RETAINED = ["recordVersions", "rawBodies", "windows", "records", "entries", "mismatches"] as const;

/** Durations in milliseconds; null: without a limit. */
interface RetentionSettings {
  readonly pull: { readonly resweepAfter: readonly number[] };
  readonly retain: Readonly<Record<(typeof RETAINED)[number], number | null>>;
  /** undefined: days are closed by hand */
  readonly closing?: { readonly after: number | null };
}

/**
 * A row must be kept until the last resweep has fetched its time again, and until its day is closed. So must the evidence of
 * a difference that the last resweep finds: older versions of records, and bodies of callbacks.
 * @returns a problem for each setting that is too short, with its value
 */
export function findShortRetention({ pull, retain, closing }: RetentionSettings): string[] {
  const longestResweep = Math.max(0, ...pull.resweepAfter);
  const closingAfter = closing?.after ?? 0;
  return RETAINED.flatMap((name) => {
    const keptMs = retain[name];
    if (keptMs === null) return [];
    const tooShort = (than: string, ms: number) =>
      `retain.${name} is "${formatDuration(keptMs)}", which is shorter than ${than}, "${formatDuration(ms)}"`;
    if (keptMs < longestResweep) return [tooShort("the longest age in pull.resweepAfter", longestResweep)];
    return keptMs < closingAfter ? [tooShort("closing.after", closingAfter)] : [];
  });
}

/** A duration as in the settings: "P90D", "P1DT2H". */
function formatDuration(ms: number): string {
  const parts = Duration.fromMillis(ms).shiftTo("days", "hours", "minutes", "seconds").toObject();
  return Duration.fromObject(
    Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== 0)),
  ).toISO();
}
