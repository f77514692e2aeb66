/** Says of each kind of work when it was last done, how far behind it is, what holds it up, and what to do. Pure. */

import { type Instant, showDuration } from "../../../clock.ts";
import type { Config } from "../../../config-file.ts";
import type { Health } from "../../../flows/read/read-health.ts";
import { type Finding, type FindingKind, findState, SEVERITIES } from "../../../health/finding.ts";
import { isAboutTransfers, watermarkOf } from "../../../health/products.ts";
import { sayAllDue } from "../../../storage.ts";
import type { WorkKind } from "../../../work/work-store.ts";
import type { Tone } from "../overview/health-verdict.ts";
import type { OwnWorker } from "../parts/own-worker.ts";
import { showCount } from "../parts/show.ts";

/** What holds work up, and what to do; null: nothing to do. */
type HeldUp = Pick<Finding, "what" | "remedy">;

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
    ...describeRest(health),
  ];
}

function describePulling(health: Health, { products }: Config): WorkRow {
  const { now, progress } = health;
  if (products.every(({ walletMode }) => walletMode === "transfer"))
    return notUsed("Pulling", "No product has bets: all have transfer wallets.");
  const lags = progress.map((one) => Math.max(0, now - watermarkOf(one)));
  const found = findingsOf(health, [
    "credentials-refused",
    "product-stalled",
    "resweep-behind",
    "product-behind",
    "product-not-begun",
    "backfill-failed",
  ]);
  return {
    name: "Pulling",
    tone: toneOf(found, lags.length > 0),
    doneAt: newestOf(health, "pulling"),
    behind:
      lags.length === 0
        ? "unknown"
        : `${showDuration(Math.max(...lags))}${lags.length > 1 ? " at most" : ""}`,
    heldUp: found,
    href: "/#products",
  };
}

function describeComparing(health: Health, { products }: Config): WorkRow {
  const { now, work } = health;
  const { upTo, waiting, setAside } = work.comparing;
  if (products.every(({ walletMode }) => walletMode === "transfer"))
    return notUsed("Comparing", "No product has bets.");
  const found = findingsOf(health, [
    "comparing-stalled",
    "comparing-set-aside",
    "comparing-waits",
    "comparing-behind",
  ]);
  const aside = setAside === 0 ? "" : `, ${showCount(setAside)} set aside`;
  const late = upTo === null ? "unknown" : showDuration(Math.max(0, now - upTo));
  return {
    name: "Comparing",
    tone: toneOf(found, upTo !== null && work.comparing.problem === null),
    doneAt: newestOf(health, "comparing"),
    behind: `${late}, ${showCount(waiting)} waiting${aside}`,
    heldUp: found,
    href: null,
  };
}

function describeFollowing(health: Health, { ledger }: Config): WorkRow {
  const { now, work, lastReceivedAt } = health;
  const name = "Following the ledger";
  const found = findingsOf(health, [
    "entries-vanished",
    "unknown-product",
    "money-outside",
    "ledger-unreadable",
    "ledger-not-read",
    "ledger-empty",
  ]);
  const { following } = work;
  if (following === null || ledger.relation === null) {
    const what = "The ledger is the table callback_entries, which needs no following.";
    return {
      name,
      tone: toneOf(found, true),
      doneAt: lastReceivedAt,
      behind: null,
      heldUp: [...found, { what, remedy: null }],
      href: null,
    };
  }
  const { readAt } = following;
  return {
    name,
    tone: toneOf(found, readAt !== null),
    doneAt: readAt,
    behind: readAt === null ? "unknown" : showDuration(Math.max(0, now - readAt)),
    heldUp: found,
    href: null,
  };
}

function describeVerifying(health: Health): WorkRow {
  const { behindMs, due } = health.work.verifying;
  const found = [
    ...findingsOf(health, ["verifying-stalled", "verifying-behind", "verifying-not-begun"]),
    ...health.findings.filter(isAboutTransfers),
  ];
  const late = behindMs === null ? "unknown" : due === 0 ? "0 s" : showDuration(behindMs);
  return {
    name: "Verifying",
    tone: toneOf(found, true),
    doneAt: findState(health.states, "verifying", "")?.doneAt ?? null,
    behind: `${late}, ${showCount(due)} due`,
    heldUp: found,
    href: "/transfers",
  };
}

