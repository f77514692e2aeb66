/** One request to HEARTBEAT_URL. When these requests stop, the service there notices that the work has stopped. */

import got, { HTTPError, RequestError, TimeoutError } from "got";
import { explainRequest, openAgents } from "../outgoing.ts";

const TIME_OUT_MS = 10_000;
/** The channels send one request at a time. */
const MOST_CONNECTIONS = 4;
const LARGEST_ANSWER_BYTES = 64 * 1024;

/**
 * Sent once, without redirects.
 * @returns the error, without the URL, which is a secret; null: the service accepted the request
 */
export async function sendHeartbeat(url: string, signal: AbortSignal): Promise<string | null> {
  const tooLarge = new AbortController();
  const agents = openAgents(MOST_CONNECTIONS);
  try {
    const asked = got.get(url, {
      headers: { "user-agent": "wallet-recon" },
      timeout: { request: TIME_OUT_MS },
      retry: { limit: 0 },
      followRedirect: false,
      agent: agents,
      signal: AbortSignal.any([signal, tooLarge.signal]),
    });
    asked.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > LARGEST_ANSWER_BYTES) tooLarge.abort();
    });
    const { statusCode } = await asked;
    return statusCode < 300 ? null : `HEARTBEAT_URL answered with HTTP ${statusCode}`;
  } catch (error) {
    // A service with such a long answer has received the request.
    if (tooLarge.signal.aborted) return null;
    if (error instanceof HTTPError) return `HEARTBEAT_URL answered with HTTP ${error.response.statusCode}`;
    if (error instanceof TimeoutError) return "HEARTBEAT_URL did not answer within 10 s";
    if (error instanceof RequestError) return `HEARTBEAT_URL cannot be reached${explainRequest(error)}`;
    throw error;
  } finally {
    agents.http.destroy();
    agents.https.destroy();
  }
}
