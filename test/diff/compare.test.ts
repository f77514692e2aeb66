import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import { type CompareSettings, comparePair } from "../../src/diff/compare.ts";
import type { MatchRule } from "../../src/diff/match.ts";
import { subjectsOf, toContent } from "../../src/diff/mismatch-content.ts";
import { latest } from "../../src/diff/sums.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { formatAmount, parseAmount } from "../../src/money.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { bet, record, SETTINGS } from "./sides.ts";

interface PairSides {
  readonly records?: StoredRecord[];
  readonly bets?: LedgerBet[];
}

function compare(
  { records = [], bets = [] }: PairSides,
  matchedBy: MatchRule | null = "betId",
  settings: Partial<CompareSettings> = {},
): MismatchContent | null {
  const all = { ...SETTINGS, ...settings };
  const pair = { records, bets, matchedBy, agrees: false };
  const difference = comparePair(pair, all);
  return difference && toContent(pair, difference, all);
}

const kindOf = (content: MismatchContent | null) => content?.kind ?? "agrees";
const riskOf = (content: MismatchContent | null) =>
  content === null ? null : formatAmount(content.amountAtRisk);
const byRound = (sides: PairSides, settings: Partial<CompareSettings> = {}) =>
  compare(sides, "round", settings);

describe("the statuses of both sides decide first", () => {
  type Listed = StoredRecord["betStatus"] | "absent";
  type Held = LedgerBet["status"] | "absent";
  const table: [Held, Record<Listed, string>][] = [
    [
      "open",
      {
        OPEN: "agrees",
        UNSETTLED: "agrees",
        SETTLED: "missing-settlement",
        VOID: "missing-settlement",
        absent: "stuck-open",
      },
    ],
    [
      "settled",
      {
        OPEN: "status-differs",
        UNSETTLED: "status-differs",
        SETTLED: "agrees",
        VOID: "status-differs",
        absent: "missing-at-provider",
      },
    ],
    [
      "void",
      {
        OPEN: "status-differs",
        UNSETTLED: "status-differs",
        SETTLED: "status-differs",
        VOID: "agrees",
        absent: "agrees",
      },
    ],
    [
      "absent",
      {
        OPEN: "missing-in-ledger",
        UNSETTLED: "missing-in-ledger",
        SETTLED: "missing-in-ledger",
        VOID: "agrees",
        absent: "agrees",
      },
    ],
  ];
  const cases = table.flatMap(([held, row]) =>
    Object.entries(row).map(([listed, expected]) => ({ held, listed: listed as Listed, expected })),
  );

  test.each(cases)(
    "$held in the ledger, $listed at the provider: $expected",
    ({ held, listed, expected }) => {
      const records = listed === "absent" ? [] : [record({ betStatus: listed })];
      const bets = held === "absent" ? [] : [bet({ status: held })];
      expect(kindOf(compare({ records, bets }))).toBe(expected);
    },
  );
});

describe("one cause makes one mismatch, of the first kind that applies", () => {
  test.each([
    {
      kind: "currency-differs",
      listed: record({ currency: "USD", betStatus: "VOID", stake: "9", payout: "1" }),
      held: bet(),
    },
    {
      kind: "missing-settlement",
      listed: record({ stake: "9", payout: "1" }),
      held: bet({ status: "open" }),
    },
    { kind: "status-differs", listed: record({ stake: "9", payout: "1" }), held: bet({ status: "void" }) },
    { kind: "stake-differs", listed: record({ stake: "9", payout: "1" }), held: bet() },
    { kind: "payout-differs", listed: record({ payout: "1" }), held: bet() },
    { kind: "agrees", listed: record(), held: bet() },
  ])("$kind", ({ kind, listed, held }) => {
    expect(kindOf(compare({ records: [listed], bets: [held] }))).toBe(kind);
  });

  test("two void bets compare no amounts", () => {
    const records = [record({ betStatus: "VOID", stake: "9", payout: "1" })];
    expect(compare({ records, bets: [bet({ status: "void" })] })).toBeNull();
  });

  test("two open bets compare their stakes, and no payout", () => {
    const open = { betStatus: "OPEN" as const };
    expect(
      kindOf(compare({ records: [record({ ...open, stake: "9" })], bets: [bet({ status: "open" })] })),
    ).toBe("stake-differs");
    const rewarded = bet({ status: "open", payout: "100", moved: "90" });
    expect(compare({ records: [record(open)], bets: [rewarded] })).toBeNull();
  });

  test("an amount is the same with any number of zeros at its end", () => {
    const records = [record({ stake: "10.00", payout: "0.50" })];
    expect(compare({ records, bets: [bet({ stake: "10", payout: "0.5" })] })).toBeNull();
  });

  test("an amount differs however small the difference is: nothing is rounded", () => {
    const records = [record({ payout: "0.1" })];
    expect(riskOf(compare({ records, bets: [bet({ payout: "0.10000000000000000001" })] }))).toBe(
      "0.00000000000000000001",
    );
  });
});

