/**
 * The built-in wallet in PostgreSQL. Requests of different players that wait at the same moment share a transaction
 * (decision 180). A request is applied alone where it cannot share one: its wallet is locked, or the batch failed.
 */

import pLimit from "p-limit";
import { type Clock, monotonicMs, systemClock } from "../clock.ts";
import type { Sql } from "../db/client.ts";
import { type CommitGuard, Deadline, writeInTime } from "../db/deadline.ts";
import { OutcomeUnknown, openPipelinedPool, type PipelinedPool } from "../db/pipelined-pool.ts";
import { formOf, type RowForm, type SqlStatement } from "../db/statement.ts";
import { describeError } from "../errors.ts";
import type { Amount } from "../money.ts";
import { type BatchLimits, openBatches } from "./batches.ts";
import { askForBalances, type BalanceQuestion, balancesOf, type KeptBody, keepBodies } from "./body-store.ts";
import { type CallbackOutcome, judgeRequest, type RefusedCallback } from "./judge.ts";
import { type JudgedCallback, writeOutcomes } from "./outcome-store.ts";
import { askForPlayers, type LockedPlayer, type Question } from "./player-store.ts";

/** A request as it was received. */
interface Received extends Question {
  /** the body to store, without session tokens */
  readonly body: string;
}

export interface Wallet {
  /**
   * Judges a request and applies it: all items or none. Rejects where the request was certainly not applied. Rejects
   * with `OutcomeUnknown` where that is not certain (decision 126).
   * @param deadline after this time the request is not applied
   */
  apply(received: Received, deadline: Deadline): Promise<CallbackOutcome>;
  /** @returns null: the player has no wallet of this currency */
  checkBalance(question: BalanceQuestion, deadline: Deadline): Promise<Amount | null>;
  /** Stores the body of a request that changes nothing. */
  keepBody(kept: KeptBody, deadline: Deadline): Promise<void>;
  close(): Promise<void>;
}

/** Two players sent requests with one id. The second to commit is judged again, and then sees the first. */
const UNIQUE_VIOLATION = "23505";

/**
 * While one batch waits for the disk, PostgreSQL writes another and this process judges a third. More batches at once
 * would share fewer commits.
 */
const BATCH: BatchLimits = { atOnce: 3, requests: 50, items: 500, bytes: 1024 * 1024 };
/** Requests that change nothing also share commits, and need few connections. */
const SMALL_BATCH: BatchLimits = { ...BATCH, atOnce: 1 };
const MOST_ALONE = 5;
/**
 * Nobody in a batch waits longer for a row that somebody else has locked. Wallets are not waited for at all.
 */
const LONGEST_LOCK_MS = 500;

/** The longest search for the outcome of a request whose connection was lost during its commit. */
const LONGEST_SEARCH_MS = 60_000;
const LONGEST_TRY_MS = 10_000;
const SEARCH_EVERY_MS = 250;

/** Opens connections for the wallet, besides the pool: at most 10. */
export function openWallet(sql: Sql, clock: Clock): Wallet {
  const shared = openPipelinedPool(sql, [], undefined, LONGEST_LOCK_MS);
  const own = openPipelinedPool(sql, [UNIQUE_VIOLATION]);
  const place = pLimit(MOST_ALONE);
  const applyInBatch = openBatches(BATCH, (batch: readonly InBatch[]) => applyTogether(shared, batch, clock));
  const checkInBatch = openBatches(SMALL_BATCH, async (batch: readonly BalanceQuestion[]) =>
    balancesOf(batch, await shared.run(askForBalances(batch))),
  );
  const keepInBatch = openBatches(SMALL_BATCH, async (batch: readonly KeptBody[]) => {
    await shared.run(keepBodies(batch));
    return batch.map(() => undefined);
  });
  return {
    apply: async (received, deadline) => {
      const { body, request } = received;
      const size = { items: request.items.length, bytes: body.length };
      const outcome = await applyInBatch({ received, deadline }, size, deadline);
      if (outcome !== "alone" && !(outcome instanceof OutcomeUnknown)) return outcome;
      try {
        if (outcome instanceof OutcomeUnknown) throw outcome;
        return await place(() => {
          deadline.check();
          return applyAlone(own, received, clock, deadline);
        });
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) throw error;
        const verdict = await findOutcome((work) => place(() => work(own)), received, deadline);
        if (verdict === "unknown") throw error;
        if (verdict === null)
          throw new Error(`it was not applied: ${describeError(error)}`, { cause: error });
        return verdict;
      }
    },
    checkBalance: (question, deadline) => checkInBatch(question, sizeOf(question.body), deadline),
    keepBody: (kept, deadline) => keepInBatch(kept, sizeOf(kept.body), deadline),
    close: async () => {
      await Promise.all([shared.close(), own.close()]);
    },
  };
}

function sizeOf(body: string) {
  return { items: 1, bytes: body.length };
}

interface InBatch {
  readonly received: Received;
  readonly deadline: Deadline;
}

/** "alone": it was not applied, and must be applied alone */
type OutcomeInBatch = CallbackOutcome | "alone" | OutcomeUnknown;

/**
 * Applies requests in one transaction. What one of them cannot share is left to it alone: a locked wallet, a player or
 * request id that is in the batch already, a deadline that is over.
 */
