import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import type { DiffMark } from "../../src/diff/mark-store.ts";
import { keyOfSubject, nextFrontier, partition } from "../../src/diff/neighbourhood.ts";
import { exampleEntry, exampleRecord } from "../support/examples.ts";

interface OneSide {
  readonly username?: string;
  readonly ids: readonly string[];
  readonly round?: string;
}

/** A record has two ids, an entry has one. */
const record = ({ username = "anna", ids: [betId = "", id = betId], round = "" }: OneSide) =>
  exampleRecord({ username, betId, id, roundId: round });
const entry = ({ username = "anna", ids: [txnId = ""], round = "" }: OneSide) =>
  exampleEntry({ username, txnId, roundId: round === "" ? null : round });
const mark = (fields: Partial<DiffMark>): DiffMark => ({
  username: "anna",
  roundId: null,
  betRef: null,
  ...fields,
});

/** Each neighbourhood as the sorted names of its members. */
async function show(
  records: StoredRecord[],
  entries: CallbackEntry[],
  marks: DiffMark[] = [],
): Promise<string[]> {
  return (await partition(marks, records, entries))
    .map((one) =>
      [
        ...one.records.map(({ username, betId, id }) => `${username}'s record ${betId}/${id}`),
        ...one.entries.map(({ username, txnId, roundId }) => `${username}'s entry ${txnId} in ${roundId}`),
        ...one.marks.map(({ roundId, betRef }) => `mark ${roundId ?? betRef}`),
      ]
        .sort()
        .join(", "),
    )
    .sort();
}
const countOf = async (records: StoredRecord[], entries: CallbackEntry[]) =>
  (await partition([], records, entries)).length;

describe("two things are connected", () => {
  test.each([
    {
      by: "a betId that is a txn id",
      records: [record({ ids: ["a", "b"] })],
      entries: [entry({ ids: ["a"] })],
    },
    {
      by: "a record id that is a txn id",
      records: [record({ ids: ["a", "b"] })],
      entries: [entry({ ids: ["b"] })],
    },
    { by: "one betId", records: [record({ ids: ["a", "b"] }), record({ ids: ["a", "c"] })], entries: [] },
    { by: "one record id", records: [record({ ids: ["a", "c"] }), record({ ids: ["b", "c"] })], entries: [] },
    {
      by: "a betId that is the id of another record",
      records: [record({ ids: ["a", "b"] }), record({ ids: ["b", "c"] })],
      entries: [],
    },
    {
      by: "one txn id in two rounds",
      records: [],
      entries: [entry({ ids: ["a"], round: "r" }), entry({ ids: ["a"], round: "s" })],
    },
    {
      by: "one round",
      records: [record({ ids: ["a"], round: "r" })],
      entries: [entry({ ids: ["b"], round: "r" })],
    },
    {
      by: "a thing between them",
      records: [record({ ids: ["a", "b"], round: "r" }), record({ ids: ["c"], round: "s" })],
      entries: [
        entry({ ids: ["b"], round: "t" }),
        entry({ ids: ["d"], round: "t" }),
        entry({ ids: ["d"], round: "s" }),
      ],
    },
  ])("by $by", async ({ records, entries }) => {
    expect(await countOf(records, entries)).toBe(1);
  });
});

describe("two things are not connected", () => {
  test.each([
    { when: "they share nothing", records: [record({ ids: ["a"] })], entries: [entry({ ids: ["b"] })] },
    { when: "both have no round", records: [record({ ids: ["a"] })], entries: [entry({ ids: ["b"] })] },
    {
      when: "both rounds are UNKNOWN",
      records: [record({ ids: ["a"], round: "UNKNOWN" })],
      entries: [entry({ ids: ["b"], round: "UNKNOWN" })],
    },
    {
      when: "an id of one is the round of the other",
      records: [record({ ids: ["a"], round: "r" })],
      entries: [entry({ ids: ["r"], round: "a" })],
    },
    {
      when: "the players differ",
      records: [record({ ids: ["a"], round: "r" })],
      entries: [entry({ username: "bob", ids: ["a"], round: "r" })],
    },
  ])("if $when", async ({ records, entries }) => {
    expect(await countOf(records, entries)).toBe(2);
  });
});

test("a mark belongs to the neighbourhood that it led to", async () => {
  const marks = [mark({ roundId: "r" }), mark({ betRef: "b" }), mark({ roundId: "gone" })];
  expect(await show([record({ ids: ["a"], round: "r" })], [entry({ ids: ["b"] })], marks)).toEqual([
    "anna's entry b in null, mark b",
    "anna's record a/a, mark r",
    "mark gone",
  ]);
});

