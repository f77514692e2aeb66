/** Decides of which topics open pages are notified: most changes at once, frequent changes in intervals. */

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

/** What open pages know. */
export interface KnownMarks {
  readonly marks: Readonly<Record<LiveTopic, string>>;
  /** the time of the last notification of the pull topic; null: there was none */
  readonly pullReportedAt: Instant | null;
}

/** A delayed topic counts as unknown until its notification. @param known null: no page is open yet */
export function findChanged(
  known: KnownMarks | null,
  marks: Readonly<Record<LiveTopic, string>>,
  now: Instant,
): { readonly changed: ReadonlySet<LiveTopic>; readonly known: KnownMarks } {
  if (known === null) return { changed: new Set(), known: { marks, pullReportedAt: null } };
  const { pullReportedAt: pullToldAt } = known;
  const holdsBack = pullToldAt !== null && now >= pullToldAt && now < pullToldAt + PULL_EVERY_MS;
  const seen = holdsBack ? { ...marks, pull: known.marks.pull } : marks;
  const changed = new Set(LIVE_TOPICS.filter((topic) => known.marks[topic] !== seen[topic]));
  return { changed, known: { marks: seen, pullReportedAt: changed.has("pull") ? now : pullToldAt } };
}
