import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { idRulesOf, type MatchSettings, matchBets } from "../../src/diff/match.ts";
import { sumAmounts } from "../../src/money.ts";
import { type BetFields, bet, type RecordFields, record, SETTINGS } from "./sides.ts";

/** The pairs, without agreeing rounds: "betId: r1+r2 = t1". Records are named by their id, bets by their txn id. */
function match(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: Partial<MatchSettings> = {},
): string[] {
  return matchBets(records, bets, { ...SETTINGS, ...settings })
    .filter(({ agrees }) => !agrees)
    .map((pair) => {
      const sides = [pair.records.map(({ id }) => id), pair.bets.map(({ txnId }) => txnId)];
      const shown = sides.filter((side) => side.length > 0).map((side) => side.sort().join("+"));
      return `${pair.matchedBy ?? "alone"}: ${shown.join(" = ")}`;
    })
    .sort();
}

/** A record whose ids name no bet, so that only its round can match. */
const listed = (id: string, fields: RecordFields = {}) => record({ id, betId: `nobody-${id}`, ...fields });
const held = (txnId: string, fields: BetFields = {}) => bet({ txnId, ...fields });

describe("a round", () => {
  interface Case {
    readonly name: string;
    readonly records?: StoredRecord[];
    readonly bets?: LedgerBet[];
    readonly settings?: Partial<MatchSettings>;
  }
  const agreeing: Case[] = [
    { name: "its sums of stake and payout are equal, however they are spread" },
    {
      name: "one record reports all its bets",
      records: [listed("r1", { stake: "30", payout: "25" })],
    },
    {
      name: "a void record beside it counts for nothing",
      records: [
        listed("r1", { stake: "30", payout: "25" }),
        listed("r2", { betStatus: "VOID", stake: "7", payout: "7" }),
      ],
    },
    {
      name: "a void bet beside it counts for nothing",
      bets: [
        held("t1", { stake: "30", payout: "25" }),
        held("t2", { status: "void", stake: "7", payout: "7" }),
      ],
    },
    {
      name: "a void bet beside it was cancelled before it was placed",
      bets: [
        held("t1", { stake: "30", payout: "25" }),
        held("t2", { status: "void", placed: false, stake: "7" }),
      ],
    },
    {
      name: "everything in it is void on both sides",
      records: [listed("r1", { betStatus: "VOID", stake: "1" })],
      bets: [held("t1", { status: "void", stake: "2" })],
    },
    {
      name: "a reward of its own has no placement, and needs none",
      bets: [
        held("t1", { stake: "30" }),
        held("t2", { stake: "0", payout: "25", placed: false, rewardOnly: true }),
      ],
    },
    { name: "no rule of the product matches anything in it", settings: { matchBy: ["betId"] } },
  ];
  const differing: Case[] = [
    { name: "the sums of the stakes differ", records: [listed("r1", { stake: "30.01", payout: "25" })] },
    { name: "the sums of the payouts differ", records: [listed("r1", { stake: "30", payout: "24.99" })] },
    {
      name: "the currencies differ",
      records: [listed("r1", { stake: "30", payout: "25", currency: "USD" })],
    },
    { name: "a record is open", records: [listed("r1", { stake: "30", payout: "25", betStatus: "OPEN" })] },
    {
      name: "a record is unsettled",
      records: [listed("r1", { stake: "30", payout: "25", betStatus: "UNSETTLED" })],
    },
    {
      name: "one of its records is open",
      records: [
        listed("r1", { stake: "20", payout: "5", betStatus: "OPEN" }),
        listed("r2", { payout: "20" }),
      ],
    },
    {
      name: "one of its bets is open",
      bets: [held("t1", { stake: "5", payout: "25" }), held("t2", { stake: "25", status: "open" })],
    },
    {
      name: "one of its bets lacks its placement",
      bets: [held("t1", { stake: "5", payout: "25" }), held("t2", { stake: "25", placed: false })],
    },
    {
      name: "one of its bets has entries of another currency",
      bets: [
        held("t1", { stake: "5", payout: "25" }),
        held("t2", { stake: "25", others: [{ ...bet({ stake: "1" }), currency: "USD" }] }),
      ],
    },
    { name: "a bet is open", bets: [held("t1", { stake: "30", payout: "25", status: "open" })] },
    { name: "a bet lacks its placement", bets: [held("t1", { stake: "30", payout: "25", placed: false })] },
    {
      name: "only one side of it is void, although nothing was staked or paid",
      records: [listed("r1", { stake: "0", betStatus: "VOID" })],
      bets: [held("t1", { stake: "0" })],
    },
    {
      name: "it has no name",
      records: [listed("r1", { stake: "30", payout: "25", roundId: "" })],
      bets: [held("t1", { stake: "30", payout: "25", roundId: null })],
    },
    {
      name: "its name is UNKNOWN",
      records: [listed("r1", { stake: "30", payout: "25", roundId: "UNKNOWN" })],
      bets: [held("t1", { stake: "30", payout: "25", roundId: null })],
    },
    {
      name: "the two sides name different rounds",
      records: [listed("r1", { stake: "30", payout: "25", roundId: "round-2" })],
    },
  ];
  const run = ({ records, bets, settings }: Case) =>
    match(
      records ?? [listed("r1", { stake: "20", payout: "5" }), listed("r2", { stake: "10", payout: "20" })],
      bets ?? [held("t1", { stake: "5", payout: "25" }), held("t2", { stake: "25", payout: "0" })],
      settings,
    );

  test.each(agreeing)("agrees if $name", (example) => {
    expect(run(example)).toEqual([]);
  });

  test.each(differing)("does not agree if $name", (example) => {
    expect(run(example)).not.toEqual([]);
  });

  test("that agrees hides no difference of another round", () => {
    const other = { roundId: "round-2" };
    expect(
      match([listed("r1"), listed("r2", other)], [held("t1"), held("t3", { roundId: "round-3" })]),
    ).toEqual(["alone: r2", "alone: t3"]);
  });
});

