/** Looks at what was touched of one product, a piece at a time, each piece in a transaction of its own. */

import { recordAlert } from "../alerts/store.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { ProductConfig } from "../config-file.ts";
import { inOneMoment, isOfData, type Query } from "../db/client.ts";
import type { StaleKind } from "../diff/stale-store.ts";
import { type DiffMark, lockProduct, takeMarks } from "../diff/store.ts";
import { isFailing } from "../work/stall.ts";
import { readFailures } from "../work/work-store.ts";
import { type FlowContext, findProduct } from "./context.ts";
import { endOfSetAside, type Look, leaveSetAside, lookApart, lookOneByOne, partsOf } from "./diff-apart.ts";
import { lookAtBets } from "./diff-bets.ts";
import { COMPARE_LIMITS, type CompareLimits, type Looked, openScene, type Scene } from "./diff-scene.ts";
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

  // What has failed again and again is found one by one, and set aside: the next tick would fail by it as well.
  let isCareful = isFailing(await readFailures(context.sql, { work: "comparing", subject: productId }));
  if (product.settlement === "bets" && !isCareful)
    await screenProduct(context, product, now, signal, LONGEST_TURN_MS, screenFrom);
  for (let looks = 0; looks < MOST_LOOKS_PER_RUN && !signal.aborted; looks += 1) {
    const look = await lookOnce(context, product, now, { limits, isCareful });
    isCareful = look.isUnfinished;
    looked += look.looked;
    wantsFetch ||= look.wantsFetch;
    const isBusy = look.taken === "busy";
    if (!isBusy) onStep();
    if (look.marks < MARKS_PER_LOOK && !look.isUnfinished) {
      const upTo = look.taken === "looked" ? now : null;
      return { looked, wantsFetch, upTo, isBusy, wantsTurn: false };
    }
    if (context.clock.now() - startedAt >= LONGEST_TURN_MS) break;
  }
  return { looked, wantsFetch, upTo: null, isBusy: false, wantsTurn: !signal.aborted };
}

async function lookOnce(
  context: FlowContext,
  product: ProductConfig,
  now: Instant,
  { limits, isCareful }: { readonly limits: CompareLimits; readonly isCareful: boolean },
) {
  const look = product.settlement === "session" ? lookAtSessions : lookAtBets;
  // Coverage must not be newer than the records: a page committed in between would look like a missing record.
  const lookAll = (how: HowToLook) =>
    inOneMoment(context.sql, async (tx) => {
      const taken = await takeDue(context, tx, product, now, limits);
      if (typeof taken === "string") return { ...NOTHING, taken };
      const { scene, marks } = taken;
      if (marks.length === 0) return { ...NOTHING, taken: "looked" as const };
      const { together, slow } = await leaveSetAside(scene, marks);
      const apart = how === "one by one" ? [...partsOf(scene, together), ...slow] : slow;
      const first = how === "one by one" ? NOTHING_LOOKED : await lookInOne(scene, together, how, look);
      const then = await lookOneByOne(scene, apart, look);
      await endOfSetAside(scene, [...(how === "one by one" ? [] : together), ...then.compared]);
      for (const kind of new Set([...first.stale, ...then.stale])) await tellStale(scene, kind);
      return {
        taken: "looked" as const,
        marks: marks.length,
        looked: first.looked + then.looked,
        wantsFetch: first.wantsFetch || then.wantsFetch,
        isUnfinished: then.isUnfinished,
      };
    });
  try {
    return await lookAll(isCareful ? "one by one" : "together");
  } catch (error) {
    if (isCareful || !isOfData(error)) throw error;
    return await lookAll("in halves");
  }
}

/** "in halves": what cannot be judged is found; "one by one": so is what takes too long */
type HowToLook = "together" | "in halves" | "one by one";

const NOTHING = { marks: 0, looked: 0, wantsFetch: false, isUnfinished: false };
const NOTHING_LOOKED: Looked = { looked: 0, wantsFetch: false, stale: new Set() };

async function lookInOne(scene: Scene, marks: readonly DiffMark[], how: HowToLook, look: Look) {
  return how === "together" ? await look(scene, marks) : await lookApart(scene, partsOf(scene, marks), look);
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