describe("several records of one bet", () => {
  const part = (id: string, fields: Parameters<typeof record>[0] = {}) => record({ id, ...fields });

  test("are added up", () => {
    const records = [part("r1", { stake: "4", payout: "3" }), part("r2", { stake: "6", payout: "4" })];
    expect(compare({ records, bets: [bet({ payout: "7" })] })).toBeNull();
    expect(compare({ records, bets: [bet({ payout: "8" })] })).toMatchObject({
      kind: "payout-differs",
      provider: { id: null, betId: "bet-1", stake: "10", payout: "7" },
    });
  });

  test("count as running while one of them runs", () => {
    const records = [part("r1", { stake: "4" }), part("r2", { stake: "6", betStatus: "OPEN" })];
    expect(compare({ records, bets: [bet({ status: "open" })] })).toBeNull();
    expect(kindOf(compare({ records, bets: [bet()] }))).toBe("status-differs");
  });

  test("count as void only if all of them are void; a void record adds nothing", () => {
    const records = [part("r1"), part("r2", { betStatus: "VOID", stake: "99" })];
    expect(compare({ records, bets: [bet()] })).toBeNull();
    expect(compare({ records: records.slice(1), bets: [bet({ status: "void" })] })).toBeNull();
    const voided = bet({ txnId: "bet-2", status: "void", stake: "99" });
    expect(byRound({ records: [part("r1")], bets: [bet(), voided] })).toBeNull();
  });

  test("have the dates of the latest one", () => {
    const early = { updatedDate: "2026-11-20T11:57:00Z", accountingDate: "2026-11-20T11:56:00Z" };
    const records = [part("r1", { stake: "4" }), part("r2", { stake: "7", ...early })];
    for (const read of [records, records.toReversed()]) {
      expect(compare({ records: read, bets: [bet()] })?.provider).toMatchObject({
        updatedDate: "2026-11-20T11:59:00.000Z",
        accountingDate: "2026-11-20T11:59:00.000Z",
      });
    }
  });

  test("in different currencies agree with no ledger bet", () => {
    const records = [part("r1", { stake: "4" }), part("r2", { stake: "6", currency: "USD" })];
    for (const read of [records, records.toReversed()]) {
      expect(kindOf(compare({ records: read, bets: [bet()] }))).toBe("currency-differs");
    }
  });
});

test("no record has no latest date", () => {
  expect(latest([])).toBeNull();
});

