/** Compares the due marks of one product in steps, each in its own transaction. */

import { recordAlert } from "../../alerts/store.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { isDataError } from "../../db/database-error.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { writeLargeRound } from "../../diff/large-round-store.ts";
import { type DiffMark, lockProduct, markOpenMismatches, takeMarks } from "../../diff/mark-store.ts";
import type { StaleKind } from "../../diff/stale-store.ts";
import { isFailing } from "../../health/finding.ts";
import { readFailures } from "../../work/work-store.ts";
import { type FlowContext, findProduct } from "../context.ts";
import { readLedgerMoment, trackLedgerStart } from "../ledger/known-ledger.ts";
import { compareChains } from "./compare-chains.ts";
import {
  type Compare,
  compareInParts,
  compareOneByOne,
  endSetAside,
  partsOf,
  skipSetAside,
} from "./compare-in-parts.ts";
import { compareMarkedSessions } from "./compare-sessions.ts";
import {
  COMPARE_LIMITS,
  type CompareLimits,
  type ComparisonContext,
  type ComparisonResult,
  openComparison,
} from "./comparison-context.ts";
import { findDifferences, judgeBets } from "./judge-bets.ts";
import { judgeConfirmation } from "./judge-confirmation.ts";
import { judgeLargeRounds } from "./judge-large-rounds.ts";
import { loadBets } from "./load-bets.ts";
import { loadConfirmationFacts } from "./load-confirmation-facts.ts";
import { screenProduct } from "./screen-product.ts";
import { type PartResult, writeResults } from "./write-results.ts";

const MARKS_PER_STEP = 500;
const MOST_STEPS_PER_RUN = 1_000;
/**
 * The longest turn of a product. One with more to compare adds a job for another turn behind all that wait
 * (jobs/product-jobs.ts).
 */
const LONGEST_TURN_MS = 20_000;

export interface CompareProductResult {
  /** the number of compared neighbourhoods, or of players if the product has sessions */
  readonly compared: number;
  /** confirm fetches were planned, so the product should be pulled */
  readonly wantsFetch: boolean;
  /**
   * everything that had arrived by then was compared, or waits for its graces; null: the comparison did not reach
   * the end
   */
  readonly upTo: Instant | null;
  /** another worker compares the product; its progress is unknown */
  readonly isBusy: boolean;
  /** the turn is over and more marks may be due: the product needs another turn, after all products that wait */
  readonly wantsTurn: boolean;
}

export interface CompareOptions {
  /** the least number of due marks that are screened first; Infinity: no screening */
  readonly screenFrom?: number;
  readonly limits?: CompareLimits;
  /** called after every step, to show the progress of a long run */
  readonly onStep?: () => void;
}

/** Compares all due marks of one product. */
export async function compareProduct(
  context: FlowContext,
  productId: string,
  signal: AbortSignal,
  { screenFrom, limits = COMPARE_LIMITS, onStep = () => {} }: CompareOptions = {},
): Promise<CompareProductResult> {
  const product = findProduct(context.config, productId);
  let compared = 0;
  let wantsFetch = false;
  const nothing = { compared, wantsFetch, upTo: null, isBusy: false, wantsTurn: false };
  if (product.walletMode === "transfer") return nothing;
  // Later entries of the relation are unknown, so everything is compared as of its last reading (decision 25).
  const now = await readLedgerMoment(context);
  if (now === null) return nothing;
  const startedAt = context.clock.now();

  // After repeated failures the failing parts are found one by one and set aside. They would fail the next tick too.
  let isCareful = isFailing(await readFailures(context.sql, { work: "comparing", subject: productId }));
  // A round that agrees may still have a balance that does not follow from the one before.
  const isScreened = product.settlement === "bets" && context.config.ledger.balances === "partial";
  if (isScreened && !isCareful)
    await screenProduct(context, product, now, signal, LONGEST_TURN_MS, screenFrom);
  for (let steps = 0; steps < MOST_STEPS_PER_RUN && !signal.aborted; steps += 1) {
    const step = await compareStep(context, { product, now, limits }, isCareful);
    isCareful = step.isUnfinished;
    compared += step.compared;
    wantsFetch ||= step.wantsFetch;
    const isBusy = step.taken === "busy";
    if (!isBusy) onStep();
    if (step.marks < MARKS_PER_STEP && !step.isUnfinished) {
      const upTo = step.taken === "compared" ? now : null;
      return { compared, wantsFetch, upTo, isBusy, wantsTurn: false };
    }
    if (context.clock.now() - startedAt >= LONGEST_TURN_MS) break;
  }
  return { compared, wantsFetch, upTo: null, isBusy: false, wantsTurn: !signal.aborted };
}

/** "in halves" finds parts that cannot be compared; "one by one" also finds parts that take too long. */
type HowToCompare = "together" | "in halves" | "one by one";

interface StepOptions {
  readonly product: ProductConfig;
  readonly now: Instant;
  readonly limits: CompareLimits;
}

/** Takes and compares due marks. If their data make the step fail, it begins again and compares them in halves. */
async function compareStep(context: FlowContext, options: StepOptions, isCareful: boolean) {
  try {
    return await compareAs(isCareful ? "one by one" : "together", context, options);
  } catch (error) {
    if (isCareful || !isDataError(error)) throw error;
    return await compareAs("in halves", context, options);
  }
}

const COMPARE: Readonly<Record<ProductConfig["settlement"], Compare>> = {
  bets: compareMarkedBets,
  session: compareMarkedSessions,
  mixed: async (comparison, marks) => {
    const bets = await compareMarkedBets(comparison, marks);
    const sessions = await compareMarkedSessions(comparison, marks);
    return {
      compared: bets.compared + sessions.compared,
      wantsFetch: bets.wantsFetch || sessions.wantsFetch,
      stale: bets.stale,
    };
  },
};

