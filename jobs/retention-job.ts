/**
 * The repeating job that deletes expired rows, updates the row counts of large tables, compares the entries of each day with
 * what was accepted, and measures the space that all take.
 */

import { refusePlanted } from "../src/db/schema-rights-store.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { compareEntryDays } from "../src/flows/ledger/compare-entry-days.ts";
import { noting } from "../src/flows/note-work.ts";
import { keepMoneySums } from "../src/flows/reports/sum-money.ts";
import { dropClosed } from "../src/flows/retention/drop-closed.ts";
import { dropExpired } from "../src/flows/retention/drop-expired.ts";
import { keepCounts, measureStorage } from "../src/flows/retention/measure-storage.ts";
import { runEach } from "./run-each.ts";
import type { TickJob } from "./schedules.ts";

const EVERY_MS = 600_000;

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
  return { queue: "retention", everyMs: EVERY_MS, concurrency: 1, run };
}
