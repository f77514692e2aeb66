/** Judges what is around the work: channels, clocks, Redis, the disk, failed backfills, an empty ledger. Pure. */

import type { Condition } from "../alerts/condition.ts";
import { formatInstant, type Instant, showDuration, showInstant } from "../clock.ts";
import { isFull, type Storage, sayDisk } from "../storage.ts";
import type { FailedBackfill } from "../sync/backfill-store.ts";
import { type Finding, notice } from "./finding.ts";

/** The alerts that wait for a channel. A page knows only that the condition stands, and not since when, or why. */
interface ChannelBacklog {
  readonly channel: string;
  readonly waiting: number;
  readonly oldestAt?: Instant;
  readonly lastError?: string | null;
}

export function failingChannel({
  channel,
  waiting,
  oldestAt,
  lastError = null,
}: ChannelBacklog): Finding & Condition {
  const since = oldestAt === undefined ? "" : `, the oldest since ${showInstant(oldestAt)}`;
  return {
    kind: "alerts-undelivered",
    subject: channel,
    productId: null,
    severity: "bad",
    what: `${channel} does not accept alerts: ${waiting.toLocaleString("en")} wait${since}${lastError === null ? "" : `; ${lastError}`}`,
    remedy:
      "No alert is lost: all are sent when the channel accepts alerts again. To test the channel: recon alerts test",
    whatWhenOver: `no alert waits for ${channel} any more`,
  };
}

/** @param who such as "worker 12 on host" @param seen what only that process knows; null: a page knows only of the condition */
export function wrongClock(
  who: string,
  seen: { readonly aheadMs: number; readonly consequence: string } | null,
): Finding & Condition {
  const how =
    seen === null
      ? "wrong: work that depends on it stops"
      : `${showDuration(Math.abs(seen.aheadMs))} ${seen.aheadMs > 0 ? "ahead of" : "behind"} the database's: ${seen.consequence}`;
  return {
    kind: "clock-wrong",
    subject: who,
    productId: null,
    severity: "bad",
    what: `the clock of the ${who} is ${how}`,
    remedy: "Correct that machine's clock, and keep it in sync with NTP. All work then resumes by itself.",
    whatWhenOver: `the clock of the ${who} is right again, or the process has ended`,
  };
}

/** @param message the error that names the Redis; null: a page knows only of the condition */
export function sharedRedis(message: string | null): Finding & Condition {
  return {
    kind: "redis-shared",
    subject: "Redis",
    productId: null,
    severity: "bad",
    what: message ?? "another installation uses the same Redis, and each slows the other",
    remedy: "Give each installation its own REDIS_PREFIX, Redis or Redis database, and restart its workers.",
    whatWhenOver: "no other installation uses this Redis any more, or the worker that reported it has ended",
  };
}

/** What standing conditions say that only one process can see, or that needs the names of the channels. */
export function ofConditions(
  conditions: readonly Pick<Condition, "kind" | "subject">[],
  undelivered: number,
): Finding[] {
  return conditions.flatMap(({ kind, subject }) => {
    if (kind === "alerts-undelivered") return failingChannel({ channel: subject, waiting: undelivered });
    if (kind === "clock-wrong") return wrongClock(subject, null);
    return kind === "redis-shared" ? sharedRedis(null) : [];
  });
}

/** Fewer days than this are a warning: enough to order and connect a disk. */
const FEW_DAYS = 30;
/** Less than this is urgent: the alert is repeated once a day. */
const URGENT_DAYS = 7;
/** A disk that was reported counts as full until it lasts this long, so a rate around the limit does not repeat the alert. */
const ENOUGH_DAYS = 35;

/** @param storage null: no worker has measured yet @param wasReported whether the end of a reported problem is asked for */
export function judgeDisk(storage: Storage | null, wasReported: boolean): Finding[] {
  if (storage === null) return [];
  const { daysLeft } = storage;
  const isSoonFull = daysLeft !== null && daysLeft < (wasReported ? ENOUGH_DAYS : FEW_DAYS);
  if (!isFull(storage) && !isSoonFull) return [];
  const isUrgent = isFull(storage) || (daysLeft !== null && daysLeft < URGENT_DAYS);
  return [
    {
      kind: "disk-full",
      subject: "database",
      productId: null,
      severity: isUrgent ? "bad" : "warn",
      what: `the database's disk: ${sayDisk(storage)}`,
      remedy:
        "Add disk and raise DATABASE_DISK, or close days and shorten retain. A full disk makes PostgreSQL refuse every write, alerts included.",
      whatWhenOver: `the database's disk lasts for ${ENOUGH_DAYS} days again, or the database no longer grows`,
    },
  ];
}

/** A failed backfill stays a finding until it is resumed, or a later one has fetched what it lacks. */
export function judgeBackfill({ id, productId, from, to, gaps, code, reason }: FailedBackfill): Finding {
  const why = reason ?? code;
  return {
    kind: "backfill-failed",
    subject: `backfill ${id}`,
    productId,
    severity: "warn",
    what: `backfill ${id} of ${productId} from ${showInstant(from)} to ${showInstant(to)} has failed${gaps === 0 ? "" : `: ${gaps === 1 ? "1 window" : `${gaps} windows`} could not be fetched`}${why === null ? "" : ` (${why})`}`,
    remedy: `The worker does not retry it. When the provider answers again: recon backfill resume ${id}, which fetches only what is missing. To fetch all of it: recon backfill --product ${productId} --from ${formatInstant(from)} --to ${formatInstant(to)}. To give it up: resume it, then recon backfill cancel ${id}.`,
    whatWhenOver: `backfill ${id} of ${productId} was resumed, or a later one has fetched what was missing`,
  };
}

/** An empty ledger that once had entries. @param emptied the number of entries that were accepted */
export function sayEmptied(emptied: number): string {
  return `callback_entries is empty, although ${emptied} ${emptied === 1 ? "entry was" : "entries were"} accepted`;
}

/** @param isEmpty there is no entry @param emptied the number of entries that were accepted, if all of them are gone */
export function judgeEmptyLedger(isEmpty: boolean, emptied: number): Finding[] {
  if (emptied > 0) {
    const remedy =
      "Find out who emptied it, and restore the rows from a backup (docs/ledger.md#entries-that-vanish).";
    return [notice("ledger-empty", "bad", sayEmptied(emptied), remedy)];
  }
  if (!isEmpty) return [];
  return [notice("ledger-empty", "unknown", "the ledger has no entries yet: nothing is compared")];
}
