/** Recognises what another site asks for: a change that its page made a visitor's browser send, and a path that leads to it; and https. */

import type { IncomingHttpHeaders } from "node:http";

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request of this method may change something. */
export function isChange(method: string): boolean {
  return !READS.has(method);
}

/**
 * Whether a change may come from the visitor, if the browser alone gives access: by a cookie, or because it runs
 * on this machine. The rules are those of CrossOriginProtection in Go's net/http. `Sec-Fetch-Site`, which no page can
 * set, must be same-origin, or none (the visitor typed the address). Old browsers, and browsers over plain http, do
 * not send that header: then `Origin` must name this host. Without both headers, no browser sent the request, because
 * every browser sends one of them with a change.
 *
 * @param whereSilent the answer in the last case: "refuse" for a session, which belongs to a browser; "accept" for curl
 * on this machine, and for signing in, which needs a token anyway
 */
export function isOwnChange(
  { host, origin, "sec-fetch-site": site }: IncomingHttpHeaders,
  whereSilent: "accept" | "refuse",
): boolean {
  if (site !== undefined) return site === "same-origin" || site === "none";
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  return whereSilent === "accept";
}

/**
 * Whether the visitor uses https. This server speaks plain http; a proxy in front of it reports https in a header. A
 * visitor who fakes the header harms only their own cookie.
 */
export function cameByHttps({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
  const said = headers["x-forwarded-proto"];
  return typeof said === "string" && said.split(",")[0]?.trim().toLowerCase() === "https";
}

const LONGEST_PATH = 2_000;
/** The base for parsing a path. A different origin in the result shows a path to another server. */
const HERE = "http://here.invalid";

/**
 * Reads the path that the visitor wanted to open.
 * @param to the text in the address or the form, perhaps written by an attacker
 * @returns the path; "/" if the text names another host in any spelling ("//host", "/\host", "/.//host"), is not a
 * path, or is too long
 */
export function readOwnPath(to: unknown): string {
  if (typeof to !== "string" || to.length > LONGEST_PATH || !to.startsWith("/") || !URL.canParse(to, HERE))
    return "/";
  const { origin, pathname, search } = new URL(to, HERE);
  return origin === HERE && !pathname.startsWith("//") ? pathname + search : "/";
}
