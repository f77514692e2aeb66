/** Compares the chains of balances that marks touch, if the ledger has every movement (`ledger.balances`). */

import type { CallbackEntry } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import {
  type BrokenLink,
  findBrokenLinks,
  type JudgedChain,
  subjectOfLink,
} from "../../diff/balance-chain.ts";
import { type DiffMark, writeMarks } from "../../diff/mark-store.ts";
import { askedByEntry, type FoldSettings } from "../../ledger/fold.ts";
import { type PlayerSpan, readEntries, readEntriesAround, readFormerTimes } from "../../ledger/store.ts";
import { readKnownOf, readOpenChains } from "../../mismatches/store.ts";
import { type Amount, ZERO } from "../../money.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import { type PartResult, writeResults } from "./write-results.ts";

/**
 * Entries to load on each side of the touched ones: few at first, many before a broken link counts, and more for
 * requests that overlap all of these, such as those of a player without a pause.
 */
const AROUND = [20, 1_000, 20_000] as const;
/** Touched times with a longer pause between them are loaded apart. */
const APART_MS = 600_000;

/**
 * Compares all requests of the product near the marked entries. Requests of other products get a mark when a
 * mismatch of theirs must open or end, because their product is compared by itself.
 */
export async function compareChains(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<void> {
  const { context, tx, product, graces, now } = comparison;
  if (context.config.ledger.balances === "partial") return;
  const parts: PartResult[] = [];
  const others: CallbackEntry[] = [];
  const marksOf = Map.groupBy(marks, ({ username }) => username);
  for (const [username, chains] of await judgeSpans(comparison, await spansOf(comparison, marks))) {
    const isOwn = (entry: CallbackEntry) => entry.productId === product.productId;
    const broken = chains.flatMap((chain) => chain.broken);
    const judged = chains.flatMap((chain) => chain.judged);
    const confirmedFrom = ({ receivedAt }: BrokenLink) => receivedAt + graces.callbackGraceMs;
    // The entries of a mismatch may be deleted, or have another time now.
    const standing: string[] = [];
    for (const within of chains.flatMap((chain) => chain.times))
      standing.push(...(await readOpenChains(tx, product.productId, username, within)));
    const ownBroken = broken.filter(({ entries }) => entries.some(isOwn));
    parts.push({
      username,
      subjects: [...new Set([...judged.filter(isOwn).map(subjectOfLink), ...standing])],
      seen: ownBroken.map((one) => ({
        content: one.content,
        subjects: [one.content.subject],
        confirmed: now >= confirmedFrom(one),
      })),
      marks: marksOf.get(username) ?? [],
      waits: broken.filter((one) => now < confirmedFrom(one)).map((one) => ({ until: confirmedFrom(one) })),
    });
    const due = new Set(broken.filter((one) => now >= confirmedFrom(one)).flatMap(({ entries }) => entries));
    const holds = new Set(broken.flatMap(({ entries }) => entries));
    others.push(
      ...(await findOthers(
        comparison,
        judged.filter((one) => !isOwn(one)),
        due,
        holds,
      )),
    );
  }
  await writeResults(comparison, parts);
  for (const [productId, own] of Map.groupBy(others, (entry) => entry.productId))
    await writeMarks(
      tx,
      productId,
      own.map(({ username, txnId }) => ({ username, roundId: null, betRef: txnId, dueAt: now })),
    );
}

/** The times of the marked entries of each player, and of their former contents. */
async function spansOf(
  { tx, product: { productId }, limits }: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<PlayerSpan[]> {
  const keysOf = (name: "roundId" | "betRef") =>
    marks.flatMap((mark) => (mark[name] === null ? [] : [[mark.username, mark[name]] as const]));
  const keys = { rounds: keysOf("roundId"), bets: keysOf("betRef") };
  const touched = [
    ...(await readEntries(tx, productId, keys, { ofRound: limits.wholeRound, inAll: limits.rows })),
    ...(await readFormerTimes(tx, productId, keys.bets)),
  ];
  return [...Map.groupBy(touched, ({ username }) => username)].flatMap(([username, own]) => {
    const spans: { username: string; from: Instant; to: Instant }[] = [];
    for (const at of own.map(({ occurredAt }) => occurredAt).sort((a, b) => a - b)) {
      const last = spans.at(-1);
      if (last !== undefined && at - last.to <= APART_MS) last.to = at;
      else spans.push({ username, from: at, to: at });
    }
    return spans;
  });
}

async function judgeSpans(
  comparison: ComparisonContext,
  spans: readonly PlayerSpan[],
): Promise<Map<string, JudgedChain[]>> {
  const { tx, settings, deleted } = comparison;
  const since = Math.max(settings.ledgerStart, deleted.entries.to);
  const judged = new Map<string, JudgedChain[]>();
  let left = spans;
  for (const around of AROUND) {
    const chains: JudgedChain[] = [];
    for (const { entries, before, after } of await readEntriesAround(tx, left, around)) {
      const compared = entries.filter(({ occurredAt }) => occurredAt >= since);
      const cut = { before: before && compared.length === entries.length, after };
      // The money that an item asks for, and whether it had come before, may depend on an entry of days ago.
      const earlier = around > AROUND[0] ? await readSameBets(comparison, compared) : [];
      const asked = askedByAll(comparison, [...compared, ...earlier]);
      chains.push(findBrokenLinks(compared, { asked, earlier, tolerance: settings.tolerance, cut }));
    }
    const isTouched =
      ({ from, to }: PlayerSpan) =>
      (entry: CallbackEntry) =>
        entry.occurredAt >= from && entry.occurredAt <= to;
    const isCertain = (index: number) => {
      const [span, chain] = [left[index], chains[index]];
      if (around === AROUND.at(-1) || span === undefined || chain === undefined) return true;
      if (chain.left.some(isTouched(span))) return false;
      return around > AROUND[0] || chain.broken.length === 0;
    };
    left.forEach(({ username }, index) => {
      const chain = chains[index];
      if (chain !== undefined && isCertain(index))
        judged.set(username, [...(judged.get(username) ?? []), chain]);
    });
    left = left.filter((_, index) => !isCertain(index));
    if (left.length === 0) break;
  }
  return judged;
}

/** All entries of the bets whose entries say no amount, or moved nothing. @param entries of one player, of all products */
async function readSameBets(
  { tx, limits }: ComparisonContext,
  entries: readonly CallbackEntry[],
): Promise<CallbackEntry[]> {
  const known = new Set(entries.map(({ entryId }) => entryId));
  const unsure = entries.filter(({ moved }) => moved === null || moved.eq(ZERO));
  const found: CallbackEntry[] = [];
  for (const [productId, own] of Map.groupBy(unsure, (entry) => entry.productId)) {
    const byBet = new Map(own.map(({ username, txnId }) => [txnId, [username, txnId] as const]));
    const most = { ofRound: limits.wholeRound, inAll: limits.rows };
    found.push(...(await readEntries(tx, productId, { rounds: [], bets: [...byBet.values()] }, most)));
  }
  return found.filter(({ entryId }) => !known.has(entryId));
}

/** The money that the entries of one player ask for, each by the rules of its product. */
function askedByAll(
  { context, product, fold }: ComparisonContext,
  entries: readonly CallbackEntry[],
): Map<string, Amount> {
  const foldOf = (productId: string): FoldSettings => {
    const other = context.config.products.find((one) => one.productId === productId);
    return productId === product.productId ? fold : { singleState: other?.singleState ?? false };
  };
  return new Map(
    [...Map.groupBy(entries, ({ productId }) => productId)].flatMap(([productId, own]) => [
      ...askedByEntry(own, foldOf(productId)),
    ]),
  );
}

/** Entries of other products whose mismatch must open, or end. */
async function findOthers(
  { tx }: ComparisonContext,
  judged: readonly CallbackEntry[],
  due: ReadonlySet<CallbackEntry>,
  holds: ReadonlySet<CallbackEntry>,
): Promise<CallbackEntry[]> {
  const found: CallbackEntry[] = [];
  for (const [productId, own] of Map.groupBy(judged, (entry) => entry.productId)) {
    const asked = own.map((entry) => [entry.username, subjectOfLink(entry)] as const);
    const known = new Map((await readKnownOf(tx, productId, asked)).map((one) => [one.subject, one]));
    found.push(
      ...own.filter((entry) => {
        const one = known.get(subjectOfLink(entry));
        const isOpen = one?.status === "open" || one?.status === "acknowledged";
        return holds.has(entry)
          ? due.has(entry) && (one === undefined || one.hasCeased || (!isOpen && one.resolvedBy === "recon"))
          : isOpen;
      }),
    );
  }
  return found;
}
