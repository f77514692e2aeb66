/** `recon backfill`: fetches a past range again; lists, pauses, resumes and cancels backfills. */

import { stderr, stdout } from "node:process";
import type { WriteStream } from "node:tty";
import type { Command } from "commander";
import { type Clock, formatInstant, showDuration, showInstant } from "../../clock.ts";
import type { FlowContext } from "../../flows/context.ts";
import {
  type BackfillPlan,
  changeBackfill,
  describeBackfill,
  describePlan,
  findBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
} from "../../flows/pull/backfill.ts";
import { read } from "../../ops/input/fields.ts";
import { BACKFILL_QUERY, type BackfillQuery, readProductRange } from "../../ops/input/range-query.ts";
import {
  type Backfill,
  type BackfillChange,
  isEnded,
  type Pace,
  type ProgressSeen,
  paceBetween,
} from "../../sync/backfill.ts";
import { lengthOf } from "../../window.ts";
import { EXIT_FAILED, withRecon } from "../run/run-command.ts";
import { stopSignal } from "../run/run-until-stopped.ts";
import { printJson, printLine, printTable } from "../terminal/print.ts";
import { showBar, showGaps, showProgress, showResult } from "../terminal/progress.ts";

const CHECK_EVERY_MS = 500;
/** The number of readings that the pace is computed from: half a minute. */
const READINGS_REMEMBERED = 60;
const PLAIN_LINE_EVERY_MS = 5_000;
const WORKER_IS_MISSED_AFTER_MS = 10_000;

/** @returns the last state of the backfill; it has ended unless the signal aborted */
export async function watchBackfill(
  context: FlowContext,
  id: string,
  out: WriteStream,
  signal: AbortSignal,
): Promise<Backfill> {
  const { clock } = context;
  const display = out.isTTY ? rewriteLine(out) : printLines(out, clock);
  const readings: ProgressSeen[] = [];
  const beganAt = clock.now();
  let isWorkerMissed = false;
  for (;;) {
    const backfill = await findBackfill(context, id);
    const reading = { ...backfill, at: clock.now() };
    readings.push(reading);
    if (readings.length > READINGS_REMEMBERED) readings.shift();
    display.show(backfill, paceBetween(readings[0] ?? reading, reading));
    if (isEnded(backfill) || signal.aborted) {
      display.end();
      return backfill;
    }
    if (!isWorkerMissed && backfill.status === "queued" && reading.at - beganAt > WORKER_IS_MISSED_AFTER_MS) {
      isWorkerMissed = true;
      display.say("No worker has begun the backfill yet. Does a worker run? (recon worker)");
    }
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
}

interface Display {
  show(backfill: Backfill, pace: Pace): void;
  say(text: string): void;
  end(): void;
}

function rewriteLine(out: WriteStream): Display {
  return {
    show: (backfill, pace) => {
      const line = `${showBar(backfill)}  ${showProgress(backfill, pace)}`;
      // A wrapped line could not be rewritten. Some terminals do not know their width.
      out.write(`\r${line.slice(0, (out.columns || 80) - 1)}${ERASE_REST}`);
    },
    say: (text) => out.write(`\r${text}${ERASE_REST}\n`),
    end: () => out.write("\n"),
  };
}

const ERASE_REST = "\u001b[K";

function printLines(out: WriteStream, clock: Clock): Display {
  let nextAt = Number.NEGATIVE_INFINITY;
  let lastStatus = "";
  return {
    show: (backfill, pace) => {
      if (backfill.status === lastStatus && clock.now() < nextAt) return;
      nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
      lastStatus = backfill.status;
      out.write(`${showProgress(backfill, pace)}\n`);
    },
    say: (text) => out.write(`${text}\n`),
    end: () => {},
  };
}

interface RequestOptions {
  readonly product?: string;
  readonly from?: string;
  readonly to?: string;
  readonly wait?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function addBackfillCommands(program: Command): void {
  const backfill = program
    .command("backfill")
    .description("fetch a past range of a product again; the worker fetches it after all more urgent work")
    .enablePositionalOptions()
    // Commander accepts an unknown word after "backfill" here, and the hook rejects it as an unknown command.
    .allowExcessArguments()
    .hook("preAction", (own, asked) => {
      const [name] = own === asked ? own.args : [];
      if (name !== undefined) own.error(`error: unknown command '${name}'`);
    })
    .option("--product <product>", "the product")
    .option(
      "--from <time>",
      "the beginning of the range, such as 2026-11-01T10:00:00Z, 2026-11-01 or yesterday",
    )
    .option("--to <time>", "the end of the range, not included")
    .option("--wait", "show the progress, and end with the backfill")
    .option("--dry-run", "only show the effect of the backfill")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: RequestOptions) => {
        const { product, from, to } = options;
        const plan = await planBackfill(context, readProductRange({ product, from, to }, context.config));
        if (options.dryRun) showPlan(plan, options);
        else await request(context, plan, options);
      }),
    );
  backfill
    .command("list")
    .description("list backfills, the newest first, or in the order of --sort")
    .option("--sort <order>", "newest (default) or oldest")
    .option("--limit <count>", "the most rows to list, up to 1000", "100")
    .option("--after <next>", 'the "next" of the page before')
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { json, ...typed }: BackfillQuery & { json?: boolean }) => {
        const { backfills, next } = await listBackfillPage(context, read(BACKFILL_QUERY, typed));
        if (json) printJson({ backfills: backfills.map(describeBackfill), next });
        else printList(backfills, next);
      }),
    );
  addChangeCommand(backfill, "pause", "stop fetching until the backfill is resumed");
  addChangeCommand(backfill, "resume", "continue a paused backfill, or try the gaps of a failed one again");
  addChangeCommand(backfill, "cancel", "stop fetching for good; fetched records stay");
}

