/** What records and bets count for before they are matched: steps of a bet, nominal stakes, spins that are settled together. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assessPairs } from "../../src/diff/assess.ts";
import { endFeatureSpins } from "../../src/diff/counted-bets.ts";
import { countNominalStakes, withoutEarlierSteps } from "../../src/diff/counted-records.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { type BetFields, bet, type RecordFields, record, SETTINGS } from "./sides.ts";

const at = (minutes: number) => new Date(NOON + minutes * MINUTE_MS).toISOString();

describe("steps of a bet", () => {
  const open = { id: "s1", betStatus: "OPEN", updatedDate: at(0) } as const;
  const settled = { id: "s2", betStatus: "SETTLED", payout: "25", updatedDate: at(10) } as const;
  const counted = (records: RecordFields[], bets: BetFields[] = []) =>
    withoutEarlierSteps(records.map(record), bets.map(bet)).map(({ id }) => id);

  test.each<[string, RecordFields[], string[]]>([
    ["the one that ended later", [open, settled], ["s2"]],
    ["the one that ended, of the same moment", [{ ...open, updatedDate: at(10) }, settled], ["s2"]],
    ["the one that runs again later", [{ ...open, updatedDate: at(20) }, settled], ["s1"]],
    ["a void one that ended later", [open, { ...settled, betStatus: "VOID" }], ["s2"]],
    ["both, if they have other stakes", [open, { ...settled, stake: "9" }], ["s1", "s2"]],
    ["both, if they have other currencies", [open, { ...settled, currency: "USD" }], ["s1", "s2"]],
    ["both, if they have other betIds", [open, { ...settled, betId: "bet-2" }], ["s1", "s2"]],
    ["both, if both have ended", [{ ...open, betStatus: "SETTLED" }, settled], ["s1", "s2"]],
    ["both, if both run", [open, { ...settled, betStatus: "UNSETTLED" }], ["s1", "s2"]],
  ])("%s counts", (_, records, ids) => {
    expect(counted(records)).toEqual(ids);
    expect(counted(records.toReversed())).toEqual(ids.toReversed());
  });

  test("are parts if their stakes add up to that of the ledger's bet, or of its bets", () => {
    expect(counted([open, settled], [{ stake: "10" }])).toEqual(["s2"]);
    expect(counted([open, settled], [{ stake: "20" }])).toEqual(["s1", "s2"]);
    expect(counted([open, settled], [{ txnId: "s1" }, { txnId: "s2" }])).toEqual(["s1", "s2"]);
  });

  test("are bets of a ticket if the ledger has one of them by its own id, and none by the betId", () => {
    expect(counted([open, settled], [{ txnId: "s2" }])).toEqual(["s1", "s2"]);
    expect(counted([open, settled], [{ txnId: "s2" }, {}])).toEqual(["s1", "s2"]);
    expect(counted([open, settled], [{}])).toEqual(["s2"]);
  });

  test("have any stake if the later ones alone have the ledger's", () => {
    const before = { ...open, stake: "12" };
    expect(counted([before, settled], [{ stake: "10" }])).toEqual(["s2"]);
    expect(counted([{ ...before, updatedDate: at(20) }, settled], [{ stake: "12" }])).toEqual(["s1"]);
    expect(counted([before, settled], [{ stake: "11" }])).toEqual(["s1", "s2"]);
    expect(counted([before, settled], [{ stake: "10", placed: false }])).toEqual(["s1", "s2"]);
  });

  test("are parts while one is void and the ledger's bet runs with the stake of all, or of the others", () => {
    const parts = [open, { ...settled, betStatus: "VOID" }] as const;
    const statuses = (bets: BetFields[]) =>
      withoutEarlierSteps(parts.map(record), bets.map(bet)).map(({ betStatus }) => betStatus);
    const adjusted = { stake: "10", largestStake: amount("20"), lastEntryAt: NOON + 9 * MINUTE_MS };
    const before = { ...adjusted, lastEntryAt: NOON + MINUTE_MS };
    expect(statuses([{ stake: "20", status: "open" }])).toEqual(["OPEN", "OPEN"]);
    expect(statuses([{ ...adjusted, status: "open" }])).toEqual(["OPEN", "VOID"]);
    expect(statuses([{ ...adjusted, status: "void" }])).toEqual(["VOID"]);
    expect(statuses([{ ...before, status: "open" }])).toEqual(["VOID"]);
    expect(statuses([{ stake: "10", status: "open" }])).toEqual(["VOID"]);
  });

  test("count for what the last turn of a bet says, however often it turns and whatever it is called", () => {
    const turns = fc.array(fc.record({ ended: fc.boolean(), cents: fc.nat(500) }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        turns.chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray([...all.keys()], { minLength: all.length })),
        ),
        ([all, order]) => {
          // The model, from the design: a step replaces those before it that say otherwise; several that say the same are parts.
          const last = all.at(-1)?.ended;
          const since = all.findLastIndex(({ ended }) => ended !== last) + 1;
          const rows = order.map((index) => {
            const { ended, cents } = all[index] as (typeof all)[number];
            return record({
              id: `s${index}`,
              updatedDate: at(index),
              betStatus: ended ? "SETTLED" : "UNSETTLED",
              payout: `${cents}`,
            });
          });
          const left = withoutEarlierSteps(rows, []).map(({ id }) => Number(id.slice(1)));
          expect(left.sort((a, b) => a - b)).toEqual([...all.keys()].slice(since));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("nominal stakes", () => {
  const nominal = { ...SETTINGS, nominalStakes: true };
  const stakes = (records: RecordFields[], bets: BetFields[], settings = nominal) =>
    countNominalStakes(records.map(record), bets.map(bet), settings).map(({ stake }) => stake.toFixed());

  test.each<[string, RecordFields[], BetFields[], string[]]>([
    ["0 if the ledger's stake is 0", [{}], [{ stake: "0" }], ["0"]],
    ["0 if only a reward is known", [{}], [{ stake: "0", placed: false, rewardOnly: true }], ["0"]],
    ["as listed if the bet has no placement", [{}], [{ stake: "0", placed: false }], ["10"]],
    ["as listed if it is a tip", [{}], [{ stake: "0", tip: true }], ["10"]],
    ["as listed if the bet was paid", [{}], [{ stake: "5" }], ["10"]],
    ["as listed if the stake was adjusted to 0", [{}], [{ stake: "0", largestStake: amount("10") }], ["10"]],
    [
      "as listed if the ledger does not have the bet",
      [{}],
      [{ stake: "0", txnId: "other", roundId: "other" }],
      ["10"],
    ],
    ["0 if all bets of the round are free", [{ betId: "whole" }], [{ stake: "0" }], ["0"]],
    [
      "as listed if a bet of the round was paid",
      [{ betId: "whole" }],
      [{ stake: "0" }, { txnId: "b", stake: "5" }],
      ["10"],
    ],
    [
      "0 beside a paid bet with a record of its own",
      [{}, { betId: "b", id: "r2", stake: "4" }],
      [{ stake: "0" }, { txnId: "b", stake: "14" }],
      ["0", "4"],
    ],
    ["as listed if the round's stakes agree so", [{}], [{ stake: "0" }, { txnId: "b", stake: "10" }], ["10"]],
  ])("count %s", (_, records, bets, expected) => {
    expect(stakes(records, bets)).toEqual(expected);
    expect(stakes(records, bets, SETTINGS as typeof nominal)).toEqual(
      records.map(({ stake = "10" }) => stake),
    );
  });

  test("are named in the reason of a difference", () => {
    const [assessed] = assessPairs([record({ payout: "50" })], [bet({ stake: "0", payout: "40" })], nominal);
    expect(assessed?.pending?.content).toMatchObject({
      kind: "payout-differs",
      provider: { stake: "0" },
      reason:
        "paid out 50.00 THB at the provider, 40.00 THB in the ledger; the provider lists a nominal stake of 10.00 THB, which counts as 0",
    });
  });

  test("are those of a record that is in doubt, too", () => {
    const listed = record({ payout: "50" });
    const [assessed] = assessPairs([listed], [bet({ stake: "0", payout: "50" })], nominal, [listed]);
    expect(assessed?.pending?.content.kind).toBe("vanished-at-provider");
  });
});

describe("a spin of a feature", () => {
  const last = { txnId: "last", stake: "0", payout: "50", firstEntryAt: NOON + 1, lastEntryAt: NOON + 2 };
  const spin = (fields: BetFields = {}): BetFields => ({
    txnId: "spin",
    status: "open",
    stake: "0",
    firstEntryAt: NOON,
    lastEntryAt: NOON,
    ...fields,
  });
  const whole = { betId: "whole", stake: "0", payout: "50" };
  const ends = (records: RecordFields[], bets: BetFields[]) =>
    endFeatureSpins(records.map(record), bets.map(bet), ["betId", "id"]).find(({ txnId }) => txnId === "spin")
      ?.status;

  test.each<[string, RecordFields[], BetFields[], string]>([
    ["ends with the round", [whole], [spin(), last], "settled"],
    ["ends with the round whose sums differ", [{ ...whole, payout: "40" }], [spin(), last], "settled"],
    ["does not end if it was paid", [whole], [spin({ stake: "1" }), last], "open"],
    ["does not end if money moved", [whole], [spin({ moved: "-1" }), last], "open"],
    ["does not end while it waits", [whole], [spin({ waiting: true }), last], "open"],
    ["does not end without a placement", [whole], [spin({ placed: false }), last], "open"],
    ["does not end by an earlier settlement", [whole], [spin({ lastEntryAt: NOON + 3 }), last], "open"],
    ["does not end in a round of another name", [whole], [spin({ roundId: "other" }), last], "open"],
    ["does not end without a round", [whole], [spin({ roundId: null }), { ...last, roundId: null }], "open"],
    [
      "ends with the round if it was rewarded",
      [whole],
      [spin({ payout: "5", asked: amount("5"), moved: "5" }), last],
      "settled",
    ],
    ["does not end if a part was paid", [whole], [spin({ paidInParts: amount("0") }), last], "open"],
    [
      "does not end by a paid bet that is cancelled",
      [],
      [spin(), { ...last, stake: "1", status: "void" }],
      "open",
    ],
    ["ends by a spin that is cancelled", [], [spin(), { ...last, payout: "0", status: "void" }], "void"],
    [
      "ends as its record does, by a spin that is cancelled",
      [{ betId: "spin", stake: "0", payout: "0" }],
      [spin(), { ...last, payout: "0", status: "void" }],
      "settled",
    ],
    [
      "stays open if its record won, and the last spin is cancelled",
      [{ betId: "spin", stake: "0", payout: "3" }],
      [spin(), { ...last, payout: "0", status: "void" }],
      "open",
    ],
    ["does not end while a record runs", [{ ...whole, betStatus: "OPEN" }], [spin(), last], "open"],
    [
      "agrees with absent while a paid bet runs",
      [whole],
      [spin(), last, { txnId: "paid", status: "open" }],
      "void",
    ],
    ["agrees with absent if the provider has nothing", [], [spin(), last], "void"],
    [
      "does not end by a spin of the same moment that is not listed",
      [],
      [spin(), { ...last, firstEntryAt: NOON }],
      "open",
    ],
  ])("%s", (_, records, bets, status) => {
    expect(ends(records, bets)).toBe(status);
  });

  test("stays open if each bet has its own record, and the settled one agrees with its", () => {
    const own = [
      { betId: "spin", stake: "0", payout: "10" },
      { betId: "last", id: "r2", stake: "0", payout: "50" },
    ];
    expect(ends(own, [spin(), last])).toBe("open");
    expect(ends(own, [spin(), { ...last, payout: "60" }])).toBe("settled");
  });
});
