/**
 * Judges all work except comparing and verifying: pulling, following the ledger, closing, alerting, the queues, the heartbeat and
 * retention. Pure.
 */

import { formatInstant, type Instant, showDuration, showInstant } from "../clock.ts";
import {
  DAY_OPEN,
  findState,
  isFailing,
  isLate,
  NO_WORKER,
  patienceOf,
  type Stall,
  type Watch,
} from "./stall.ts";
import type { GoneEntries, WorkState } from "./work-store.ts";

interface StatesSeen extends Watch {
  readonly states: readonly WorkState[];
}

/** A product that is pulled, with its head. */
interface PulledHead {
  readonly productId: string;
  /** null: it was never pulled */
  readonly head: Instant | null;
}

interface PullingSeen extends StatesSeen {
  /** without products that have gaps or were stopped: other texts describe those */
  readonly products: readonly PulledHead[];
  /** the number of all products */
  readonly all: number;
  /** `pull.every` */
  readonly everyMs: number;
  readonly settleDelayMs: number;
}

/** The stalls of products that are behind and are not being fetched. */
export function judgePulling(seen: PullingSeen): Stall[] {
  const patienceMs = patienceOf(seen.everyMs, false);
  const late = seen.products.flatMap(({ productId, head }): Stall[] => {
    const state = findState(seen.states, "pulling", productId);
    const isBehind = head === null || seen.now - head > seen.settleDelayMs + patienceMs;
    if (!isBehind || !isLate(state?.doneAt ?? head, patienceMs, seen)) return [];
    const error = state?.error ?? null;
    const since =
      head === null ? "has never been pulled" : `has been pulled up to ${showInstant(head)} and no further`;
    return [
      {
        kind: "product-stalled",
        subject: productId,
        productId,
        what: `${productId} is stalled: it ${since}${error === null ? "" : `: ${error}`}`,
        toDo: error === null ? NO_WORKER : FAILING,
        whatWhenOver: `${productId} is pulled again`,
        isWhole: seen.all === 1,
      },
    ];
  });
  if (late.length < 2 || late.length < seen.all) return late;
  const [first] = late;
  return [
    {
      kind: "product-stalled",
      subject: "all products",
      productId: null,
      what: `all ${late.length} products are stalled; ${first?.what}`,
      toDo: first?.toDo ?? NO_WORKER,
      whatWhenOver: "products are pulled again",
      isWhole: true,
    },
  ];
}

const FAILING =
  "The worker's log has the error; the worker retries automatically. Nothing is lost: the work resumes at the point where it stopped.";

/** The resweeps of a product that are due and not done, the oldest first. */
export interface ResweepsSeen {
  readonly productId: string;
  readonly due: readonly {
    readonly ageMs: number;
    readonly dueAt: Instant;
    readonly error?: string | null;
  }[];
}

/** Every resweep may be this late: the next one of the age 1 h would be due then. */
const LATE_RESWEEP_MS = 3_600_000;

/** The products whose resweeps are late by more than a tenth of their age, or an hour if that is longer. */
export function judgeResweeps({
  products,
  now,
  watchedSince,
}: Watch & { readonly products: readonly ResweepsSeen[] }): Stall[] {
  return products.flatMap(({ productId, due }): Stall[] => {
    const late = due.find(({ ageMs, dueAt }) =>
      isLate(dueAt, Math.max(ageMs / 10, LATE_RESWEEP_MS), { now, watchedSince }),
    );
    if (late === undefined) return [];
    const { ageMs, dueAt, error = null } = late;
    const why = error === null ? "" : `: ${error}`;
    return [
      {
        kind: "resweep-behind",
        subject: productId,
        productId,
        what: `${productId}: time that is ${showDuration(ageMs)} old has not been fetched again since ${showInstant(dueAt)}${why}`,
        toDo: `Changes that the provider made meanwhile are not seen. New time comes first, and resweeps get a tenth of the requests: raise pull.concurrency, or shorten pull.resweepAfter. To fetch the time now: recon backfill --product ${productId} --from … --to …`,
        whatWhenOver: `${productId}: old time is fetched again when it is due`,
        isWhole: false,
      },
    ];
  });
}

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
  readonly stalls: readonly Stall[];
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
    return { readAt, problem: readAt === null ? first : null, stalls: [] };
  }
  const since =
    readAt === null ? "was never read to its end" : `has not been read since ${showInstant(readAt)}`;
  const what = `the ledger "${relation}" ${since}${state !== null && state.error !== null ? `: ${state.error}` : ""}`;
  const stall: Stall = {
    kind: "ledger-unreadable",
    subject: relation,
    productId: null,
    what,
    toDo: isUnreadable
      ? "Restore the relation or its columns, or set ledger.relation: recon doctor names all problems. Newer bets are compared when it can be read; nothing is lost."
      : `${fails ? FAILING : `${NO_WORKER} Check also whether the relation is locked, or takes very long to read.`} Newer bets are compared when it has been read.`,
    whatWhenOver: `the ledger "${relation}" is read again`,
    isWhole: true,
  };
  return { readAt, problem: what, stalls: [stall] };
}

/** Longer than a confirm fetch or a retried window takes. */
const LONGEST_OPEN_MS = 3_600_000;

/** The stall of closing: a due day has stayed open for an hour, or corrections could not be found for an hour. */
export function judgeClosing({ states }: Pick<StatesSeen, "states">): Stall[] {
  const state = findState(states, "closing", "");
  const failingSince = state?.failingSince ?? null;
  // From the first failure to the last, so a pause of the workers does not count.
  if (failingSince === null || (state?.failedAt ?? failingSince) - failingSince < LONGEST_OPEN_MS) return [];
  const isOpen = state?.errorCode === DAY_OPEN;
  return [
    {
      kind: "closing-stalled",
      subject: "closing",
      productId: null,
      what: `no day has been closed and no correction found since ${showInstant(failingSince)}: ${state?.error ?? "unknown error"}`,
      toDo: isOpen
        ? "Remove the cause that the reason names: fetch the missing time with recon backfill, or make comparing continue. The worker then closes the day by itself. Later days wait for it."
        : FAILING,
      whatWhenOver: "days are closed again",
      isWhole: false,
    },
  ];
}

