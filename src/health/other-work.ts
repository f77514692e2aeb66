/** Judges following the ledger, vanished entries, closing, alerting, the queues, the heartbeat and retention. Pure. */

import { formatInstant, type Instant, showInstant } from "../clock.ts";
import type { GoneEntries } from "../work/work-store.ts";
import {
  DAY_OPEN,
  FAILING,
  type Finding,
  findState,
  isFailing,
  isLate,
  NO_WORKER,
  notice,
  patienceOf,
  type StatesSeen,
} from "./finding.ts";

interface FollowingSeen extends StatesSeen {
  /** `ledger.relation` */
  readonly relation: string;
  /** the beginning of the last reading that reached the end; null: none did */
  readonly readAt: Instant | null;
  /** `diff.every` */
  readonly everyMs: number;
}

export interface Following {
  readonly readAt: Instant | null;
  readonly problem: string | null;
  readonly findings: readonly Finding[];
}

/** An unreadable relation is a stall at once. A relation that was only not read yet is a stall after the usual pause. */
export function judgeFollowing(seen: FollowingSeen): Following {
  const { states, relation, readAt, everyMs } = seen;
  const state = findState(states, "following", relation);
  const fails = isFailing(state);
  const isUnreadable = state?.errorCode === "ledger-unreadable";
  const isStale = isLate(readAt, patienceOf(everyMs, fails), seen) && (readAt !== null || fails);
  if (!isUnreadable && !isStale) {
    const first = `the ledger "${relation}" has not been read to its end yet; comparing begins after that`;
    return readAt === null
      ? { readAt, problem: first, findings: [notice("ledger-not-read", "unknown", first)] }
      : { readAt, problem: null, findings: [] };
  }
  const since =
    readAt === null ? "was never read to its end" : `has not been read since ${showInstant(readAt)}`;
  const what = `the ledger "${relation}" ${since}${state !== null && state.error !== null ? `: ${state.error}` : ""}`;
  const unreadable: Finding = {
    kind: "ledger-unreadable",
    subject: relation,
    productId: null,
    severity: "bad",
    what,
    remedy: isUnreadable
      ? "Restore the relation or its columns, or correct ledger.relation: recon doctor names all problems. Newer bets are compared when it can be read; nothing is lost."
      : `${fails ? FAILING : `${NO_WORKER} Also check whether the relation is locked or slow to read.`} Newer bets are compared when it has been read.`,
    whatWhenOver: `the ledger "${relation}" is read again`,
    isWhole: true,
  };
  return { readAt, problem: what, findings: [unreadable] };
}

const CLOSES_THEN = "The worker then closes the day by itself. Later days wait for it.";
const UNUSABLE = `Make the folder of closing.archive usable. ${CLOSES_THEN}`;
const OPEN = `Fix the cause that the reason names: fetch the missing time with recon backfill, or get comparing to continue. ${CLOSES_THEN}`;

/** Longer than a confirm fetch or a retried window takes. */
const LONGEST_OPEN_MS = 3_600_000;

/**
 * The stall of closing: a due day has stayed open for an hour, or corrections could not be found for an hour. A folder for sealed
 * files that cannot be used is reported at once: it does not mend itself.
 */
export function judgeClosing({ states }: Pick<StatesSeen, "states">): Finding[] {
  const state = findState(states, "closing", "");
  const failingSince = state?.failingSince ?? null;
  // From the first failure to the last, so a pause of the workers does not count.
  if (failingSince === null) return [];
  const isArchive = state?.errorCode === "archive-unusable";
  if (!isArchive && (state?.failedAt ?? failingSince) - failingSince < LONGEST_OPEN_MS) return [];
  const isOpen = state?.errorCode === DAY_OPEN;
  return [
    {
      kind: "closing-stalled",
      subject: "closing",
      productId: null,
      severity: "bad",
      what: `closing has made no progress since ${showInstant(failingSince)}: ${state?.error ?? "unknown error"}`,
      remedy: isArchive ? UNUSABLE : isOpen ? OPEN : FAILING,
      whatWhenOver: "days are closed again",
    },
  ];
}

/** An alert names this many days and counts the others. */
const MOST_DAYS = 5;

/** Accepted entries that are gone. Days that the same run found become one stall. */
export function judgeGone(gone: readonly GoneEntries[]): Finding[] {
  return [...Map.groupBy(gone, ({ goneAt }) => goneAt)].map(([goneAt, days]) => {
    const [first] = days;
    const named = days.slice(0, MOST_DAYS).map(sayGone).join("; ");
    const more = days.length > MOST_DAYS ? `; and ${days.length - MOST_DAYS} more days` : "";
    return {
      kind: "entries-vanished",
      subject: formatInstant(goneAt),
      productId: null,
      severity: "bad",
      what: `callback_entries does not have the entries that were accepted. By day (UTC): ${named}${more}`,
      remedy: `Find out what bypassed the table's triggers: a superuser, session_replication_role, a restore, or disabled triggers. Restore missing rows from a backup: the alert ends by itself if the same rows are back before the day gets another entry. Otherwise, or if the rows are right as they are, accept each day: recon ledger accept --day ${first?.day} --note TEXT. Until then these days are not closed.`,
      whatWhenOver: `the entries of ${days.length === 1 ? first?.day : `${days.length} days from ${first?.day} on`} are back, or the operator accepted the loss`,
    };
  });
}

