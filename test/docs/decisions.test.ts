/** The decisions in the READMEs of `src` and `jobs`: each has its own number, each cited number exists, and each is cited. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const decisions = globSync("{src,jobs}/**/README.md", { cwd: ROOT })
  .map((path) => read(path).split("\n## Decisions\n")[1] ?? "")
  .join("\n");
const numbers = Array.from(decisions.matchAll(/^(?:- )?\*\*(\d+)\.[ *]/gm), ([, number]) => Number(number));

/** "decision 1", "decisions 1 and 2", also over the end of a line of a comment. */
function citedIn(text: string): number[] {
  const lists = text.matchAll(/\bdecisions?(?: |\n\s*(?:\*|\/\/) )(\d+(?:(?:, | and )\d+)*)/gi);
  return Array.from(lists, ([, list = ""]) => list.match(/\d+/g) ?? [])
    .flat()
    .map(Number);
}

const cited = globSync(["{src,jobs,bench}/**/*.{ts,md}", "test/**/*.ts", "docs/*.md", "*.md"], { cwd: ROOT })
  .filter((path) => !path.endsWith("decisions.test.ts"))
  .flatMap((path) => citedIn(read(path)).map((number) => ({ path, number })));

describe("a decision", () => {
  test("has its own number", () => {
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
    expect(numbers.length).toBeGreaterThan(50);
  });

  test("exists if code, tests or documentation cite it", () => {
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });

  test("is cited by the code that it binds", () => {
    const inCode = new Set(cited.filter(({ path }) => path.endsWith(".ts")).map(({ number }) => number));
    expect(numbers.filter((number) => !inCode.has(number))).toEqual([]);
  });

  test("exists if another one names it", () => {
    // Numbers from 400 are HTTP statuses.
    const named = Array.from(decisions.matchAll(/\(([1-3]?\d{1,2})\)/g), ([, number]) => Number(number));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((number) => !numbers.includes(number))).toEqual([]);
  });
});