describe("bets of rounds that do not agree", () => {
  /** The stakes differ, so no round agrees. */
  const different = (fields: RecordFields) => record({ stake: "99", ...fields });

  test.each([
    { by: "its betId", fields: { betId: "t1", id: "r1" }, expected: ["betId: r1 = t1"] },
    { by: "its id", fields: { betId: "unknown", id: "t1" }, expected: ["id: t1 = t1"] },
    { by: "its round", fields: { betId: "unknown", id: "r1" }, expected: ["round: r1 = t1"] },
    {
      by: "nothing",
      fields: { betId: "unknown", id: "r1", roundId: "round-2" },
      expected: ["alone: r1", "alone: t1"],
    },
  ])("a record finds its bet by $by", ({ fields, expected }) => {
    expect(match([different(fields)], [held("t1")])).toEqual(expected);
  });

  test.each([
    { matchBy: ["betId", "id"] as const, expected: ["alone: t2", "betId: t2 = t1"] },
    { matchBy: ["id", "betId"] as const, expected: ["alone: t1", "id: t2 = t2"] },
    { matchBy: ["round", "betId"] as const, expected: ["round: t2 = t1+t2"] },
    { matchBy: ["round"] as const, expected: ["round: t2 = t1+t2"] },
  ])("the rules apply in the product's own order: $matchBy", ({ matchBy, expected }) => {
    expect(match([different({ betId: "t1", id: "t2" })], [held("t1"), held("t2")], { matchBy })).toEqual(
      expected,
    );
  });

  test("a rule that the product lacks matches nothing", () => {
    expect(match([different({ betId: "unknown", id: "t1" })], [held("t1")], { matchBy: ["betId"] })).toEqual([
      "alone: t1",
      "alone: t1",
    ]);
  });

  test("several records of one bet form one side", () => {
    const records = [
      different({ betId: "t1", id: "r1" }),
      different({ betId: "t1", id: "r2", roundId: "other" }),
    ];
    expect(match(records, [held("t1")])).toEqual(["betId: r1+r2 = t1"]);
  });

  test("several records with one betId that no entry knows form one side without a ledger bet", () => {
    const records = [record({ betId: "b1", id: "r1" }), record({ betId: "b1", id: "r2" }), listed("r3")];
    expect(match(records, [])).toEqual(["alone: r1+r2", "alone: r3"]);
  });
});

test("the ids that may name a bet keep the product's own order, and a round is none of them", () => {
  expect(idRulesOf(["id", "round", "betId"])).toEqual(["id", "betId"]);
  expect(idRulesOf(["round"])).toEqual([]);
});

