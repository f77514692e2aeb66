/** The repeating jobs that are not about one product. In a job of several steps, a step that fails does not stop the others. */

import type { AlertChannel } from "../src/alerts/channel.ts";
import { refusePlanted } from "../src/db/schema-rights-store.ts";
import { deliverAlerts } from "../src/flows/alerts/deliver-alerts.ts";
import { remindOfCases, watchConditions, writeDigest } from "../src/flows/alerts/watch-conditions.ts";
import { closeDueDays } from "../src/flows/closing/close-days.ts";
import { findCorrections } from "../src/flows/closing/find-corrections.ts";
import { keepBooksChecked } from "../src/flows/closing/watch-books.ts";
import type { FlowContext, PullContext } from "../src/flows/context.ts";
import { checkLedger } from "../src/flows/ledger/check-ledger.ts";
import { compareEntryDays } from "../src/flows/ledger/compare-entry-days.ts";
import { followLedger } from "../src/flows/ledger/follow-ledger.ts";
import { reportRejectedEntries } from "../src/flows/ledger/report-rejected-entries.ts";
import { type NoteProgress, noting } from "../src/flows/note-work.ts";
import { openBackfillRunner } from "../src/flows/pull/run-backfills.ts";
import { keepOutside } from "../src/flows/read/read-outside.ts";
import { keepMoneySums } from "../src/flows/reports/sum-money.ts";
import { dropClosed } from "../src/flows/retention/drop-closed.ts";
import { dropExpired } from "../src/flows/retention/drop-expired.ts";
import { keepCounts, measureStorage } from "../src/flows/retention/measure-storage.ts";
import { sampleTrends } from "../src/flows/trends/trends.ts";
import type { VerifyContext } from "../src/flows/verify/ask-outcome.ts";
import { openNoteVerifyAnswers, reportingRefusals } from "../src/flows/verify/note-verify-answers.ts";
import { openVerifyRunner } from "../src/flows/verify/verify-due.ts";
import { DAY_OPEN } from "../src/health/finding.ts";
import { sayEmptied } from "../src/health/installation.ts";
import { noteFailed, type WorkName } from "../src/work/work-store.ts";
import type { TickJob } from "./schedules.ts";

/**
 * Begins and ends conditions, writes reminders and the daily digest, delivers alerts, and samples the trends.
 * @param channels without any, alerts are stored until a channel is configured
 */
export function openAlertJob(context: FlowContext, channels: readonly AlertChannel[]): TickJob {
  const names = channels.map(({ name }) => name);
  const everyMs = context.config.alerts.every;
  return {
    queue: "alerts",
    everyMs,
    // One more than the number of channels, so that a slow channel does not delay the others.
    concurrency: channels.length + 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      const watch = () => watchConditions(own, names);
      await runEach(
        () => keepOutside(own),
        () => noting(own, { work: "alerting", subject: "" }, signal, watch, { everyMs }),
        () => remindOfCases(own),
        async () => {
          if (channels.some(({ filter }) => filter === undefined)) await writeDigest(own);
        },
        () => deliverAlerts(own, channels, signal),
        () => sampleTrends(own),
      );
    },
  };
}

/** The longest wait of a new backfill: the command that requests it has no access to the queues. */
const BACKFILLS_EVERY_MS = 3_000;

/** Runs the backfills of all products. */
export function openBackfillJob(context: PullContext): TickJob {
  return {
    queue: "backfill",
    everyMs: BACKFILLS_EVERY_MS,
    // One more than the number of fetchers, so that a tick finds new backfills while all fetchers are busy.
    concurrency: context.config.pull.concurrency + 1,
    run: openBackfillRunner(context),
  };
}

const CLOSING_EVERY_MS = 60_000;
/** A check that fails may have taken minutes. */
const AFTER_FAILED_CHECK_MS = 600_000;
const CLOSING: WorkName = { work: "closing", subject: "" };

interface StaysOpen {
  readonly code: string;
  /** with the day, as a sentence */
  readonly message: string;
}

