/** The ops server of a test, with any headers that a browser, or an attacker, may send. */

import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import type { Settings } from "../../src/config.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { type OpsParts, startOpsServer } from "../../src/ops/server.ts";

export const READER = { name: "eye", role: "read", token: "a token that reads" } as const;
export const WRITER = { name: "hand", role: "write", token: "a token that writes" } as const;
export const TOKENS = [READER, WRITER];

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about.
  readonly json: any;
}

/** Sends exactly these headers, and Host if they lack it. */
export type AskRaw = (
  method: string,
  path: string,
  options?: { readonly headers?: OutgoingHttpHeaders; readonly body?: string },
) => Promise<RawAnswer>;

/** What a browser sends with a form of a page of this server. */
export const OWN_PAGE = { "sec-fetch-site": "same-origin", accept: "text/html" };

/** Serves until the end of the test. */
export async function serveOps(
  context: FlowContext,
  tokens: Settings["ops"]["tokens"] = TOKENS,
  parts: OpsParts = {},
  proxies: Settings["ops"]["proxies"] = null,
): Promise<AskRaw> {
  const ops = { host: "127.0.0.1", port: 0, tokens, proxies };
  const server = await startOpsServer(context, ops, async () => {}, parts);
  onTestFinished(() => server.close());
  return (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const request = httpRequest(server.url + path, { method, headers }, async (response) => {
        const text = (await response.setEncoding("utf8").toArray()).join("");
        const { statusCode = 0, headers } = response;
        const isJson = /json/.test(headers["content-type"] ?? "") && text !== "";
        resolve({ status: statusCode, headers, text, json: isJson ? JSON.parse(text) : null });
      });
      request.on("error", reject).end(body);
    });
}

/** Signs in as a user does. @returns the headers that a browser sends with a form from then on */
export async function signIn(ask: AskRaw, { token }: { readonly token: string }) {
  const body = String(new URLSearchParams({ token, to: "/" }));
  const headers = { ...OWN_PAGE, "content-type": "application/x-www-form-urlencoded" };
  const answer = await ask("POST", "/sign-in", { headers, body });
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  return { ...OWN_PAGE, cookie: cookie.split(";")[0] ?? "" };
}

export function bearer({ token }: { readonly token: string }) {
  return { authorization: `Bearer ${token}` };
}
