/** One POST to a channel over HTTP: sent once, without redirects. Errors do not name the URL, which is a secret. */

import got, { HTTPError, RequestError, TimeoutError } from "got";
import { DateTime } from "luxon";
import type { Instant } from "../clock.ts";
import { explainRequest, openAgents } from "../outgoing.ts";
import type { SendResult } from "./channel.ts";

export interface Post {
  /** the name of the setting with the URL, for errors */
  readonly setting: string;
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TIME_OUT_MS = 10_000;
/** The channels send one request at a time. */
const MOST_CONNECTIONS = 4;
/** Only a word of the answer matters. */
const LARGEST_ANSWER_BYTES = 64 * 1024;
/** Statuses of a receiver that will never accept the message. */
const REFUSES_MESSAGE: ReadonlySet<number> = new Set([400, 413, 422]);

/** @param signal an abort rejects with the signal's reason */
export async function postOnce(post: Post, now: Instant, signal: AbortSignal): Promise<SendResult> {
  const tooLarge = new AbortController();
  const agents = openAgents(MOST_CONNECTIONS);
  try {
    const asked = got.post(post.url, {
      body: post.body,
      headers: { ...post.headers, "content-type": "application/json", "user-agent": "wallet-recon" },
      timeout: { request: TIME_OUT_MS },
      // The caller decides when to try again.
      retry: { limit: 0 },
      followRedirect: false,
      agent: agents,
      signal: AbortSignal.any([signal, tooLarge.signal]),
    });
    asked.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > LARGEST_ANSWER_BYTES) tooLarge.abort();
    });
    const { statusCode } = await asked;
    return statusCode < 300 ? { outcome: "delivered" } : resultOfStatus(post.setting, statusCode, "", null);
  } catch (error) {
    signal.throwIfAborted();
    if (tooLarge.signal.aborted) return failed(post.setting, "answered with more than 64 KiB");
    if (error instanceof HTTPError) {
      const { statusCode, body, headers } = error.response;
      const retryAfterMs = readRetryAfter(headers["retry-after"], now);
      return resultOfStatus(post.setting, statusCode, typeof body === "string" ? body : "", retryAfterMs);
    }
    if (error instanceof TimeoutError) return failed(post.setting, "did not answer within 10 s");
    if (error instanceof RequestError)
      return failed(post.setting, `cannot be reached${explainRequest(error)}`);
    throw error;
  } finally {
    agents.http.destroy();
    agents.https.destroy();
  }
}

function resultOfStatus(
  setting: string,
  status: number,
  body: string,
  retryAfterMs: number | null,
): SendResult {
  // Slack names its reason in one word; a longer text could repeat the message.
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
