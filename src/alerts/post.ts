/** One POST to a channel over HTTP: sent once, without redirects, and told about without its URL, which is a secret. */

import got, { HTTPError, RequestError, TimeoutError } from "got";
import { DateTime } from "luxon";
import type { Instant } from "../clock.ts";
import type { SendResult } from "./channel.ts";

export interface Post {
  /** the setting that has the URL: what an error calls it */
  readonly setting: string;
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TIME_OUT_MS = 10_000;
/** Nobody reads more of an answer than a word. */
const LARGEST_ANSWER_BYTES = 64 * 1024;
/** What a receiver says of a message that it will never take, whoever sends it. */
const REFUSES_MESSAGE: ReadonlySet<number> = new Set([400, 413, 422]);

/** @param signal its abort rejects with its reason */
export async function postOnce(post: Post, now: Instant, signal: AbortSignal): Promise<SendResult> {
  const tooLarge = new AbortController();
  try {
    const asked = got.post(post.url, {
      body: post.body,
      headers: { ...post.headers, "content-type": "application/json", "user-agent": "wallet-recon" },
      timeout: { request: TIME_OUT_MS },
      // When it is sent again is decided by whoever keeps the alert.
      retry: { limit: 0 },
      followRedirect: false,
      signal: AbortSignal.any([signal, tooLarge.signal]),
    });
    asked.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > LARGEST_ANSWER_BYTES) tooLarge.abort();
    });
    const { statusCode } = await asked;
    return statusCode < 300 ? { outcome: "delivered" } : sortStatus(post.setting, statusCode, "", null);
  } catch (error) {
    signal.throwIfAborted();
    if (tooLarge.signal.aborted) return failed(post.setting, "answered with more than anybody would read");
    if (error instanceof HTTPError) {
      const { statusCode, body, headers } = error.response;
      const retryAfterMs = readRetryAfter(headers["retry-after"], now);
      return sortStatus(post.setting, statusCode, typeof body === "string" ? body : "", retryAfterMs);
    }
    if (error instanceof TimeoutError) return failed(post.setting, "did not answer within 10 s");
    if (error instanceof RequestError) return failed(post.setting, `cannot be reached (${error.code})`);
    throw error;
  }
}

function sortStatus(setting: string, status: number, body: string, retryAfterMs: number | null): SendResult {
  // Slack names its reason by a word; anything else could repeat what it was sent.
  const reason = /^[a-z_]{1,60}$/.test(body) ? `, ${body}` : "";
  const reported = `answered with HTTP ${status}${reason}`;
  if (REFUSES_MESSAGE.has(status)) return { outcome: "refused", error: `${setting} ${reported}` };
  return failed(setting, reported, retryAfterMs);
}

function failed(setting: string, what: string, retryAfterMs: number | null = null): SendResult {
  return { outcome: "failed", error: `${setting} ${what}`, retryAfterMs };
}

/** Both forms of the header: seconds, or an HTTP date. */
function readRetryAfter(header: string | undefined, now: Instant): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const at = DateTime.fromHTTP(header);
  return at.isValid ? Math.max(0, at.toMillis() - now) : null;
}