/** An alert names this many days and counts the others. */
const MOST_DAYS = 5;

/** Accepted entries that are gone. Days that the same run found become one stall. */
export function judgeGone(gone: readonly GoneEntries[]): Stall[] {
  return [...Map.groupBy(gone, ({ goneAt }) => goneAt)].map(([goneAt, days]) => {
    const [first] = days;
    const named = days.slice(0, MOST_DAYS).map(sayGone).join("; ");
    const more = days.length > MOST_DAYS ? `; and ${days.length - MOST_DAYS} more days` : "";
    return {
      kind: "entries-vanished",
      subject: formatInstant(goneAt),
      productId: null,
      what: `callback_entries does not have the entries that were accepted. By day (UTC): ${named}${more}`,
      toDo: `Find out who changes the table past its triggers: a superuser, session_replication_role, a restore, triggers that were switched off. Insert missing rows again from a backup: this ends by itself if the same rows are there again before the day gets another entry. Otherwise, or if the rows are right as they are: recon ledger accept --day ${first?.day} --note TEXT, for each day. Until then these days are not closed.`,
      whatWhenOver: `the entries of ${days.length === 1 ? first?.day : `${days.length} days from ${first?.day} on`} are there again, or the operator accepted that they are gone`,
      isWhole: false,
    };
  });
}

/** An empty ledger that once had entries. @param emptied the number of entries that were accepted */
export function sayEmptied(emptied: number): string {
  return `callback_entries is empty, although ${emptied} ${emptied === 1 ? "entry was" : "entries were"} accepted`;
}

/** The difference of a day: "2026-11-20: 1204 accepted, 1201 found". */
export function sayGone({ day, accepted, found, unwatchedAt }: Omit<GoneEntries, "goneAt">): string {
  const isSame = accepted === found ? " with other content" : "";
  const isMore = found > accepted ? "; some of those accepted may be gone all the same" : "";
  const off =
    unwatchedAt === null
      ? ""
      : `; the triggers were off until ${showInstant(unwatchedAt)}, so what came and went before is not known`;
  return `${day}: ${accepted} accepted, ${found} found${isSame}${isMore}${off}`;
}

export interface Alerting {
  /** the last run of the alert job; null: there was none */
  readonly doneAt: Instant | null;
  readonly problem: string | null;
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
  if (doneAt === null) return { doneAt, problem: "the alert job has not run yet" };
  if (!isLate(doneAt, alertingPatience(everyMs), moment)) return { doneAt, problem: null };
  const error = state?.error ?? null;
  const what = `the alert job has not run since ${showInstant(doneAt)}: no alert is sent`;
  return { doneAt, problem: error === null ? what : `${what} (${error})` };
}

function alertingPatience(everyMs: number): number {
  return Math.max(3 * everyMs, 120_000);
}

/** The stalls of queues whose due jobs do not begin. */
export function judgeQueues({ states, ...moment }: StatesSeen): Stall[] {
  const queues = states.filter(({ work }) => work === "queue");
  const late = queues.filter(({ doneAt, everyMs }) =>
    isLate(doneAt, patienceOf(everyMs ?? 0, false), moment),
  );
  const describe = (subject: string, which: string, last: Instant | null): Stall => ({
    kind: "queue-unserved",
    subject,
    productId: null,
    what: `${which} has ${last === null ? "ever begun" : `begun since ${showInstant(last)}`}: no worker takes them`,
    toDo: `${NO_WORKER} Check that the queues can be reached (at REDIS_URL, or in PostgreSQL if REDIS_URL is not set).`,
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
  /** the problem that holds it up, and what to do; null: there is none, or it was never done */
  readonly problem: { readonly what: string; readonly toDo: string } | null;
}

const HEARTBEAT_EVERY_MS = 60_000;
const RETENTION_EVERY_MS = 600_000;

/** The stored error says that the service did not accept the request, or which work has stopped. */
export function judgeHeartbeat(seen: StatesSeen): SideWork {
  const toDo =
    "While any work has stopped, no heartbeat is sent: see the rows above. Otherwise check HEARTBEAT_URL and the service behind it.";
  return judge(seen, "heartbeat", HEARTBEAT_EVERY_MS, { what: "no heartbeat has been sent", toDo });
}

export function judgeRetention(seen: StatesSeen): SideWork {
  const toDo =
    "The worker's log has the error; the worker retries every ten minutes. Nothing is lost, but tables grow.";
  return judge(seen, "retention", RETENTION_EVERY_MS, { what: "no run has ended", toDo });
}

function judge(
  { states, ...moment }: StatesSeen,
  work: "heartbeat" | "retention",
  everyMs: number,
  { what, toDo }: { readonly what: string; readonly toDo: string },
): SideWork {
  const state = findState(states, work, "");
  const doneAt = state?.doneAt ?? null;
  const error = state?.error ?? null;
  const late = isLate(doneAt, patienceOf(everyMs, error !== null), moment);
  if (!late && !(doneAt === null && isFailing(state))) return { doneAt, problem: null };
  const since = doneAt === null ? "yet" : `since ${showInstant(doneAt)}`;
  const said = `${what} ${since}${error === null ? "" : `: ${error}`}`;
  return { doneAt, problem: { what: said, toDo: error === null ? NO_WORKER : toDo } };
}