/** A due day that stays open is seen here at once, and reported after an hour. */
function describeClosing(health: Health, { closing }: Config): WorkRow {
  const state = findState(health.states, "closing", "");
  const stalled = findingsOf(health, ["closing-stalled", "books-wrong", "books-unknown"]);
  const waits =
    stalled.every(({ kind }) => kind !== "closing-stalled") && state?.error != null
      ? [
          {
            what: state.error,
            remedy: "The worker tries again each minute, and sends an alert after an hour.",
          },
        ]
      : [];
  const byHand =
    closing.after === null
      ? [{ what: "Days are closed by hand: closing.after is not set.", remedy: null }]
      : [];
  const tone = toneOf(stalled, state?.doneAt != null);
  return {
    name: "Closing days",
    tone: waits.length > 0 && tone !== "bad" ? "warn" : tone,
    doneAt: state?.doneAt ?? null,
    behind: null,
    heldUp: [...stalled, ...waits, ...byHand],
    href: "/report",
  };
}

function describeAlerting(health: Health, worker: OwnWorker | null): WorkRow {
  const found = findingsOf(health, ["alerting-stalled", "alerts-undelivered"]);
  const hasNone = worker !== null && worker.channels.length === 0;
  const without = {
    what: "No channel is set, so no alert is sent.",
    remedy: "Set ALERT_WEBHOOK_URL or ALERT_SLACK_URL.",
  };
  const tone = toneOf(found, true);
  return {
    name: "Alerting",
    tone: hasNone && tone === "good" ? "warn" : tone,
    doneAt: health.work.alerting.doneAt,
    behind: `${showCount(health.undelivered)} undelivered`,
    heldUp: [...found, ...(hasNone ? [without] : [])],
    href: "/alerts",
  };
}

function describeHeartbeat({ heartbeat }: Health, worker: OwnWorker | null): WorkRow {
  const name = "Heartbeat";
  if (worker !== null && !worker.hasHeartbeat) {
    return notUsed(name, "HEARTBEAT_URL is not set: no monitor outside notices when the work stops.");
  }
  const { doneAt, finding } = heartbeat;
  const heldUp = finding === null ? [] : [finding];
  return { name, tone: toneOf(heldUp, doneAt !== null), doneAt, behind: null, heldUp, href: null };
}

function describeQueues(health: Health, worker: OwnWorker | null): WorkRow {
  const found = findingsOf(health, ["queue-unserved"]);
  const doneAt = newestOf(health, "queue");
  return {
    name: worker === null ? "Queues" : `Queues in ${worker.queuesIn}`,
    tone: toneOf(found, doneAt !== null),
    doneAt,
    behind: null,
    heldUp: found,
    href: "#queues",
  };
}

function describeRetention(health: Health): WorkRow {
  const { doneAt, finding } = health.retention;
  const { storage } = health.work;
  const found = [...(finding === null ? [] : [finding]), ...findingsOf(health, ["disk-full"])];
  return {
    name: "Retention",
    tone: toneOf(found, doneAt !== null && storage !== null),
    doneAt,
    behind: storage === null ? "unknown" : sayAllDue(storage),
    heldUp: found,
    href: "#database",
  };
}

/** Clocks and Redis are shown only while something is wrong with them. */
function describeRest(health: Health): WorkRow[] {
  const rows = [
    ["Clocks", findingsOf(health, ["clock-wrong"])],
    ["Redis", findingsOf(health, ["redis-shared"])],
  ] as const;
  return rows
    .filter(([, found]) => found.length > 0)
    .map(([name, heldUp]) => ({ name, tone: "bad", doneAt: null, behind: null, heldUp, href: null }));
}

function notUsed(name: string, what: string): WorkRow {
  return { name, tone: null, doneAt: null, behind: null, heldUp: [{ what, remedy: null }], href: null };
}

/** Those of some kinds, the worst first. */
function findingsOf({ findings }: Health, wanted: readonly FindingKind[]): Finding[] {
  const found = findings.filter((one) => wanted.includes(one.kind) && !isAboutTransfers(one));
  return SEVERITIES.flatMap((severity) => found.filter((one) => one.severity === severity));
}

function newestOf({ states }: Health, wanted: WorkKind): Instant | null {
  const times = states.filter(({ work }) => work === wanted).flatMap(({ doneAt }) => doneAt ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** The worst of what was found. @param isKnown whether it is known that the work is done */
function toneOf(found: readonly Finding[], isKnown: boolean): Tone {
  const worst = SEVERITIES.find((severity) => found.some((one) => one.severity === severity));
  return worst ?? (isKnown ? "good" : "unknown");
}
