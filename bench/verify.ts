/**
 * verify: the time for 1,000 due transfers with a provider that answers in 50 ms, compared with 1,000 × 50 ms /
 * concurrency.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TransferQuestion } from "../src/agent-endpoints.ts";
import { systemClock } from "../src/clock.ts";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { openAskOutcome } from "../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../src/flows/verify/operate-transfers.ts";
import { verifyDue } from "../src/flows/verify/verify-due.ts";
import { silentLog } from "../src/log.ts";
import { parseAmount } from "../src/money.ts";
import { openBudget } from "../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../src/provider/client.ts";
import type { Transfer } from "../src/transfer.ts";
import { countTransfers } from "../src/verify/store.ts";
import { withDatabase } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";

const COUNT = 1_000;
const ANSWER_MS = 50;
const ROUNDS = 3;
const CONFIG = parseConfig({ products: [{ productId: "P1", walletMode: "transfer" }] });
const { concurrency } = CONFIG.verify;
const { requestTimeout } = CONFIG.pull;

/** The bare questions, by the same client with the same concurrency, show the share of the machine and the client. */
export async function measureVerify(): Promise<Figure[]> {
  const server = fork(join(import.meta.dirname, "support/verify-server.ts"), [String(ANSWER_MS)]);
  const [{ port }] = (await once(server, "message")) as [{ port: number }];
  const limits = { requestTimeoutMs: requestTimeout, connections: concurrency, production: false };
  const settings = { baseUrl: `http://127.0.0.1:${port}`, username: "u", password: "p" };
  const client = openProvider(settings, limits, systemClock);
  const verified: number[] = [];
  const asked: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    asked.push(await timeOf(() => askAll(client)));
    verified.push(await withDatabase((sql) => verifyAll(sql, client)));
  }
  client.close();
  server.kill();
  const bestMs = (COUNT * ANSWER_MS) / concurrency;
  const detail = `${seconds(median(verified))} of ${seconds(bestMs)}; the bare questions take ${seconds(median(asked))}`;
  return [atMost("verify", median(verified) / bestMs, 1.2, detail)];
}

/**
 * Hands over transfers that are due at once, and verifies them as the worker does.
 * @returns milliseconds of the verification
 */
async function verifyAll(sql: Sql, client: ProviderClient): Promise<number> {
  const base = { sql, config: CONFIG, clock: systemClock, log: silentLog };
  const limits = { concurrency: CONFIG.pull.concurrency, minIntervalMs: 0 };
  const budget = openBudget(sql, limits, requestTimeout, systemClock);
  const context = { ...base, ask: openAskOutcome(client, budget, base) };
  await handOverTransfers(
    context,
    dueTransfers().map((transfer) => ({ transfer, label: "" })),
  );
  const tookMs = await timeOf(() => verifyDue(context, new AbortController().signal));
  const { accepted } = await countTransfers(sql);
  if (accepted !== COUNT) throw new Error(`${accepted} transfers were accepted`);
  return tookMs;
}

function dueTransfers(): Transfer[] {
  const sentAt = systemClock.now() - CONFIG.verify.rejectedFinalAfter;
  const amount = parseAmount("10.00", "amount");
  return Array.from({ length: COUNT }, (_, index) => ({
    ...questionOf(index),
    currency: "THB",
    amount,
    sentAt,
  }));
}

function questionOf(index: number): TransferQuestion {
  return {
    username: `player-${index % 50}`,
    productId: "P1",
    transactionRef: `ref-${index}`,
    type: "DEPOSIT",
  };
}

async function askAll(client: ProviderClient): Promise<void> {
  let next = 0;
  const askInTurn = async () => {
    while (next < COUNT) {
      const { success } = await client.verifyDepositWithdraw(questionOf(next++));
      if (!success) throw new Error("a transfer was not booked");
    }
  };
  await Promise.all(Array.from({ length: concurrency }, askInTurn));
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function seconds(lengthMs: number): string {
  return `${(lengthMs / 1000).toFixed(2)} s`;
}
