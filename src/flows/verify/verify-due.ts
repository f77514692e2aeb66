/** Verifies every due transfer and top-up, several at once, and settles the answers. */

import { setInterval } from "node:timers";
import pLimit from "p-limit";
import type { Instant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import {
  CLAIM_SECONDS,
  type Claim,
  claimDue,
  postponeClaims,
  releaseClaims,
  renewClaims,
} from "../../verify/claim-store.ts";
import { firstDelayMs } from "../../verify/decide.ts";
import { readDueProducts } from "../../verify/due-store.ts";
import { VERIFY_KINDS, type VerifyKind } from "../../verify/row-store.ts";
import { pickUpTopUps } from "../../verify/top-up-store.ts";
import { openTurns, TurnOver } from "../../verify/turns.ts";
import { queueNameOf } from "../../work/verifying.ts";
import { type ClassifiedAnswer, Paused, type VerifyContext } from "./ask-outcome.ts";
import { settleAnswer } from "./settle-answer.ts";

export interface VerifyRun {
  /** the number of settled questions, answered or not */
  readonly settled: number;
  /** the error of a product with refused credentials; its other transfers wait for the next run */
  readonly refused: ReconError | null;
}

/** The number of claims for each simultaneous question, so that no question waits for a statement. */
const CLAIMED_PER_SLOT = 4;

/**
 * The most simultaneous commits, which wait for the disk: questions must not wait behind them for a connection
 * (decision 31).
 */
const SETTLED_AT_ONCE = 3;

/** Called for each settled question, answered or not; must not throw. @param line the name by `queueNameOf` */
export type OnAnswer = (line: string, classified: ClassifiedAnswer) => void;

/** Verifies until nothing is due. */
export function verifyDue(context: VerifyContext, signal: AbortSignal): Promise<VerifyRun> {
  return openVerifyRunner(context)(signal);
}

/**
 * The state of one run. Claims are counted for each queue, so that a hanging endpoint does not stop others from being
 * claimed.
 */
interface VerifyRunState {
  settled: number;
  refused: ReconError | null;
  failure: unknown;
  /** the queues with refused credentials, which this run does not ask again */
  readonly refusedLines: Set<string>;
  /** the queues of paused products (429), with the end of each pause */
  readonly pausedLines: Map<string, Instant>;
  readonly held: Map<string, Claim>;
}

/**
 * All runs of one runner together ask at most `verify.concurrency` questions at once, and products take turns. Runs
 * may overlap, so that a slow answer does not delay new work. The runners of other processes share the due work.
 */
export function openVerifyRunner(
  context: VerifyContext,
  onAnswer: OnAnswer = () => {},
): (signal: AbortSignal, log?: Log) => Promise<VerifyRun> {
  const { sql, config, clock } = context;
  // More questions than slots of the request budget would only wait for slots.
  const concurrency = Math.min(config.verify.concurrency, config.pull.concurrency);
  const topUpIds = new Set(
    config.products.filter(({ topUpPath }) => topUpPath !== null).map(({ productId }) => productId),
  );
  const turns = openTurns(concurrency);
  const settling = pLimit(SETTLED_AT_ONCE);
  const most = concurrency * CLAIMED_PER_SLOT;
  /** the unsettled claims of all runs */
  const underWay = new Map<string, number>();
  const count = (line: string, change: number) => {
    const left = (underWay.get(line) ?? 0) + change;
    if (left > 0) underWay.set(line, left);
    else underWay.delete(line);
  };

  /** Releases a claim; where that cannot be written, the claim ends with its lease. */
  const postpone = async (run: VerifyRunState, line: string, claim: Claim) => {
    run.held.delete(claim.token);
    await postponeClaims(sql, claim.kind, [claim], run.pausedLines.get(line) ?? clock.now()).catch(
      (error) => {
        run.failure ??= error;
      },
    );
  };

  const verifyOne = async (
    run: VerifyRunState,
    claim: Claim,
    signal: AbortSignal,
    log: Log,
  ): Promise<void> => {
    const line = queueNameOf(claim.kind, claim.sent.productId);
    const isEnding = () => signal.aborted || run.failure !== null || run.refusedLines.has(line);
    const isPaused = () => run.pausedLines.has(line);
    try {
      const classified = await turns.take(line, async (turn, isCrowding) =>
        isEnding() || isPaused()
          ? null
          : await context.ask(claim.sent, AbortSignal.any([signal, turn]), isCrowding),
      );
      if (classified === null) return isPaused() ? await postpone(run, line, claim) : undefined;
      if (classified.refused !== null) {
        run.refused = classified.refused;
        run.refusedLines.add(line);
      }
      await settling(() => settleAnswer({ ...context, log }, claim, classified));
      onAnswer(line, classified);
      run.held.delete(claim.token);
      run.settled += 1;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Paused) {
        if (!run.pausedLines.has(line)) log.info({ line, forMs: error.forMs }, error.message);
        run.pausedLines.set(line, clock.now() + error.forMs);
        return await postpone(run, line, claim);
      }
      // The claim ends with its lease: a claim that cannot be settled must not stop others.
      run.held.delete(claim.token);
      if (error instanceof TurnOver) await releaseClaims(sql, claim.kind, [claim]);
      else if (error instanceof ReconError && error.code === "lease-lost") log.info(error.message);
      else run.failure ??= error;
    }
  };

  /** @returns the claims, and the queues that may have more due work */
  const claimSome = async (run: VerifyRunState) => {
    const now = clock.now();
    const claims: Claim[] = [];
    const full: string[] = [];
    const due = await Promise.all(
      VERIFY_KINDS.map(async (kind) => {
        if (kind === "top-up" && topUpIds.size === 0) return [];
        const products = await readDueProducts(sql, kind, now);
        return products
          .filter((productId) => kind === "transfer" || topUpIds.has(productId))
          .map((productId) => ({ kind, productId, line: queueNameOf(kind, productId) }));
      }),
    );
    const lines = due.flat().filter(({ line }) => !run.refusedLines.has(line) && !run.pausedLines.has(line));
    const share = Math.max(1, Math.floor(most / Math.max(1, lines.length)));
    for (const kind of VERIFY_KINDS) {
      const room = lines
        .filter((one) => one.kind === kind)
        .map(({ productId, line }) => ({ productId, line, limit: share - (underWay.get(line) ?? 0) }));
      full.push(...room.filter(({ limit }) => limit <= 0).map(({ line }) => line));
      const open = room.filter(({ limit }) => limit > 0);
      if (open.length === 0) continue;
      const found = await claimDue(sql, kind, { now, products: open });
      claims.push(...found);
      for (const { line, productId, limit } of open) {
        if (found.filter(({ sent }) => sent.productId === productId).length >= limit) full.push(line);
      }
    }
    return { claims, full, share };
  };

  return async (signal, log = context.log) => {
    await pickUp(context);
    const run: VerifyRunState = {
      settled: 0,
      refused: null,
      failure: null,
      refusedLines: new Set(),
      pausedLines: new Map(),
      held: new Map(),
    };
    const isEnding = () => signal.aborted || run.failure !== null;
    const keeper = keepClaims({ ...context, log }, run.held);
    const own = new Set<Promise<void>>();
    try {
      while (!isEnding()) {
        const { claims, full, share } = await claimSome(run);
        for (const claim of claims) {
          const line = queueNameOf(claim.kind, claim.sent.productId);
          run.held.set(claim.token, claim);
          count(line, 1);
          const work: Promise<void> = verifyOne(run, claim, signal, log).finally(() => {
            own.delete(work);
            count(line, -1);
          });
          own.add(work);
        }
        const hasRoom = () => full.some((line) => (underWay.get(line) ?? 0) <= share / 2);
        while (own.size > 0 && full.length > 0 && !hasRoom() && !isEnding()) await Promise.race(own);
        // The claims of other runs of this process stay with them.
        if (full.length === 0 || own.size === 0) break;
      }
    } finally {
      await Promise.all(own);
      clearInterval(keeper);
      await release(context, run.held);
    }
    if (run.failure !== null) throw run.failure;
    return { settled: run.settled, refused: run.refused };
  };
}

