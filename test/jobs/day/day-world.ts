/** What happens on a day that a worker plays: the load, what is planted when, and the settings. */

import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { formatInstant } from "../../../src/clock.ts";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import { parseAmount } from "../../../src/money.ts";
import type { AnyFault } from "../../../src/sandbox/faults/fault-list.ts";
import { createWorld, type World } from "../../../src/sandbox/world/world.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const CREDENTIALS = { username: "agent", password: "of a day" };
export const RELATION = "operator_ledger";

/** A midnight. The day begins two hours before it. */
export const MIDNIGHT = Date.parse("2026-03-02T00:00:00Z");
export const BEGIN = MIDNIGHT - 2 * HOUR_MS;
/** The first time that is pulled: the worker has closed no day, and this one is whole. */
export const SINCE = MIDNIGHT - 24 * HOUR_MS;
/** When a row of a product came that nobody has in the settings: 23 hours before the day begins. */
export const OUTSIDE_SINCE = BEGIN - 23 * HOUR_MS;
/** The provider refuses this minute of P2 until a later time. */
export const REFUSED = { from: BEGIN + 20 * MINUTE_MS, to: BEGIN + 21 * MINUTE_MS };
export const ANSWERED_AGAIN = BEGIN + 30 * MINUTE_MS;
/** Time before the first one that is pulled; somebody asks for it. */
export const BACKFILLED = { from: SINCE - 3 * HOUR_MS, to: SINCE };
export const BACKFILL_ASKED = BEGIN + HOUR_MS;
/** When the ledger row that comes late says that it was received, about, and when it is there. */
export const LATE_ROW_FROM = BEGIN + 5 * MINUTE_MS;
export const LATE_ROW_AT = BEGIN + 75 * MINUTE_MS;
export const INVENTED = "invented";
export const HANDED_AT = BEGIN + 6 * MINUTE_MS;
/** A body of a callback that is older than `retain.rawBodies` when its day is closed. */
export const BODY_AT = SINCE + 10 * MINUTE_MS;

const SETTINGS = {
  retain: { rawBodies: "P1D" },
  closing: { after: "PT30M" },
  ledger: { relation: RELATION, since: formatInstant(SINCE - 4 * HOUR_MS) },
};

export interface Load {
  readonly name: "healthy" | "overloaded";
  readonly products: readonly string[];
  /** each request of the provider takes so long */
  readonly requestMs: number;
  readonly concurrency: number;
  /** of each product; 0: the world plants none */
  readonly faultEveryMinutes: number;
  readonly hours: number;
  /** jobs with a shorter interval are played at this one, as by a slow worker; 0: all at their own */
  readonly slowestTickMs: number;
}

/** Of the provider: a minute of P2 is refused, and one transfer never gets an answer. */
export const FAULTS: readonly AnyFault[] = [
  {
    when: {
      product: "P2",
      touches: [formatInstant(REFUSED.from), formatInstant(REFUSED.to)],
      between: [formatInstant(OUTSIDE_SINCE), formatInstant(ANSWERED_AGAIN)],
    },
    do: { kind: "status", status: 500 },
  },
  { when: { endpoint: "verifyDepositWithdraw", ref: "^silent" }, do: { kind: "status", status: 500 } },
];

export function configOf(load: Load): Config {
  return parseConfig({
    ...SETTINGS,
    products: [
      ...load.products.map((productId) => ({ productId, since: formatInstant(SINCE) })),
      { productId: "WALLET", walletMode: "transfer" },
    ],
    pull: {
      concurrency: load.concurrency,
      resweepAfter: ["PT1H", "P1D"],
      // The time of an answer says nothing about the length of its range here.
      requestTimeout: `PT${Math.max(30, (6 * load.requestMs) / 1000)}S`,
    },
  });
}

/** A bet that was placed and settled, in the ledger only. */
export function inventBet(entries: readonly CallbackEntry[]): readonly [CallbackEntry, CallbackEntry] {
  for (const settled of entries) {
    const placed = entries.find(({ callback, txnId }) => callback === "placeBets" && txnId === settled.txnId);
    if (settled.callback !== "settleBets" || placed === undefined) continue;
    const asInvented = (entry: CallbackEntry) => ({
      ...entry,
      entryId: `invented ${entry.entryId}`,
      requestId: `invented ${entry.requestId}`,
      txnId: INVENTED,
      roundId: INVENTED,
      balanceBefore: null,
      balanceAfter: null,
    });
    return [asInvented(placed), asInvented(settled)];
  }
  throw new Error("no bet of the world was settled early");
}

/** A deposit of 10.00. */
export function transferOf(transactionRef: string) {
  return { transactionRef, username: "anna", amount: parseAmount("10.00", "amount") };
}

export function worldOf({ products, faultEveryMinutes }: Load, end: Instant): World {
  return createWorld({
    seed: 1,
    periods: [{ from: SINCE - 3 * HOUR_MS, to: end }],
    products: [
      ...products.map((productId) => ({ productId, style: "table" as const, roundsPerMinute: 0.05 })),
      { productId: "WALLET", style: "table", roundsPerMinute: 0 },
    ],
    players: 6,
    lateSettlementMs: 10 * MINUTE_MS,
    callbackLagMs: MINUTE_MS,
    reportLagMs: 30_000,
    faultEveryMinutes,
  });
}
