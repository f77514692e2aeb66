/** Names in two cases (docs/mismatches.md): callbacks of one bet that name the player in letters of different cases. */

import { judgeBets } from "./bets.ts";
import { type Facts, groupBy, type ListedRecord, named, type ProductSettings } from "./facts.ts";
import { type Bet, replay } from "./history.ts";
import type { Judgement } from "./judge.ts";

/** If all parts of such a bet together agree with its record, each name without the record is one mismatch. @returns the others */
export function judgeNames(
  facts: Facts,
  product: ProductSettings,
  bets: readonly Bet[],
  records: readonly ListedRecord[],
  judgement: Judgement,
): { readonly bets: readonly Bet[]; readonly records: readonly ListedRecord[] } {
  const done = new Set<Bet | ListedRecord>();
  const playerOf = ({ username }: Bet | ListedRecord) => username.toLowerCase();
  for (const parts of groupBy(bets, (bet) => JSON.stringify([playerOf(bet), bet.txn]))) {
    const [{ txn }] = parts as [Bet];
    const isOfPlayer = (one: Bet | ListedRecord) => playerOf(one) === playerOf(parts[0] as Bet);
    const its = records.filter((rec) => isOfPlayer(rec) && [rec.betId, rec.id].includes(txn));
    const names = new Set(its.map(({ username }) => username));
    const [name] = names;
    const rounds = parts.map(({ round }) => round);
    const isBeside = (one: Bet | ListedRecord, round: string | null) =>
      isOfPlayer(one) && round !== null && rounds.includes(round);
    const hasOthers =
      bets.some((bet) => !parts.includes(bet) && isBeside(bet, bet.round)) ||
      records.some((rec) => !its.includes(rec) && isBeside(rec, named(rec.roundId)));
    if (parts.length === 1 || name === undefined || names.size > 1 || hasOthers) continue;
    const rows = parts.flatMap((part) => part.rows).map((row) => ({ ...row, username: name }));
    const whole: Judgement = { claims: [], undecided: [], outside: new Map(), judged: 0 };
    judgeBets(facts, product, replay(rows, product), its, whole);
    if (whole.claims.length > 0 || whole.undecided.length > 0) continue;
    judgement.judged += whole.judged;
    for (const { username } of parts.filter((part) => part.username !== name)) {
      const { productId } = product;
      const one = { kind: "username-differs", productId, username, txns: [txn], effects: [0n] };
      judgement.claims.push({ about: `${txn} of ${username}`, readings: [[one]] });
    }
    for (const one of [...parts, ...its]) done.add(one);
  }
  return { bets: bets.filter((bet) => !done.has(bet)), records: records.filter((rec) => !done.has(rec)) };
}