/** The difference of a day: "2026-11-20: 1204 accepted, 1201 found". */
export function sayGone({ day, accepted, found, unwatchedAt }: Omit<GoneEntries, "goneAt">): string {
  const isSame = accepted === found ? " with other content" : "";
  const isMore = found > accepted ? "; some of those accepted may still be missing" : "";
  const off =
    unwatchedAt === null
      ? ""
      : `; the triggers were off until ${showInstant(unwatchedAt)}, so changes before that are unknown`;
  return `${day}: ${accepted} accepted, ${found} found${isSame}${isMore}${off}`;
}

export interface Alerting {
  /** the last run of the alert job; null: there was none */
  readonly doneAt: Instant | null;
  /** null: it runs */
  readonly finding: Finding | null;
}

/**
 * Whether alerting continues. No alert can report that alerting has stopped, so the status, the metrics, the overview and the heartbeat
 * report it.
 */
export function judgeAlerting({
  states,
  everyMs,
  ...moment
}: StatesSeen & { readonly everyMs: number }): Alerting {
  const state = findState(states, "alerting", "");
  const doneAt = state?.doneAt ?? null;
  const found = (severity: "bad" | "unknown", what: string) => ({
    doneAt,
    finding: { ...notice("alerting-stalled", severity, what, NO_WORKER), isWhole: true },
  });
  if (doneAt === null) return found("unknown", "the alert job has not run yet");
  if (!isLate(doneAt, alertingPatience(everyMs), moment)) return { doneAt, finding: null };
  const error = state?.error ?? null;
  const what = `the alert job has not run since ${showInstant(doneAt)}: no alert is sent`;
  return found("bad", error === null ? what : `${what} (${error})`);
}

function alertingPatience(everyMs: number): number {
  return Math.max(3 * everyMs, 120_000);
}

/** The stalls of queues whose due jobs do not begin. */
export function judgeQueues({ states, ...moment }: StatesSeen): Finding[] {
  const queues = states.filter(({ work }) => work === "queue");
  const late = queues.filter(({ doneAt, everyMs }) =>
    isLate(doneAt, patienceOf(everyMs ?? 0, false), moment),
  );
  const describe = (subject: string, which: string, last: Instant | null): Finding => ({
    kind: "queue-unserved",
    subject,
    productId: null,
    severity: "bad",
    what: `${which} has ${last === null ? "ever begun" : `begun since ${showInstant(last)}`}: no worker takes jobs`,
    remedy: `${NO_WORKER} Check that the queues can be reached (at REDIS_URL, or in PostgreSQL if REDIS_URL is not set).`,
    whatWhenOver: `${subject === ALL_QUEUES ? "the queues are" : `the queue "${subject}" is`} served again`,
    isWhole: subject === ALL_QUEUES,
  });
  const times = queues.flatMap(({ doneAt }) => doneAt ?? []);
  const newest = times.length === 0 ? null : Math.max(...times);
  const shortestEveryMs = Math.min(...queues.map(({ everyMs }) => everyMs ?? 0));
  if (queues.length > 1 && isLate(newest, Math.max(2 * shortestEveryMs, ALL_SILENT_MS), moment)) {
    return [describe(ALL_QUEUES, "no job of any queue", newest)];
  }
  return late.map(({ subject, doneAt }) => describe(subject, `no job of the queue "${subject}"`, doneAt));
}

const ALL_QUEUES = "all queues";
/**
 * Some queues have jobs every few seconds. If no job of any queue begins for this long, the queues cannot be reached.
 */
const ALL_SILENT_MS = 120_000;

/** Sending the heartbeat, or deleting old rows. A page shows its state; no alert reports it. */
export interface SideWork {
  /** when it was last done; null: never yet */
  readonly doneAt: Instant | null;
  /** null: nothing holds it up, or it was never done */
  readonly finding: Finding | null;
}

const HEARTBEAT_EVERY_MS = 60_000;
const RETENTION_EVERY_MS = 600_000;

/** The stored error says that the service did not accept the request, or which work has stopped. */
export function judgeHeartbeat(seen: StatesSeen): SideWork {
  const remedy =
    "While any work has stopped, no heartbeat is sent: see the rows above. Otherwise check HEARTBEAT_URL and the service behind it.";
  return judge(seen, "heartbeat", HEARTBEAT_EVERY_MS, { what: "no heartbeat has been sent", remedy });
}

export function judgeRetention(seen: StatesSeen): SideWork {
  const remedy =
    "The worker's log has the error; the worker retries every ten minutes. Nothing is lost, but tables grow.";
  return judge(seen, "retention", RETENTION_EVERY_MS, { what: "no run has finished", remedy });
}

function judge(
  { states, ...moment }: StatesSeen,
  work: "heartbeat" | "retention",
  everyMs: number,
  { what, remedy }: { readonly what: string; readonly remedy: string },
): SideWork {
  const state = findState(states, work, "");
  const doneAt = state?.doneAt ?? null;
  const error = state?.error ?? null;
  const late = isLate(doneAt, patienceOf(everyMs, error !== null), moment);
  if (!late && !(doneAt === null && isFailing(state))) return { doneAt, finding: null };
  const since = doneAt === null ? "yet" : `since ${showInstant(doneAt)}`;
  const said = `${what} ${since}${error === null ? "" : `: ${error}`}`;
  return { doneAt, finding: notice(`${work}-stalled`, "bad", said, error === null ? NO_WORKER : remedy) };
}
