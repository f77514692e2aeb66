/** The way out of this machine: through the proxy of the environment, or direct. */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { explainTls } from "./certificates.ts";
import { readProxies } from "./config.ts";

interface OutgoingAgents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/**
 * How long one of a host's addresses may take to connect before the next is tried. Node's 250 ms is less than a connection to
 * another continent takes: if the last address has no route (IPv6 in a container), no request would ever succeed.
 */
const ONE_ADDRESS_MS = 2_500;

/** @param connections the most at the same time to one host */
export function openAgents(connections: number): OutgoingAgents {
  const options = {
    keepAlive: true,
    maxSockets: connections,
    proxyEnv: readProxies(),
    autoSelectFamilyAttemptTimeout: ONE_ADDRESS_MS,
  };
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

/** What the proxy said, if it refused to connect; null: it is another error. */
export function explainProxy(error: unknown): string | null {
  const { code = "", message = "" } = (error ?? {}) as NodeJS.ErrnoException;
  if (!code.startsWith("ERR_PROXY")) return null;
  const [, said = ""] = / via \S+: (.*)$/s.exec(message) ?? [];
  return `the proxy of HTTPS_PROXY refused to connect (${said || code}). Correct HTTPS_PROXY, or name the host in NO_PROXY`;
}

/** Why a request has no answer: ends the sentence that says so. */
export function explainRequest(error: Error & { readonly code: string }): string {
  const why = explainTls(error) ?? explainProxy(error) ?? explainProxy(error.cause);
  return why === null ? ` (${error.code})` : `: ${why}`;
}
