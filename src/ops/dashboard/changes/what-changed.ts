/** Decides of which topics open pages are notified: most changes at once, frequent changes in intervals. */

import { createHash } from "node:crypto";
import type { Instant } from "../../../clock.ts";
import type { LiveTopic } from "../../http/layout.ts";

export const LIVE_TOPICS: readonly LiveTopic[] = [
  "pull",
  "mismatches",
  "transfers",
  "backfills",
  "alerts",
  "closed",
  "corrections",
  "imports",
  "rejected",
];

/**
 * The shortest interval of the pull topic: with many products some head moves every second, and the overview is
 * expensive.
 */
const PULL_EVERY_MS = 5_000;

/** One text for each topic, which changes with the topic. */
export type Marks = Readonly<Record<LiveTopic, string>>;

/** What open pages know. */
export interface KnownMarks {
  readonly marks: Marks;
  /** the time of the last notification of the pull topic; null: there was none */
  readonly pullReportedAt: Instant | null;
}

/** A delayed topic counts as unknown until its notification. @param known null: no page is open yet */
export function findChanged(
  known: KnownMarks | null,
  marks: Marks,
  now: Instant,
): { readonly changed: ReadonlySet<LiveTopic>; readonly known: KnownMarks } {
  if (known === null) return { changed: new Set(), known: { marks, pullReportedAt: null } };
  const { pullReportedAt: pullToldAt } = known;
  const holdsBack = pullToldAt !== null && now >= pullToldAt && now < pullToldAt + PULL_EVERY_MS;
  const seen = holdsBack ? { ...marks, pull: known.marks.pull } : marks;
  const changed = new Set(LIVE_TOPICS.filter((topic) => known.marks[topic] !== seen[topic]));
  return { changed, known: { marks: seen, pullReportedAt: changed.has("pull") ? now : pullToldAt } };
}

const DIGEST_LENGTH = 22;

/**
 * Names the state of these topics, for pages that say what they show.
 * @returns 22 characters of base64url, the same in every worker; null: the marks are not known
 */
export function digestMarks(marks: Marks | null, topics: readonly LiveTopic[]): string | null {
  if (marks === null) return null;
  const own = LIVE_TOPICS.filter((topic) => topics.includes(topic)).map((topic) => marks[topic]);
  return createHash("sha256").update(JSON.stringify(own)).digest("base64url").slice(0, DIGEST_LENGTH);
}