function addChangeCommand(backfill: Command, change: BackfillChange, description: string): void {
  backfill
    .command(change)
    .argument("<id>", "the id in the list")
    .description(description)
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, id: string, options: { json?: boolean }) => {
        const changed = await changeBackfill(context, id, change);
        if (options.json) printJson({ backfill: describeBackfill(changed) });
        else printLine(showResult(changed));
      }),
    );
}

function showPlan(plan: BackfillPlan, { json }: RequestOptions): void {
  if (json) {
    printJson(describePlan(plan));
    return;
  }
  const { productId, from, to } = plan.asked;
  const rangeMs = lengthOf(plan.asked);
  printLine(`Would fetch ${productId} from ${showInstant(from)} to ${showInstant(to)} again:`);
  printLine(`${plan.windows.length} windows of at most ${showDuration(plan.windowMs)}.`);
  printLine(`${sayCovered(plan.coveredMs, rangeMs)} fetched before. Nothing was queued.`);
}

function sayCovered(coveredMs: number, rangeMs: number): string {
  const range = showDuration(rangeMs);
  if (coveredMs === 0) return `Nothing of these ${range} was`;
  return coveredMs === rangeMs
    ? `All of these ${range} was`
    : `${showDuration(coveredMs)} of these ${range} was`;
}

async function request(
  context: FlowContext,
  plan: BackfillPlan,
  { wait, json }: RequestOptions,
): Promise<void> {
  const queued = await requestBackfill(context, plan);
  if (!json) {
    const { id, productId, windowsTotal } = queued;
    printLine(
      `Backfill ${id} of ${productId} is queued: ${windowsTotal} windows of at most ${showDuration(plan.windowMs)}.`,
    );
    if (!wait) printLine("To see the progress: recon backfill list");
  }
  const last = wait ? await waitFor(context, queued, json ?? false) : queued;
  if (json) printJson({ backfill: describeBackfill(last) });
  if (!wait) return;
  if (!json) printLine(showResult(last));
  if (last.status !== "done") process.exitCode = EXIT_FAILED;
}

/** With --json, standard output is for the document. The progress then goes to standard error. */
async function waitFor(context: FlowContext, { id }: Backfill, isJson: boolean): Promise<Backfill> {
  const leaving = new AbortController();
  void stopSignal().then(() => leaving.abort());
  const last = await watchBackfill(context, String(id), isJson ? stderr : stdout, leaving.signal);
  if (leaving.signal.aborted) {
    stderr.write(
      `Backfill ${id} continues without this command. To end the backfill: recon backfill cancel ${id}\n`,
    );
  }
  return last;
}

function printList(backfills: readonly Backfill[], next: string | null): void {
  if (backfills.length === 0) {
    printLine("No backfills.");
    return;
  }
  printTable(
    ["ID", "PRODUCT", "FROM", "TO", "STATUS", "WINDOWS", "RECORDS", "CREATED", "CHANGED", "UNCHANGED"],
    backfills.map((one) => [
      String(one.id),
      one.productId,
      formatInstant(one.from),
      formatInstant(one.to),
      one.gaps === 0 ? one.status : `${one.status}, ${showGaps(one)}`,
      `${one.windowsDone}/${one.windowsTotal}`,
      String(one.records),
      String(one.created),
      String(one.changed),
      String(one.unchanged),
    ]),
  );
  if (next !== null) printLine(`There are more: --after ${next}`);
}
