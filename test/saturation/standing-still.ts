/** A real worker of which parts stand still, with a provider, a heartbeat and queues that the case owns. */

import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../src/db/client.ts";
import { startOwnRedis } from "../simulation/own-redis.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { type OwnWorkers, type OwnWorkersPlan, withOwnWorkers } from "./support/own-workers.ts";

/** A question about a transfer. */
interface AskedTransfer {
  readonly productId: string;
  readonly atMs: number;
}

export interface StandingLoad extends Pick<OwnWorkersPlan, "config" | "workers" | "prepare"> {
  /** the queues are in a Redis that can be taken away */
  readonly inRedis: boolean;
  /** what the provider does with a question about a transfer of the product: "answer", "hang", or "refuse" */
  readonly transfers?: (productId: string) => "answer" | "hang" | "refuse";
}

export interface StandingWorker extends OwnWorkers {
  readonly asked: readonly AskedTransfer[];
  /** when bets were requested */
  readonly pulledAtMs: readonly number[];
  /** when each heartbeat came */
  readonly beats: readonly number[];
  /** null: the queues are in the database */
  readonly redis: TcpProxy | null;
  nowMs(): number;
  /** Seconds until the condition holds; "never" after the limit. */
  secondsUntil(holds: () => Promise<boolean> | boolean, longest: number): Promise<number | "never">;
}

export async function whileWorking<Seen>(
  { inRedis, transfers, ...plan }: StandingLoad,
  watch: (worker: StandingWorker) => Promise<Seen>,
): Promise<Seen> {
  const begunAt = performance.now();
  const nowMs = () => performance.now() - begunAt;
  const asked: AskedTransfer[] = [];
  const pulledAtMs: number[] = [];
  const beats: number[] = [];
  const provider: RequestListener = async (request, response) => {
    const say = (data: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ reqId: "r", code: 0, message: "success", data }));
    };
    if (request.url?.startsWith("/heartbeat")) {
      beats.push(nowMs());
      return response.writeHead(200).end();
    }
    if (request.url !== "/verifyDepositWithdraw") {
      pulledAtMs.push(nowMs());
      return say({ txns: [] });
    }
    const question = JSON.parse(await text(request)) as { productId: string };
    const { productId } = question;
    asked.push({ productId, atMs: nowMs() });
    const how = transfers?.(productId) ?? "answer";
    if (how === "hang") return;
    if (how === "refuse") return response.writeHead(403).end("{}");
    await pause(50);
    const amounts = { amount: "10.00", beforeBalance: "0.00", afterBalance: "10.00" };
    say({ success: true, currency: "THB", ...question, ...amounts });
  };
  const secondsUntil: StandingWorker["secondsUntil"] = async (holds, longest) => {
    const from = nowMs();
    while (nowMs() - from < longest * 1000) {
      if (await holds()) return Math.round((nowMs() - from) / 100) / 10;
      await pause(250);
    }
    return "never";
  };
  const ownRedis = inRedis ? await startOwnRedis() : null;
  const redis = ownRedis === null ? null : await startTcpProxy(ownRedis.url);
  try {
    return await withOwnWorkers({ ...plan, redisUrl: redis?.url ?? null, provider }, (own) =>
      watch({ ...own, asked, pulledAtMs, beats, redis, nowMs, secondsUntil }),
    );
  } finally {
    await redis?.close();
    await ownRedis?.stop();
  }
}

/** Writes a first callback: without one nothing can be compared, and not all is well. */
export async function ledgerBegins(sql: Sql): Promise<void> {
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    values ('e', 'placeBets', 'e', 'P1', 'anna', 'THB', 'e', 'OPEN', false, now(), now())`;
}

/** Whether an alert of this kind was written. */
export async function isAlerted(sql: Sql, kind: string): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from alerts where kind = ${kind}) as found`;
  return row?.found ?? false;
}
