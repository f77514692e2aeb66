/** Looks at what was touched of one product, a piece at a time, each piece in a transaction of its own. */

import { recordAlert } from "../alerts/store.ts";
import { formatInstant, type Instant } from "../clock.ts";
import type { ProductConfig } from "../config.ts";
import { inOneMoment, type Query } from "../db/client.ts";
import { lockProduct, takeMarks } from "../diff/store.ts";
import { readLedgerStart } from "../ledger/store.ts";
import type { StaleKind } from "./await-ripeness.ts";
import { type FlowContext, findProduct } from "./context.ts";
import { lookAtBets } from "./diff-bets.ts";
import { openScene, type Scene } from "./diff-scene.ts";
import { lookAtSessions } from "./diff-sessions.ts";
import { readLedgerMoment } from "./follow-ledger.ts";
import { screenProduct } from "./screen-product.ts";

const MARKS_PER_LOOK = 500;
const MOST_LOOKS_PER_RUN = 1_000;

export interface DiffResult {
  /** neighbourhoods looked at, of products with sessions players */
  readonly looked: number;
  /** confirm fetches were planned: the product wants pulling */
  readonly wantsFetch: boolean;
}

/**
 * Looks at everything of one product whose time has come.
 * @param screenFrom so many due marks are screened before they are looked at; Infinity: none are
 */
export async function diffProduct(
  context: FlowContext,
  productId: string,
  signal: AbortSignal,
  screenFrom?: number,
): Promise<DiffResult> {
  const product = findProduct(context.config, productId);
  let looked = 0;
  let wantsFetch = false;
  if (product.walletMode === "transfer") return { looked, wantsFetch };
  // What the ledger has not been asked since is unknown: everything is judged as of the moment it was last read.
  const now = await readLedgerMoment(context);
  if (now === null) return { looked, wantsFetch };

  if (product.settlement === "bets") await screenProduct(context, product, now, signal, screenFrom);
  for (let looks = 0; looks < MOST_LOOKS_PER_RUN && !signal.aborted; looks += 1) {
    // Coverage must not be newer than the records: a page committed in between would look like a missing record.
    const look = await inOneMoment(context.sql, (tx) => lookOnce(context, tx, product, now));
    looked += look.looked;
    wantsFetch ||= look.wantsFetch;
    if (look.marks < MARKS_PER_LOOK) break;
  }
  return { looked, wantsFetch };
}

async function lookOnce(context: FlowContext, tx: Query, product: ProductConfig, now: Instant) {
  const nothing = { marks: 0, looked: 0, wantsFetch: false };
  const { productId } = product;
  if (!(await lockProduct(tx, productId))) return nothing;
  const ledgerStart = context.config.ledger.since ?? (await readLedgerStart(tx));
  if (ledgerStart === null) return nothing;
  const marks = await takeMarks(tx, productId, now, MARKS_PER_LOOK);
  if (marks.length === 0) return nothing;
  const scene = openScene(context, tx, product, ledgerStart, now);
  if (product.settlement === "session") {
    return { ...(await lookAtSessions(scene, marks)), marks: marks.length };
  }
  const { stale, ...look } = await lookAtBets(scene, marks);
  for (const kind of stale) await tellStale(scene, kind);
  return { ...look, marks: marks.length };
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
