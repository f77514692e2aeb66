/** Says of each kind of work when it was last done, how far behind it is, what holds it up, and what to do. Pure. */

import { type Instant, showDuration, showInstant } from "../../../clock.ts";
import type { Config } from "../../../config-file.ts";
import type { Health } from "../../../flows/read/read-health.ts";
import { longestLag } from "../../../flows/read/read-overview.ts";
import { isFullSoon, sayAllDue } from "../../../storage.ts";
import { watermarkOf } from "../../../sync/progress-store.ts";
import { sayEmptied } from "../../../work/other-work.ts";
import { findState, NO_WORKER, type StallKind } from "../../../work/stall.ts";
import type { WorkKind } from "../../../work/work-store.ts";
import type { Tone } from "../overview/health-verdict.ts";
import type { OwnWorker } from "../parts/own-worker.ts";
import { showCount } from "../parts/show.ts";

/** What holds work up, and what to do; null: nothing to do. */
interface HeldUp {
  readonly what: string;
  readonly toDo: string | null;
}

export interface WorkRow {
  readonly name: string;
  /** null: this work is not used */
  readonly tone: Tone | null;
  /** null: never, or unknown */
  readonly doneAt: Instant | null;
  /** such as "4 min, 12 waiting"; null: it cannot be behind */
  readonly behind: string | null;
  readonly heldUp: readonly HeldUp[];
  /** the page with more about it; null: there is none */
  readonly href: string | null;
}

/** @param worker null: this server has no worker, so what only its settings say is unknown */
export function describeWork(health: Health, config: Config, worker: OwnWorker | null): WorkRow[] {
  return [
    describePulling(health, config),
    describeComparing(health, config),
    describeFollowing(health, config),
    describeVerifying(health),
    describeClosing(health, config),
    describeAlerting(health, worker),
    describeHeartbeat(health, worker),
    describeQueues(health, worker),
    describeRetention(health),
    ...describeClocks(health),
  ];
}

function describePulling(health: Health, { products, pull }: Config): WorkRow {
  const { now, progress } = health;
  const pulled = products.filter(({ walletMode }) => walletMode === "seamless");
  if (pulled.length === 0) return notUsed("Pulling", "No product has bets: all have transfer wallets.");
  const unknown = pulled.filter(
    ({ productId }) => !progress.some((one) => one.productId === productId && one.head !== null),
  );
  const lags = progress.map((one) => Math.max(0, now - watermarkOf(one)));
  const longest = Math.max(0, ...lags);
  const stopped = progress.filter(({ stoppedUntil }) => stoppedUntil !== null);
  const gapped = progress.filter((one) => one.gaps > 0 && one.stoppedUntil === null);
  const problems = [
    ...stopped.map(({ productId, stoppedUntil }) => ({
      what: `the provider refuses the credentials: ${productId} is stopped`,
      toDo: `Check PROVIDER_USERNAME and PROVIDER_PASSWORD, then restart the worker. Without a restart it tries again at ${showInstant(stoppedUntil ?? now)}.`,
    })),
    ...gapped.map(({ productId, gaps, gapMs, firstGapAt }) => ({
      what: `${productId}: ${showDuration(gapMs)} cannot be fetched, in ${gaps === 1 ? "1 gap" : `${showCount(gaps)} gaps`}, the first at ${showInstant(firstGapAt ?? now)}`,
      toDo: "The coverage of the product says why. The worker retries gaps automatically.",
    })),
    ...stallsOf(health, "product-stalled"),
    ...stallsOf(health, "resweep-behind"),
  ];
  const notBegun = unknown.map(({ productId }) => ({
    what: `${productId}: nothing has been fetched yet`,
    toDo: null,
  }));
  return {
    name: "Pulling",
    tone: toneOf(problems, unknown.length > 0 || lags.length === 0, longest > longestLag(pull)),
    doneAt: newestOf(health, "pulling"),
    behind: lags.length === 0 ? "unknown" : `${showDuration(longest)}${lags.length > 1 ? " at most" : ""}`,
    heldUp: [...problems, ...notBegun],
    href: "/#products",
  };
}

