/** Bets and rounds (4.3): rounds first, then ids, then what is left of a round by its sums, then each bet alone. */

import {
  abs,
  clustersOf,
  type Facts,
  groupBy,
  isFresh,
  type ListedRecord,
  named,
  type ProductSettings,
  sinceOf,
  units,
} from "./facts.ts";
import { type Bet, isReward } from "./history.ts";
import type { Expected, Judgement } from "./judge.ts";
import {
  firstOf,
  freeStakes,
  isBet,
  isRec,
  isRunning,
  lastSteps,
  liveOf,
  movedOf,
  paidOf,
  payoutsOf,
  type Rec,
  roundOf,
  roundsOf,
  type Thing,
  weighFor,
} from "./things.ts";

export function judgeBets(
  facts: Facts,
  product: ProductSettings,
  bets: readonly Bet[],
  listed: readonly ListedRecord[],
  judgement: Judgement,
): void {
  const { productId } = product;
  const rules = product.matchBy.filter((rule) => rule === "betId" || rule === "id");
  const fits = (rec: Pick<ListedRecord, "id" | "betId">, { txn }: Bet) =>
    rules.some((rule) => rec[rule] === txn);
  const weigh = (own: readonly Bet[], recs: readonly Rec[]) => weighFor(facts, own, recs);
  const omits = product.lostBets === "omitted";
  const alone: { bet: Bet; waits: boolean; mayWait: boolean }[] = [];
  const overpaid: { bet: Bet; recs: readonly Rec[] }[] = [];
  let unknown: Rec[] = [];

  for (const username of new Set([...bets, ...listed].map((one) => one.username))) {
    const own = bets.filter((bet) => bet.username === username);
    const recs = listed
      .filter((record) => record.username === username)
      .map((record) => ({ ...record, stake: units(record.stake), payout: units(record.payout) }));
    const isNear = (one: Thing, other: Thing) =>
      (roundOf(one) !== null && roundOf(one) === roundOf(other)) ||
      (isBet(one) && isRec(other) && fits(other, one)) ||
      (isRec(one) && isBet(other) && fits(one, other));
    const things = [...own, ...lastSteps(recs, own, fits)];
    for (const cluster of clustersOf(things, isNear)) judgeCluster(cluster);
  }
  judgeRest();

  function judgeCluster(cluster: readonly Thing[]): void {
    const own = cluster.filter(isBet);
    const heard = cluster.flatMap((one) =>
      isBet(one)
        ? one.rows.map((row) => row.received_at)
        : [one.updatedDate, one.accountingDate].map(Date.parse),
    );
    const isRejected = ({ username, txn }: Bet) =>
      facts.rejected.some(
        (row) => row.product_id === productId && row.username === username && row.txn_id === txn,
      );
    const isTwoCased = ({ username, txn }: Bet) =>
      bets.some(
        (bet) =>
          bet.txn === txn &&
          bet.username !== username &&
          bet.username.toLowerCase() === username.toLowerCase(),
      );
    const why =
      own.find(({ doubt }) => doubt !== null)?.doubt ??
      (heard.some((at) => isFresh(facts, at)) ? "fresh" : null) ??
      (own.some(isRejected) ? "a rejected entry" : null) ??
      (own.some(isTwoCased) ? "a name in two cases" : null);
    if (why === null) judgeKnown(own, cluster.filter(isRec));
    else leave(why, cluster);
  }

  function judgeKnown(own: readonly Bet[], listed: readonly Rec[]): void {
    judgement.judged += own.length + listed.length;
    const recs = product.nominalStakes ? freeStakes(own, listed, fits) : listed;
    const left = new Set<Thing>([...own, ...recs]);
    const drop = (things: readonly Thing[]) => things.forEach((one) => void left.delete(one));
    for (const bet of own.filter((one) => one.isTip || Object.keys(one.moved).length > 1)) {
      const its = recs.filter((rec) => fits(rec, bet));
      judgeBet(bet, its);
      drop([bet, ...its]);
    }
    for (const part of roundsOf([...left])) if (agrees(part.filter(isBet), part.filter(isRec))) drop(part);
    const pairs = new Map<Bet, Rec[]>();
    for (const rule of rules)
      for (const rec of recs.filter((one) => left.has(one))) {
        const bet = own.find((one) => one.txn === rec[rule] && (left.has(one) || pairs.has(one)));
        if (bet === undefined) continue;
        pairs.set(bet, [...(pairs.get(bet) ?? []), rec]);
        drop([bet, rec]);
      }
    for (const part of roundsOf([...left, ...pairs.keys()])) drop(judgeRoundLeft(part, pairs, left));
    for (const [bet, its] of pairs) judgeBet(bet, its);
    const isOpenBeside = (bet: Bet) => (other: Bet) =>
      other.round === bet.round && other.status === "open" && !isLost(other, pairs.get(other) ?? []);
    for (const bet of own.filter((one) => left.has(one)))
      alone.push({
        bet,
        waits: bet.round !== null && own.some(isOpenBeside(bet)),
        mayWait: recs.some((rec) => isRunning(rec) && bet.round !== null && named(rec.roundId) === bet.round),
      });
    unknown = [...unknown, ...recs.filter((one) => left.has(one))];
  }

  function leave(why: string, things: readonly Thing[]): void {
    const ids = things.flatMap((one) => (isBet(one) ? [one.txn] : [one.id, one.betId]));
    const rounds = things.flatMap((one) => roundOf(one) ?? []);
    judgement.undecided.push({
      why,
      productId,
      username: things[0]?.username ?? "",
      ids: [...ids, ...rounds],
    });
  }

  function expect(
    kind: string,
    own: readonly Bet[],
    recs: readonly Rec[],
    of: "bet" | "round" = "bet",
  ): Expected {
    const { wrong, atRisk } = weigh(own, recs);
    const [{ username, currency }] = [...own, ...recs] as [Thing];
    const betIds: (string | null)[] =
      of === "round" || recs.length === 0 ? [null] : recs.map(({ betId }) => betId);
    if (recs.length > 1) betIds.push(null);
    const txns = of === "round" || own.length === 0 ? [null] : own.map(({ txn }) => txn);
    const rounds = [
      ...own.flatMap(({ rows }) => rows.map((row) => row.round_id)),
      ...recs.map(({ roundId }) => roundId),
      ...(own.some(({ round }) => round === null) ? [null] : []),
    ];
    return { kind, productId, username, currency, betIds, txns, rounds, atRisk, effects: [wrong] };
  }

  function claim(...readings: readonly (readonly Expected[])[]): void {
    judgement.claims.push({ about: JSON.stringify(readings[0]?.[0]?.txns), readings });
  }

  /** A round that has ended on both sides, with equal sums, agrees. Its money is compared by sums, too. */
  function agrees(own: readonly Bet[], recs: readonly Rec[]): boolean {
    const alive = own.filter(({ status }) => status !== "void");
    const { stake, paid, theirs, moved, near, wrong, runs } = weigh(own, recs);
    // Feature spins that moved nothing end with a later bet of their round.
    const isSpin = (bet: Bet) =>
      bet.isPlaced &&
      bet.stake === 0n &&
      movedOf([bet]) === 0n &&
      own.some(({ status, endedAt }) => status === "settled" && endedAt >= bet.placedAt);
    const hasEnded = (bet: Bet) => isPlaced(bet) && (bet.status === "settled" || omits || isSpin(bet));
    const isBoth = own.length > 0 && recs.length > 0 && (alive.length === 0) === (liveOf(recs).length === 0);
    if (runs || !isBoth || !alive.every(hasEnded)) return false;
    // Exactly: by a tolerance a round could hide a small bet that one side lacks. The rest is compared with it later.
    if (stake !== theirs.stake || paid !== theirs.paid) return false;
    if (near(wrong, 0n) || near(moved, paid - stake)) return true;
    // Readings: it names the round, or its only bet, or each bet with the record that has its id.
    const each = own.map((bet) =>
      expect(
        "net-differs",
        [bet],
        recs.filter((rec) => fits(rec, bet)),
      ),
    );
    const one = own.length === 1 ? [[expect("net-differs", own, recs)]] : [];
    claim(
      [expect("net-differs", own, recs, "round")],
      each.filter(({ effects }) => effects?.[0] !== 0n),
      ...one,
    );
    return true;
  }

  /** What is left on both sides of a round is compared by its sums, with bets whose record has another stake. @returns it */
  function judgeRoundLeft(part: readonly Thing[], pairs: Map<Bet, Rec[]>, left: ReadonlySet<Thing>): Thing[] {
    const own = part.filter(isBet);
    const rest = own.filter((bet) => left.has(bet) && bet.status !== "void");
    const byRound = own.some((bet) => bet.isSettledByRound);
    const isOther = (bet: Bet) => {
      const { theirs, near } = weigh([bet], pairs.get(bet) ?? []);
      return byRound || (rest.length > 0 && theirs.stake !== 0n && !near(theirs.stake, bet.stake));
    };
    const others = own.filter((bet) => pairs.has(bet) && isOther(bet));
    const recs = [...liveOf(part.filter(isRec)), ...others.flatMap((bet) => pairs.get(bet) ?? [])];
    const group = [...rest, ...others];
    const isMovedVoid = (bet: Bet) => bet.status === "void" && movedOf([bet]) !== 0n && left.has(bet);
    if (liveOf(recs).length > 0 && own.some(isMovedVoid)) {
      for (const bet of others) pairs.delete(bet);
      leave("a void bet that moved money, beside sums", part);
      return [...part, ...group];
    }
    if (group.length === 0 || liveOf(recs).length === 0) return [];
    for (const bet of others) pairs.delete(bet);
    const { isOpen, runs, stake, paid, theirs, near, wrong } = weigh(group, recs);
    const sameEnd = isOpen === runs || (omits && !runs);
    const differs = !sameEnd || !near(stake, theirs.stake) || (!runs && !near(paid, theirs.paid));
    if (group.some(isExempt)) leave("sums with bets of the first day", [...group, ...recs]);
    else if (differs || !near(wrong, 0n)) {
      const unplaced = group.filter((bet) => bet.status === "settled" && !bet.isPlaced).map(({ txn }) => txn);
      const one = expect(differs ? "round-differs" : "net-differs", group, recs, "round");
      // Two readings of a bet without a placement in it: the first kind of the table, or the sums of what is left.
      const first = { ...one, kind: "missing-placement", betIds: undefined, txns: [null, ...unplaced] };
      claim([one], ...(unplaced.length > 0 ? [[first]] : []));
    }
    return [...group, ...recs];
  }

  function judgeBet(bet: Bet, recs: readonly Rec[]): void {
    const kind = kindOf(bet, recs);
    if (kind === null) return;
    const own = recs.filter(({ currency }) => currency === bet.currency);
    const { atRisk, effects } = expect(kind, [bet], kind === "currency-differs" ? own : recs);
    const isKnown = !isExempt(bet) && !(kind === "currency-differs" && effects?.[0] === 0n);
    const { moved, theirs } = weigh([bet], recs);
    // Two readings of a tip without an amount on one side.
    const ofTip = bet.isTip ? [abs(moved + bet.stake), abs(moved + theirs.stake)] : atRisk;
    const one = { ...expect(kind, [bet], recs), effects: undefined, atRisk: isKnown ? ofTip : undefined };
    if (kind === "payout-differs" && isKnown) overpaid.push({ bet, recs });
    else claim([{ ...one, effects: isKnown && !bet.isTip ? effects : undefined }]);
  }

  /** The first kind of the table that holds for a bet with records. */
  function kindOf(bet: Bet, recs: readonly Rec[]): string | null {
    const live = liveOf(recs);
    const { near, stake, paid, moved, theirs, runs } = weigh([bet], recs);
    const exempt = isExempt(bet);
    const { status } = bet;
    if (new Set([...Object.keys(bet.moved), bet.currency, ...recs.map(({ currency }) => currency)]).size > 1)
      return "currency-differs";
    if (status === "void") return live.length > 0 ? "status-differs" : moved !== 0n ? "net-differs" : null;
    if (bet.isTip) {
      if (stake !== 0n && theirs.stake !== 0n && !near(stake, theirs.stake)) return "stake-differs";
      return near(moved, -stake) || (stake === 0n && near(moved, -theirs.stake)) ? null : "net-differs";
    }
    if (status === "settled" && !isPlaced(bet) && !exempt) return "missing-placement";
    if (status === "open" && !runs && !isLost(bet, recs)) return "missing-settlement";
    if (status === "settled" && (runs || live.length === 0)) return "status-differs";
    if (!near(stake, theirs.stake) && !exempt) return "stake-differs";
    if (!runs && !near(paid, theirs.paid)) return "payout-differs";
    return near(moved, paid - stake) || exempt ? null : "net-differs";
  }

  /** The ledger has no entry for a settlement that pays 0. */
  function isLost(bet: Bet, recs: readonly Rec[]): boolean {
    const ended = recs.length > 0 && recs.every(({ betStatus }) => betStatus === "SETTLED");
    return omits && bet.status === "open" && ended && payoutsOf(recs) === paidOf([bet]);
  }

  function isPlaced(bet: Bet): boolean {
    return bet.isPlaced || isReward(bet) || bet.isTip || product.singleState;
  }

  /** Without a placement, and so early that it ran when the ledger began. */
  function isExempt(bet: Bet): boolean {
    return !isPlaced(bet) && firstOf(bet) <= sinceOf(facts, product) + product.stuckOpenAfter;
  }

  /** Bets without a record, and records without a bet. */
  function judgeRest(): void {
    for (const { bet, recs } of overpaid) {
      // A reward in another round, whose record is exactly what the bet's record lacks.
      const lack = paidOf([bet]) - payoutsOf(liveOf(recs));
      const isReward = (rec: Rec) =>
        rec.username === bet.username &&
        rec.currency === bet.currency &&
        rec.stake === 0n &&
        rec.payout === lack &&
        !bets.some(
          ({ username, round }) =>
            username === bet.username && round !== null && round === named(rec.roundId),
        );
      const rewards = unknown.filter(isReward);
      unknown = unknown.filter((rec) => !rewards.includes(rec));
      const one = expect("payout-differs", [bet], recs);
      if (rewards.length > 1) leave("several records of a reward", [bet, ...rewards]);
      // With both records nothing differs, and no money is at risk.
      else claim([rewards.length === 0 ? one : { ...one, atRisk: [0n], effects: [0n] }]);
    }
    for (const { bet, waits, mayWait } of alone) {
      const others = liveOf(unknown).filter((rec) => rec.username !== bet.username && fits(rec, bet));
      if (others.length === 1)
        claim([{ ...expect("username-differs", [bet], others), rounds: undefined, effects: undefined }]);
      else judgeAlone(bet, waits, mayWait);
      if (others.length === 1) unknown = unknown.filter((rec) => rec !== others[0]);
    }
    for (const recs of groupBy(liveOf(unknown), ({ username, betId }) => JSON.stringify([username, betId]))) {
      // Two readings beside void bets of its round: an unknown bet, or what is left on both sides.
      const beside = bets.filter(
        (bet) =>
          bet.username === recs[0]?.username &&
          bet.status === "void" &&
          recs.some((rec) => roundOf(rec) !== null && roundOf(rec) === bet.round),
      );
      const rest = beside.length === 0 ? [] : [[expect("round-differs", beside, recs, "round")]];
      claim([expect("missing-in-ledger", [], recs)], ...rest);
    }
  }

  function judgeAlone(bet: Bet, waits: boolean, mayWait: boolean): void {
    const longOpen = facts.now - firstOf(bet) - product.stuckOpenAfter;
    const had = facts.onceListed.some(
      (record) =>
        record.productId === productId &&
        record.username === bet.username &&
        (fits(record, bet) || (rules.length === 0 && record.roundId === bet.round)),
    );
    const missing = expect(had ? "vanished-at-provider" : "missing-at-provider", [bet], []);
    const stuck = longOpen > 0 ? [expect("stuck-open", [bet], [])] : [];
    const { stake, paid, moved, near } = weigh([bet], []);
    const asked = paid - stake;
    const net = {
      ...missing,
      kind: "net-differs",
      atRisk: [abs(moved - asked)],
      effects: [moved, moved - asked],
    };
    if (bet.status === "void") {
      if (movedOf([bet]) !== 0n && !isExempt(bet)) claim([expect("net-differs", [bet], [])]);
    } else if (bet.status === "settled") {
      // Two readings of "while its round has an open bet": in the ledger, or at the provider.
      if (!waits) claim([missing], ...(mayWait ? [[]] : []));
    } else if (product.openBetsListed && !bet.isWaiting) claim([missing]);
    // It need not be listed while it runs, but must have moved its stake. Readings: that is said first, with the stake owed or
    // not, or nothing is compared until it is stuck.
    else if (!near(moved, asked) && !isExempt(bet)) claim([net], stuck);
    // Two readings: the record that said that it was lost is gone, or the bet is merely open.
    else if (had && omits) claim([missing], stuck);
    else if (longOpen > 0 && longOpen <= facts.fresh) leave("stuck for a short time", [bet]);
    else if (longOpen > 0) claim(stuck);
  }
}
