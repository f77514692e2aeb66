/** The context of one comparison: transaction, product, time and settings. */

import { LONGEST_BET_MS } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { type DeletedTime, NOTHING_DELETED } from "../../db/retention-store.ts";
import type { AssessSettings } from "../../diff/compare.ts";
import type { Graces } from "../../diff/required-conditions.ts";
import type { StaleKind } from "../../diff/stale-store.ts";
import type { Tolerance } from "../../diff/sums.ts";
import type { FoldSettings } from "../../ledger/fold.ts";
import { parseAmount } from "../../money.ts";
import type { FlowContext } from "../context.ts";

/** Everything that judging depends on beside the loaded rows. */
export interface JudgeContext {
  readonly product: ProductConfig;
  readonly now: Instant;
  readonly settings: AssessSettings;
  readonly graces: Graces;
  /** rows of this time may be deleted, so a difference that only misses such rows does not count */
  readonly deleted: DeletedTime;
  /** the time between two comparisons */
  readonly everyMs: number;
  /** the pause that ends a session */
  readonly sessionQuietMs: number;
}

export interface ComparisonContext extends JudgeContext {
  readonly context: FlowContext;
  readonly tx: Query;
  readonly fold: FoldSettings;
  readonly limits: CompareLimits;
}

/** The most rows that are loaded for a comparison (docs/operations.md#limits). */
export interface CompareLimits {
  /**
   * the most entries or records of a round that is loaded whole; a larger round is loaded without the bets that
   * agree
   */
  readonly wholeRound: number;
  /** the most entries and records in memory at once */
  readonly rows: number;
}

/** A row takes about 3 kB of memory. */
export const COMPARE_LIMITS: CompareLimits = { wholeRound: 1_000, rows: 40_000 };
/** A day's statement loads the whole day of a player, and only one statement is made at a time. */
export const REPORT_LIMITS: CompareLimits = { ...COMPARE_LIMITS, rows: 120_000 };

/** The result of one comparison. */
export interface ComparisonResult {
  /** the number of compared neighbourhoods or players */
  readonly compared: number;
  /** confirm fetches were planned, so the product should be pulled */
  readonly wantsFetch: boolean;
  /** the stale sides, which leave differences unconfirmed */
  readonly stale: ReadonlySet<StaleKind>;
}

/** The context of a comparison, with the settings of its product. */
export function openComparison(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  ledgerStart: Instant,
  now: Instant,
  limits: CompareLimits = COMPARE_LIMITS,
  deleted: DeletedTime = NOTHING_DELETED,
): ComparisonContext {
  const { diff, pull } = context.config;
  const { productId, matchBy, singleState, openBetsListed, stuckOpenAfter, lostBets, nominalStakes } =
    product;
  return {
    context,
    tx,
    product,
    now,
    limits,
    deleted,
    everyMs: diff.every,
    sessionQuietMs: diff.sessionQuiet,
    settings: {
      productId,
      ledgerStart,
      matchBy,
      openBetsListed,
      stuckOpenAfterMs: stuckOpenAfter,
      lostBets,
      nominalStakes,
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
      nominalStakes,
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
