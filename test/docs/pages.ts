/** The documentation as tests read it: its pages, headings, tables and code blocks. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Every page of documentation, by its path in the repository. */
export const PAGES: readonly string[] = [
  ...globSync(["*.md", "docs/*.md"], { cwd: ROOT }),
  ...globSync("src/**/README.md", { cwd: ROOT }),
  "test/simulation/oddities/README.md",
].sort();

/** The pages for users, without those for contributors. */
export const USER_PAGES = PAGES.filter((page) => page === "README.md" || page.startsWith("docs/"));

export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

export interface Block {
  readonly page: string;
  /** the word after the fence, such as "sh" or "json"; empty if there is none */
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a page, in their order, without the indentation of a list. */
export function blocksOf(page: string): Block[] {
  const found = readPage(page).matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm);
  return Array.from(found, ([, indent = "", language = "", text = ""]) => ({
    page,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** The only block of a page in this language that contains this text. @throws Error if there is none, or more than one */
export function blockWith(page: string, language: string, text: string): string {
  const found = blocksOf(page).filter((block) => block.language === language && block.text.includes(text));
  if (found.length !== 1) throw new Error(`${page} has ${found.length} ${language} blocks with ${text}`);
  return (found[0] as Block).text;
}

/** A page without its code blocks. */
export function proseOf(page: string): string {
  return readPage(page).replaceAll(/^( *)```[\s\S]*?^ *```$/gm, "");
}

/** All text between backticks. */
export function codesIn(text: string): string[] {
  return Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = ""]) => code);
}

/** The rows of all tables of a page whose first column has this heading; each cell as its text. */
export function rowsOf(page: string, firstHeading: string): string[][] {
  const rows: string[][] = [];
  let isIn = false;
  const lines = proseOf(page).split("\n");
  for (const [index, line] of lines.entries()) {
    const cells = line.startsWith("|")
      ? line
          .slice(1, -1)
          .split("|")
          .map((cell) => cell.trim())
      : null;
    if (cells === null) isIn = false;
    else if (lines[index + 1]?.startsWith("|---")) isIn = cells[0] === firstHeading;
    else if (isIn && !line.startsWith("|---")) rows.push(cells);
  }
  return rows;
}

/** The anchors of a page: those of its headings, as GitHub makes them, and named ones. */
export function anchorsOf(page: string): Set<string> {
  const headings = proseOf(page).matchAll(/^#+ (.+)$/gm);
  const named = proseOf(page).matchAll(/<a id="([^"]+)">/g);
  return new Set([
    ...Array.from(named, ([, name = ""]) => name),
    ...Array.from(headings, ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  ]);
}
