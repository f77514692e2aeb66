/** What was played, as Markdown. */

import type { History } from "./choose-play.ts";

export interface Round {
  readonly play: string;
  readonly seeds: number;
  readonly seconds: number;
  readonly failures: number;
}

/** @param tonight the rounds of this night @param history of all nights on this machine */
export function reportNight(commit: string, tonight: readonly Round[], history: History): string {
  const rows = Object.entries(history)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => {
      const rounds = tonight.filter(({ play }) => play === name);
      const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
      const night = [rounds.length, sum(({ seeds }) => seeds), sum(({ seconds }) => seconds)];
      const failures = sum((round) => round.failures);
      return `| ${[name, ...night, failures, all.rounds, all.seeds, Math.round(all.seconds / 60), all.failures].join(" | ")} |`;
    });
  return [
    `Played at ${commit}: ${tonight.length} rounds, ${tonight.reduce((sum, { failures }) => sum + failures, 0)} failures.`,
    "",
    "| play | rounds | seeds | seconds | failures | rounds in all | seeds in all | minutes in all | failures in all |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ...rows,
    "",
  ].join("\n");
}
