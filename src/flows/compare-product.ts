/** Looks at what was touched of one product, a piece at a time, each piece in a transaction of its own. */

import { recordAlert } from "../alerts/store.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import { inOneMoment, isOfData, type Query } from "../db/client.ts";
import type { StaleKind } from "../diff/stale-store.ts";
import { type DiffMark, lockProduct, takeMarks } from "../diff/store.ts";
import { isFailing } from "../work/stall.ts";
import { readFailures } from "../work/work-store.ts";
import { compareMarkedBets } from "./compare-bets.ts";
import {
  type Compare,
  compareInParts,
  compareOneByOne,
  endOfSetAside,
  leaveSetAside,
  partsOf,
} from "./compare-in-parts.ts";
import { compareMarkedSessions } from "./compare-sessions.ts";
import {
  COMPARE_LIMITS,
  type CompareLimits,
  type ComparisonContext,
  type ComparisonResult,
  openComparison,
} from "./comparison-context.ts";
import { type FlowContext, findProduct } from "./context.ts";
import { readLedgerMoment } from "./follow-ledger.ts";
import { openLedgerStart } from "./ledger-start.ts";
import { screenProduct } from "./screen-product.ts";

const MARKS_PER_STEP = 500;
const MOST_STEPS_PER_RUN = 1_000;
/** Then it is another product's turn, where more products have something to compare than there are places. */
const LONGEST_TURN_MS = 20_000;

export interface CompareProductResult {
  /** neighbourhoods looked at, of products with sessions players */
  readonly compared: number;
  /** confirm fetches were planned: the product wants pulling */
  readonly wantsFetch: boolean;
  /** what had arrived by then was judged, or waits for its graces; null: this comparison did not get to the end */
  readonly upTo: Instant | null;
  /** another worker was at it: nothing can be said of how far it has got */
  readonly isBusy: boolean;
  /** its turn is over, and more may be due: it takes another one behind all that wait */
  readonly wantsTurn: boolean;
}

export interface CompareOptions {
  /** so many due marks are screened before they are compared; Infinity: none are */
  readonly screenFrom?: number;
  readonly limits?: CompareLimits;
  /** hears of every step, so that a long one is seen to go on */
  readonly onStep?: () => void;
}

/** Compares everything of one product whose time has come. */
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
  // What the ledger has not been asked since is unknown: everything is judged as of the moment it was last read.
  const now = await readLedgerMoment(context);
  if (now === null) return nothing;
  const startedAt = context.clock.now();

  // What has failed again and again is found one by one, and set aside: the next tick would fail by it as well.
  let isCareful = isFailing(await readFailures(context.sql, { work: "comparing", subject: productId }));
  if (product.settlement === "bets" && !isCareful)
    await screenProduct(context, product, now, signal, LONGEST_TURN_MS, screenFrom);
  for (let steps = 0; steps < MOST_STEPS_PER_RUN && !signal.aborted; steps += 1) {
    const step = await compareStep(context, product, now, { limits, isCareful });
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

async function compareStep(
  context: FlowContext,
  product: ProductConfig,
  now: Instant,
  { limits, isCareful }: { readonly limits: CompareLimits; readonly isCareful: boolean },
) {
  const compare = product.settlement === "session" ? compareMarkedSessions : compareMarkedBets;
  // Coverage must not be newer than the records: a page committed in between would look like a missing record.
  const compareAll = (how: HowToLook) =>
    inOneMoment(context.sql, async (tx) => {
      const taken = await takeDue(context, tx, product, now, limits);
      if (typeof taken === "string") return { ...NOTHING, taken };
      const { comparison, marks } = taken;
      if (marks.length === 0) return { ...NOTHING, taken: "compared" as const };
      const { together, slow } = await leaveSetAside(comparison, marks);
      const apart = how === "one by one" ? [...partsOf(comparison, together), ...slow] : slow;
      const first =
        how === "one by one" ? NOTHING_COMPARED : await lookInOne(comparison, together, how, compare);
      const then = await compareOneByOne(comparison, apart, compare);
      await endOfSetAside(comparison, [...(how === "one by one" ? [] : together), ...then.comparedMarks]);
      for (const kind of new Set([...first.stale, ...then.stale])) await reportStale(comparison, kind);
      return {
        taken: "compared" as const,
        marks: marks.length,
        compared: first.compared + then.compared,
        wantsFetch: first.wantsFetch || then.wantsFetch,
        isUnfinished: then.isUnfinished,
      };
    });
  try {
    return await compareAll(isCareful ? "one by one" : "together");
  } catch (error) {
    if (isCareful || !isOfData(error)) throw error;
    return await compareAll("in halves");
  }
}

/** "in halves": what cannot be judged is found; "one by one": so is what takes too long */
type HowToLook = "together" | "in halves" | "one by one";

const NOTHING = { marks: 0, compared: 0, wantsFetch: false, isUnfinished: false };
const NOTHING_COMPARED: ComparisonResult = { compared: 0, wantsFetch: false, stale: new Set() };

async function lookInOne(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
  how: HowToLook,
  look: Compare,
) {
  return how === "together"
    ? await look(comparison, marks)
    : await compareInParts(comparison, partsOf(comparison, marks), look);
}

/** @returns "busy" where another worker looks, "no ledger" where there is nothing to compare with */
async function takeDue(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  now: Instant,
  limits: CompareLimits,
) {
  const { productId } = product;
  if (!(await lockProduct(tx, productId))) return "busy" as const;
  const ledgerStart = await openLedgerStart(tx, context.config, product, now);
  if (ledgerStart === null) return "no ledger" as const;
  const marks = await takeMarks(tx, productId, now, MARKS_PER_STEP);
  return { comparison: openComparison(context, tx, product, ledgerStart, now, limits), marks };
}

const STALE_SENTENCE: Readonly<Record<StaleKind, string>> = {
  "ledger-stale":
    "none of the newest bets that the provider lists has any callback in the ledger: is the ledger still being written?",
  "provider-stale":
    "none of the newest settled bets has a record at the provider: does its report lag behind?",
};

const DAY_MS = 24 * 3_600_000;

/** One alert, however many looks find the side stale; another one where it still is the next day. */
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
