/** Looks at what was touched of one product, a piece at a time, each piece in a transaction of its own. */

import { recordAlert } from "../alerts/store.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import { inOneMoment, isOfData, type Query } from "../db/client.ts";
import type { StaleKind } from "../diff/stale-store.ts";
import { lockProduct, takeMarks } from "../diff/store.ts";
import { type FlowContext, findProduct } from "./context.ts";
import { endOfSetAside, leaveSetAside, lookApart, partsOf } from "./diff-apart.ts";
import { lookAtBets } from "./diff-bets.ts";
import { COMPARE_LIMITS, type CompareLimits, openScene, type Scene } from "./diff-scene.ts";
import { lookAtSessions } from "./diff-sessions.ts";
import { readLedgerMoment } from "./follow-ledger.ts";
import { openLedgerStart } from "./ledger-start.ts";
import { screenProduct } from "./screen-product.ts";

const MARKS_PER_LOOK = 500;
const MOST_LOOKS_PER_RUN = 1_000;
/** Then it is another product's turn, where more products have something to compare than there are places. */
const LONGEST_TURN_MS = 20_000;

export interface DiffResult {
  /** neighbourhoods looked at, of products with sessions players */
  readonly looked: number;
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
export async function diffProduct(
  context: FlowContext,
  productId: string,
  signal: AbortSignal,
  { screenFrom, limits = COMPARE_LIMITS, onStep = () => {} }: CompareOptions = {},
): Promise<DiffResult> {
  const product = findProduct(context.config, productId);
  let looked = 0;
  let wantsFetch = false;
  const nothing = { looked, wantsFetch, upTo: null, isBusy: false, wantsTurn: false };
  if (product.walletMode === "transfer") return nothing;
  // What the ledger has not been asked since is unknown: everything is judged as of the moment it was last read.
  const now = await readLedgerMoment(context);
  if (now === null) return nothing;
  const startedAt = context.clock.now();

  if (product.settlement === "bets") await screenProduct(context, product, now, signal, screenFrom);
  for (let looks = 0; looks < MOST_LOOKS_PER_RUN && !signal.aborted; looks += 1) {
    const look = await lookOnce(context, product, now, limits);
    looked += look.looked;
    wantsFetch ||= look.wantsFetch;
    const isBusy = look.taken === "busy";
    if (!isBusy) onStep();
    if (look.marks < MARKS_PER_LOOK) {
      const upTo = look.taken === "looked" ? now : null;
      return { looked, wantsFetch, upTo, isBusy, wantsTurn: false };
    }
    if (context.clock.now() - startedAt >= LONGEST_TURN_MS) break;
  }
  return { looked, wantsFetch, upTo: null, isBusy: false, wantsTurn: !signal.aborted };
}

async function lookOnce(context: FlowContext, product: ProductConfig, now: Instant, limits: CompareLimits) {
  const look = product.settlement === "session" ? lookAtSessions : lookAtBets;
  // Coverage must not be newer than the records: a page committed in between would look like a missing record.
  const lookAll = (together: boolean) =>
    inOneMoment(context.sql, async (tx) => {
      const taken = await takeDue(context, tx, product, now, limits);
      if (typeof taken === "string") return { taken, marks: 0, looked: 0, wantsFetch: false };
      const { scene, marks } = taken;
      if (marks.length === 0) return { taken: "looked" as const, marks: 0, looked: 0, wantsFetch: false };
      const own = await leaveSetAside(scene, marks);
      const looked = together ? await look(scene, own) : await lookApart(scene, partsOf(scene, own), look);
      await endOfSetAside(scene, own);
      for (const kind of looked.stale) await tellStale(scene, kind);
      const { looked: count, wantsFetch } = looked;
      return { taken: "looked" as const, marks: marks.length, looked: count, wantsFetch };
    });
  try {
    return await lookAll(true);
  } catch (error) {
    if (!isOfData(error)) throw error;
    return await lookAll(false);
  }
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
  const marks = await takeMarks(tx, productId, now, MARKS_PER_LOOK);
  return { scene: openScene(context, tx, product, ledgerStart, now, limits), marks };
}

const STALE_SENTENCE: Readonly<Record<StaleKind, string>> = {
  "ledger-stale":
    "none of the newest bets that the provider lists has any callback in the ledger: is the ledger still being written?",
  "provider-stale":
    "none of the newest settled bets has a record at the provider: does its report lag behind?",
};

const DAY_MS = 24 * 3_600_000;

/** One alert, however many looks find the side stale; another one where it still is the next day. */
async function tellStale({ tx, product: { productId }, now }: Scene, kind: StaleKind): Promise<void> {
  const day = formatInstant(Math.floor(now / DAY_MS) * DAY_MS).slice(0, 10);
  await recordAlert(tx, {
    idempotencyKey: `${kind}/${productId}/${day}`,
    kind,
    productId,
    body: { what: `${productId}: ${STALE_SENTENCE[kind]}`, productId, since: formatInstant(now) },
    at: now,
  });
}