function describeComparing(health: Health, { products }: Config): WorkRow {
  const { now, work } = health;
  const { upTo, waiting, setAside, problem, stalls, isFarBehind } = work.comparing;
  if (products.every(({ walletMode }) => walletMode === "transfer"))
    return notUsed("Comparing", "No product has bets.");
  const held = stalls.map(({ what, toDo }) => ({ what, toDo }));
  const waits = held.length === 0 && problem !== null ? [{ what: problem, toDo: null }] : held;
  const aside = setAside === 0 ? "" : `, ${showCount(setAside)} set aside`;
  const late = upTo === null ? "unknown" : showDuration(Math.max(0, now - upTo));
  return {
    name: "Comparing",
    tone: toneOf(held, upTo === null || problem !== null, isFarBehind),
    doneAt: newestOf(health, "comparing"),
    behind: `${late}, ${showCount(waiting)} waiting${aside}`,
    heldUp: waits,
    href: null,
  };
}

function describeFollowing(health: Health, { ledger }: Config): WorkRow {
  const { now, work, lastReceivedAt, emptied } = health;
  const gone = [
    ...stallsOf(health, "entries-vanished"),
    ...stallsOf(health, "unknown-product"),
    ...stallsOf(health, "money-outside"),
    ...stallsOf(health, "books-wrong"),
  ];
  const name = "Following the ledger";
  const isEmpty = lastReceivedAt === null;
  const what = emptied > 0 ? sayEmptied(emptied) : "the ledger has no entry yet: nothing is compared";
  const empty = isEmpty ? [{ what, toDo: null }] : [];
  const { following } = work;
  if (following === null || ledger.relation === null) {
    const table = "The ledger is the table callback_entries, which needs no following.";
    const heldUp = [...gone, { what: table, toDo: null }, ...empty];
    return {
      name,
      tone: emptied > 0 ? "bad" : toneOf(gone, isEmpty, false),
      doneAt: lastReceivedAt,
      behind: null,
      heldUp,
      href: null,
    };
  }
  const { readAt, problem, stalls } = following;
  const held = [...gone, ...stalls.map(({ what, toDo }) => ({ what, toDo }))];
  const waits = stalls.length === 0 && problem !== null ? [...gone, { what: problem, toDo: null }] : held;
  return {
    name,
    tone: emptied > 0 ? "bad" : toneOf(held, readAt === null || problem !== null || isEmpty, false),
    doneAt: readAt,
    behind: readAt === null ? "unknown" : showDuration(Math.max(0, now - readAt)),
    heldUp: [...waits, ...empty],
    href: null,
  };
}

function describeVerifying(health: Health): WorkRow {
  const { behindMs, due, stalls, isFarBehind } = health.work.verifying;
  const held = stalls.map(({ what, toDo }) => ({ what, toDo }));
  const late = behindMs === null ? "unknown" : due === 0 ? "0 s" : showDuration(behindMs);
  return {
    name: "Verifying",
    tone: toneOf(held, behindMs === null, isFarBehind),
    doneAt: findState(health.states, "verifying", "")?.doneAt ?? null,
    behind: `${late}, ${showCount(due)} due`,
    heldUp: held,
    href: "/transfers",
  };
}

/** A due day that stays open is seen here at once, and reported after an hour. */
function describeClosing(health: Health, { closing }: Config): WorkRow {
  const state = findState(health.states, "closing", "");
  const stalled = stallsOf(health, "closing-stalled");
  const waits =
    stalled.length === 0 && state?.error != null
      ? [
          {
            what: state.error,
            toDo: "The worker tries again each minute, and sends an alert after an hour.",
          },
        ]
      : [];
  const byHand =
    closing.after === null
      ? [{ what: "Days are closed by hand: closing.after is not set.", toDo: null }]
      : [];
  return {
    name: "Closing days",
    tone: toneOf(stalled, state?.doneAt == null, waits.length > 0),
    doneAt: state?.doneAt ?? null,
    behind: null,
    heldUp: [...stalled, ...waits, ...byHand],
    href: "/report",
  };
}

