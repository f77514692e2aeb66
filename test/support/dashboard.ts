/** A real ops server with the dashboard, over the database of a test. */

import { afterAll } from "vitest";
import type { FlowContext } from "../../src/flows/context.ts";
import type { OpsToken } from "../../src/ops/access/sessions.ts";
import { type OpsParts, type OpsServer, startOpsServer } from "../../src/ops/server.ts";

/** With these tokens the dashboard requires a sign-in. */
export const READ_TOKEN = "a-token-that-may-only-read";
export const WRITE_TOKEN = "a-token-that-may-write";
export const TOKENS = [
  { name: "reader", role: "read", token: READ_TOKEN },
  { name: "writer", role: "write", token: WRITE_TOKEN },
] as const;

/** Serves pages. @returns their base URL */
export type ServeDashboard = (
  context: FlowContext,
  /** default: every client on this machine may do everything, without a sign-in */
  tokens?: readonly OpsToken[],
  parts?: OpsParts,
) => Promise<string>;

const NO_TOKENS: readonly [] = [];
const NO_PARTS: OpsParts = {};

/**
 * Call at the top of a test file, after `useDatabase`. Each server serves until the end of the file: who asks again with the same
 * objects gets the same one.
 */
export function useDashboard(): ServeDashboard {
  const servers: { readonly of: readonly unknown[]; readonly server: OpsServer }[] = [];
  afterAll(async () => {
    await Promise.all(servers.splice(0).map(({ server }) => server.close()));
  });
  return async (context, tokens = NO_TOKENS, parts = NO_PARTS) => {
    const asked = [context, tokens, parts];
    const known = servers.find(({ of }) => of.every((one, index) => one === asked[index]));
    if (known !== undefined) return known.server.url;
    const settings = { host: "127.0.0.1", port: 0, tokens: [...tokens] };
    const server = await startOpsServer(context, settings, async () => {}, parts);
    servers.push({ of: asked, server });
    return server.url;
  };
}
