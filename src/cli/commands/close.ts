/** `recon close`: closes a day, or the days of a month. */

import process from "node:process";
import type { Command } from "commander";
import { dayOf } from "../../closing/day-bounds.ts";
import { ReconError } from "../../errors.ts";
import { type Closing, closeDay } from "../../flows/closing/close-day.ts";
import { closeDays, sayGivenUp } from "../../flows/closing/close-days.ts";
import { findCorrections } from "../../flows/closing/find-corrections.ts";
import { usage } from "../../ops/input/fields.ts";
import { parseDay, parseMonth } from "../../ops/input/report-query.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { printJson, printLine } from "../terminal/print.ts";

interface CloseOptions {
  readonly day?: string;
  readonly month?: string;
  readonly json?: boolean;
}

export function addCloseCommand(program: Command): void {
  program
    .command("close")
    .description(
      "closes a day: its statement is numbered and stays; later changes become corrections; no day before the first closed one can be closed any more",
    )
    .option("--day <YYYY-MM-DD>", "which day of closing.zone")
    .option("--month <YYYY-MM>", "the days of the month in order, up to the first that must stay open")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { day, month, json }: CloseOptions) => {
        if ((day === undefined) === (month === undefined)) throw usage("give either --day or --month");
        const { zone } = context.config.closing;
        const results =
          month === undefined
            ? [await closeDay(context, parseDay(day ?? "", zone))]
            : await closeDays(
                context,
                parseMonth(month).dates.flatMap((date) => dayOf(date, zone) ?? []),
              );
        // What changed in other closed days meanwhile.
        await findCorrections(context, new AbortController().signal);
        const problem = whyNotAll(results);
        const givenUp = await sayGivenUp(context, results);
        if (json) {
          printJson({ closings: results.map(toJson), givenUp });
          if (problem !== null) process.exitCode = EXIT_FAILED;
          return;
        }
        for (const result of results) if ("closed" in result) printLine(describe(result));
        if (givenUp !== null) printLine(givenUp);
        if (problem !== null) throw new ReconError("conflict", problem);
      }),
    );
}

/** @returns one sentence or two; null: all days are closed */
function whyNotAll(results: readonly Closing[]): string | null {
  if (results.length === 0)
    return "no day of this month can be closed: they lie before the first closed day, or before pulling began";
  const open = results.find((result) => "reason" in result);
  return open === undefined ? null : describe(open);
}

function describe(result: Closing): string {
  if ("reason" in result) return `${result.day} stays open. ${result.reason}`;
  const { day, zone, number, hash } = result.closed;
  return `${day} (${zone}) ${result.isNew ? "is closed" : "was closed before"}: number ${number}, hash ${hash}`;
}

function toJson(result: Closing): Record<string, unknown> {
  if ("reason" in result) return { day: result.day, closed: null, reason: result.reason };
  const { day, number, hash, previousHash } = result.closed;
  return { day, closed: { number, hash, previousHash }, reason: null };
}
