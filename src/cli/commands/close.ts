/** `recon close`: closes a day, or the days of a month. */

import process, { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { dayOf, type ZonedDay } from "../../closing/day-bounds.ts";
import { ReconError } from "../../errors.ts";
import { acceptGaps, sayAcceptedGap } from "../../flows/closing/accept-gaps.ts";
import { type Closing, closeDay } from "../../flows/closing/close-day.ts";
import { closeDays, describeClosings } from "../../flows/closing/close-days.ts";
import { findCorrections } from "../../flows/closing/find-corrections.ts";
import {
  type ClosingPreview,
  describePreview,
  previewClosing,
  sayPreview,
} from "../../flows/closing/preview-closing.ts";
import type { FlowContext } from "../../flows/context.ts";
import { usage } from "../../ops/input/fields.ts";
import { parseDay, parseMonth } from "../../ops/input/report-query.ts";
import { readNote } from "../../ops/input/transfer-query.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { actorName, withAudit } from "../run/with-audit.ts";
import { printJson, printLine } from "../terminal/print.ts";

interface CloseOptions {
  readonly day?: string;
  readonly month?: string;
  readonly acceptGap?: readonly string[];
  readonly note?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** What is asked for. */
interface Asked {
  /** YYYY-MM-DD, or YYYY-MM */
  readonly name: string;
  readonly days: readonly ZonedDay[];
  readonly isMonth: boolean;
  /** the products whose gap is accepted */
  readonly acceptedIds: readonly string[];
  readonly note: string;
}

export function addCloseCommand(program: Command): void {
  program
    .command("close")
    .description(
      "closes a day: its statement is numbered and stays; later changes become corrections; no day before the first closed one can be closed any more; says what it gives up, and asks first",
    )
    .option("--day <day>", "which day of closing.zone, such as 2026-11-20 or yesterday")
    .option(
      "--month <month>",
      "the days of the month, such as 2026-11 or last, in order, up to the first that must stay open",
    )
    .option(
      "--accept-gap <product>",
      "close the day without the time of this product that cannot be fetched; can be repeated",
      (product: string, before: readonly string[] = []) => [...before, product],
    )
    .option("--note <text>", "why the gap is accepted; kept in the statement")
    .option("--yes", "do not ask")
    .option("--dry-run", "say what closing would give up, and close nothing")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: CloseOptions) => {
        const asked = readAsked(options, context.config.closing.zone);
        if (options.dryRun) return await previewOnly(context, asked, options.json === true);
        if (!options.yes && !(await confirm(context, asked))) return;
        const { name, acceptedIds, note } = asked;
        const details = {
          close: name,
          ...(acceptedIds.length === 0 ? {} : { acceptGap: acceptedIds, note }),
        };
        await withAudit(context, "recon close", details, () => close(context, asked, options.json === true));
      }),
    );
}

function readAsked({ day, month, acceptGap = [], note }: CloseOptions, zone: string): Asked {
  if ((day === undefined) === (month === undefined)) throw usage("give either --day or --month");
  if (month !== undefined && acceptGap.length > 0)
    throw usage("--accept-gap is about one day: give --day, not --month");
  if (acceptGap.length === 0 && note !== undefined)
    throw usage("--note is the reason of --accept-gap: give both");
  const accepted = {
    acceptedIds: [...new Set(acceptGap)],
    note: acceptGap.length === 0 ? "" : readNote({ note }),
  };
  if (day !== undefined) return { name: day, days: [parseDay(day, zone)], isMonth: false, ...accepted };
  const { dates, month: name } = parseMonth(month ?? "");
  const days = dates.flatMap((date) => dayOf(date, zone) ?? []);
  return { name, days, isMonth: true, ...accepted };
}

async function close(context: FlowContext, asked: Asked, json: boolean): Promise<void> {
  const { days, isMonth, acceptedIds, note } = asked;
  const [day] = days;
  if (day !== undefined && acceptedIds.length > 0)
    await acceptGaps(context, day, { productIds: acceptedIds, by: actorName(), note });
  const results =
    isMonth || day === undefined ? await closeDays(context, days) : [await closeDay(context, day)];
  // What changed in other closed days meanwhile.
  await findCorrections(context, new AbortController().signal);
  const problem = whyNotAll(results);
  const described = await describeClosings(context, results);
  const { givenUp } = described;
  if (json) {
    printJson(described);
    if (problem !== null) process.exitCode = EXIT_FAILED;
    return;
  }
  for (const result of results) {
    if (!("closed" in result)) continue;
    printLine(describe(result));
    for (const gap of result.closed.acceptedGaps ?? []) printLine(sayAcceptedGap(gap));
  }
  if (givenUp !== null) printLine(givenUp);
  if (problem !== null) throw new ReconError("conflict", problem);
}

/** @returns one sentence or two; null: all days are closed */
function whyNotAll(results: readonly Closing[]): string | null {
  if (results.length === 0) return NONE_CLOSABLE;
  const open = results.find((result) => "reason" in result);
  return open === undefined ? null : describe(open);
}

const NONE_CLOSABLE =
  "no day of this month can be closed: they lie before the first closed day, or before pulling began";

function describe(result: Closing): string {
  if ("reason" in result) return `${result.day} stays open. ${result.reason}`;
  const { day, zone, number, hash } = result.closed;
  return `${day} (${zone}) ${result.isNew ? "is closed" : "was closed before"}: number ${number}, hash ${hash}`;
}

/** @returns whether to close; false also if there is nothing to close */
async function confirm(context: FlowContext, asked: Asked): Promise<boolean> {
  if (!stdin.isTTY)
    throw usage(
      `${asked.name} was not closed: there is no terminal to confirm in. Add --yes, or --dry-run to see what closing gives up`,
    );
  const preview = await previewClosing(context, asked.days, asked.acceptedIds);
  const toClose = preview.days.filter(({ reason }) => reason === null);
  printPreview(preview);
  if (toClose.length === 0) {
    // Closing says why.
    return true;
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  const what = toClose.length === 1 ? toClose[0]?.day : `${toClose.length} days`;
  const answer = await terminal.question(`Close ${what}? [y/N] `);
  terminal.close();
  if (/^y(es)?$/i.test(answer.trim())) return true;
  printLine("Nothing was closed.");
  process.exitCode = EXIT_FAILED;
  return false;
}

async function previewOnly(context: FlowContext, asked: Asked, json: boolean): Promise<void> {
  const preview = await previewClosing(context, asked.days, asked.acceptedIds);
  const open = preview.days.find(({ reason }) => reason !== null);
  if (json) {
    printJson(describePreview(preview));
    if (open !== undefined) process.exitCode = EXIT_FAILED;
    return;
  }
  printPreview(preview);
  if (preview.days.length === 0)
    printLine(
      `Nothing of ${asked.name} is to be closed: it is closed already, or cannot be closed any more.`,
    );
  if (open !== undefined) throw new ReconError("conflict", `${open.day} stays open. ${open.reason}`);
  printLine("Nothing was closed.");
}

function printPreview({ days, givenUp }: ClosingPreview): void {
  for (const one of days.filter(({ reason }) => reason === null)) {
    const lines = sayPreview(one);
    printLine(
      `${one.day} would be closed${lines.length === 0 ? " with nothing missing, pending or open." : ""}`,
    );
    for (const line of lines) printLine(`  ${line}`);
  }
  if (days.some(({ reason }) => reason === null))
    printLine(
      "A closed day cannot be opened again: what arrives, is fetched or is decided later becomes a correction.",
    );
  if (givenUp !== null) printLine(givenUp);
}
