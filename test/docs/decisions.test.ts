/** The decisions in `src/README.md` and the stages' READMEs: each has its own number, and each cited number exists. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const decisions = globSync("src/**/README.md", { cwd: ROOT })
  .map((path) => read(path).split("\n## Decisions\n")[1] ?? "")
  .join("\n");
const numbers = Array.from(decisions.matchAll(/^(?:- )?\*\*(\d+)\.[ *]/gm), ([, number]) => Number(number));

/** "decision 7", "decisions 7 and 39". */
function citedIn(text: string): number[] {
  const lists = text.matchAll(/\bdecisions? (\d+(?:(?:, | and )\d+)*)/gi);
  return Array.from(lists, ([, list = ""]) => list.match(/\d+/g) ?? [])
    .flat()
    .map(Number);
}

describe("a decision", () => {
  test("has its own number", () => {
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
    expect(numbers.length).toBeGreaterThan(100);
  });

  test("exists if code, tests or documentation cite it", () => {
    const files = ["{src,jobs,test,bench}/**/*.{ts,md}", "docs/*.md", "*.md"];
    const cited = globSync(files, { cwd: ROOT }).flatMap((path) =>
      citedIn(read(path)).map((number) => ({ path, number })),
    );
    expect(cited.length).toBeGreaterThan(100);
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });

  test("exists if another one names it", () => {
    // Numbers from 400 are HTTP statuses.
    const named = Array.from(decisions.matchAll(/\(([1-3]?\d{1,2})\)/g), ([, number]) => Number(number));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((number) => !numbers.includes(number))).toEqual([]);
  });
});