const NOTHING = { marks: 0, compared: 0, wantsFetch: false, isUnfinished: false };
const NOTHING_COMPARED: ComparisonResult = { compared: 0, wantsFetch: false, stale: new Set() };

async function compareAs(how: HowToCompare, context: FlowContext, { product, now, limits }: StepOptions) {
  const compare: Compare = async (comparison, marks) => {
    const compared = await COMPARE[product.settlement](comparison, marks);
    await compareChains(comparison, marks);
    return compared;
  };
  // All reads share one snapshot: coverage newer than the records would make a present record look missing (decision 5).
  return await inSnapshot(context.sql, async (tx) => {
    const taken = await takeDue(context, tx, product, now, limits);
    if (typeof taken === "string") return { ...NOTHING, taken };
    const { comparison, marks } = taken;
    if (marks.length === 0) return { ...NOTHING, taken: "compared" as const };
    const { together, slow } = await skipSetAside(comparison, marks);
    const isOneByOne = how === "one by one";
    const first = isOneByOne ? NOTHING_COMPARED : await compareTogether(comparison, together, how, compare);
    const parts = isOneByOne ? [...partsOf(comparison, together), ...slow] : slow;
    const then = await compareOneByOne(comparison, parts, compare);
    await endSetAside(comparison, [...(isOneByOne ? [] : together), ...then.comparedMarks]);
    for (const kind of new Set([...first.stale, ...then.stale])) await reportStale(comparison, kind);
    return {
      taken: "compared" as const,
      marks: marks.length,
      compared: first.compared + then.compared,
      wantsFetch: first.wantsFetch || then.wantsFetch,
      isUnfinished: then.isUnfinished,
    };
  });
}

async function compareTogether(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
  how: HowToCompare,
  compare: Compare,
) {
  return how === "together"
    ? await compare(comparison, marks)
    : await compareInParts(comparison, partsOf(comparison, marks), compare);
}

/** @returns "busy" if another worker compares the product, "no ledger" if there are no entries */
async function takeDue(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  now: Instant,
  limits: CompareLimits,
) {
  const { productId } = product;
  if (!(await lockProduct(tx, productId))) return "busy" as const;
  const ledgerStart = await trackLedgerStart(tx, context.config, product, now);
  if (ledgerStart === null) return "no ledger" as const;
  const deleted = await readDeletedTime(tx, productId);
  const marks = await takeMarks(tx, productId, now, MARKS_PER_STEP);
  return { comparison: openComparison(context, tx, product, ledgerStart, now, limits, deleted), marks };
}

const STALE_SENTENCE: Readonly<Record<StaleKind, string>> = {
  "ledger-stale":
    "none of the newest bets that the provider lists has any callback in the ledger: is the ledger still being written?",
  "provider-stale":
    "none of the newest settled bets has a record at the provider: does its report lag behind?",
};

const DAY_MS = 24 * 3_600_000;

/** Writes one alert a day while the side is stale. */
async function reportStale(
  { tx, product: { productId }, now }: ComparisonContext,
  kind: StaleKind,
): Promise<void> {
  const day = formatInstant(Math.floor(now / DAY_MS) * DAY_MS).slice(0, 10);
  await recordAlert(tx, {
    idempotencyKey: `${kind}/${productId}/${day}`,
    kind,
    productId,
    body: { what: `${productId}: ${STALE_SENTENCE[kind]}`, productId, since: formatInstant(now) },
    at: now,
  });
}

/**
 * Marks open mismatches for a comparison when a worker starts, because settings may have changed and would otherwise
 * end no mismatch until its bet changes. What agreed before is not compared again if a setting becomes stricter; the
 * day's statement shows it as rest. Marks only bets and rounds: a session is compared when something touches it.
 */
export async function compareOpenAgain({ sql, config, clock, log }: FlowContext): Promise<void> {
  const compared = config.products.filter(
    (one) => one.walletMode === "seamless" && one.settlement !== "session",
  );
  const productIds = compared.map(({ productId }) => productId);
  const marked = await markOpenMismatches(sql, productIds, clock.now());
  if (marked > 0)
    log.info({ mismatches: marked }, "comparing open mismatches again with the current settings");
}

/**
 * One comparison of bets: loads what the marks touch, judges it, and writes the results.
 * The facts that confirm a difference depend on the difference, so they are loaded after all differences are found.
 */
async function compareMarkedBets(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const loaded = await loadBets(comparison, marks);

  const found = findDifferences(loaded, comparison);
  const { known, stale } = await loadConfirmationFacts(comparison, found.checks);
  const unconfirmed = judgeConfirmation(found.checks, known, stale, comparison);
  const results = judgeBets(loaded, found, { unconfirmed, ofDeleted: known.ofDeleted }, comparison);
  const keptRounds = results.map((one) => judgeLargeRounds(one, loaded, comparison));

  const { tx, product } = comparison;
  for (const round of keptRounds.flatMap(({ rounds }) => rounds))
    await writeLargeRound(tx, product.productId, round);
  const wantsFetch = await writeResults(
    comparison,
    results.map(
      ({ assessment: { username }, seen, subjects, waits }, index): PartResult => ({
        username,
        subjects,
        seen,
        waits,
        marks: keptRounds[index]?.marks ?? [],
      }),
    ),
  );
  // Loading may have taken more marks of the same rounds. Their parts were compared too.
  if (loaded.marks.length > marks.length) await endSetAside(comparison, loaded.marks);
  return { compared: results.length, wantsFetch, stale };
}
