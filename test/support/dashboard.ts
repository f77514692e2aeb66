/** A real ops server with the dashboard, over the database of a test. */

import { onTestFinished } from "vitest";
import type { FlowContext } from "../../src/flows/context.ts";
import { type OpsParts, startOpsServer } from "../../src/ops/server.ts";

/** With these tokens the dashboard requires a sign-in. */
export const READ_TOKEN = "a-token-that-may-only-read";
export const WRITE_TOKEN = "a-token-that-may-write";
export const TOKENS = [
  { name: "reader", role: "read", token: READ_TOKEN },
  { name: "writer", role: "write", token: WRITE_TOKEN },
] as const;

/**
 * Serves until the end of the test. Call it before pages are opened, so that they are closed first.
 * @param tokens none: every client on this machine may do everything, without a sign-in
 * @returns the base URL of the pages
 */
export async function serveDashboard(
  context: FlowContext,
  tokens: readonly (typeof TOKENS)[number][] = [],
  parts: OpsParts = {},
): Promise<string> {
  const settings = { host: "127.0.0.1", port: 0, tokens: [...tokens] };
  const server = await startOpsServer(context, settings, async () => {}, parts);
  onTestFinished(() => server.close());
  return server.url;
}