/** Closes days, turns later changes of closed days into corrections, and checks the books. */
export function openClosingJob(context: FlowContext): TickJob {
  /** what was logged last of the day that stays open */
  let logged = "";
  /** @returns why the due day stays open; null: none does */
  const closeDays = async (own: FlowContext, signal: AbortSignal): Promise<StaysOpen | null> => {
    await findCorrections(own, signal);
    for (const result of await closeDueDays(own, signal)) {
      if ("reason" in result) {
        const sentence = `${result.day} stays open. ${result.reason}`;
        if (sentence !== logged) own.log.warn({ day: result.day }, sentence);
        logged = sentence;
        return { code: result.code ?? DAY_OPEN, message: sentence };
      }
      own.log.info({ day: result.closed.day, number: result.closed.number }, "the day was closed");
    }
    return null;
  };
  let isStart = true;
  let checksFrom = 0;
  const close = async (own: FlowContext, signal: AbortSignal) => {
    const isOpen = { upToOf: (open: StaysOpen | null) => (open === null ? null : "unknown") } as const;
    const open = await noting(own, CLOSING, signal, () => closeDays(own, signal), isOpen);
    if (open === null) return;
    await noteFailed(own.sql, CLOSING, own.clock.now(), open);
  };
  const check = async (own: FlowContext, signal: AbortSignal) => {
    if (own.clock.now() < checksFrom) return;
    checksFrom = own.clock.now() + AFTER_FAILED_CHECK_MS;
    await keepBooksChecked(own, signal, isStart);
    checksFrom = 0;
    isStart = false;
  };
  return {
    queue: "closing",
    everyMs: CLOSING_EVERY_MS,
    concurrency: 1,
    run: async (signal, log) => {
      const own = { ...context, log };
      await runEach(
        () => close(own, signal),
        () => check(own, signal),
      );
    },
  };
}

/** Follows the operator's own ledger, and reports rejected rows. */
export function openLedgerJob(context: FlowContext): TickJob {
  const run: TickJob["run"] = async (signal, log) => {
    const own = { ...context, log };
    const name = { work: "following", subject: context.config.ledger.relation ?? "" } as const;
    try {
      await noting(own, name, signal, () => followLedger(own, signal));
    } finally {
      // Rows that were rejected before, or written by other programs, are reported even after a failure.
      await reportRejectedEntries(own);
    }
  };
  return { queue: "ledger", everyMs: context.config.diff.every, concurrency: 1, run };
}

/**
 * Checks before the first comparison that the ledger can be read, and logs an empty ledger.
 * @throws ReconError `ledger-unreadable` that names every column that is missing or has another type
 */
export async function checkLedgerAtStart(context: FlowContext): Promise<void> {
  const { relation, isEmpty, emptied, foreignProducts } = await checkLedger(context);
  if (foreignProducts.length > 0) {
    context.log.warn(
      { products: foreignProducts },
      "the ledger has entries of products that are not in the settings: they are not compared",
    );
  }
  if (emptied > 0) context.log.error({ emptied }, sayEmptied(emptied));
  if (!isEmpty || emptied > 0) return;
  const waits = relation === null ? "callback_entries" : `callback_entries, into which "${relation}" is read`;
  context.log.info(`no entry is in ${waits} yet; comparing begins with the first entry`);
}

const RETENTION_EVERY_MS = 600_000;

/**
 * Deletes expired rows, updates the row counts of large tables, compares the entries of each day with what was accepted,
 * and measures the space that all take.
 */
export function openRetentionJob(context: FlowContext & { readonly diskBytes?: number | null }): TickJob {
  let isStart = true;
  const run: TickJob["run"] = async (signal, log) => {
    const own = { ...context, log };
    const steps = () =>
      runEach(
        () => refusePlanted(own.sql),
        () => dropExpired(own, signal),
        () => dropClosed(own, signal),
        () => keepCounts(own),
        () => compareEntryDays(own, signal),
        () => measureStorage(own, context.diskBytes ?? null),
        () => keepMoneySums(own, signal, isStart),
      );
    await noting(own, { work: "retention", subject: "" }, signal, steps);
    isStart = false;
  };
  return { queue: "retention", everyMs: RETENTION_EVERY_MS, concurrency: 1, run };
}

/** Verifies the due transfers and top-ups of all products. */
export function openVerifyJob(context: VerifyContext, onProgress: NoteProgress): TickJob {
  const { every, concurrency } = context.config.verify;
  const answers = openNoteVerifyAnswers(context, onProgress);
  const verify = openVerifyRunner(
    { ...context, ask: reportingRefusals(context, context.ask) },
    answers.onAnswer,
  );
  return {
    queue: "verify",
    everyMs: every,
    // One more than the number of simultaneous questions, so that a tick finds due transfers and top-ups while all
    // questions wait for slow answers.
    concurrency: concurrency + 1,
    run: async (signal, log) => {
      // Stores the counts of answers since the last tick, including those of runs that have not ended.
      await answers.flush();
      const { refused } = await verify(signal, log).finally(() => answers.flush());
      onProgress({ work: "verifying", subject: "" });
      if (refused !== null) throw refused;
    },
  };
}

/**
 * A step that fails again and again, such as a delete that a trigger refuses, must not keep the steps after it from ever
 * running. @throws the first error, after the last step
 */
async function runEach(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
