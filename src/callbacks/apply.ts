/**
 * Applies requests in one transaction: a batch of them (`applyTogether`) or a single one (`applyAlone`). Finds
 * the outcome of a request whose connection was lost during its commit (`findOutcome`, decision 126).
 */

import { type Clock, monotonicMs, systemClock } from "../clock.ts";
import { type CommitGuard, Deadline, writeInTime } from "../db/deadline.ts";
import { OutcomeUnknown, type PipelinedPool } from "../db/pipelined-pool.ts";
import { formOf, type RowForm, type SqlStatement } from "../db/statement.ts";
import { type CallbackOutcome, judgeRequest, type RefusedCallback } from "./judge.ts";
import { type JudgedCallback, writeOutcomes } from "./outcome-store.ts";
import { askForPlayers, type LockedPlayer, type LockedWallets, type Question } from "./player-store.ts";

/** A request as it was received. */
export interface Received extends Question {
  /** the body to store, without session tokens */
  readonly body: string;
}

/** Judges a request under the player's lock, so a player's entries are in the order in which they took effect. */
function judgeReceived(received: Received, player: LockedPlayer, clock: Clock): JudgedCallback {
  const { request, settings } = received;
  const verdict = refuseSecondUse(received, player) ?? judgeRequest(request, player.state, settings);
  return { ...received, player, receivedAt: clock.now(), verdict };
}

/** The outcome, with the time to put into its answer. */
function outcomeOf({ verdict, receivedAt }: JudgedCallback): CallbackOutcome {
  return verdict.statusCode === 0 ? { ...verdict, answeredAt: verdict.answeredAt ?? receivedAt } : verdict;
}

/** The statements that write the outcomes of requests within the remaining time. @param judged at least one */
function writeJudged(
  judged: readonly JudgedCallback[],
  leftMs: number,
  form: RowForm,
): readonly SqlStatement[] {
  return writeInTime(leftMs, judged[0]?.player.row ?? {}, (put) => writeOutcomes(put, judged, form));
}

/**
 * Refuses a signature that was sent to another callback before. A signature does not cover the address, so a captured
 * settlement could be sent to another callback (decision 128).
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

/** The longest search for the outcome of a request whose connection was lost during its commit. */
const LONGEST_SEARCH_MS = 60_000;
const LONGEST_TRY_MS = 10_000;
const SEARCH_EVERY_MS = 250;

/**
 * Applies a request in a transaction of its own.
 * @param locked whether to wait for wallets that another transaction has locked
 * @returns "locked": a wallet was locked, and the request was not applied
 */
export async function applyAlone(
  pool: PipelinedPool,
  received: Received,
  clock: Clock,
  deadline: Deadline,
  locked: LockedWallets,
): Promise<CallbackOutcome | "locked"> {
  const asked = askForPlayers([received], locked, "listed");
  return await pool.transact<CallbackOutcome | "locked">(
    asked.statements,
    (answers) => {
      const [player] = asked.read(answers);
      if (player == null) return { result: "locked", write: [] };
      const judged = judgeReceived(received, player, clock);
      return { result: outcomeOf(judged), write: writeJudged([judged], deadline.leftMs(), "listed") };
    },
    deadline,
  );
}

/**
 * Finds the outcome of a request under the player's lock. Once this has the lock, the lost transaction has ended, so its
 * writes are visible (decision 126).
 * @param onPool gives the pool for one attempt
 * @returns the committed success; null: the request was not applied, and never will be
 */
export async function findOutcome(
  onPool: <Result>(work: (pool: PipelinedPool) => Promise<Result>) => Promise<Result>,
  received: Received,
  asker: Deadline,
): Promise<CallbackOutcome | null | "unknown"> {
  const { request } = received;
  const asked = askForPlayers([{ ...received, signature: null }], "wait", "listed");
  const untilMs = monotonicMs() + LONGEST_SEARCH_MS;
  while (monotonicMs() < untilMs && !asker.callerDisconnected) {
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
  if (player == null) throw new Error("internal error: the player of a request was not read");
  return player;
}

export interface InBatch {
  readonly received: Received;
  readonly deadline: Deadline;
}

/** "alone": not applied, and must be applied alone. "locked": not applied, because another transaction locked its wallet. */
type OutcomeInBatch = CallbackOutcome | "alone" | "locked" | OutcomeUnknown;

/** A request with less time is applied alone, because the first deadline of a batch is the deadline of all. */
const LEAST_LEFT_MS = 1_000;

/**
 * Applies requests in one transaction. Requests that cannot share it are retried individually: a wallet is
 * locked, the player or request id is already in the batch, or the deadline is less than a second away. All requests of a
 * batch that fails are retried individually too, so no request fails because of another.
 * Savepoints for each request cost more than they save.
 */
export async function applyTogether(
  pool: PipelinedPool,
  batch: readonly InBatch[],
  clock: Clock,
): Promise<readonly OutcomeInBatch[]> {
  const committing = new Set<Deadline>();
  let cancel = () => {};
  const guard: CommitGuard = {
    check: () => {},
    beginCommit: () => {},
    undoCommit: () => {
      for (const deadline of committing) deadline.undoCommit();
    },
    // If one caller disconnects, the writes of all are cancelled; the others are then applied alone.
    onEnd: (heard) => {
      cancel = heard;
      return () => {
        cancel = () => {};
      };
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
          if (player === null) return "locked";
          if (!isFirst(received) || deadline.leftMs() < LEAST_LEFT_MS || !begins(deadline)) return "alone";
          committing.add(deadline);
          deadline.onEnd(() => cancel());
          return judgeReceived(received, player, clock);
        });
        const judged = outcomes.filter((one) => typeof one !== "string");
        const leftMs = Math.min(...[...committing].map((deadline) => deadline.leftMs()));
        return {
          result: outcomes.map((one) => (typeof one === "string" ? one : outcomeOf(one))),
          write: judged.length === 0 ? [] : writeJudged(judged, leftMs, formOf(batch)),
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

/** @returns whether the request is the first of its player, and the first with its product, callback and request id */
function openClaims(): (received: Received) => boolean {
  const claimed = new Set<string>();
  return ({ request: { username, productId, callback, requestId } }) => {
    const keys = [JSON.stringify([username]), JSON.stringify([productId, callback, requestId])];
    if (keys.some((key) => claimed.has(key))) return false;
    for (const key of keys) claimed.add(key);
    return true;
  };
}

/** @returns false if the deadline is over */
function begins(deadline: Deadline): boolean {
  try {
    deadline.beginCommit();
    return true;
  } catch {
    return false;
  }
}