describe("the amount at risk", () => {
  test.each([
    { what: "all money of a bet that the ledger lacks: the player's loss", risk: "10", records: [record()] },
    { what: "…or win", risk: "15.5", records: [record({ payout: "25.5" })] },
    {
      what: "the stake of a running bet that the ledger lacks",
      risk: "10",
      records: [record({ betStatus: "OPEN", payout: "99" })],
    },
    {
      what: "the money that moved for a bet that the provider lacks",
      risk: "15",
      bets: [bet({ payout: "25" })],
    },
    {
      what: "the money that moved, if that is not the requested amount",
      risk: "25",
      bets: [bet({ payout: "25", moved: "25" })],
    },
    {
      what: "the payout that was never paid",
      risk: "25",
      records: [record({ payout: "25" })],
      bets: [bet({ status: "open" })],
    },
    {
      what: "the stake that was never given back",
      risk: "10",
      records: [record({ betStatus: "VOID" })],
      bets: [bet({ status: "open" })],
    },
    {
      what: "the payout that the provider took back",
      risk: "15",
      records: [record({ betStatus: "VOID", payout: "25" })],
      bets: [bet({ payout: "25" })],
    },
    {
      what: "the payout of a bet that the provider still has open",
      risk: "25",
      records: [record({ betStatus: "OPEN" })],
      bets: [bet({ payout: "25" })],
    },
    {
      what: "the stake that a void bet gave back",
      risk: "10",
      records: [record()],
      bets: [bet({ status: "void" })],
    },
    { what: "the difference of the stakes", risk: "1.5", records: [record({ stake: "8.5" })], bets: [bet()] },
    {
      what: "the difference of the payouts",
      risk: "0.01",
      records: [record({ payout: "20" })],
      bets: [bet({ payout: "19.99" })],
    },
    {
      what: "the sum of both differences, if stake and payout differ",
      risk: "3",
      records: [record({ stake: "12", payout: "5" })],
      bets: [bet({ stake: "10", payout: "0" })],
    },
    {
      what: "if all expected money has moved, the largest difference of the named amounts",
      risk: "4",
      records: [record({ stake: "12", payout: "9" })],
      bets: [bet({ stake: "10", payout: "5", moved: "-3" })],
    },
    {
      what: "…or that of the stakes",
      risk: "4",
      records: [record({ stake: "14", payout: "7" })],
      bets: [bet({ stake: "10", payout: "5", moved: "-7" })],
    },
    {
      what: "if nothing moved for a bet that the provider lacks, the amount of the bet",
      risk: "25",
      bets: [bet({ stake: "25", payout: "25" })],
    },
    {
      what: "all money that moved in the ledger's currency, if the provider has another currency",
      risk: "10",
      records: [record({ currency: "USD" })],
      bets: [bet()],
    },
    {
      what: "never negative, whatever the amounts in either currency are",
      risk: "10",
      records: [record({ currency: "USD" })],
      bets: [bet({ stake: "-10", payout: "-10", moved: "0" })],
    },
  ])("is $what", ({ risk, records = [], bets = [] }) => {
    const content = compare({ records, bets });
    expect(riskOf(content)).toBe(risk);
  });
});

