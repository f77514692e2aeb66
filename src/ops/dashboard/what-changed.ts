/** Which topics open pages are told of: each change at once, but what changes all the time only so often. */

import type { Instant } from "../../clock.ts";
import type { LiveTopic } from "./layout.ts";

export const LIVE_TOPICS: readonly LiveTopic[] = ["pull", "mismatches", "transfers", "backfills", "alerts"];

/** With many products some head moves every second, and the overview is dear: that is told this often at the most. */
const PULL_EVERY_MS = 5_000;

/** What open pages have been told. */
export interface KnownMarks {
  readonly marks: Readonly<Record<LiveTopic, string>>;
  /** when the pull topic was last told; null: it was not yet */
  readonly pullReportedAt: Instant | null;
}

/** What is held back is still unknown, and told later. @param known null: nobody has seen anything before */
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
