/** Which rounds a screening drops, and which it leaves to the exact comparison, in both ways of reading. */

import { beforeAll, describe, expect, test } from "vitest";
import { inSnapshot } from "../../../src/db/transactions.ts";
import type { ScreenRules } from "../../../src/diff/agreement-store.ts";
import { screenMarks } from "../../../src/diff/screen-store.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { writeRecords } from "../../../src/sync/record-store.ts";
import { useDatabase } from "../../support/database.ts";
import { amount, NOON } from "../../support/examples.ts";
import {
  agreeing,
  elsewhere,
  listedAs,
  placed,
  plain,
  type Round,
  settled,
  uncertain,
} from "./screen-rounds.ts";

const { sql } = useDatabase();

/** Each case has a product of its own, so that all of them lie side by side as in a large database. */
async function play(rounds: readonly (Round & { readonly productId: string })[]): Promise<void> {
  for (const { productId, before } of rounds) await before?.(sql, productId);
  const entries = rounds.flatMap((round) =>
    round.entries.map((entry) => ({
      ...entry,
      productId: round.productId,
      entryId: `${round.productId} ${entry.entryId}`,
    })),
  );
  await appendEntries(sql, entries);
  await sql.begin(async (tx) => {
    for (const { productId, records } of rounds) {
      await writeRecords(
        tx,
        productId,
        records.map((record) => ({ ...record, productId })),
        { requestedAt: NOON, now: NOON },
      );
    }
  });
}

/** The rounds whose marks a screening of the product leaves, each once. */
async function screened(productId: string, readsAll: boolean, rules?: ScreenRules): Promise<string[]> {
  const due = { marks: 0, upTo: Number.MAX_SAFE_INTEGER, bytes: 0, readsAll };
  await inSnapshot(sql, (tx) => screenMarks(tx, productId, NOON, due, 1000, null, rules));
  return await marked(productId);
}

async function marked(productId: string): Promise<string[]> {
  const left = await sql<{ mark: string }[]>`
    select distinct m.u || ' ' || coalesce(m.r, m.b) as mark
    from diff_marks, unnest(usernames, round_ids, bet_refs) as m (u, r, b)
    where product_id = ${productId} order by 1`;
  return left.map(({ mark }) => mark);
}

describe.each([
  ["found by index", false],
  ["read whole", true],
])("a round %s", (way, readsAll) => {
  const productOf = (name: string) => `${name}, ${way}`;

  beforeAll(() =>
    play(
      Object.entries({ ...agreeing, ...uncertain }).map(([name, round]) => ({
        ...round,
        productId: productOf(name),
      })),
    ),
  );

  test.each(Object.keys(agreeing))("%s is dropped", async (name) => {
    expect(await marked(productOf(name))).toContain("anna round-1");
    expect(await screened(productOf(name), readsAll)).toEqual([]);
  });

  test.each(Object.keys(uncertain))("%s is compared", async (name) => {
    expect(await screened(productOf(name), readsAll)).toContain("anna round-1");
  });

  test("of several bets is compared if one of them differs", async () => {
    const [first, second, third, fourth] = agreeing["of several bets"]?.entries ?? [];
    if (!first || !second || !third || !fourth) throw new Error("the round has four entries");
    const productId = productOf("one of several");
    const entries = [first, second, third, { ...fourth, payoutAmount: amount("24") }];
    await play([{ productId, entries, records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })] }]);
    expect(await screened(productId, readsAll)).toEqual(["anna round-1"]);
  });

  test("is dropped although another player's round of that name, and another round of the player, are compared", async () => {
    const productId = productOf("namesakes");
    const ofBob = { username: "bob", txnId: "bet-2" };
    const another = { ...elsewhere, txnId: "bet-3" };
    const entries = [
      ...plain.entries,
      placed({ ...ofBob, entryId: "p2", requestId: "p2" }),
      placed({ ...another, entryId: "p3", requestId: "p3" }),
    ];
    await play([{ productId, entries, records: plain.records }]);
    expect(await screened(productId, readsAll)).toEqual(["anna round-2", "bob round-1"]);
  });

  test("stays marked if it is not due or of another product, and so does a bet without a round", async () => {
    const productId = productOf("marks");
    const other = productOf("of another product");
    const none = { roundId: "UNKNOWN" };
    await play([{ productId, entries: [placed(none), settled(none)], records: [listedAs(none)] }]);
    await sql`insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at) values
      (${productId}, '{anna}', '{later}', '{null}', ${NOON + 1}), (${other}, '{anna}', '{other}', '{null}', ${NOON})`;
    expect(await screened(productId, readsAll)).toEqual(["anna bet-1", "anna later"]);
    expect(await marked(other)).toEqual(["anna other"]);
  });
});

