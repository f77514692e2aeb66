/**
 * The built-in wallet. Waiting requests of different players share a transaction, without waiting for one to fill. A request that
 * cannot share one is applied alone.
 */

import pLimit from "p-limit";
import { type Clock, systemClock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { refusesWrites } from "../db/database-error.ts";
import type { Deadline } from "../db/deadline.ts";
import { OutcomeUnknown, openPipelinedPool } from "../db/pipelined-pool.ts";
import { PROOF } from "../db/prove-write.ts";
import { describeError } from "../errors.ts";
import type { Amount } from "../money.ts";
import { applyAlone, applyTogether, findOutcome, type InBatch, type Received } from "./apply.ts";
import { askForBalances, type BalanceQuestion, balancesOf, type KeptBody, keepBodies } from "./body-store.ts";
import type { CallbackOutcome } from "./judge.ts";

export interface Wallet {
  /**
   * Judges a request and applies it: all items or none. Rejects if the request was certainly not applied, and with
   * `OutcomeUnknown` if it may have been applied (decision 126).
   * @param deadline after this time the request is not applied
   */
  apply(received: Received, deadline: Deadline): Promise<CallbackOutcome>;
  /** @returns null: the player has no wallet of this currency */
  checkBalance(question: BalanceQuestion, deadline: Deadline): Promise<Amount | null>;
  /** Stores the body of a request that changes nothing. */
  keepBody(kept: KeptBody, deadline: Deadline): Promise<void>;
  /** Tries a write over a connection of each kind. @throws ReconError that says why it failed */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Two players sent requests with the same id. The second one to commit is judged again, and then sees the first. */
const UNIQUE_VIOLATION = "23505";

/**
 * Two batches: while PostgreSQL writes one and waits for the disk, this process judges and answers the other. With a third,
 * fewer requests would share a commit.
 */
const BATCH: BatchLimits = { atOnce: 2, requests: 50, items: 500, bytes: 1024 * 1024 };
/**
 * Requests that change nothing also share commits, so they need few connections. They have no limit of their own for locks:
 * only the lock of a whole table can hold them up, and then it holds up all of them.
 */
const SMALL_BATCH: BatchLimits = { ...BATCH, atOnce: 1 };
/** The most requests that are applied alone at the same time. None of them waits for a locked wallet. */
const MOST_ALONE = 4;
/** The most requests that wait in the database for a locked wallet. Others pause, and retry with the next batch. */
const MOST_WAITING = 2;
const SHORTEST_REST_MS = 50;
const LONGEST_REST_MS = 500;
/** The longest wait of a batch for any lock of another transaction. A batch never waits for a wallet. */
const LONGEST_LOCK_MS = 500;

/** Opens connections for the wallet, besides the pool: at most 10. */
export function openWallet(sql: Sql, clock: Clock): Wallet {
  const shared = openPipelinedPool(sql, [], undefined, LONGEST_LOCK_MS);
  const own = openPipelinedPool(sql, [UNIQUE_VIOLATION]);
  const alone = pLimit(MOST_ALONE);
  const waiting = pLimit(MOST_WAITING);
  const applyInBatch = openBatches(BATCH, (batch: readonly InBatch[]) => applyTogether(shared, batch, clock));
  const checkInBatch = openBatches(SMALL_BATCH, async (batch: readonly BalanceQuestion[]) =>
    balancesOf(batch, await own.run(askForBalances(batch))),
  );
  const keepInBatch = openBatches(SMALL_BATCH, async (batch: readonly KeptBody[]) => {
    await own.run(keepBodies(batch));
    return batch.map(() => undefined);
  });
  /** @returns "locked": another transaction has locked a wallet of the player, and the request was not applied */
  const applyUnlocked = async (received: Received, deadline: Deadline) => {
    const { body, request } = received;
    const size = { items: request.items.length, bytes: body.length };
    const outcome = await applyInBatch({ received, deadline }, size, deadline);
    if (outcome instanceof OutcomeUnknown) throw outcome;
    if (outcome !== "alone") return outcome;
    return await alone(() => {
      deadline.check();
      return applyAlone(own, received, clock, deadline, "leave-out");
    });
  };
  const apply = async (received: Received, deadline: Deadline) => {
    for (let restMs = SHORTEST_REST_MS; ; restMs = Math.min(2 * restMs, LONGEST_REST_MS)) {
      const outcome = await applyUnlocked(received, deadline);
      if (outcome !== "locked") return outcome;
      if (waiting.activeCount + waiting.pendingCount < MOST_WAITING) {
        const waited = await waiting(() => applyAlone(own, received, clock, deadline, "wait"));
        if (waited !== "locked") return waited;
      }
      await systemClock.sleep(restMs);
      deadline.check();
    }
  };
  return {
    apply: async (received, deadline) => {
      try {
        return await apply(received, deadline);
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error;
        const verdict = await findOutcome((work) => alone(() => work(own)), received, deadline);
        if (verdict === "unknown") throw error;
        if (verdict === null)
          throw new Error(`it was not applied: ${describeError(error)}`, { cause: error });
        return verdict;
      }
    },
    checkBalance: (question, deadline) => checkInBatch(question, sizeOf(question.body), deadline),
    keepBody: (kept, deadline) => keepInBatch(kept, sizeOf(kept.body), deadline),
    check: async () => {
      const write = { text: PROOF, values: [] };
      await Promise.all([shared.run(write), own.run(write)]).catch((error: unknown) => {
        throw refusesWrites(sql.options, describeError(error), error);
      });
    },
    close: async () => {
      await Promise.all([shared.close(), own.close()]);
    },
  };
}

function sizeOf(body: string) {
  return { items: 1, bytes: body.length };
}

export interface BatchLimits {
  /** the most batches under way */
  readonly atOnce: number;
  /** the most requests of one batch; a single request may exceed items and bytes */
  readonly requests: number;
  readonly items: number;
  readonly bytes: number;
}

/** The size of a request. */
interface Size {
  readonly items: number;
  readonly bytes: number;
}

interface Waiting<Request, Outcome> extends PromiseWithResolvers<Outcome> {
  readonly request: Request;
  readonly size: Size;
  readonly deadline: Deadline;
}

/**
 * Gathers waiting requests into batches. No request waits for a batch to fill: the next batch is the requests that arrive while
 * the batches before it are under way. A batch takes two round trips, like a single request. Considered: `commit_delay`,
 * which saves only the flush and delays every request.
 * @param serve is called with the requests of a batch in order of arrival, and returns their outcomes in that order. If
 * it rejects, each request whose deadline is not over is served alone.
 * @returns adds a request; rejects with the reason of the deadline if that is over before the batch begins
 */
export function openBatches<Request, Outcome>(
  limits: BatchLimits,
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): (request: Request, size: Size, deadline: Deadline) => Promise<Outcome> {
  const line = new Set<Waiting<Request, Outcome>>();
  let underWay = 0;
  let isPlanned = false;

  const begin = () => {
    isPlanned = false;
    while (underWay < limits.atOnce && line.size > 0) {
      const batch = takeBatch(line, limits);
      underWay += 1;
      void settle(batch, serve).finally(() => {
        underWay -= 1;
        plan();
      });
    }
  };
  // Node reads requests that arrive together one by one. setImmediate begins the batch after the last of them.
  const plan = () => {
    if (isPlanned || underWay >= limits.atOnce || line.size === 0) return;
    isPlanned = true;
    setImmediate(begin);
  };
  return (request, size, deadline) => {
    const one = { request, size, deadline, ...Promise.withResolvers<Outcome>() };
    line.add(one);
    deadline.over.catch((reason: unknown) => {
      if (line.delete(one)) one.reject(reason);
    });
    plan();
    return one.promise;
  };
}

/** Takes as many of the first requests as the limits allow, but at least one. */
function takeBatch<Waits extends { readonly size: Size }>(line: Set<Waits>, limits: BatchLimits): Waits[] {
  const batch: Waits[] = [];
  let { requests, items, bytes } = limits;
  for (const one of line) {
    requests -= 1;
    items -= one.size.items;
    bytes -= one.size.bytes;
    if (batch.length > 0 && (requests < 0 || items < 0 || bytes < 0)) break;
    batch.push(one);
    line.delete(one);
  }
  return batch;
}

async function settle<Request, Outcome>(
  batch: readonly Waiting<Request, Outcome>[],
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): Promise<void> {
  try {
    const outcomes = await serve(batch.map(({ request }) => request));
    for (const [place, one] of batch.entries()) one.resolve(outcomes[place] as Outcome);
  } catch (error) {
    const [only] = batch;
    if (batch.length === 1) only?.reject(error);
    else for (const one of batch) await settleAlone(one, serve);
  }
}

async function settleAlone<Request, Outcome>(
  one: Waiting<Request, Outcome>,
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): Promise<void> {
  try {
    one.deadline.check();
  } catch (error) {
    one.reject(error);
    return;
  }
  await settle([one], serve);
}