describe("the rest of a round", () => {
  test("on both sides is compared together, apart from bets that matched by an id", () => {
    const records = [listed("r1"), listed("r2"), record({ id: "r3", betId: "t3", payout: "1" })];
    const bets = [held("t1", { stake: "15" }), held("t2", { stake: "6" }), held("t3")];
    expect(match(records, bets)).toEqual(["betId: r3 = t3", "round: r1+r2 = t1+t2"]);
  });

  test("on one side only has no other side", () => {
    expect(match([listed("r1"), listed("r2")], [])).toEqual(["alone: r1", "alone: r2"]);
    expect(match([], [held("t1"), held("t2")])).toEqual(["alone: t1", "alone: t2"]);
  });

  test("is compared with the record of one bet whose stake may be the stake of all", () => {
    const wider = record({ id: "r1", betId: "t1", stake: "30", payout: "1" });
    const bets = [held("t1"), held("t2"), held("t3")];
    expect(match([wider], bets)).toEqual(["round: r1 = t1+t2+t3"]);
    expect(match([wider], bets, { matchBy: ["betId", "id"] })).toEqual([
      "alone: t2",
      "alone: t3",
      "betId: r1 = t1",
    ]);
  });

  test("is not compared with a matched record, if one of the bet's records is in another round", () => {
    const records = [
      record({ id: "r1", betId: "t1", stake: "15" }),
      record({ id: "r2", betId: "t1", stake: "5", roundId: "round-2" }),
    ];
    expect(match(records, [held("t1"), held("t2")])).toEqual(["alone: t2", "betId: r1+r2 = t1"]);
  });

  test("is never that of bets without a round, so a record without a round keeps its bet", () => {
    const nowhere = { roundId: null };
    const nameless = record({ id: "r1", betId: "t1", stake: "20", roundId: "UNKNOWN" });
    expect(match([nameless], [held("t1", nowhere), held("t2", nowhere)])).toEqual([
      "alone: t2",
      "betId: r1 = t1",
    ]);
  });

  test.each([
    { name: "with the same stake", fields: { payout: "1" }, left: {} },
    { name: "of another round", fields: { stake: "20", roundId: "round-2" }, left: {} },
    { name: "in another currency", fields: { stake: "20", currency: "USD" }, left: {} },
    { name: "that is void", fields: { stake: "20", betStatus: "VOID" as const }, left: {} },
    { name: "beside a void bet", fields: { stake: "20" }, left: { status: "void" as const } },
  ])("is not compared with a matched record $name", ({ fields, left }) => {
    const bets = [held("t1"), held("t2", left)];
    expect(match([record({ id: "r1", betId: "t1", ...fields })], bets)).toEqual([
      "alone: t2",
      "betId: r1 = t1",
    ]);
  });
});

describe("a round in several currencies", () => {
  const usd = { currency: "USD" };

  test("is one round for each, if both sides have the same ones", () => {
    const records = [listed("r1", { stake: "11" }), listed("r2", { ...usd, stake: "12" })];
    const bets = [held("t2", usd), held("t1")];
    expect(match(records, bets)).toEqual(["round: r1 = t1", "round: r2 = t2"]);
    expect(match([records[0] as StoredRecord, listed("r2", usd)], bets)).toEqual(["round: r1 = t1"]);
  });

  test.each([
    ["more at the provider", [{}, usd], [{}]],
    ["more in the ledger", [{}], [{}, usd]],
    ["others", [{}, usd], [{}, { currency: "EUR" }]],
  ])("is compared as a whole, if one side has %s", (_, ofRecords, ofBets) => {
    const records = ofRecords.map((fields, index) => listed(`r${index}`, fields));
    const bets = ofBets.map((fields, index) => held(`t${index}`, fields));
    const all = `${records.map(({ id }) => id).join("+")} = ${bets.map(({ txnId }) => txnId).join("+")}`;
    expect(match(records, bets)).toEqual([`round: ${all}`]);
  });
});

describe("a round that is all void on one side", () => {
  const VOID = { betStatus: "VOID" as const };
  const voided = { status: "void" as const };

  test.each([
    ["the records are void", [listed("r1", VOID)], [held("t1")]],
    ["the bets are void", [listed("r1")], [held("t1", voided)]],
    ["the bets are void, and so is one record", [listed("r1"), listed("r2", VOID)], [held("t1", voided)]],
    ["the records are void, and so is one bet", [listed("r1", VOID)], [held("t1"), held("t2", voided)]],
  ])("is compared as a whole if the stakes are equal: %s", (_, records, bets) => {
    const [pair, ...others] = match(records, bets);
    expect([pair?.slice(0, 6), others]).toEqual(["round:", []]);
    const dearer = records.map((one) => listed(one.id, { betStatus: one.betStatus, stake: "11" }));
    const apart = match(dearer, bets);
    expect(apart).toHaveLength(records.length + bets.length);
    expect(apart.every((one) => one.startsWith("alone:"))).toBe(true);
    expect(match(dearer, bets, { matchBy: ["round"] })).toHaveLength(1);
  });
});

