/** The stories of sessions that change after their day. */

import type { MismatchKind } from "../../../src/mismatch.ts";
import { sumAmounts } from "../../../src/money.ts";
import { type Beginning, DAY_MS, drawMoney, MINUTE_MS } from "./bet-stories.ts";
import { type BetState, type ChangingBet, entry, type Side, shown } from "./changing-bet.ts";

/** A session of one debit, three shots and one credit. Its credit, or a shot, may come late or change. */
export function tellSession(beginning: Beginning): ChangingBet {
  const { random, startedAt, quiet, productId, username, currency, txnId, lateDays } = beginning;
  const names = { productId, username, currency };
  const story = random.pick(["plain", "late credit", "late shot", "restated shot"] as const);
  const changesAt = quiet(startedAt + lateDays * DAY_MS + random.below(1_200) * MINUTE_MS);
  const endsAt = startedAt + 20 * MINUTE_MS;
  const shots = [3, 8, 14].map((minute, index) => ({
    at: startedAt + minute * MINUTE_MS,
    names: { ...names, txnId: `${txnId}-shot-${index + 1}`, roundId: `${txnId}-shot-${index + 1}` },
    stake: drawMoney(random),
    payout: drawMoney(random),
  }));
  const [first] = shots;
  if (first === undefined) throw new RangeError("a session has shots");
  const stakes = sumAmounts(shots.map(({ stake }) => stake));
  const payouts = sumAmounts(shots.map(({ payout }) => payout));
  const money = (kind: "DEBIT" | "CREDIT") => ({
    ...names,
    txnId: `${txnId}-${kind.toLowerCase()}`,
    roundId: null,
  });
  const debit = entry(money("DEBIT"), 1, {
    callback: "adjustBalance",
    status: "DEBIT",
    occurredAt: startedAt,
    receivedAt: startedAt,
    betAmount: stakes,
    moved: stakes.neg(),
  });
  const credit = entry(money("CREDIT"), 1, {
    callback: "adjustBalance",
    status: "CREDIT",
    occurredAt: endsAt,
    receivedAt: story === "late credit" ? changesAt : endsAt,
    payoutAmount: payouts,
    moved: payouts,
  });
  const more = drawMoney(random);
  const provider: Side = { bets: 3, stake: stakes, payout: payouts, net: payouts.minus(stakes) };
  const ledger: Side = { ...provider, bets: 0 };
  const whole = { at: endsAt, provider, ledger };
  const { before, after, mayShow } = states();
  const isLate = (shot: (typeof shots)[number]) => story === "late shot" && shot === first;
  return {
    story: `session, ${story}`,
    ...names,
    ids: [debit.txnId, credit.txnId, ...shots.flatMap((one) => [one.names.txnId, `r-${one.names.txnId}`])],
    startedAt,
    entries: [debit, credit],
    records: shots.map((one) => [
      shown(
        one.names,
        { shownAt: isLate(one) ? changesAt : one.at, accountedAt: one.at },
        "SETTLED",
        one.stake,
        one.payout,
      ),
      ...(story === "restated shot" && one === first
        ? [
            shown(
              one.names,
              { shownAt: changesAt, accountedAt: one.at },
              "SETTLED",
              one.stake,
              one.payout.plus(more),
            ),
          ]
        : []),
    ]),
    edits: [],
    states: [
      { from: endsAt, isOpen: false, counts: [before] },
      ...(after === null ? [] : [{ from: changesAt, isOpen: false, counts: [after] } satisfies BetState]),
    ],
    mayShow,
    mustShow: mayShow[0] ?? null,
    refetch: story.endsWith("shot") ? [{ from: first.at, to: first.at + 1, after: changesAt }] : [],
  };

  function states() {
    const differs: MismatchKind[] = ["session-differs"];
    switch (story) {
      case "plain":
        return { before: whole, after: null, mayShow: [] };
      case "late credit": {
        const lastShotAt = Math.max(...shots.map(({ at }) => at));
        const held: Side = { bets: 0, stake: stakes, payout: parseZero(), net: stakes.neg() };
        return { before: { at: lastShotAt, provider, ledger: held }, after: whole, mayShow: differs };
      }
      case "late shot": {
        const { stake, payout } = first as NonNullable<typeof first>;
        const less = { stake: stakes.minus(stake), payout: payouts.minus(payout) };
        const listed: Side = { bets: 2, ...less, net: less.payout.minus(less.stake) };
        return { before: { ...whole, provider: listed }, after: whole, mayShow: differs };
      }
      case "restated shot": {
        const paid = payouts.plus(more);
        const restated: Side = { ...provider, payout: paid, net: paid.minus(stakes) };
        return { before: whole, after: { ...whole, provider: restated }, mayShow: differs };
      }
    }
  }
}

function parseZero() {
  return sumAmounts([]);
}