test("every neighbourhood knows its player", async () => {
  const records = [record({ ids: ["a"] }), record({ ids: ["a"], username: "bob" })];
  const found = await partition([], records, []);
  expect(found.map(({ username }) => username)).toEqual(["anna", "bob"]);
});

test("other work gets its turn while many rows are read and divided", async () => {
  const [records, entries] = [
    Array.from({ length: 1_000 }, (_, index) => record({ ids: [`${index}`] })),
    Array.from({ length: 1_000 }, (_, index) => entry({ ids: [`${index}`] })),
  ];
  for (const work of [
    () => nextFrontier([], records, entries, new Set()),
    () => partition([], records, entries),
  ]) {
    let turns = 0;
    let isOver = false;
    const other = () => {
      turns += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    await work();
    isOver = true;
    expect(turns).toBeGreaterThan(10);
  }
});

const ids = fc.constantFrom("a", "b", "c", "d", "e");
const rounds = fc.constantFrom("r", "s", "t", "UNKNOWN", "");
const players = fc.constantFrom("anna", "bob");
const side = fc.record({ username: players, ids: fc.tuple(ids, ids), round: rounds });
const things = fc.record({
  records: fc.array(side.map(record), { maxLength: 8 }),
  entries: fc.array(side.map(entry), { maxLength: 8 }),
});

test("the order of reading does not matter", async () => {
  const shuffled = things.chain(({ records, entries }) =>
    fc.tuple(
      fc.constant({ records, entries }),
      fc.shuffledSubarray(records, { minLength: records.length }),
      fc.shuffledSubarray(entries, { minLength: entries.length }),
    ),
  );
  await fc.assert(
    fc.asyncProperty(shuffled, async ([{ records, entries }, otherRecords, otherEntries]) => {
      expect(await show(otherRecords, otherEntries)).toEqual(await show(records, entries));
    }),
  );
});

test("no member is lost, and no two neighbourhoods share a key", async () => {
  await fc.assert(
    fc.asyncProperty(things, async ({ records, entries }) => {
      const found = await partition([], records, entries);
      expect(found.flatMap((one) => one.records)).toHaveLength(records.length);
      expect(found.flatMap((one) => one.entries)).toHaveLength(entries.length);
      const frontiers = await Promise.all(
        found.map((one) => nextFrontier([], one.records, one.entries, new Set())),
      );
      const keys = frontiers.map(
        ({ rounds, bets }) =>
          new Set([
            ...rounds.map((key) => JSON.stringify(["round", key])),
            ...bets.map((key) => JSON.stringify(key)),
          ]),
      );
      expect(keys.reduce((sum, { size }) => sum + size, 0)).toBe(
        new Set(keys.flatMap((one) => [...one])).size,
      );
    }),
  );
});

describe("what to load next", () => {
  test("follows from the marks, then from what was found with them, each key once", async () => {
    const known = new Set<string>();
    const marks = [mark({ roundId: "r" }), mark({ betRef: "a" }), mark({ roundId: "r" })];
    expect(await nextFrontier(marks, [], [], known)).toEqual({
      rounds: [["anna", "r"]],
      bets: [["anna", "a"]],
    });
    const found = [record({ ids: ["a", "b"], round: "r" })];
    expect(await nextFrontier(marks, found, [], known)).toEqual({ rounds: [], bets: [["anna", "b"]] });
    const entries = [entry({ ids: ["b"], round: "UNKNOWN" }), entry({ ids: ["c"], round: "s" })];
    expect(await nextFrontier(marks, found, entries, known)).toEqual({
      rounds: [["anna", "s"]],
      bets: [["anna", "c"]],
    });
    expect(await nextFrontier(marks, found, entries, known)).toEqual({ rounds: [], bets: [] });
  });

  test("says when the subject of a mismatch was read", async () => {
    const known = new Set<string>();
    await nextFrontier([mark({ roundId: "a:1" }), mark({ betRef: "b:2" })], [], [], known);
    const isKnown = (username: string, subject: string) => known.has(keyOfSubject(username, subject));
    expect([isKnown("anna", "round:a:1"), isKnown("anna", "bet:b:2")]).toEqual([true, true]);
    expect([isKnown("anna", "bet:a:1"), isKnown("bob", "round:a:1")]).toEqual([false, false]);
  });
});
