/** Ops at work: they resolve, ignore and reopen mismatches, and correct some by hand. */

import type { Instant } from "../../../src/clock.ts";
import type { FlowContext } from "../../../src/flows/context.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import type { MismatchAction } from "../../../src/mismatches/act.ts";
import { type Amount, formatAmount } from "../../../src/money.ts";
import { createRandom, hashText } from "../../../src/sandbox/world/random.ts";
import { type ChangingBet, stateAt } from "./changing-bet.ts";
import type { SeenMismatch } from "./mismatch-audit.ts";
import { CHANGING } from "./year-plan.ts";

const DAY_MS = 86_400_000;
/** A decision is made at most this many days after a mismatch was first seen, at the latest. */
const DECIDED_WITHIN_DAYS = 9;
/** One mismatch in this number is left open for ever. */
const ONE_IN_LEFT = 25;
/** Bets that do not change after their mismatch was found, and whose difference one amount mends. */
const ADJUSTABLE: ReadonlySet<string> = new Set(["replaced entry"]);
const ONE_IN_ADJUSTED = 3;

/** Money that was paid by hand. */
export interface PaidByHand {
  readonly productId: string;
  readonly currency: string;
  readonly amount: Amount;
  /** the moment on which the bet counts */
  readonly at: Instant;
}

/** Decides what is due. @returns what was paid */
export async function decide(
  context: FlowContext,
  seed: number,
  mismatches: readonly SeenMismatch[],
  changing: ReadonlyMap<string, ChangingBet>,
): Promise<PaidByHand[]> {
  const now = context.clock.now();
  const paid: PaidByHand[] = [];
  for (const one of mismatches) {
    // By what it is about: products are compared side by side, so its id may be another one in the next run.
    const { productId, username, kind, transactionId, roundId } = one;
    const random = createRandom(
      hashText(`${seed}|person|${productId}|${username}|${kind}|${transactionId}|${roundId}`),
    );
    const dueAt = one.firstSeenAt + random.between(1, DECIDED_WITHIN_DAYS) * DAY_MS;
    const isLeft = random.oneIn(ONE_IN_LEFT);
    const [first, reopens] = [random.pick(["resolve", "ignore", "ack"] as const), random.oneIn(12)];
    if (isLeft || now < dueAt) continue;
    const bet = changing.get(one.transactionId ?? "");
    const isAdjustable = bet !== undefined && ADJUSTABLE.has(bet.story) && one.productId === CHANGING.bets;
    if (one.status === "open" && isAdjustable && random.oneIn(ONE_IN_ADJUSTED)) {
      const count = stateAt(bet, now)?.counts[0];
      if (count === undefined) continue;
      const amount = count.provider.net.minus(count.ledger.net);
      await act(context, one, "resolve", { amount: formatAmount(amount), ref: `paid-${one.id}` });
      paid.push({ productId: one.productId, currency: bet.currency, amount, at: count.at });
    } else if (one.status === "open" && first === "ack") {
      await act(context, one, "ack");
    } else if (one.status === "open" || (one.status === "acknowledged" && now > dueAt + 2 * DAY_MS)) {
      await act(context, one, first === "ack" ? "ignore" : first);
    } else if (one.status === "ignored" && reopens && now < dueAt + DAY_MS) {
      await act(context, one, "reopen");
    }
  }
  return paid;
}

async function act(
  context: FlowContext,
  { id }: SeenMismatch,
  action: MismatchAction,
  adjustment: { readonly amount: string; readonly ref: string } | null = null,
): Promise<void> {
  await actOnMismatches(context, {
    action,
    target: { ids: [String(id)] },
    note: "seen in the year",
    by: "mia",
    expected: null,
    adjustment,
  });
}
