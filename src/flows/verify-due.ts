/** Asks the provider for every transfer and top-up whose time has come, several side by side, and settles the answers. */

import { setInterval } from "node:timers";
import pLimit from "p-limit";
import { describeError, ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import { CLAIM_SECONDS, type Claim, claimDue, releaseClaims, renewClaims } from "../verify/claim-store.ts";
import { firstDelayMs } from "../verify/decide.ts";
import { VERIFY_KINDS, type VerifyKind } from "../verify/row-store.ts";
import { pickUpTopUps } from "../verify/top-up-store.ts";
import type { VerifyContext } from "./ask-outcome.ts";
import { settleAnswer } from "./settle-answer.ts";

export interface VerifyRun {
  /** answers, or the lack of one, that were settled */
  readonly settled: number;
  /** the provider refused the credentials: the rest waits for the next run */
  readonly refused: ReconError | null;
}

/** So many times the lanes are claimed ahead, so that none waits for a statement. */
const CLAIMED_PER_LANE = 4;

/** A commit waits for the disk; those that ask must not wait behind many of them for a connection. */
const SETTLED_AT_ONCE = 3;

/** Verifies until nothing is due. */
export function verifyDue(context: VerifyContext, signal: AbortSignal): Promise<VerifyRun> {
  return openVerifyRunner(context)(signal);
}

/**
 * All runs of one runner together ask at most `verify.concurrency` questions side by side, and runs may overlap: one
 * that waits for a slow answer does not hold back what became due meanwhile. Other processes have runners of their own,
 * and share what is due.
 */
export function openVerifyRunner(
  context: VerifyContext,
): (signal: AbortSignal, log?: Log) => Promise<VerifyRun> {
  const { concurrency } = context.config.verify;
  const lane = pLimit(concurrency);
  const settling = pLimit(SETTLED_AT_ONCE);
  const underWay = new Set<Promise<void>>();
  const most = concurrency * CLAIMED_PER_LANE;
  let first: VerifyKind = "transfer";

  return async (signal, log = context.log) => {
    await pickUp(context);
    const run = { settled: 0, refused: null as ReconError | null, failure: null as unknown };
    const held = new Map<string, Claim>();
    const isEnding = () => signal.aborted || run.refused !== null || run.failure !== null;

    const verifyOne = async (claim: Claim): Promise<void> => {
      try {
        const heard = await lane(async () => (isEnding() ? null : await context.ask(claim.sent, signal)));
        if (heard === null) return;
        if (heard.refused !== null) run.refused = heard.refused;
        await settling(() => settleAnswer({ ...context, log }, claim, heard));
        held.delete(claim.token);
        run.settled += 1;
      } catch (error) {
        if (signal.aborted) return;
        // It is nobody's before its lease ends: what cannot be settled must not keep others from being asked for.
        held.delete(claim.token);
        if (error instanceof ReconError && error.code === "lease-lost") log.info(error.message);
        else run.failure ??= error;
      }
    };

    const keeper = keepClaims({ ...context, log }, held);
    const own: Promise<void>[] = [];
    try {
      while (!isEnding()) {
        while (underWay.size > most / 2) await Promise.race(underWay);
        const claims = isEnding() ? [] : await claimSome(context, most - underWay.size, first);
        if (claims.length === 0) break;
        first = first === "transfer" ? "top-up" : "transfer";
        for (const claim of claims) {
          held.set(claim.token, claim);
          const work: Promise<void> = verifyOne(claim).finally(() => underWay.delete(work));
          underWay.add(work);
          own.push(work);
        }
      }
    } finally {
      await Promise.all(own);
      clearInterval(keeper);
      await release(context, held);
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

/** @param first of this kind as many as there are, of the other what is left: very many of one kind hold back no other */
async function claimSome(
  { sql, config, clock }: VerifyContext,
  limit: number,
  first: VerifyKind,
): Promise<Claim[]> {
  const now = clock.now();
  const topUpProducts = productsWithTopUps(config);
  const claims: Claim[] = [];
  for (const kind of [first, ...VERIFY_KINDS.filter((other) => other !== first)]) {
    const products = kind === "transfer" ? null : topUpProducts;
    const rest = limit - claims.length;
    if (rest > 0 && products?.length !== 0) {
      claims.push(...(await claimDue(sql, kind, { now, products, limit: rest })));
    }
  }
  return claims;
}

function productsWithTopUps({ products }: VerifyContext["config"]): string[] {
  return products.filter(({ topUpPath }) => topUpPath !== null).map(({ productId }) => productId);
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