async function applyTogether(
  pool: PipelinedPool,
  batch: readonly InBatch[],
  clock: Clock,
): Promise<readonly OutcomeInBatch[]> {
  const committing = new Set<Deadline>();
  const guard: CommitGuard = {
    check: () => {},
    beginCommit: () => {},
    undoCommit: () => {
      for (const deadline of committing) deadline.undoCommit();
    },
  };
  const asked = askForPlayers(
    batch.map(({ received }) => received),
    "leave-out",
    formOf(batch),
  );
  try {
    return await pool.transact<readonly OutcomeInBatch[]>(
      asked.statements,
      (answers) => {
        const players = asked.read(answers);
        const isFirst = openClaims();
        const outcomes = batch.map(({ received, deadline }, place) => {
          const player = players[place] ?? null;
          if (player === null || !isFirst(received) || !begins(deadline)) return "alone";
          committing.add(deadline);
          return judge(received, player, clock);
        });
        const judged = outcomes.filter((one) => one !== "alone");
        const leftMs = Math.min(...[...committing].map((deadline) => deadline.leftMs()));
        return {
          result: outcomes.map((one) => (one === "alone" ? one : answerOf(one))),
          write: judged.length === 0 ? [] : [write(judged, leftMs, formOf(batch))],
        };
      },
      guard,
      1,
    );
  } catch (error) {
    return batch.map(({ deadline }) =>
      error instanceof OutcomeUnknown && committing.has(deadline) ? error : "alone",
    );
  }
}

/** @returns whether nothing before has the same player, or the same request id at its product and callback */
function openClaims(): (received: Received) => boolean {
  const claimed = new Set<string>();
  return ({ request: { username, productId, callback, requestId } }) => {
    const keys = [JSON.stringify([username]), JSON.stringify([productId, callback, requestId])];
    if (keys.some((key) => claimed.has(key))) return false;
    for (const key of keys) claimed.add(key);
    return true;
  };
}

/** @returns false where the deadline is over */
function begins(deadline: Deadline): boolean {
  try {
    deadline.beginCommit();
    return true;
  } catch {
    return false;
  }
}

/** Applies a request in a transaction of its own. Waits for the player's wallets. */
async function applyAlone(
  pool: PipelinedPool,
  received: Received,
  clock: Clock,
  deadline: Deadline,
): Promise<CallbackOutcome> {
  const asked = askForPlayers([received], "wait", "listed");
  return await pool.transact(
    asked.statements,
    (answers) => {
      const judged = judge(received, onlyOf(asked.read(answers)), clock);
      return { result: answerOf(judged), write: [write([judged], deadline.leftMs(), "listed")] };
    },
    deadline,
  );
}

/** Judges a request under the player's lock, so that a player's entries have the order in which they took effect. */
function judge(received: Received, player: LockedPlayer, clock: Clock): JudgedCallback {
  const { request, settings } = received;
  const verdict = refuseSecondUse(received, player) ?? judgeRequest(request, player.state, settings);
  return { ...received, player, receivedAt: clock.now(), verdict };
}

function answerOf({ verdict, receivedAt }: JudgedCallback): CallbackOutcome {
  return verdict.statusCode === 0 ? { ...verdict, answeredAt: verdict.answeredAt ?? receivedAt } : verdict;
}

/** @param judged at least one */
function write(judged: readonly JudgedCallback[], leftMs: number, form: RowForm): SqlStatement {
  return writeInTime(leftMs, judged[0]?.player.row ?? {}, (put) => writeOutcomes(put, judged, form));
}

/**
 * Refuses a signature that was sent to another callback: a signature does not cover the address, so a captured body
 * could be sent to another one (decision 128).
 */
function refuseSecondUse(
  { request: { callback } }: Received,
  { signedFor }: LockedPlayer,
): RefusedCallback | null {
  if (signedFor === null || signedFor === callback) return null;
  return {
    statusCode: 30002,
    reason: `this signature was sent to ${signedFor} before: a signed body is valid for one callback only`,
    tombstones: { bets: new Set(), rounds: new Set() },
  };
}

/**
 * Finds the outcome of a request under the player's lock. The lock shows that the transaction which held it before
 * has ended, so its writes are visible (decision 126).
 * @param onPool gives the pool for one try
 * @returns the committed success; null: the request was not applied, and never will be
 */
async function findOutcome(
  onPool: <Result>(work: (pool: PipelinedPool) => Promise<Result>) => Promise<Result>,
  received: Received,
  asker: Deadline,
): Promise<CallbackOutcome | null | "unknown"> {
  const { request } = received;
  const asked = askForPlayers([{ ...received, signature: null }], "wait", "listed");
  const untilMs = monotonicMs() + LONGEST_SEARCH_MS;
  while (monotonicMs() < untilMs && !asker.isAlone) {
    try {
      return await onPool(async (pool) => {
        const deadline = new Deadline(LONGEST_TRY_MS);
        const read = (answers: Parameters<typeof asked.read>[0]) => {
          const { earlier } = onlyOf(asked.read(answers)).state;
          const isOurs = earlier !== null && earlier.digest === request.digest;
          return {
            result: isOurs ? ({ ...earlier, statusCode: 0, changes: null } as const) : null,
            write: [],
          };
        };
        return await pool.transact(asked.statements, read, deadline).finally(() => deadline.stop());
      });
    } catch {
      await systemClock.sleep(SEARCH_EVERY_MS);
    }
  }
  return "unknown";
}

function onlyOf([player]: readonly (LockedPlayer | null)[]): LockedPlayer {
  if (player == null) throw new Error("the player of a request was not read");
  return player;
}