describe("a round that one entry settled as a whole", () => {
  const whole = { settledByRound: true };

  test("is compared by its sums only, regardless of the ids", () => {
    const records = [
      record({ id: "r1", betId: "t1", payout: "20" }),
      record({ id: "r2", betId: "t2", payout: "30" }),
    ];
    const bets = [held("t1", whole), held("t2", { ...whole, payout: "49.99" })];
    expect(match(records, bets)).toEqual(["round: r1+r2 = t1+t2"]);
    expect(match(records, [held("t1", whole), held("t2", { ...whole, payout: "50" })])).toEqual([]);
  });

  test("keeps its bets, if a bet of another currency in the round is left over", () => {
    const usd = { currency: "USD" };
    const records = [
      record({ id: "r1", betId: "t1", stake: "25" }),
      record({ id: "r2", betId: "u1", stake: "7", betStatus: "VOID", ...usd }),
    ];
    const bets = [held("t1", whole), held("t2"), held("u1", usd), held("u2", usd)];
    expect(match(records, bets)).toEqual(["alone: u2", "betId: r2 = u1", "round: r1 = t1+t2"]);
  });

  test("leaves bets of other rounds to their ids", () => {
    const elsewhere = { roundId: "round-2" };
    const records = [record({ id: "r1", betId: "t1", ...elsewhere, payout: "1" })];
    expect(match(records, [held("t1", elsewhere), held("t2", whole)])).toEqual([
      "alone: t2",
      "betId: r1 = t1",
    ]);
  });
});

describe("a tip", () => {
  const tip = (fields: BetFields = {}) => held("tip-1", { tip: true, placed: false, stake: "3", ...fields });
  const tipRecord = (fields: RecordFields = {}) =>
    record({ id: "rt", betId: "tip-1", stake: "3", ...fields });

  test("counts on no side of its round, whether the provider lists it or not", () => {
    const [ofBet, lost] = [record({ id: "r1", betId: "t1" }), held("t1")];
    expect(match([ofBet], [lost, tip()])).toEqual(["alone: tip-1"]);
    expect(match([ofBet, tipRecord()], [lost, tip()])).toEqual(["betId: rt = tip-1"]);
  });

  test("does not make up for a stake that the record of another bet lacks", () => {
    const records = [record({ id: "r1", betId: "t1", stake: "7" }), tipRecord()];
    expect(match(records, [held("t1"), tip()])).toEqual(["betId: r1 = t1", "betId: rt = tip-1"]);
  });

  test("never belongs to the rest of a round", () => {
    expect(match([listed("r1")], [tip()])).toEqual(["alone: r1", "alone: tip-1"]);
    expect(match([tipRecord()], [tip(), held("t1")])).toEqual(["alone: t1", "betId: rt = tip-1"]);
    const round = { matchBy: ["round", "betId"] as const };
    expect(match([tipRecord()], [tip(), held("t1")], round)).toEqual(["alone: t1", "betId: rt = tip-1"]);
  });

  test("of unknown amount does not draw its record into the round", () => {
    const records = [tipRecord({ stake: "5" })];
    expect(match(records, [tip({ stake: "0" }), held("t1")])).toEqual(["alone: t1", "betId: rt = tip-1"]);
  });
});

test("each record and each bet is in exactly one pair, and the stakes of an agreeing round are equal, however they are connected", () => {
  const ids = fc.constantFrom("a", "b", "c", "d");
  const rounds = fc.constantFrom("round-1", "round-2", "UNKNOWN");
  const stakes = fc.constantFrom("1", "2");
  const records = fc.uniqueArray(fc.record({ betId: ids, id: ids, roundId: rounds, stake: stakes }), {
    maxLength: 6,
    selector: ({ betId, id }) => `${betId} ${id}`,
  });
  const bets = fc.uniqueArray(
    fc.record({
      txnId: ids,
      roundId: rounds.map((round) => (round === "UNKNOWN" ? null : round)),
      stake: stakes,
      settledByRound: fc.boolean(),
    }),
    { maxLength: 4, selector: ({ txnId }) => txnId },
  );
  const rules = fc.shuffledSubarray(["betId", "id", "round"] as const, { minLength: 1 });
  fc.assert(
    fc.property(records, bets, rules, (recordFields, betFields, matchBy) => {
      const sides = [...recordFields.map(record), ...betFields.map(bet)];
      const pairs = matchBets(
        sides.slice(0, recordFields.length) as StoredRecord[],
        sides.slice(recordFields.length) as LedgerBet[],
        { ...SETTINGS, matchBy },
      );
      const paired = pairs.flatMap((pair) => [...pair.records, ...pair.bets]);
      expect(paired).toHaveLength(sides.length);
      expect(new Set<unknown>(paired)).toEqual(new Set<unknown>(sides));
      for (const pair of pairs.filter(({ agrees }) => agrees)) {
        const stakeOf = (of: readonly { readonly stake: StoredRecord["stake"] }[]) =>
          sumAmounts(of.map(({ stake }) => stake));
        expect(stakeOf(pair.records).eq(stakeOf(pair.bets))).toBe(true);
      }
    }),
  );
});
