/** Finds what an id belongs to, and for each bet what both sides have. */

import { type ListedIncident, readListedIncident } from "../../alerts/incident-list-store.ts";
import { realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { parseInstant } from "../../clock.ts";
import { readClosedBounds } from "../../closing/closed-day-store.ts";
import { StatementDays } from "../../closing/statement.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { type AssessedPair, assessPairs, type PendingDifference } from "../../diff/assess.ts";
import { reasonAfterDeletion } from "../../diff/deleted.ts";
import { subjectsOf } from "../../diff/mismatch-content.ts";
import { readRecords } from "../../diff/record-store.ts";
import {
  type FoundKey,
  type FoundRequest,
  type FoundTransfer,
  findBets,
  findBetsOfRequest,
  findBetsOfRound,
  findLatestOfPlayer,
  findMismatches,
  findProductsOfPlayer,
  findRequests,
  findRounds,
  findTransfers,
  type MismatchOfBet,
} from "../../diff/search-store.ts";
import { ledgerSide, providerSide } from "../../diff/sums.ts";
import { foldEntries } from "../../ledger/fold.ts";
import { readEntries, readLedgerStart } from "../../ledger/store.ts";
import type { LedgerSide, Mismatch, MismatchKind, ProviderSide } from "../../mismatch.ts";
import { type SumOfCurrency, sumChosen } from "../../mismatches/order-store.ts";
import type { MismatchChoice } from "../../mismatches/store.ts";
import { openComparison } from "../compare/comparison-context.ts";
import { findDeleted } from "../compare/load-confirmation-facts.ts";
import type { FlowContext } from "../context.ts";
import { readMismatch } from "./list-mismatches.ts";

/** One number may be both. */
interface Numbered {
  /** null: no mismatch has the number, or only an incident was asked for */
  readonly mismatch: Mismatch | null;
  readonly incident: ListedIncident | null;
}

const NUMBERED = /^(mismatch|incident)?\s*#?\s*([1-9]\d{0,14})$/i;

/** @param text as typed: "6", "#6", "mismatch 6" or "incident #6" */
async function findNumbered(context: FlowContext, text: string): Promise<Numbered> {
  const [, kind = "", number] = NUMBERED.exec(text) ?? [];
  if (number === undefined) return { mismatch: null, incident: null };
  const asked = kind.toLowerCase();
  const [mismatch, incident] = await Promise.all([
    asked === "incident" ? null : readMismatch(context, number),
    asked === "mismatch" ? null : readListedIncident(context.sql, Number(number)),
  ]);
  return { mismatch, incident };
}

/** The most bets on the page. */
const MOST_BETS = 10;
/** A larger round is not loaded: its bets are then compared by their ids alone. */
const MOST_OF_ROUND = 1_000;

/** With more players, a round is found only with its player's name. */
const MOST_PLAYERS = 50_000;
/** The newest entries, in which a request is looked for. */
const MOST_ENTRIES = 200_000;
/** If an index found something, the rest is searched only this far: the page repeats the search after each change. */
const FEW = { players: 1_000, entries: 1_000 } as const;

/** What both sides have of a bet now. */
export interface FoundBet extends FoundKey {
  /** the date of the statement in which it counts; null: in none that is known, or as a part of a session */
  readonly countsOn: string | null;
  readonly provider: ProviderSide | null;
  readonly ledger: LedgerSide | null;
  /** null: both sides agree */
  readonly difference: {
    readonly kind: MismatchKind;
    readonly reason: string;
    /** rows that could explain it may be deleted, so it opens no mismatch */
    readonly lacksDeleted: boolean;
  } | null;
  readonly mismatches: readonly MismatchOfBet[];
}

export interface SearchResult {
  readonly numbered: Numbered;
  readonly bets: readonly FoundBet[];
  /** there are more bets than these */
  readonly hasMore: boolean;
  /** the products at which a player of this name plays */
  readonly playsAt: readonly string[];
  /** that player's open and acknowledged mismatches, by currency */
  readonly ofPlayer: readonly SumOfCurrency[];
  readonly transfers: readonly (FoundTransfer & { readonly mismatches: readonly MismatchOfBet[] })[];
  readonly requests: readonly FoundRequest[];
  /** after how many players of each side, and after how many of the newest entries, a search ended; null: all were searched */
  readonly unsearched: { readonly players: number | null; readonly entries: number | null };
  /** an index had all of it, so that the same search may follow soon */
  readonly isCheap: boolean;
}

/**
 * @param text an id, the number of a mismatch or an incident, or a player's name, a space, and the id of one of that
 * player's rounds. Indexed ids are always searched. Rounds of any player, and requests that are only in entries, are
 * searched in fewer players and entries if something was found.
 */
export async function search(context: FlowContext, text: string): Promise<SearchResult> {
  const { sql, config } = context;
  const products = config.products.map(({ productId }) => productId);
  const [numbered, keys, ofRound, playsAt, transfers, requests] = await Promise.all([
    findNumbered(context, text),
    findBets(sql, products, text, MOST_BETS + 1),
    findOfRound(context, products, text),
    findProductsOfPlayer(sql, products, text),
    findTransfers(sql, text, MOST_BETS),
    findRequests(sql, products, text),
  ]);
  const known = [...keys, ...ofRound];
  const isFound = known.length + playsAt.length + transfers.length > 0;
  const limits = isFound ? FEW : { players: MOST_PLAYERS, entries: MOST_ENTRIES };
  const further = await searchFurther(context, products, text, limits);
  const found = withoutRepeats([...known, ...further.keys]);
  const days = new StatementDays(found.length === 0 ? [] : await readClosedBounds(sql), config.closing.zone);
  const bets: FoundBet[] = [];
  for (const key of found.slice(0, MOST_BETS)) {
    const bet = await describeBet(context, key);
    bets.push({ ...bet, countsOn: countsOn(context, bet, days) });
  }
  return {
    numbered,
    bets: withoutTwins(bets),
    hasMore: found.length > MOST_BETS,
    playsAt,
    ofPlayer: playsAt.length === 0 ? [] : await sumChosen(sql, { ...UNDECIDED, username: text }),
    transfers: await Promise.all(transfers.map((one) => withMismatches(context, text, one))),
    requests,
    unsearched: further.unsearched,
    isCheap: isFound,
  };
}

/** A record and an entry of a bet may have different ids, so more ids than bets are read. */
const LATEST_LIMITS = { most: 2 * MOST_BETS, mostOwn: 5_000, mostNewest: 20_000 };

export interface LatestBets {
  /** the newest first */
  readonly bets: readonly FoundBet[];
  /** among so many of the newest records and entries; null: among all of the player's */
  readonly among: number | null;
}

/** @param products at which the player plays */
export async function readLatestBets(
  context: FlowContext,
  products: readonly string[],
  username: string,
): Promise<LatestBets> {
  const { sql, config } = context;
  const { keys, isWhole } = await findLatestOfPlayer(sql, products, username, LATEST_LIMITS);
  const days = new StatementDays(keys.length === 0 ? [] : await readClosedBounds(sql), config.closing.zone);
  let bets: FoundBet[] = [];
  for (const key of keys) {
    if (bets.length >= MOST_BETS) break;
    const bet = await describeBet(context, key);
    bets = withoutTwins([...bets, { ...bet, countsOn: countsOn(context, bet, days) }]);
  }
  return { bets, among: isWhole ? null : LATEST_LIMITS.mostNewest };
}

const UNDECIDED: Omit<MismatchChoice, "username"> = { statuses: [], kind: null, productId: null };

async function withMismatches({ sql }: FlowContext, ref: string, sent: FoundTransfer) {
  return { ...sent, mismatches: await findMismatches(sql, sent, [`${sent.kind}:${ref}`]) };
}

async function searchFurther(
  { sql }: FlowContext,
  products: readonly string[],
  text: string,
  limits: { readonly players: number; readonly entries: number },
): Promise<{ keys: FoundKey[]; unsearched: SearchResult["unsearched"] }> {
  const most = MOST_BETS + 1;
  const [rounds, requests] = await Promise.all([
    findRounds(sql, products, text, { most, mostPlayers: limits.players }),
    findBetsOfRequest(sql, products, text, { most, mostEntries: limits.entries }),
  ]);
  return {
    keys: [...rounds.keys, ...requests.keys],
    unsearched: {
      players: rounds.isWhole ? null : limits.players,
      entries: requests.isWhole ? null : limits.entries,
    },
  };
}

async function findOfRound(context: FlowContext, products: readonly string[], text: string) {
  const space = text.indexOf(" ");
  if (space < 1) return [];
  const round = { username: text.slice(0, space), roundId: text.slice(space + 1).trim() };
  return await findBetsOfRound(context.sql, products, round, MOST_BETS + 1);
}

/** One bet may be found by its own id, by that of its round, and by that of its request. */
function withoutRepeats(keys: readonly FoundKey[]): FoundKey[] {
  const keyOf = ({ productId, username, roundId, ref }: FoundKey) =>
    JSON.stringify([productId, username, roundId, ref]);
  return [...new Map(keys.map((key) => [keyOf(key), key])).values()];
}

/** A record and an entry of one bet lead to the same pair. */
function withoutTwins(bets: readonly FoundBet[]): FoundBet[] {
  const keyOf = ({ productId, username, provider, ledger, ref }: FoundBet) =>
    JSON.stringify([
      productId,
      username,
      provider?.id ?? null,
      ledger?.txnId ?? null,
      provider?.betId ?? ref,
    ]);
  return [...new Map(bets.map((bet) => [keyOf(bet), bet])).values()];
}

/** Of a bet with a record its accountingDate decides, of another one its last callback. */
function countsOn(
  { config }: FlowContext,
  { productId, provider, ledger }: Omit<FoundBet, "countsOn">,
  days: StatementDays,
): string | null {
  const product = config.products.find((one) => one.productId === productId);
  const at = provider?.accountingDate ?? ledger?.lastEntryAt ?? null;
  if (at === null || product?.settlement === "session") return null;
  return days.dayAt(parseInstant(at, "accountingDate"));
}

async function describeBet(context: FlowContext, key: FoundKey): Promise<Omit<FoundBet, "countsOn">> {
  const { sql, config, clock } = context;
  const { productId, username, ref } = key;
  const round = realRound(key.roundId);
  const product = config.products.find((one) => one.productId === productId);
  const [ledgerStart, sides] = await Promise.all([readLedgerStart(sql), loadSides(context, key, round)]);
  if (product === undefined) throw new Error(`${productId} is no longer in the config`);
  const now = clock.now();
  const comparison = { tx: sql, product, deleted: await readDeletedTime(sql, productId) };
  const { fold, settings } = openComparison(context, sql, product, ledgerStart ?? now, now);
  const pairs = assessPairs(sides.records, foldEntries(sides.entries, fold), settings);
  // A record that a later step of its bet replaces is in no pair: its bet is.
  const betIds = sides.records.filter(({ id }) => id === ref).map(({ betId }) => betId);
  const own = [ref, ...betIds]
    .map((id) => pairs.find(({ pair }) => holds(pair, id)))
    .find((pair) => pair !== undefined);
  // A mismatch may have another id of the pair as its subject than the one that was searched.
  const named = own === undefined ? [] : subjectsOf(own.pair.records, own.pair.bets);
  const asked = [`bet:${ref}`, ...(round === null ? [] : [`round:${round}`])];
  const mismatches = await findMismatches(sql, key, [...new Set([...asked, ...named])]);
  if (own === undefined) return { ...key, provider: null, ledger: null, difference: null, mismatches };
  const { pair, provider, ledger, pending } = own;
  return {
    productId,
    username,
    roundId: key.roundId,
    ref,
    provider: provider === null ? null : providerSide(pair.records, provider),
    ledger: ledger === null ? null : ledgerSide(pair.bets, ledger),
    difference: pending === null ? null : await describeDifference(comparison, pending),
    mismatches,
  };
}

async function describeDifference(
  comparison: Parameters<typeof findDeleted>[0],
  pending: PendingDifference,
): Promise<FoundBet["difference"]> {
  const { kind, reason } = pending.content;
  const { named, unusable } = await findDeleted(comparison, [pending]);
  return {
    kind,
    reason: named.has(pending) ? reasonAfterDeletion(reason) : reason,
    lacksDeleted: unusable.has(pending),
  };
}

interface LoadedSides {
  readonly records: StoredRecord[];
  readonly entries: CallbackEntry[];
}

/** The bet, with its round if the round is not too large. */
async function loadSides({ sql }: FlowContext, key: FoundKey, round: string | null): Promise<LoadedSides> {
  const { productId, username, ref } = key;
  const load = async (rounds: readonly (readonly [string, string])[]): Promise<LoadedSides> => {
    const keys = { rounds, bets: [[username, ref] as const] };
    const most = { ofRound: MOST_OF_ROUND + 1, inAll: 4 * MOST_OF_ROUND };
    const [records, entries] = await Promise.all([
      readRecords(sql, productId, keys, most),
      readEntries(sql, productId, keys, most),
    ]);
    const unique = new Map(records.map((one) => [JSON.stringify([one.betId, one.id]), one]));
    return { records: [...unique.values()], entries };
  };
  const sides = await load(round === null ? [] : [[username, round]]);
  const isWide = Math.max(sides.records.length, sides.entries.length) > MOST_OF_ROUND;
  return isWide ? await load([]) : sides;
}

function holds({ records, bets }: AssessedPair["pair"], ref: string): boolean {
  return (
    records.some(({ betId, id }) => betId === ref || id === ref) || bets.some(({ txnId }) => txnId === ref)
  );
}
