/** Recognises requests that a page of another site made a visitor's browser send, by the browser's headers. */

import type { IncomingHttpHeaders } from "node:http";

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request of this method may change something. */
export function isChange(method: string): boolean {
  return !READS.has(method);
}

/**
 * Whether the sender may intend a change, where the browser has access by itself: by a cookie, or by running on this
 * machine. The rules are those of CrossOriginProtection in Go's net/http: - `Sec-Fetch-Site`, which no page can set,
 * must be same-origin, or none (the visitor typed the address); - where it is missing (an old browser, or plain
 * http), `Origin` must name this host; - where both are missing, no browser sent the request: every browser sends one
 * of them with a change.
 *
 * @param whereSilent the answer in the last case: false for a session, which belongs to a browser; true on this
 * machine, for curl
 */
export function isOwnChange(
  { host, origin, "sec-fetch-site": site }: IncomingHttpHeaders,
  whereSilent: "accept" | "refuse",
): boolean {
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  return whereSilent === "accept";
}
