/**
 * Rounds with more bets than are loaded for a comparison (docs/operations.md#limits). Of such a round the bets are
 * loaded that were touched, and those that did not agree by themselves when it was compared last; the others change no
 * verdict but by being there.
 */

import { type LedgerBet, realRound, type StoredRecord } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import type { Query } from "../../db/client.ts";
import { namingRulesOf, separateAgreeing } from "../../diff/agreeing-bets.ts";
import type { AssessedPair, Verdict } from "../../diff/assess.ts";
import { settleOmittedLosses } from "../../diff/lost-bets.ts";
import { idRulesOf } from "../../diff/match.ts";
import { type Frontier, type Key, type Neighbourhood, roundKey } from "../../diff/neighbourhood.ts";
import { holdsRest, type RestOfRound } from "../../diff/rest-of-round.ts";
import type { DiffMark } from "../../diff/store.ts";
import type { EntryTimes } from "../../diff/sums.ts";
import {
  countOthers,
  findWideRound,
  gatherMarks,
  hasWideRounds,
  preferIndexes,
  readWideRounds,
  type WideRound,
  writeWideRound,
} from "../../diff/wide-store.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** Where more bets of a round were touched, the database looks for those that do not agree: most of them do. */
const MOST_TOUCHED = 5_000;

/** What was judged together with a wide round. */
interface JudgedRound {
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
  readonly entries: readonly CallbackEntry[];
  readonly isDisturbed: (one: LedgerBet | StoredRecord) => boolean;
  /** the marks that are written again where something waits */
  readonly marks: readonly DiffMark[];
}

/** The wide rounds of one comparison. */
export class WideRounds {
  /** rounds of which not all bets are loaded */
  readonly narrow = new Map<Key, WideRound>();
  /** wide rounds that are compared as one */
  readonly whole = new Map<Key, WideRound>();
  private readonly gathered = new Set<Key>();
  private readonly waiting: readonly DiffMark[] | null;
  private hasAny: boolean | null = null;
  private prefersIndexes = false;

  /** @param waiting of who only reads: the marks of the players; they stay, and nothing is written */
  constructor(waiting: readonly DiffMark[] | null = null) {
    this.waiting = waiting;
  }

  /**
   * Learns which rounds of a step are known to be wide.
   * @param marks of the comparison so far
   * @returns the other due marks of these rounds, which are taken
   */
  async enter(
    comparison: ComparisonContext,
    { rounds }: Frontier,
    marks: readonly DiffMark[],
  ): Promise<DiffMark[]> {
    const { tx, product } = comparison;
    const unknown = rounds.filter(([username, roundId]) => !this.isKnown(roundKey(username, roundId)));
    if (unknown.length === 0) return [];
    this.hasAny ??= await hasWideRounds(tx, product.productId);
    if (!this.hasAny) return [];
    await this.prefer(tx);
    const found = await readWideRounds(tx, product.productId, unknown);
    const { taken, isMore } = await this.gather(comparison, found);
    for (const round of found) {
      const touched = (this.waiting === null ? [...marks, ...taken] : taken).filter(
        ({ username, roundId }) => username === round.username && roundId === round.roundId,
      );
      const refs = touched.flatMap(({ betRef }) => betRef ?? []);
      const isVague = isMore || refs.length < touched.length || refs.length > MOST_TOUCHED;
      if (round.currency === null) this.whole.set(keyOf(round), round);
      else if (isVague) await this.find(comparison, round.username, round.roundId);
      else this.narrow.set(keyOf(round), { ...round, apart: [...new Set([...round.apart, ...refs])] });
    }
    return taken;
  }

  /** Learns of rounds that turned out to be wide. @returns their other due marks, which are taken */
  async widen(
    comparison: ComparisonContext,
    rounds: readonly (readonly [string, string])[],
  ): Promise<DiffMark[]> {
    await this.prefer(comparison.tx);
    for (const [username, roundId] of rounds) await this.find(comparison, username, roundId);
    this.hasAny = true;
    const { taken } = await this.gather(
      comparison,
      rounds.map(([username, roundId]) => ({ username, roundId })),
    );
    return taken;
  }

  /** An entry acts on all of a round: from now on it is compared as one. */
  async compareAsOne({ tx, product: { productId } }: ComparisonContext, key: Key): Promise<void> {
    const round = this.narrow.get(key);
    if (round === undefined) return;
    const asOne = { ...round, currency: null, apart: [], entryTimes: null };
    this.narrow.delete(key);
    this.whole.set(key, asOne);
    if (this.waiting === null) await writeWideRound(tx, productId, asOne);
  }

  /** Has the narrow rounds among some compared as one, this time. @returns whether there were any */
  compareAsOneNow(keys: Iterable<Key>): boolean {
    let any = false;
    for (const key of keys) {
      const round = this.narrow.get(key);
      if (round === undefined) continue;
      this.narrow.delete(key);
      this.whole.set(key, round);
      any = true;
    }
    return any;
  }

  /** The bets to load of the narrow rounds of a step. */
  betsOfNarrow({ rounds }: Frontier): [string, string][] {
    return rounds.flatMap(([username, roundId]) =>
      (this.narrow.get(roundKey(username, roundId))?.apart ?? []).map((ref): [string, string] => [
        username,
        ref,
      ]),
    );
  }

