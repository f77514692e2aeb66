/** Records which ranges of bet records the workers request, and when. */

import { type Instant, systemClock } from "../../../src/clock.ts";
import type { TimeRange } from "../../../src/window.ts";
import { startWireTap, type WireTap } from "../wire-tap.ts";

/** The first page of one query. */
export interface LoggedQuery extends TimeRange {
  readonly productId: string;
  readonly at: Instant;
}

export interface QueryLog extends WireTap {
  readonly queries: readonly LoggedQuery[];
  /** all requests of bet records, including later pages */
  pages(): number;
}

/** A request of this endpoint has no body, so it arrives in one piece. */
const ASKED = /GET \/seamless\/betTransactionsV2\?(\S+) HTTP/g;

/** @param url of the provider */
export async function logQueries(url: string): Promise<QueryLog> {
  const queries: LoggedQuery[] = [];
  let pages = 0;
  const note = (text: string) => {
    for (const [, parameters = ""] of text.matchAll(ASKED)) {
      const asked = new URLSearchParams(parameters);
      pages += 1;
      if (asked.has("nextId")) continue;
      queries.push({
        productId: asked.get("productId") ?? "",
        from: Date.parse(asked.get("startTime") ?? ""),
        to: Date.parse(asked.get("endTime") ?? ""),
        at: systemClock.now(),
      });
    }
  };
  const tap = await startWireTap(url, () => note);
  return { ...tap, queries, pages: () => pages };
}
