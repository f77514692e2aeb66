/**
 * Looks from time to time, over a new connection, whether a pool's connections still lead to a server that takes writes,
 * and replaces them if not (docs/operations.md#outages, decision 281).
 */

import { setInterval, setTimeout } from "node:timers";
import { endsInTime } from "../in-time.ts";
import type { Log } from "../log.ts";
import type { Sql } from "./client.ts";
import { closeClient, connectClient } from "./pipelined-client.ts";
import { SERVER_STATE, type ServerState, sayRefusal } from "./prove-write.ts";
import { renew, wasRefused } from "./renewable.ts";

const LOOK_EVERY_MS = 10_000;
/** The first look must come before the name leads elsewhere: it tells which server the pool's connections lead to. */
const FIRST_LOOK_MS = 1_000;
const LONGEST_LOOK_MS = 5_000;
/** How long the work under way may take if its connections work, and if they lead to another server. */
const GRACE_SECONDS = 60;
const SHORT_GRACE_SECONDS = 5;

interface Look {
  readonly server: string;
  /** why the server takes no writes; null: it takes them */
  readonly refusal: string | null;
}

/**
 * @param onChange called when the server begins and ceases to refuse writes, with the reason; null: it takes writes
 * @returns ends the looks
 */
export function watchConnections(
  pools: readonly Sql[],
  onChange: (refusal: string | null) => void,
  lookEveryMs = LOOK_EVERY_MS,
): () => void {
  const [first] = pools;
  let last: Look | null = null;
  let isUnderWay = false;
  const look = async () => {
    if (first === undefined) return;
    const now = await lookAt(first.options);
    const isOther = last !== null && last.server !== now.server;
    for (const sql of pools) {
      if (isOther) renew(sql, SHORT_GRACE_SECONDS);
      else if (now.refusal === null && (last?.refusal != null || wasRefused(sql))) renew(sql, GRACE_SECONDS);
    }
    if ((last?.refusal ?? null) !== now.refusal) onChange(now.refusal);
    last = now;
  };
  const lookAlone = () => {
    if (isUnderWay) return;
    isUnderWay = true;
    // Without a server there is nothing to replace: connections that broke are opened again at their next use.
    look()
      .catch(() => {})
      .finally(() => {
        isUnderWay = false;
      });
  };
  const soon = setTimeout(lookAlone, Math.min(FIRST_LOOK_MS, lookEveryMs)).unref();
  const others = setInterval(lookAlone, lookEveryMs).unref();
  return () => {
    clearTimeout(soon);
    clearInterval(others);
  };
}

/** Logs when the database begins and ceases to refuse writes. */
export function reportRefusals(log: Log): (refusal: string | null) => void {
  return (refusal) => {
    if (refusal === null) log.info("the database takes writes again: work goes on");
    else log.error(`the database takes no writes: ${refusal}. Nothing is done until it takes writes again`);
  };
}

/** @throws the error of connecting; Error if the server does not answer in time */
async function lookAt(options: Sql["options"]): Promise<Look> {
  const client = await connectClient(options);
  try {
    const asked = client.query<ServerState>(SERVER_STATE);
    if (!(await endsInTime(asked, LONGEST_LOOK_MS))) throw new Error("the database does not answer");
    const [row] = (await asked).rows;
    if (row === undefined) throw new Error("the database gives no answer");
    return { server: row.server, refusal: sayRefusal(row) };
  } finally {
    void closeClient(client);
  }
}