describe("a mismatch", () => {
  test("carries both sides as they were compared", () => {
    const listed = record({
      payout: "25.50",
      updatedDate: "2026-11-20T18:59:30.000+07:00",
      accountingDate: "2026-11-20T18:59:00.000+07:00",
    });
    expect(compare({ records: [listed], bets: [bet({ payout: "20", moved: "9.5" })] })).toEqual({
      kind: "payout-differs",
      productId: "P1",
      username: "anna",
      currency: "THB",
      subject: "bet:bet-1",
      betId: "bet-1",
      transactionId: "bet-1",
      roundId: "round-1",
      transactionRef: null,
      amountAtRisk: parseAmount("6", "amountAtRisk"),
      effect: parseAmount("-6", "effect"),
      reason: "paid out 25.50 THB at the provider, 20.00 THB in the ledger",
      provider: {
        id: "rec-1",
        betId: "bet-1",
        status: "SETTLED",
        stake: "10",
        payout: "25.5",
        currency: "THB",
        username: "anna",
        updatedDate: "2026-11-20T11:59:30.000Z",
        accountingDate: "2026-11-20T11:59:00.000Z",
      },
      ledger: {
        txnId: "bet-1",
        status: "settled",
        stake: "10",
        payout: "20",
        moved: "9.5",
        currency: "THB",
        username: "anna",
        firstEntryAt: "2026-11-20T11:55:00.000Z",
        lastEntryAt: "2026-11-20T11:56:00.000Z",
      },
      occurredAt: NOON - 5 * MINUTE_MS,
    });
  });

  test("shows the amounts of a void side, although they count for nothing", () => {
    const cancelled = record({ betStatus: "VOID", payout: "3" });
    expect(compare({ records: [cancelled], bets: [bet()] })?.provider).toMatchObject({
      status: "VOID",
      stake: "10",
      payout: "3",
    });
    expect(compare({ records: [record()], bets: [bet({ status: "void" })] })?.ledger).toMatchObject({
      status: "void",
      stake: "10",
      moved: "0",
    });
  });

  test("of a bet that the ledger lacks has the provider's betId as its subject", () => {
    expect(compare({ records: [record({ id: "rec-7", betId: "bet-7" })] }, null)).toMatchObject({
      kind: "missing-in-ledger",
      subject: "bet:bet-7",
      betId: "bet-7",
      transactionId: null,
      ledger: null,
      occurredAt: NOON - MINUTE_MS,
    });
  });

  test("of a bet that both have, or the provider lacks, has the ledger's txn id as its subject", () => {
    const held = bet({ txnId: "rec-7" });
    expect(
      compare({ records: [record({ id: "rec-7", betId: "b", payout: "1" })], bets: [held] }),
    ).toMatchObject({
      subject: "bet:rec-7",
      betId: "b",
      transactionId: "rec-7",
    });
    expect(compare({ bets: [held] }, null)).toMatchObject({
      subject: "bet:rec-7",
      betId: null,
      transactionId: "rec-7",
      provider: null,
    });
  });

  test("of a round has the round as its subject, and carries the sums", () => {
    const records = [record({ id: "r1", betId: "b1" }), record({ id: "r2", betId: "b2", payout: "7" })];
    const bets = [
      bet({ txnId: "t1", firstEntryAt: NOON - HOUR_MS, lastEntryAt: NOON - HOUR_MS }),
      bet({ txnId: "t2", payout: "6" }),
    ];
    expect(byRound({ records, bets })).toMatchObject({
      kind: "round-differs",
      subject: "round:round-1",
      betId: null,
      transactionId: null,
      roundId: "round-1",
      provider: { id: null, betId: null, status: "SETTLED", stake: "20", payout: "7" },
      ledger: {
        txnId: null,
        status: "settled",
        stake: "20",
        payout: "6",
        moved: "-14",
        firstEntryAt: "2026-11-20T11:00:00.000Z",
        lastEntryAt: "2026-11-20T11:56:00.000Z",
      },
      occurredAt: NOON - HOUR_MS,
    });
  });

  test("names no round if there is none, and the ledger's round if the record has none", () => {
    const [nameless, other] = [record({ roundId: "UNKNOWN" }), bet({ payout: "1" })];
    expect(compare({ records: [nameless] })?.roundId).toBeNull();
    expect(compare({ records: [nameless], bets: [other] })?.roundId).toBe("round-1");
  });

  test("can replace every mismatch that its sides could have had before", () => {
    const sides = [record({ id: "r", betId: "b", roundId: "UNKNOWN" })];
    expect(subjectsOf(sides, [bet({ txnId: "b" }), bet({ txnId: "t", roundId: "round-2" })]).sort()).toEqual(
      ["bet:b", "bet:r", "bet:t", "round:round-1", "round:round-2"].sort(),
    );
  });
});

describe("the rest of a round", () => {
  test("makes one mismatch, no matter what differs", () => {
    const bets = [bet({ txnId: "t1" }), bet({ txnId: "t2" })];
    const [stake, payout, status] = [
      { stake: "21" },
      { stake: "20", payout: "1" },
      { stake: "20", betStatus: "OPEN" as const },
    ];
    expect(
      [stake, payout, status].map((fields) => kindOf(byRound({ records: [record(fields)], bets }))),
    ).toEqual(Array(3).fill("round-differs"));
    expect(byRound({ records: [record({ stake: "20" })], bets })).toBeNull();
  });

  test("is open while one of its bets is", () => {
    const bets = [bet({ txnId: "t1" }), bet({ txnId: "t2", status: "open" })];
    const records = [record({ id: "r1" }), record({ id: "r2", betStatus: "OPEN" })];
    expect(byRound({ records, bets })).toBeNull();
  });
});

