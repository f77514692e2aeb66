/** The ops server of a test, over HTTP. */

import { expect, onTestFinished } from "vitest";
import type { Settings } from "../../src/config.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { startOpsServer } from "../../src/ops/server.ts";

interface ApiAnswer {
  readonly status: number;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about.
  readonly json: any;
}

/** @param token sent as a bearer token */
export type AskApi = (
  method: "GET" | "POST",
  path: string,
  options?: { readonly body?: unknown; readonly token?: string },
) => Promise<ApiAnswer>;

/** Serves until the end of the test. */
export async function serveApi(
  context: FlowContext,
  tokens: Settings["ops"]["tokens"] = [],
): Promise<AskApi> {
  const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens }, async () => {});
  onTestFinished(() => server.close());
  return async (method, path, { body, token } = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      type: response.headers.get("content-type") ?? "",
      json: await response.json(),
    };
  };
}

/** An RFC 9457 answer. @param detail a part of its detail */
export function problemWith(status: number, detail: string) {
  return {
    status,
    type: expect.stringMatching(/^application\/problem\+json/),
    json: expect.objectContaining(problemJson(status, expect.stringContaining(detail))),
  };
}

/** The fields of every problem. @param detail its text, or what matches it */
export function problemJson(status: number, detail: unknown, code: unknown = expect.any(String)) {
  return {
    type: expect.stringMatching(/\/docs\/errors\.md#[a-z0-9-]+$/),
    title: expect.any(String),
    status,
    detail,
    code,
  };
}
