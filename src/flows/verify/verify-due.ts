/** Verifies every due transfer and top-up, several at once, and settles the answers. Both kinds are claimed in turn, or the hanging transfers of one product would starve every top-up. */

import { setInterval } from "node:timers";
import pLimit from "p-limit";
import type { Config } from "../../config-file.ts";
import { describeError, type ReconError } from "../../errors.ts";
import { queueNameOf } from "../../health/verifying.ts";
import type { Log } from "../../log.ts";
import { CLAIM_SECONDS, type Claim, claimDue, releaseClaims, renewClaims } from "../../verify/claim-store.ts";
import { firstDelayMs } from "../../verify/decide.ts";
import { pickUpTopUps, VERIFY_KINDS, type VerifyKind } from "../../verify/row-store.ts";
import { readDueProducts } from "../../verify/store.ts";
import { openTurns } from "../../verify/turns.ts";
import type { VerifyContext } from "./ask-outcome.ts";
import {
  countUnsettled,
  newRun,
  type OnAnswer,
  type UnsettledClaims,
  type VerifyRunState,
  verifyClaim,
} from "./verify-claim.ts";

interface ClaimedShares {
  readonly claims: readonly Claim[];
  /** the queues that have their whole share and may have more due work */
  readonly full: readonly string[];
  /** the most unsettled claims of a queue */
  readonly share: number;
}

/** @param most the most unsettled claims of all queues */
async function claimShares(
  context: VerifyContext,
  run: VerifyRunState,
  unsettled: UnsettledClaims,
  most: number,
): Promise<ClaimedShares> {
  const now = context.clock.now();
  const queues = (await readDueQueues(context, now)).filter(
    ({ line }) => !run.refusedLines.has(line) && !run.pausedLines.has(line),
  );
  const share = Math.max(1, Math.floor(most / Math.max(1, queues.length)));
  const claims: Claim[] = [];
  const full: string[] = [];
  for (const kind of VERIFY_KINDS) {
    const limited = queues
      .filter((queue) => queue.kind === kind)
      .map(({ productId, line }) => ({ productId, line, limit: share - unsettled.of(line) }));
    full.push(...limited.filter(({ limit }) => limit <= 0).map(({ line }) => line));
    const open = limited.filter(({ limit }) => limit > 0);
    if (open.length === 0) continue;
    const found = await claimDue(context.sql, kind, { now, products: open });
    claims.push(...found);
    for (const { line, productId, limit } of open) {
      if (found.filter(({ sent }) => sent.productId === productId).length >= limit) full.push(line);
    }
  }
  return { claims, full, share };
}

async function readDueQueues({ sql, config }: VerifyContext, now: number) {
  const topUpIds = new Set(productsWithTopUps(config).map(({ productId }) => productId));
  const due = await Promise.all(
    VERIFY_KINDS.map(async (kind) => {
      if (kind === "top-up" && topUpIds.size === 0) return [];
      const products = await readDueProducts(sql, kind, now);
      return products
        .filter((productId) => kind === "transfer" || topUpIds.has(productId))
        .map((productId) => ({ kind, productId, line: queueNameOf(kind, productId) }));
    }),
  );
  return due.flat();
}

function productsWithTopUps({ products }: Config) {
  return products.filter(({ topUpPath }) => topUpPath !== null);
}

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

/** Verifies until nothing is due. */
export function verifyDue(context: VerifyContext, signal: AbortSignal): Promise<VerifyRun> {
  return openVerifyRunner(context)(signal);
}

/**
 * All runs of one runner together ask at most `verify.concurrency` questions at once, and products take turns. Runs
 * may overlap, so that a slow answer does not delay new work. The runners of other processes share the due work.
 */
export function openVerifyRunner(
  context: VerifyContext,
  onAnswer: OnAnswer = () => {},
): (signal: AbortSignal, log?: Log) => Promise<VerifyRun> {
  const { config } = context;
  // More questions than slots of the request budget would only wait for slots.
  const concurrency = Math.min(config.verify.concurrency, config.pull.concurrency);
  const limits = { turns: openTurns(concurrency), settling: pLimit(SETTLED_AT_ONCE) };
  const unsettled = countUnsettled();

  return async (signal, log = context.log) => {
    await pickUp(context);
    const ofRun = { ...context, log };
    const run = newRun();
    const isEnding = () => signal.aborted || run.failure !== null;
    const keeper = keepClaims(ofRun, run.held);
    const own = new Set<Promise<void>>();
    const begin = (claim: Claim) => {
      const line = queueNameOf(claim.kind, claim.sent.productId);
      run.held.set(claim.token, claim);
      unsettled.add(line, 1);
      const work: Promise<void> = verifyClaim(ofRun, limits, run, claim, signal, onAnswer).finally(() => {
        own.delete(work);
        unsettled.add(line, -1);
      });
      own.add(work);
    };
    try {
      while (!isEnding()) {
        const { claims, full, share } = await claimShares(
          ofRun,
          run,
          unsettled,
          concurrency * CLAIMED_PER_SLOT,
        );
        claims.forEach(begin);
        const hasRoom = () => full.some((line) => unsettled.of(line) <= share / 2);
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
  const products = productsWithTopUps(config).map(({ productId, ledgerSince }) => ({
    productId,
    since: ledgerSince ?? config.ledger.since,
  }));
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
