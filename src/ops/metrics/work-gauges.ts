/** The age of each kind of work, and its stalls. */

import type { Gauge } from "prom-client";
import type { Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import { judgeWork } from "../../flows/read/read-work.ts";
import type { FindingKind } from "../../health/finding.ts";
import { isStalled } from "../../health/products.ts";
import type { OpenState } from "./read-state.ts";

export type AddGauge = <Label extends string>(
  name: string,
  help: string,
  ...labelNames: Label[]
) => Gauge<Label>;

/** The kinds that are counted. Gaps, refused credentials and what one process sees have metrics of their own. */
const STALL_KINDS: readonly FindingKind[] = [
  "product-stalled",
  "resweep-behind",
  "comparing-stalled",
  "comparing-set-aside",
  "ledger-unreadable",
  "verifying-stalled",
  "closing-stalled",
  "entries-vanished",
  "money-outside",
  "unknown-product",
  "books-wrong",
  "queue-unserved",
  "backfill-failed",
  "disk-full",
];

/** Work that was never done has no age, because a 0 would hide it. `absent` finds such work. */
export function addWorkGauges(gauge: AddGauge, config: Config) {
  const age = gauge(
    "work_age_seconds",
    "Time since each kind of work was last done: comparing (everything before was judged), following (the ledger relation was read), verifying (the longest wait, otherwise the time since the last run), alerting (the check for alerts). Missing for work that was never done.",
    "work",
  );
  const queueAge = gauge(
    "queue_age_seconds",
    "Time since a job of the queue last began, ended or continued. Missing before the first job.",
    "queue",
  );
  const resweepBehind = gauge(
    "product_resweep_behind_seconds",
    "How long the oldest resweep of the product that is not done has been due; 0: none is due.",
    "product",
  );
  const stalls = gauge(
    "stalls",
    "Work that has stopped, by the kind of its alert: products, relations, kinds of questions, queues; and entries that vanished. alerting-stalled: the alert job does not run, or has never run.",
    "kind",
  );
  const waiting = gauge(
    "comparing_waiting",
    "Marked rounds and bets that are due now; counted up to 10,000 for each product.",
  );
  const setAside = gauge(
    "comparing_set_aside",
    "Rounds and bets that cannot be compared; all others are.",
    "product",
  );
  const due = gauge(
    "verifying_due",
    "Transfers and top-ups whose question is due now; counted up to 10,000 for each product.",
  );
  const rejected = gauge("rejected_entries", "Rows of the ledger that were rejected.");
  return (state: OpenState | null, now: Instant): void => {
    for (const one of [age, queueAge, stalls, setAside, resweepBehind]) one.reset();
    for (const one of [waiting, due, rejected]) one.remove();
    if (state === null) return;
    const work = { ...state.work, now };
    const judged = judgeWork({ config }, work, "as-is");
    const { comparing, following, verifying, alerting } = judged;
    const ages = {
      comparing: comparing.upTo,
      following: following?.readAt ?? null,
      // The age is as of the reading, and grows afterwards.
      verifying: verifying.behindMs === null ? null : now - verifying.behindMs,
      alerting: alerting.doneAt,
    };
    for (const [name, at] of Object.entries(ages)) {
      if (at !== null) age.set({ work: name }, Math.max(0, now - at) / 1000);
    }
    for (const { work: kind, subject, doneAt } of work.states) {
      if (kind === "queue" && doneAt !== null)
        queueAge.set({ queue: subject }, Math.max(0, now - doneAt) / 1000);
    }
    for (const { productId, due: dueOf } of judged.resweeps)
      resweepBehind.set({ product: productId }, (now - (dueOf[0]?.dueAt ?? now)) / 1000);
    const gapped = new Set(work.progress.filter(isStalled).map(({ productId }) => productId));
    const found = judged.findings.filter(
      ({ kind, productId }) => !(kind === "product-stalled" && productId !== null && gapped.has(productId)),
    );
    for (const kind of STALL_KINDS) stalls.set({ kind }, found.filter((one) => one.kind === kind).length);
    for (const { productId, setAside: count } of work.marks) setAside.set({ product: productId }, count);
    stalls.set({ kind: "alerting-stalled" }, alerting.finding === null ? 0 : 1);
    waiting.set(comparing.waiting);
    due.set(verifying.due);
    rejected.set(state.rejectedEntries);
  };
}
