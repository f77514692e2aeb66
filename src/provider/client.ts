/** The agent API (§4.B, §4.C) over HTTP: asks, and hands back words or a ReconError. */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import got, { type Got } from "got";
import type { BetPage, BetPageRequest } from "../bet.ts";
import { type Clock, formatInstant } from "../clock.ts";
import { isLoopback, type ProviderSettings } from "../config.ts";
import { ReconError } from "../errors.ts";
import { sortRequestError } from "./errors-of-request.ts";
import { readBetPage, readEnvelope } from "./wire.ts";

/** An answer beyond this is not a page of bet records. */
const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024;

export interface ProviderClient {
  /** GET /seamless/betTransactionsV2 by range (§4.B3), one chunk. */
  fetchBetPage(request: BetPageRequest, signal: AbortSignal): Promise<BetPage>;
  close(): void;
}

export interface ProviderLimits {
  readonly requestTimeoutMs: number;
  readonly connections: number;
  readonly production: boolean;
}

/**
 * Opens a client; nothing is sent yet.
 * @throws ReconError `settings-invalid` for plain http to another machine in production
 */
export function openProvider(
  settings: ProviderSettings,
  limits: ProviderLimits,
  clock: Clock,
): ProviderClient {
  const base = new URL(settings.baseUrl);
  if (limits.production && base.protocol !== "https:" && !isLoopback(base.hostname)) {
    throw new ReconError(
      "settings-invalid",
      `PROVIDER_BASE_URL: ${base.origin} is plain http; in production credentials are sent over https only`,
    );
  }
  const agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: limits.connections }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: limits.connections }),
  };
  const http = got.extend({
    prefixUrl: settings.baseUrl,
    username: settings.username,
    password: settings.password,
    timeout: { request: limits.requestTimeoutMs },
    retry: { limit: 0 },
    followRedirect: false,
    agent: agents,
    headers: { accept: "application/json", "user-agent": "wallet-recon" },
  });
  return {
    fetchBetPage: (request, signal) => fetchBetPage(http, clock, request, signal),
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

async function fetchBetPage(
  http: Got,
  clock: Clock,
  request: BetPageRequest,
  signal: AbortSignal,
): Promise<BetPage> {
  const what = `betTransactionsV2 of ${request.productId} from ${formatInstant(request.from)} to ${formatInstant(request.to)}`;
  const searchParams = {
    productId: request.productId,
    startTime: formatInstant(request.from),
    endTime: formatInstant(request.to),
    ...(request.nextId === null ? {} : { nextId: request.nextId }),
  };
  const requestedAt = clock.now();
  const body = await readBody(http, clock, "seamless/betTransactionsV2", searchParams, what, signal);
  const tookMs = clock.now() - requestedAt;
  return { ...readBetPage(readEnvelope(body, what), request.productId, what), requestedAt, tookMs };
}

async function readBody(
  http: Got,
  clock: Clock,
  path: string,
  searchParams: Record<string, string>,
  what: string,
  signal: AbortSignal,
): Promise<string> {
  const tooLarge = new AbortController();
  try {
    const request = http.get(path, { searchParams, signal: AbortSignal.any([signal, tooLarge.signal]) });
    request.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > LARGEST_ANSWER_BYTES) tooLarge.abort();
    });
    const response = await request;
    if (response.statusCode >= 300) {
      throw new ReconError(
        "provider-bad-status",
        `${what} was answered with a redirect (HTTP ${response.statusCode})`,
      );
    }
    return response.body;
  } catch (error) {
    signal.throwIfAborted();
    if (tooLarge.signal.aborted) {
      throw new ReconError(
        "provider-too-large",
        `${what}: the answer is larger than ${LARGEST_ANSWER_BYTES} bytes`,
      );
    }
    throw sortRequestError(error, what, clock.now());
  }
}
