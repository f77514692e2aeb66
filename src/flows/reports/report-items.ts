/** The lines of an open day, product by product, in a stable order. A line is what one bet, round or session adds to its row. */

import { type ClosedBet, mergeBets } from "../../closing/changed-bets.ts";
import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readBetsOutside } from "../../diff/outside-store.ts";
import { parseAmount } from "../../money.ts";
import { type Counted, NOTHING_COUNTED } from "../../report.ts";
import { itemsOf, type ReportItem } from "../../report-item.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import type { FlowContext } from "../context.ts";
import { checkKept, type Making, openReport, type RequestedDay } from "./read-report.ts";
import { betsOfPlayers, type CountedPlayers } from "./report-bets.ts";
import { sessionsOfPlayers } from "./report-sessions.ts";

/** The place of a line among those of a product and a day. */
export interface ItemPlace {
  /** 0: bets, or everything; 1: the sessions of a "mixed" product */
  readonly phase: number;
  readonly username: string;
  readonly subject: string;
  readonly betRef: string;
  readonly currency: string;
  /** a bet has several lines if several things explain its difference */
  readonly part: number;
}

export interface PlacedItem {
  readonly item: ReportItem;
  readonly place: ItemPlace;
}

/**
 * The lines of a product that is compared, from today's data. Needs a transaction with one snapshot; with that of
 * `readReport` the lines add up to its rows.
 * @param after the last line before; null: the first ones
 * @throws ReconError `bets-deleted` as `readReport` does
 */
export async function* openItems(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  day: RequestedDay,
  after: ItemPlace | null,
  { signal, limits, rest }: Making,
): AsyncGenerator<PlacedItem> {
  await checkKept(tx, product.productId, day);
  const comparison = await openReport(context, tx, product, limits);
  if (comparison === null) return;
  for (const [phase, read] of phasesOf(product).entries()) {
    if (after !== null && after.phase > phase) continue;
    const begin = after?.phase === phase ? after : null;
    for await (const { usernames, counted } of read(comparison, day, begin?.username ?? null)) {
      await rest();
      signal.throwIfAborted();
      const byPlayer = Map.groupBy(counted, ({ username }) => username);
      for (const username of usernames) {
        const bets = countedOf(byPlayer.get(username) ?? [], day.day);
        for (const bet of bets) yield* placed(day.day, product.productId, bet, phase, begin);
      }
    }
  }
}

type Read = (
  comparison: ComparisonContext,
  day: TimeRange,
  from: string | null,
) => AsyncGenerator<CountedPlayers>;

function phasesOf({ settlement }: ProductConfig): Read[] {
  if (settlement === "mixed") return [betsOfPlayers, sessionsOfPlayers];
  return [settlement === "bets" ? betsOfPlayers : sessionsOfPlayers];
}

/** As they are stored when the day is closed, so a closed day has the lines that it had before. */
function countedOf(counted: readonly Counted[], day: string): ClosedBet[] {
  return mergeBets(counted.map((one) => ({ ...one, day }))).sort(
    (a, b) =>
      compareText(a.subject, b.subject) ||
      compareText(a.betRef, b.betRef) ||
      compareText(a.currency, b.currency),
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The lines of a bet behind a place. @param after null: all */
function* placed(
  day: string,
  productId: string,
  bet: ClosedBet,
  phase: number,
  after: ItemPlace | null,
): Generator<PlacedItem> {
  const { username, subject, betRef, currency } = bet;
  for (const [part, item] of itemsOf(day, productId, bet).entries()) {
    const place = { phase, username, subject, betRef, currency, part };
    if (after === null || username !== after.username || isBehind(place, after)) yield { item, place };
  }
}

function isBehind(a: ItemPlace, b: ItemPlace): boolean {
  const order =
    compareText(a.subject, b.subject) ||
    compareText(a.betRef, b.betRef) ||
    compareText(a.currency, b.currency);
  return (order || a.part - b.part) > 0;
}

const BETS_AT_ONCE = 1_000;

/** The lines of a product that nothing compares: what each bet moved. */
export async function* itemsOutside(
  tx: Query,
  productId: string,
  { day, from, to }: TimeRange & { readonly day: string },
  after: ItemPlace | null,
): AsyncGenerator<PlacedItem> {
  let last: Parameters<typeof readBetsOutside>[3] = after === null ? null : { ...after, txnId: after.betRef };
  for (;;) {
    const bets = await readBetsOutside(tx, productId, { from, to }, last, BETS_AT_ONCE);
    for (const { username, txnId, roundId, currency, outside } of bets) {
      const bet = {
        ...NOTHING_COUNTED,
        username,
        subject: roundId === null ? "outside" : `round:${roundId}`,
        betRef: txnId,
        betId: null,
        transactionId: txnId,
        currency,
        outside: parseAmount(outside, "outside"),
        shown: { provider: null, ledger: { status: null }, mismatchId: null, verdict: null },
      };
      const place = { phase: 0, username, subject: "outside", betRef: txnId, currency, part: 0 };
      for (const item of itemsOf(day, productId, bet)) yield { item, place };
    }
    const end = bets.at(-1);
    if (end === undefined || bets.length < BETS_AT_ONCE) return;
    last = end;
  }
}