describe("before the ledger begins", () => {
  const before = { accountingDate: "2026-11-18T11:59:59.999Z", updatedDate: "2026-11-20T11:59:00.000Z" };
  const heldBefore = { firstEntryAt: NOON - 49 * HOUR_MS, lastEntryAt: NOON - 49 * HOUR_MS };

  test("nothing is compared", () => {
    expect(compare({ records: [record(before)] }, null)).toBeNull();
    expect(compare({ bets: [bet(heldBefore)] }, null)).toBeNull();
    expect(compare({ records: [record({ ...before, payout: "1" })], bets: [bet(heldBefore)] })).toBeNull();
  });

  test("what began earlier and ends later is compared", () => {
    const untilAfter = { ...heldBefore, lastEntryAt: SETTINGS.ledgerStart };
    expect(kindOf(compare({ bets: [bet(untilAfter)] }, null))).toBe("missing-at-provider");
    const atStart = { accountingDate: "2026-11-18T12:00:00.000Z" };
    expect(kindOf(compare({ records: [record(atStart)] }, null))).toBe("missing-in-ledger");
    const both = { records: [record({ ...before, payout: "1" })], bets: [bet(untilAfter)] };
    expect(kindOf(compare(both))).toBe("payout-differs");
  });

  const unplaced = (firstEntryAt: number) => bet({ placed: false, stake: "0", firstEntryAt });

  test("a bet that began earlier has no known stake, but a payout", () => {
    const running = unplaced(SETTINGS.ledgerStart + SETTINGS.stuckOpenAfterMs);
    expect(compare({ records: [record()], bets: [running] })).toBeNull();
    expect(kindOf(compare({ records: [record({ payout: "1" })], bets: [running] }))).toBe("payout-differs");
  });

  test("a bet that began later is compared as a whole", () => {
    const late = unplaced(SETTINGS.ledgerStart + SETTINGS.stuckOpenAfterMs + 1);
    expect(kindOf(compare({ records: [record()], bets: [late] }))).toBe("missing-placement");
  });

  test("a bet that its own settlement placed did not begin", () => {
    const settled = (placed: boolean) => bet({ placed, stake: "9", firstEntryAt: SETTINGS.ledgerStart });
    expect(kindOf(compare({ records: [record()], bets: [settled(true)] }))).toBe("stake-differs");
    expect(compare({ records: [record()], bets: [settled(false)] })).toBeNull();
  });
});

describe("a tip", () => {
  const tip = (stake: string, status: LedgerBet["status"] = "settled") =>
    bet({ tip: true, placed: false, stake, status });

  test("agrees if the provider does not list it", () => {
    expect(compare({ bets: [tip("3")] }, null)).toBeNull();
  });

  test.each([
    { listed: "3", held: "3", kind: "agrees" },
    { listed: "4", held: "3", kind: "stake-differs" },
    { listed: "0", held: "3", kind: "agrees" },
    { listed: "3", held: "0", kind: "agrees" },
  ])("of $held, listed as $listed: $kind", ({ listed, held, kind }) => {
    expect(kindOf(compare({ records: [record({ stake: listed })], bets: [tip(held)] }))).toBe(kind);
  });

  test("is never paid out", () => {
    expect(compare({ records: [record({ stake: "3", payout: "3" })], bets: [tip("3")] })).toBeNull();
  });

  test("that was given back is void", () => {
    const cancelled = tip("3", "void");
    expect(compare({ records: [record({ stake: "3", betStatus: "VOID" })], bets: [cancelled] })).toBeNull();
    expect(kindOf(compare({ records: [record({ stake: "3" })], bets: [cancelled] }))).toBe("status-differs");
  });
});

describe("for any amounts", () => {
  const cents = fc.bigInt({ min: 0n, max: 10n ** 20n });
  const decimals = fc.integer({ min: 0, max: 12 });
  const asText = (units: bigint, places: number) => {
    const digits = units.toString().padStart(places + 1, "0");
    return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  };

  test("identical sides never differ", () => {
    fc.assert(
      fc.property(cents, cents, decimals, (stake, payout, places) => {
        const amounts = { stake: asText(stake, places), payout: asText(payout, places) };
        expect(compare({ records: [record(amounts)], bets: [bet(amounts)] })).toBeNull();
      }),
    );
  });

  test("a changed amount always differs, and exactly the difference is at risk", () => {
    fc.assert(
      fc.property(
        cents,
        cents,
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        decimals,
        fc.constantFrom("stake" as const, "payout" as const),
        (stake, payout, change, places, field) => {
          const amounts = { stake, payout };
          const text = ({ stake, payout }: typeof amounts) => ({
            stake: asText(stake, places),
            payout: asText(payout, places),
          });
          const changed = text({ ...amounts, [field]: amounts[field] + change });
          const risk = formatAmount(parseAmount(asText(change, places), "change"));
          for (const [listed, held] of [
            [text(amounts), changed],
            [changed, text(amounts)],
          ] as const) {
            const content = compare({ records: [record(listed)], bets: [bet(held)] });
            expect([kindOf(content), riskOf(content)]).toEqual([`${field}-differs`, risk]);
          }
        },
      ),
    );
  });
});
