/** Decides what is played next. */

import { type NightlyPlay, nameOf } from "./plays.ts";

/** What all nights on this machine played, by the name of the play. */
export type History = Readonly<Record<string, Played>>;

export interface Played {
  /** ISO, with its zone */
  readonly lastAt: string;
  readonly lastCommit: string;
  readonly rounds: number;
  readonly seeds: number;
  readonly seconds: number;
  readonly failures: number;
  /** halved at the beginning of each night, so a new play does not displace all others for weeks */
  readonly recentSeconds: number;
}

/** A play whose code changed gets this many times the time of another. */
const CHANGED_WEIGHT = 3;

/**
 * The play that had the least time for its weight and fits into the remaining time.
 * @param hasChanged whether files of the play changed after it was last played
 * @returns undefined: none fits
 */
export function choosePlay(
  plays: readonly NightlyPlay[],
  history: History,
  hasChanged: (play: NightlyPlay) => boolean,
  remainingSeconds: number,
): NightlyPlay | undefined {
  const share = (play: NightlyPlay) =>
    (history[nameOf(play)]?.recentSeconds ?? 0) / (hasChanged(play) ? CHANGED_WEIGHT : 1);
  return plays
    .filter(({ seconds }) => seconds <= remainingSeconds)
    .toSorted((a, b) => share(a) - share(b) || a.seconds - b.seconds)[0];
}
