/** `recon coverage`: the fetched time of a product, and the gaps. */

import type { Command } from "commander";
import { parseInstant, showDuration } from "../../clock.ts";
import {
  type Coverage,
  readCoverageOf,
  readWithoutWindows,
  type ShownRange,
} from "../../flows/read/read-coverage.ts";
import { readProductRange } from "../../ops/input/range-query.ts";
import { withRecon } from "../run/run-command.ts";
import { printJson, printLine, printTable } from "../terminal/print.ts";

interface CoverageOptions {
  readonly product?: string;
  readonly from?: string;
  readonly to?: string;
  readonly json?: boolean;
}

export function addCoverageCommand(program: Command): void {
  program
    .command("coverage")
    .description("show the fetched time of a product, and the gaps")
    .option("--product <product>", "the product")
    .option(
      "--from <time>",
      "the beginning of the range, such as 2026-11-01T10:00:00Z, 2026-11-01 or yesterday",
    )
    .option("--to <time>", "the end of the range, not included")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { json, ...typed }: CoverageOptions) => {
        const asked = readProductRange({ ...typed }, context.config);
        const coverage = await readCoverageOf(context, asked);
        if (json) printJson(coverage);
        else printCoverage(coverage, await readWithoutWindows(context, asked));
      }),
    );
}

function printCoverage(
  { productId, from, to, complete, gaps, windows }: Coverage,
  withoutWindows: readonly ShownRange[],
): void {
  const missingMs = gaps.reduce((sum, gap) => sum + lengthMs(gap), 0);
  printLine(
    complete
      ? `${productId} is complete from ${from} to ${to}, except for time that has not settled yet.`
      : `${productId} is not complete from ${from} to ${to}: ${showDuration(missingMs)} missing.`,
  );
  if (gaps.length > 0) {
    printLine();
    printTable(
      ["GAP FROM", "TO", "LENGTH", "REASON"],
      gaps.map((gap) => [gap.from, gap.to, showDuration(lengthMs(gap)), gap.reason]),
    );
  }
  if (withoutWindows.length > 0) {
    printLine();
    printTable(
      ["FETCHED FROM", "TO", "WINDOWS"],
      withoutWindows.map((range) => [
        range.from,
        range.to,
        "deleted (retain.windows): when it was fetched is not known",
      ]),
    );
  }
  if (windows.length === 0) return;
  printLine();
  printTable(
    ["FETCHED FROM", "TO", "KIND", "WINDOWS", "RECORDS", "PAGES", "LAST FETCHED"],
    joinWindows(windows).map((run) => [
      run.from,
      run.to,
      run.kind,
      String(run.windows),
      String(run.records),
      String(run.pages),
      run.fetchedAt,
    ]),
  );
}

type CoverageWindow = Coverage["windows"][number];

/** Joins windows of one kind that follow each other without a gap into one line. */
function joinWindows(windows: readonly CoverageWindow[]): (CoverageWindow & { readonly windows: number })[] {
  const joined: (CoverageWindow & { windows: number })[] = [];
  for (const window of windows) {
    const position = joined.findLastIndex(({ kind }) => kind === window.kind);
    const run = joined[position];
    if (run === undefined || run.to < window.from) {
      joined.push({ ...window, windows: 1 });
      continue;
    }
    joined[position] = {
      ...run,
      to: later(run.to, window.to),
      fetchedAt: later(run.fetchedAt, window.fetchedAt),
      records: run.records + window.records,
      pages: run.pages + window.pages,
      windows: run.windows + 1,
    };
  }
  return joined;
}

/** The later of two times in our own format. */
function later(a: string, b: string): string {
  return a > b ? a : b;
}

function lengthMs({ from, to }: { readonly from: string; readonly to: string }): number {
  return parseInstant(to, "to") - parseInstant(from, "from");
}
