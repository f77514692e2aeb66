/** One request to the provider over HTTP: what comes back whole is handed on, all else is a ReconError. */

import { Agent as HttpAgent, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import got, { type Got } from "got";
import type { Clock } from "../clock.ts";
import { isLoopback, type ProviderSettings } from "../config.ts";
import { ReconError } from "../errors.ts";
import { type Answered, describe } from "./envelope.ts";
import { errorOfStatus, sortRequestError } from "./errors-of-request.ts";

export interface ProviderLimits {
  readonly requestTimeoutMs: number;
  readonly connections: number;
  readonly production: boolean;
  /** hears the Date header of every answer as it comes; null: it has none */
  readonly onDate?: (date: string | null) => void;
}

export interface ProviderRequest {
  readonly method: "GET" | "POST";
  /** below the base URL, without a slash at its beginning */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** sent as JSON */
  readonly body?: object;
  /** names the request for people: "deposit R1 of P1 for anna" */
  readonly what: string;
  /** reading stops beyond this */
  readonly largestBytes: number;
  /** beside the credentials; "all": the answer itself holds a token */
  readonly secrets?: Answered["secrets"];
}

export interface ProviderHttp {
  /** Sends it once. Rejects with a ReconError whose code is one of `provider-*`, or with the signal's reason. */
  send(request: ProviderRequest, signal: AbortSignal | undefined): Promise<Answered>;
  close(): void;
}

/**
 * Nothing is sent yet.
 * @throws ReconError `settings-invalid` for plain http to another machine in production, and for a base URL that is none
 */
export function openHttp(settings: ProviderSettings, limits: ProviderLimits, clock: Clock): ProviderHttp {
  const base = new URL(settings.baseUrl);
  if (limits.production && base.protocol !== "https:" && !isLoopback(base.hostname)) {
    throw new ReconError(
      "settings-invalid",
      `PROVIDER_BASE_URL: ${base.origin} is plain http; in production credentials are sent over https only`,
    );
  }
  if (base.search !== "" || base.hash !== "") {
    throw new ReconError(
      "settings-invalid",
      "PROVIDER_BASE_URL has a query or a fragment: the paths of the agent API stand behind it",
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
    // Whether to ask again is the caller's decision, and what moves money is never sent twice.
    retry: { limit: 0 },
    followRedirect: false,
    agent: agents,
    headers: { accept: "application/json", "user-agent": "wallet-recon" },
  });
  const credentials = secretsOf(settings);
  return {
    send: (request, signal) => send(http, clock, request, signal, { credentials, onDate: limits.onDate }),
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** What no error may show: the password, and both as the header has them. */
function secretsOf({ username, password }: ProviderSettings): string[] {
  return [password, Buffer.from(`${username}:${password}`).toString("base64")];
}

async function send(
  http: Got,
  clock: Clock,
  request: ProviderRequest,
  signal: AbortSignal | undefined,
  { credentials, onDate }: { credentials: readonly string[]; onDate: ProviderLimits["onDate"] },
): Promise<Answered> {
  const { method, path, query, body, what, largestBytes } = request;
  const secrets: Answered["secrets"] =
    request.secrets === "all" ? "all" : [...credentials, ...(request.secrets ?? [])];
  const tooLarge = new AbortController();
  try {
    const asked = http(path, {
      method,
      ...(query === undefined ? {} : { searchParams: query }),
      ...(body === undefined ? {} : { json: body }),
      signal: signal === undefined ? tooLarge.signal : AbortSignal.any([signal, tooLarge.signal]),
    });
    asked.on("response", ({ headers }: { headers: IncomingHttpHeaders }) => onDate?.(headers.date ?? null));
    asked.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > largestBytes) tooLarge.abort();
    });
    const { statusCode: status, body: text } = await asked;
    const answered = { what, status, text, secrets };
    if (status >= 300) throw errorOfStatus(what, describe(answered));
    return answered;
  } catch (error) {
    signal?.throwIfAborted();
    if (tooLarge.signal.aborted) {
      throw new ReconError("provider-too-large", `${what}: the answer is larger than ${largestBytes} bytes`);
    }
    throw sortRequestError(error, what, clock.now(), secrets);
  }
}
