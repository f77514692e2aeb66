/** The operator's own endpoint: answers each callback from memory, over real HTTP, and keeps the callbacks. */

import { once } from "node:events";
import { type Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface WalletTarget {
  readonly url: string;
  /** ids of the requests that it answered, in order */
  readonly taken: readonly string[];
  close(): Promise<void>;
}

/** @param waitMs before it answers */
export async function startWalletTarget(waitMs = 0): Promise<WalletTarget> {
  const taken: string[] = [];
  const server = createServer(async (asked, reply) => {
    const { id, username, currency, productId } = JSON.parse(await text(asked));
    taken.push(id);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    reply.setHeader("content-type", "application/json");
    const balances = '"balanceBefore":100.00,"balanceAfter":98.75';
    reply.end(
      `${JSON.stringify({ id, statusCode: 0, timestampMillis: 1_780_000_000_000, productId, currency, username }).slice(0, -1)},${balances}}`,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    taken,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function placementOf(id: string): string {
  const item = { id: `bet-${id}`, status: "OPEN", roundId: `round-${id}`, betAmount: 1.25 };
  const envelope = {
    id,
    timestampMillis: 1_780_000_000_000,
    productId: "P1",
    currency: "THB",
    username: "anna",
  };
  return JSON.stringify({ ...envelope, txns: [item] });
}

/**
 * Sends a placement.
 * @returns whether it was answered with success; false: there was no whole answer
 */
export async function placeBet(port: number, id: string, agent?: Agent): Promise<boolean> {
  const body = placementOf(id);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const options = { host: "127.0.0.1", port, path: "/placeBets", method: "POST", headers };
  try {
    const sent = request(agent === undefined ? options : { ...options, agent });
    sent.end(body);
    const [response] = await once(sent, "response");
    return JSON.parse(await text(response)).statusCode === 0;
  } catch {
    return false;
  }
}
