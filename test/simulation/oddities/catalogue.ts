/** Reads the catalogue of oddities: the worlds of the simulation are mixed from its lines. */

import { readFileSync } from "node:fs";

export const SIDES = ["provider", "ledger", "store", "people"] as const;

export interface OddityLine {
  readonly id: string;
  readonly side: string;
  readonly what: string;
  /** "design" and a section, "field: …", or a public report: repository#number */
  readonly report: string;
  readonly howOften: string;
  /** round, habit, fault, ledger, "by hand: …", or "FILE > part of a test's text" */
  readonly playedBy: string;
}

const FILE = new URL("./catalogue.md", import.meta.url);
const COLUMNS = 6;

/** All lines, in their order. @throws Error that shows a line with another number of columns */
export const CATALOGUE: readonly OddityLine[] = readFileSync(FILE, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => {
    const columns = line.split("|").slice(1, -1);
    if (columns.length !== COLUMNS) throw new Error(`catalogue.md: not ${COLUMNS} columns: ${line}`);
    const [id = "", side = "", what = "", report = "", howOften = "", playedBy = ""] = columns.map((one) =>
      one.trim(),
    );
    return { id, side, what, report, howOften, playedBy };
  });

/**
 * The rounds of a style as the catalogue mixes them: each as many times as its weight says, in the order of the lines.
 * @param named the functions that write them, by name
 * @throws Error if a line names none of them
 */
export function mixRounds<Round>(
  style: string,
  named: Readonly<Record<string, Round>>,
): readonly [Round, ...Round[]] {
  const rounds = CATALOGUE.filter(
    ({ id, playedBy }) => playedBy === "round" && id.startsWith(`${style}/`),
  ).flatMap(({ id, howOften }) => {
    const round = named[id.slice(style.length + 1)];
    if (round === undefined) throw new Error(`catalogue.md: no round is called ${id}`);
    return Array<Round>(Number(howOften)).fill(round);
  });
  return rounds as [Round, ...Round[]];
}

/** "1 in 8" is 8. @param playedBy habit @throws Error if no line has this id */
export function oneIn(id: string): number {
  const [, count] = /^1 in (\d+)$/.exec(findLine(id).howOften) ?? [];
  return Number(count);
}

/** "3 in 100" is 0.03. @throws Error if no line has this id */
export function shareOf(id: string): number {
  const [, some, all] = /^(\d+) in (\d+)$/.exec(findLine(id).howOften) ?? [];
  return Number(some) / Number(all);
}

function findLine(id: string): OddityLine {
  const line = CATALOGUE.find((one) => one.id === id);
  if (line === undefined) throw new Error(`catalogue.md has no line "${id}"`);
  return line;
}