const lost = listedAs({ payout: amount("0"), payoutStatus: "LOSE" });
const settledLost = settled({ payoutAmount: amount("0"), moved: amount("0") });
const OMITTED: ScreenRules = { dropsOmittedLosses: true, tolerance: new Map() };
const CENT: ScreenRules = { dropsOmittedLosses: false, tolerance: new Map([["THB", amount("0.01")]]) };
const CENT_OMITTED: ScreenRules = { ...CENT, dropsOmittedLosses: true };
const inCents = (stake: string, payout: string): Round => ({
  entries: [placed({ moved: null }), settled({ moved: null })],
  records: [listedAs({ stake: amount(stake), payout: amount(payout) })],
});

interface Ruled extends Round {
  readonly rules: ScreenRules;
}

/** Rounds that agree by the settings. */
const agreeingByRules: Readonly<Record<string, Ruled>> = {
  "of a lost bet without a settlement, if losses are omitted": {
    rules: OMITTED,
    entries: [placed()],
    records: [lost],
  },
  "of a lost bet that was settled all the same": {
    rules: OMITTED,
    entries: [placed(), settledLost],
    records: [lost],
  },
  "of a lost bet and one that won": {
    rules: OMITTED,
    entries: [
      placed(),
      placed({ entryId: "p2", txnId: "bet-2" }),
      settled({ entryId: "s2", txnId: "bet-2" }),
    ],
    records: [lost, listedAs({ betId: "bet-2", id: "rec-2" })],
  },
  "whose amounts differ by the tolerance": { rules: CENT, ...inCents("10.01", "24.99") },
  "whose wallet moved cents of what was declared exactly": {
    rules: CENT,
    entries: [
      placed({ betAmount: amount("10.004"), moved: amount("-10") }),
      settled({ payoutAmount: amount("25.006"), moved: amount("25") }),
    ],
    records: [listedAs({ stake: amount("10.004"), payout: amount("25.006") })],
  },
  "of a lost bet without a settlement, whose stake differs by the tolerance": {
    rules: CENT_OMITTED,
    entries: [placed({ moved: null })],
    records: [{ ...lost, stake: amount("10.01") }],
  },
};

const uncertainByRules: Readonly<Record<string, Ruled>> = {
  "of a lost bet without a settlement, if losses are written": {
    rules: CENT,
    entries: [placed()],
    records: [lost],
  },
  "of a won bet without a settlement": { rules: OMITTED, entries: [placed()], records: plain.records },
  "of a bet without a settlement that is listed as void": {
    rules: OMITTED,
    entries: [placed()],
    records: [{ ...lost, betStatus: "VOID" }],
  },
  "of a bet without a settlement that is listed as unsettled": {
    rules: OMITTED,
    entries: [placed()],
    records: [{ ...lost, betStatus: "UNSETTLED" }],
  },
  "of a lost bet that was placed twice": {
    rules: OMITTED,
    entries: [placed(), placed({ entryId: "p2", requestId: "p2" })],
    records: [lost],
  },
  "of a lost bet that waits": { rules: OMITTED, entries: [placed({ status: "WAITING" })], records: [lost] },
  "of a lost bet that was never placed": { rules: OMITTED, entries: [settledLost], records: [lost] },
  "of a won bet that was settled twice and never placed": {
    rules: OMITTED,
    entries: [settled(), settled({ entryId: "s2", requestId: "s2" })],
    records: plain.records,
  },
  "whose stake differs by more than the tolerance": { rules: CENT, ...inCents("10.011", "25") },
  "whose payout differs by more than the tolerance": { rules: CENT, ...inCents("10", "25.011") },
  "whose wallet moved more than the tolerance beside what is listed": {
    rules: CENT,
    entries: [placed({ moved: amount("-10.02") }), settled()],
    records: plain.records,
  },
  "whose balance changed by more than the tolerance": {
    rules: CENT,
    entries: [
      placed(),
      settled({ balanceBefore: amount("0"), balanceAfter: amount("25.02"), moved: amount("25") }),
    ],
    records: plain.records,
  },
  "of another currency than the tolerance is for": {
    rules: CENT,
    entries: [placed({ currency: "USD", moved: null }), settled({ currency: "USD", moved: null })],
    records: [listedAs({ currency: "USD", stake: amount("10.01") })],
  },
};

describe.each([
  ["found by index", false],
  ["read whole", true],
])("by the rules of the settings, a round %s", (way, readsAll) => {
  const productOf = (name: string) => `${name}, by rules, ${way}`;

  beforeAll(() =>
    play(
      Object.entries({ ...agreeingByRules, ...uncertainByRules }).map(([name, round]) => ({
        ...round,
        productId: productOf(name),
      })),
    ),
  );

  test.each(Object.entries(agreeingByRules))("%s is dropped", async (name, { rules }) => {
    expect(await screened(productOf(name), readsAll, rules)).toEqual([]);
  });

  test.each(Object.entries(uncertainByRules))("%s is compared", async (name, { rules }) => {
    expect(await screened(productOf(name), readsAll, rules)).toContain("anna round-1");
  });
});
