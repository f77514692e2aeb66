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

/** The table of docs/correctness.md. @param history of all nights on this machine */
export function reportHistory(commit: string, history: History): string {
  const rows = Object.entries(history)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, { rounds, seeds, seconds, failures }]) =>
        `| \`${name}\` | ${rounds} | ${seeds} | ${Math.round(seconds / 60)} | ${failures} |`,
    );
  return [
    `Up to ${commit.slice(0, 8)}, on one machine:`,
    "",
    "| played | rounds | seeds | minutes | failures |",
    "|---|--:|--:|--:|--:|",
    ...rows,
  ].join("\n");
}

/** @throws Error if the page has no place for the table */
export function replacePlayed(page: string, table: string): string {
  const [before, after] = ["<!-- played -->\n", "\n<!-- /played -->"];
  const [from, to] = [page.indexOf(before), page.indexOf(after)];
  if (from < 0 || to < from) throw new Error("docs/correctness.md has no place for what was played");
  return page.slice(0, from + before.length) + table + page.slice(to);
}
