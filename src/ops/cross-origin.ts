/** Tells what a page of another site had its visitor's browser send, by what the browser says of it. */

import type { IncomingHttpHeaders } from "node:http";

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request of this method may change something. */
export function isChange(method: string): boolean {
  return !READS.has(method);
}

/**
 * Whether a change may be meant by its sender, where the browser would be let in by itself: by a cookie, or because it
 * runs on this machine. As Go's net/http CrossOriginProtection decides:
 * - `Sec-Fetch-Site`, which no page can set, must be same-origin, or none (typed by the visitor);
 * - where it is missing (an old browser, or plain http), `Origin` must name the host that was asked;
 * - where both are missing, no browser sent it, for every browser sends one of them with a change.
 *
 * @param whereSilent the answer to the last case: a session is a browser's, so whoever says nothing of themselves is
 *   refused; on this machine, curl is not
 */
export function isOwnChange(
  { host, origin, "sec-fetch-site": site }: IncomingHttpHeaders,
  whereSilent: "accept" | "refuse",
): boolean {
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  return whereSilent === "accept";
}
