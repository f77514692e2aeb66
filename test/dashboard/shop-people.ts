/** The work of the shop's staff: they send deposits, decide mismatches, and fetch days again. */

import type { Instant } from "../../src/clock.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { actOnMismatches } from "../../src/flows/mismatches/act-on-mismatches.ts";
import { changeBackfill, planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import { openAskOutcome } from "../../src/flows/verify/ask-outcome.ts";
import { sendTransfer } from "../../src/flows/verify/send-transfer.ts";
import { verifyDue } from "../../src/flows/verify/verify-due.ts";
import { listMismatches } from "../../src/mismatches/store.ts";
import { openBudget } from "../../src/provider/budget.ts";
import type { TimeRange } from "../../src/window.ts";
import { MINUTE_MS } from "../support/examples.ts";
import type { PlayedWorld } from "./played-world.ts";

/** The number of pages that a backfill has fetched when the picture is taken. */
const PAGES_SO_FAR = 15;

export interface Till {
  /** Sends a deposit, and ignores the answer. */
  send(transactionRef: string, amount: string): Promise<void>;
  /** Asks for the outcome of the transfers every ten minutes. */
  verifyUntil(until: Instant): Promise<void>;
}

export function openTill({ context, provider, clock }: PlayedWorld, productId: string): Till {
  const { sql, config } = context;
  const limits = { concurrency: config.verify.concurrency, minIntervalMs: 0 };
  const budget = openBudget(sql, limits, config.pull.requestTimeout, clock);
  const verifying = { ...context, ask: openAskOutcome(provider, budget, context) };
  return {
    send: async (transactionRef, amount) => {
      const order = { username: "player-007", productId, currency: "THB", transactionRef, amount };
      // Without an answer the outcome is unknown; verification finds it.
      await sendTransfer(context, provider, "DEPOSIT", order).catch(() => {});
    },
    verifyUntil: async (until) => {
      while (clock.now() < until) {
        clock.advance(10 * MINUTE_MS);
        await verifyDue(verifying, new AbortController().signal);
      }
      await verifyDue(verifying, new AbortController().signal);
    },
  };
}

/** Deals with most open mismatches: acknowledges one, and settles the others. */
export async function decideSome(context: PullContext): Promise<void> {
  const all = { kind: null, productId: null, username: null, after: null };
  const { mismatches } = await listMismatches(context.sql, { ...all, statuses: ["open"], limit: 100 });
  const [first, ...others] = mismatches.map(({ id }) => id);
  if (first === undefined) return;
  const asked = { by: "mali", expected: "open", adjustment: null } as const;
  const settled = {
    action: "resolve",
    target: { ids: others.slice(0, -4) },
    note: "settled with the provider",
  } as const;
  await actOnMismatches(context, { ...asked, ...settled });
  await actOnMismatches(context, {
    ...asked,
    action: "ack",
    target: { ids: [first] },
    note: "asked the provider, ticket 2210",
  });
}

/** Fetches the first half again to its end; the second half is under way. */
export async function fetchSomeAgain(
  context: PullContext,
  productId: string,
  range: TimeRange,
): Promise<void> {
  const middle = (range.from + range.to) / 2;
  const { signal } = new AbortController();
  const request = async (part: TimeRange) =>
    requestBackfill(context, await planBackfill(context, { productId, ...part }));
  await request({ from: range.from, to: middle });
  await openBackfillRunner(context)(signal);
  const second = await request({ from: middle, to: range.to });
  let pages = 0;
  const interrupted: PullContext = {
    ...context,
    fetchPage: async (asked, given) => {
      pages += 1;
      if (pages === PAGES_SO_FAR) await changeBackfill(context, String(second.id), "pause");
      return await context.fetchPage(asked, given);
    },
  };
  await openBackfillRunner(interrupted)(signal);
  await changeBackfill(context, String(second.id), "resume");
}
