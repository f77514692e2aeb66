/**
 * Checks every ten seconds, over a new connection, whether a pool's connections still lead to a server that accepts writes, and replaces them
 * if not (docs/operations.md#outages, decision 281).
 */

import { setInterval, setTimeout } from "node:timers";
import { endsInTime } from "../in-time.ts";
import type { Log } from "../log.ts";
import type { Sql } from "./client.ts";
import { closeClient, connectClient } from "./pg-client.ts";
import { describeRefusal, SERVER_STATE, type ServerState } from "./prove-write.ts";
import { renew, wasRefused } from "./renewable.ts";

const CHECK_EVERY_MS = 10_000;
/** The first check learns which server the pool's connections lead to, so it must run before a failover can happen. */
const FIRST_CHECK_MS = 1_000;
const LONGEST_CHECK_MS = 5_000;
/** How long running work may take if its connections still work, and if they lead to another server. */
const GRACE_SECONDS = 60;
const SHORT_GRACE_SECONDS = 5;

interface Checked {
  readonly server: string;
  /** why the server refuses writes; null: it accepts them */
  readonly refusal: string | null;
}

/**
 * @param onChange called with the reason when the server starts to refuse writes, and with null when it accepts them again
 * @returns stops the checks
 */
export function watchConnections(
  pools: readonly Sql[],
  onChange: (refusal: string | null) => void,
  checkEveryMs = CHECK_EVERY_MS,
): () => void {
  const [first] = pools;
  let last: Checked | null = null;
  let isRunning = false;
  const check = async () => {
    if (first === undefined) return;
    const now = await readServerState(first.options);
    const isOther = last !== null && last.server !== now.server;
    for (const sql of pools) {
      if (isOther) renew(sql, SHORT_GRACE_SECONDS);
      else if (now.refusal === null && (last?.refusal != null || wasRefused(sql))) renew(sql, GRACE_SECONDS);
    }
    if ((last?.refusal ?? null) !== now.refusal) onChange(now.refusal);
    last = now;
  };
  const checkOnce = () => {
    if (isRunning) return;
    isRunning = true;
    // If the server is down, there is nothing to replace: broken connections are reopened at their next use.
    check()
      .catch(() => {})
      .finally(() => {
        isRunning = false;
      });
  };
  const soon = setTimeout(checkOnce, Math.min(FIRST_CHECK_MS, checkEveryMs)).unref();
  const others = setInterval(checkOnce, checkEveryMs).unref();
  return () => {
    clearTimeout(soon);
    clearInterval(others);
  };
}

/** Logs when the database starts and stops refusing writes. */
export function reportRefusals(log: Log): (refusal: string | null) => void {
  return (refusal) => {
    if (refusal === null) log.info("the database accepts writes again: work continues");
    else log.error(`the database refuses writes: ${refusal}. All work waits until it accepts writes again`);
  };
}

/** @throws the error of connecting; Error if the server does not answer in time */
async function readServerState(options: Sql["options"]): Promise<Checked> {
  const client = await connectClient(options);
  try {
    const asked = client.query<ServerState>(SERVER_STATE);
    if (!(await endsInTime(asked, LONGEST_CHECK_MS))) throw new Error("the database does not answer");
    const [row] = (await asked).rows;
    if (row === undefined) throw new Error("the database gives no answer");
    return { server: row.server, refusal: describeRefusal(row) };
  } finally {
    void closeClient(client);
  }
}
