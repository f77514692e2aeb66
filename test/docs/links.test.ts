/** Links have targets: between pages, to headings, to files, and from comments in the code to pages and sections. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorsOf, PAGES, proseOf, ROOT, readPage } from "./pages.ts";

const SOURCES = globSync("{src,jobs,test,bench}/**/*.{ts,md,sql}", { cwd: ROOT }).filter(
  (path) => path !== "test/docs/links.test.ts",
);

/** @returns null if the target exists */
function problemOf(from: string, target: string): string | null {
  const [path = "", anchor] = target.split("#");
  const page = path === "" ? from : relative(ROOT, join(ROOT, dirname(from), path));
  if (!existsSync(join(ROOT, page))) return `${from}: there is no ${target}`;
  if (anchor === undefined || !page.endsWith(".md")) return null;
  return anchorsOf(page).has(anchor) ? null : `${from}: ${page} has no heading #${anchor}`;
}

describe.each(PAGES)("%s", (page) => {
  test("has no broken link", () => {
    const links = Array.from(
      proseOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"\s]+)"/g),
      ([, link, source]) => link ?? source ?? "",
    );
    const own = links.filter((link) => !/^https?:/.test(link));
    expect(own.flatMap((link) => problemOf(page, link) ?? [])).toEqual([]);
  });
});

test("every page of docs/ can be reached from README.md", () => {
  const readme = readPage("README.md");
  const unlinked = PAGES.filter((page) => page.startsWith("docs/") && !readme.includes(`](${page}`));
  expect(unlinked).toEqual([]);
});

test("README.md has at most 200 lines", () => {
  expect(readPage("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(200);
});

test("every page and heading that the code names exists", () => {
  const named = SOURCES.flatMap((path) =>
    Array.from(
      readFileSync(join(ROOT, path), "utf8").matchAll(/\bdocs\/[\w-]+\.md(?:#[\w-]+)?/g),
      ([target]) => problemOf("README.md", target),
    ).flatMap((problem) => (problem === null ? [] : [`${path}: ${problem}`])),
  );
  expect(named).toEqual([]);
});

/** The sections of docs/interface.md: 4, 2.3, 4.B3, 7.4. */
function interfaceSections(): Set<string> {
  const text = readPage("docs/interface.md");
  const headings = Array.from(text.matchAll(/^#+ (\d(?:\.[A-D\d])?|[ABC]\d) /gm), ([, name = ""]) => name);
  const items = Array.from(text.matchAll(/^- \*\*(\d\.\d)\*\*/gm), ([, name = ""]) => name);
  return new Set([...headings, ...items].map((name) => (/^[ABC]/.test(name) ? `4.${name}` : name)));
}

test("every § in the code and the documentation is a section of docs/interface.md", () => {
  const sections = interfaceSections();
  expect(sections).toContain("4.B3");
  const places = [...SOURCES, ...PAGES].flatMap((path) =>
    Array.from(
      readFileSync(join(ROOT, path), "utf8").matchAll(/§\s*(\d(?:\.[A-D]?\d?)?)/g),
      ([all, name = ""]) => ({ path, all, name: name.replace(/\.$/, "") }),
    ),
  );
  expect(places.length).toBeGreaterThan(100);
  const unknown = places.filter(({ name }) => !sections.has(name));
  expect(unknown.map(({ path, all }) => `${path}: ${all}`)).toEqual([]);
});
