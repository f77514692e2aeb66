/** What one look at a product has in common: where it reads, what the time is, and what it goes by. */

import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import type { AssessSettings } from "../diff/compare.ts";
import type { Graces } from "../diff/ripeness.ts";
import type { StaleKind } from "../diff/stale-store.ts";
import type { Tolerance } from "../diff/tolerance.ts";
import type { FoldSettings } from "../ledger/fold.ts";
import { parseAmount } from "../money.ts";
import type { FlowContext } from "./context.ts";

export interface ComparisonContext {
  readonly context: FlowContext;
  readonly tx: Query;
  readonly product: ProductConfig;
  readonly now: Instant;
  readonly settings: AssessSettings;
  readonly graces: Graces;
  readonly fold: FoldSettings;
  readonly limits: CompareLimits;
}

/** How much of what belongs together is loaded for a comparison (docs/operations.md#limits). */
export interface CompareLimits {
  /** of a round with more entries or records than this, only the bets that do not agree by themselves are loaded */
  readonly wholeRound: number;
  /** more entries and records than this are not held at once */
  readonly rows: number;
}

/** A row takes about 3 kB of memory. */
export const COMPARE_LIMITS: CompareLimits = { wholeRound: 1_000, rows: 40_000 };
/** A day's statement takes all that a player did on the day together, and only one is made at a time. */
export const REPORT_LIMITS: CompareLimits = { ...COMPARE_LIMITS, rows: 120_000 };

/** What became of a look. */
export interface ComparisonResult {
  /** neighbourhoods or players looked at */
  readonly compared: number;
  /** confirm fetches were planned: the product wants pulling */
  readonly wantsFetch: boolean;
  /** the sides that hold something back */
  readonly stale: ReadonlySet<StaleKind>;
}

/** No bet lasts longer; whatever is dated earlier than this before now is not fetched for its sake. */
const LONGEST_BET_MS = 400 * 24 * 3_600_000;

export function openComparison(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  ledgerStart: Instant,
  now: Instant,
  limits: CompareLimits = COMPARE_LIMITS,
): ComparisonContext {
  const { diff, pull } = context.config;
  const { productId, matchBy, singleState, openBetsListed, stuckOpenAfter, lostBets } = product;
  return {
    context,
    tx,
    product,
    now,
    limits,
    settings: {
      productId,
      ledgerStart,
      matchBy,
      openBetsListed,
      stuckOpenAfterMs: stuckOpenAfter,
      lostBets,
      tolerance: readTolerance(diff.tolerance),
    },
    graces: {
      callbackGraceMs: diff.callbackGrace,
      providerGraceMs: diff.providerGrace,
      settleDelayMs: pull.settleDelay,
      overlapMs: pull.overlap,
      roundPatienceMs: stuckOpenAfter,
      earliestFetch: Math.max(ledgerStart - stuckOpenAfter, now - LONGEST_BET_MS),
    },
    fold: {
      singleState,
      omitsLostBets: lostBets === "omitted",
      runningUntil: ledgerStart + stuckOpenAfter,
    },
  };
}

/** @param byCurrency decimal text, as in the config file */
export function readTolerance(byCurrency: Readonly<Record<string, string>>): Tolerance {
  return new Map(
    Object.entries(byCurrency).map(([currency, text]) => [currency, parseAmount(text, "diff.tolerance")]),
  );
}