async function pickUp({ sql, config, clock }: VerifyContext): Promise<void> {
  const products = config.products
    .filter(({ topUpPath }) => topUpPath !== null)
    .map(({ productId, ledgerSince }) => ({ productId, since: ledgerSince ?? config.ledger.since }));
  if (products.length === 0) return;
  await pickUpTopUps(sql, products, { now: clock.now(), firstDelayMs: firstDelayMs(config.verify) });
}

function keepClaims({ sql, log }: VerifyContext, held: ReadonlyMap<string, Claim>): NodeJS.Timeout {
  const renew = async () => {
    for (const kind of VERIFY_KINDS) {
      const claims = ofKind(held, kind);
      if (claims.length > 0) await renewClaims(sql, kind, claims);
    }
  };
  return setInterval(
    () => {
      renew().catch((error: unknown) =>
        log.warn({ error: describeError(error) }, "claims could not be renewed"),
      );
    },
    (CLAIM_SECONDS * 1000) / 3,
  );
}

async function release({ sql }: VerifyContext, held: ReadonlyMap<string, Claim>): Promise<void> {
  for (const kind of VERIFY_KINDS) {
    const claims = ofKind(held, kind);
    if (claims.length > 0) await releaseClaims(sql, kind, claims);
  }
}

function ofKind(held: ReadonlyMap<string, Claim>, kind: VerifyKind): Claim[] {
  return [...held.values()].filter((claim) => claim.kind === kind);
}