  /** What stands for the bets that are not loaded. */
  async restOf({ tx, product }: ComparisonContext, records: readonly StoredRecord[]): Promise<RestOfRound[]> {
    const { productId } = product;
    const rest: RestOfRound[] = [];
    for (const round of this.narrow.values()) {
      const { username, roundId, currency, entryTimes } = round;
      if (currency === null || entryTimes === null) continue;
      const betIds = records.filter((one) => one.username === username).map(({ betId }) => betId);
      const bets = await countOthers(tx, productId, round, betIds);
      if (bets > 0) rest.push({ productId, username, roundId, currency, bets, entryTimes });
    }
    return rest;
  }

  /**
   * Keeps which bets of a round that was judged do not agree by themselves.
   * @param isComplete false: what is loaded hangs together with what is not, so nothing agrees by itself
   * @returns the marks to write again where something of the round waits: one stands for all that is kept
   */
  async keep(
    comparison: ComparisonContext,
    key: Key,
    judged: JudgedRound,
    isComplete: boolean,
  ): Promise<readonly DiffMark[]> {
    const { tx, product } = comparison;
    const round = this.narrow.get(key) ?? this.whole.get(key);
    if (round === undefined) return judged.marks;
    const { username, roundId, currency } = round;
    const isOwn = (mark: DiffMark) => mark.username === username && mark.roundId === roundId;
    const [own, others] = [judged.marks.filter(isOwn), judged.marks.filter((mark) => !isOwn(mark))];
    if (currency === null) return [...own.slice(0, 1), ...others];
    const isDisturbed = isComplete ? judged.isDisturbed : () => true;
    const records = judged.records.filter((one) => one.username === username);
    const held = judged.bets.filter((one) => one.username === username);
    const bets = settleOmittedLosses(records, held, comparison.settings);
    const loaded = { roundId, currency, records, bets };
    const { apart, agreeing, entryTimes } = separateAgreeing(
      loaded,
      namingRulesOf(product.matchBy),
      isDisturbed,
    );
    const ofRound = new Set([
      ...records.filter((one) => realRound(one.roundId) === roundId).map(({ betId }) => betId),
      ...judged.entries
        .filter((entry) => entry.username === username && realRound(entry.roundId) === roundId)
        .map(({ txnId }) => txnId),
    ]);
    const kept = apart.filter((id) => ofRound.has(id));
    await writeWideRound(tx, product.productId, {
      ...round,
      apart: kept,
      entryTimes: joinEntryTimes(round.entryTimes, entryTimes),
    });
    const known = new Set([...agreeing, ...apart]);
    const strange = own.filter(({ betRef }) => betRef !== null && !known.has(betRef));
    const [betRef = own.find((mark) => mark.betRef !== null)?.betRef ?? null] = kept;
    return [{ username, roundId, betRef }, ...strange, ...others];
  }

  private async prefer(tx: Query): Promise<void> {
    if (!this.prefersIndexes) await preferIndexes(tx);
    this.prefersIndexes = true;
  }

  private isKnown(key: Key): boolean {
    return this.narrow.has(key) || this.whole.has(key);
  }

  private async gather(
    comparison: ComparisonContext,
    rounds: readonly { username: string; roundId: string }[],
  ) {
    const fresh = rounds.filter((round) => !this.gathered.has(keyOf(round)));
    if (fresh.length === 0) return { taken: [], isMore: false };
    const most = fresh.length * MOST_TOUCHED;
    if (this.waiting !== null) {
      const keys = new Set(fresh.map(keyOf));
      const taken = this.waiting.filter(({ username, roundId }) =>
        keys.has(roundKey(username, roundId ?? "")),
      );
      return { taken, isMore: taken.length > most };
    }
    const taken = await gatherMarks(
      comparison.tx,
      comparison.product.productId,
      fresh,
      comparison.now,
      most + 1,
    );
    for (const round of fresh) this.gathered.add(keyOf(round));
    return { taken, isMore: taken.length > most };
  }

  private async find(comparison: ComparisonContext, username: string, roundId: string): Promise<void> {
    const { tx, product } = comparison;
    const { lostBets, matchBy, productId } = product;
    const dropsOmittedLosses = lostBets === "omitted" && idRulesOf(matchBy).length > 0;
    const rules = { dropsOmittedLosses, namedBy: namingRulesOf(matchBy) };
    const round = await findWideRound(tx, productId, { username, roundId }, rules);
    if (round === null) {
      this.whole.set(roundKey(username, roundId), {
        username,
        roundId,
        currency: null,
        apart: [],
        entryTimes: null,
      });
      return;
    }
    (round.currency === null ? this.whole : this.narrow).set(keyOf(round), round);
    if (this.waiting === null) await writeWideRound(tx, productId, round);
  }
}

/** The rounds with a finding about all of their bets, although not all of the bets are loaded. */
export function reportedRounds({
  neighbourhood: { rest },
  pairs,
  otherwise,
}: {
  readonly neighbourhood: Pick<Neighbourhood, "rest">;
  readonly pairs: readonly AssessedPair[];
  readonly otherwise: readonly Verdict[];
}): Key[] {
  const reported = [...pairs.filter(({ verdict }) => verdict !== null), ...otherwise];
  if (!reported.some(({ pair }) => holdsRest(pair))) return [];
  return rest.map(({ username, roundId }) => roundKey(username, roundId));
}

function keyOf({ username, roundId }: { readonly username: string; readonly roundId: string }): Key {
  return roundKey(username, roundId);
}

function joinEntryTimes(a: EntryTimes | null, b: EntryTimes | null): EntryTimes | null {
  if (a === null || b === null) return a ?? b;
  return {
    firstEntryAt: Math.min(a.firstEntryAt, b.firstEntryAt),
    lastEntryAt: Math.max(a.lastEntryAt, b.lastEntryAt),
    lastReceivedAt: Math.max(a.lastReceivedAt, b.lastReceivedAt),
  };
}
