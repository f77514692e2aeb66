/** Claims due transfers and top-ups, an equal share for each queue (decision 76). */

import type { Config } from "../../config-file.ts";
import { type Claim, claimDue } from "../../verify/claim-store.ts";
import { readDueProducts } from "../../verify/due-store.ts";
import { VERIFY_KINDS } from "../../verify/row-store.ts";
import { queueNameOf } from "../../work/verifying.ts";
import type { VerifyContext } from "./ask-outcome.ts";
import type { UnsettledClaims, VerifyRunState } from "./verify-run.ts";

export interface ClaimedShares {
  readonly claims: readonly Claim[];
  /** the queues that have their whole share and may have more due work */
  readonly full: readonly string[];
  /** the most unsettled claims of a queue */
  readonly share: number;
}

/** @param most the most unsettled claims of all queues */
export async function claimShares(
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

export function productsWithTopUps({ products }: Config) {
  return products.filter(({ topUpPath }) => topUpPath !== null);
}