function describeAlerting({ work, undelivered, failingChannels }: Health, worker: OwnWorker | null): WorkRow {
  const { doneAt, problem } = work.alerting;
  const held = [
    ...(problem === null ? [] : [{ what: problem, toDo: NO_WORKER }]),
    ...failingChannels.map((channel) => ({
      what: `${channel} does not accept alerts`,
      toDo: "No alert is lost. The page of alerts has the channel's answer.",
    })),
  ];
  const without =
    worker !== null && worker.channels.length === 0
      ? [
          {
            what: "No channel is set, so no alert is sent.",
            toDo: "Set ALERT_WEBHOOK_URL or ALERT_SLACK_URL.",
          },
        ]
      : [];
  return {
    name: "Alerting",
    tone: doneAt === null ? "unknown" : toneOf(held, false, without.length > 0),
    doneAt,
    behind: `${showCount(undelivered)} undelivered`,
    heldUp: [...held, ...without],
    href: "/alerts",
  };
}

function describeHeartbeat({ heartbeat }: Health, worker: OwnWorker | null): WorkRow {
  const name = "Heartbeat";
  if (worker !== null && !worker.hasHeartbeat) {
    return notUsed(name, "HEARTBEAT_URL is not set: no monitor outside notices when the work stops.");
  }
  const { doneAt, problem } = heartbeat;
  const heldUp = problem === null ? [] : [problem];
  return { name, tone: toneOf(heldUp, doneAt === null, false), doneAt, behind: null, heldUp, href: null };
}

function describeQueues(health: Health, worker: OwnWorker | null): WorkRow {
  const held = stallsOf(health, "queue-unserved");
  const doneAt = newestOf(health, "queue");
  return {
    name: worker === null ? "Queues" : `Queues in ${worker.queuesIn}`,
    tone: toneOf(held, doneAt === null, false),
    doneAt,
    behind: null,
    heldUp: held,
    href: "#queues",
  };
}

function describeRetention({ retention: { doneAt, problem }, storage }: Health): WorkRow {
  const heldUp = problem === null ? [] : [problem];
  const isFull = storage !== null && isFullSoon(storage);
  return {
    name: "Retention",
    tone: toneOf(heldUp, doneAt === null || storage === null, isFull),
    doneAt,
    behind: storage === null ? "unknown" : sayAllDue(storage),
    heldUp: isFull
      ? [...heldUp, { what: "The disk is full soon.", toDo: "See the database below." }]
      : heldUp,
    href: "#database",
  };
}

function describeClocks({ wrongClocks }: Health): WorkRow[] {
  if (wrongClocks.length === 0) return [];
  const heldUp = wrongClocks.map((who) => ({
    what: `the clock of the ${who} is wrong: it does no work`,
    toDo: "Correct the clock of that machine, and keep it right with NTP. The work there then resumes by itself.",
  }));
  return [{ name: "Clocks", tone: "bad", doneAt: null, behind: null, heldUp, href: null }];
}

function notUsed(name: string, what: string): WorkRow {
  return { name, tone: null, doneAt: null, behind: null, heldUp: [{ what, toDo: null }], href: null };
}

function stallsOf({ work }: Health, wanted: StallKind): HeldUp[] {
  return work.stalls.filter(({ kind }) => kind === wanted).map(({ what, toDo }) => ({ what, toDo }));
}

function newestOf({ states }: Health, wanted: WorkKind): Instant | null {
  const times = states.filter(({ work }) => work === wanted).flatMap(({ doneAt }) => doneAt ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

function toneOf(problems: readonly HeldUp[], isUnknown: boolean, isLate: boolean): Tone {
  if (problems.length > 0) return "bad";
  if (isLate) return "warn";
  return isUnknown ? "unknown" : "good";
}
