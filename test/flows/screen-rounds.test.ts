/** Which rounds a screening drops, and which it leaves to the exact comparison, whichever way it reads them. */

import { beforeAll, describe, expect, test } from "vitest";
import { inOneMoment } from "../../src/db/client.ts";
import { screenMarks } from "../../src/diff/screen-store.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useDatabase } from "../support/database.ts";
import { amount, NOON } from "../support/examples.ts";
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
  await appendEntries(sql, entries, NOON);
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
async function screened(productId: string, readsAll: boolean): Promise<string[]> {
  const due = { marks: 0, upTo: Number.MAX_SAFE_INTEGER, readsAll };
  await inOneMoment(sql, (tx) => screenMarks(tx, productId, NOON, due, 1000));
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

  test.each(Object.keys(uncertain))("%s is looked at", async (name) => {
    expect(await screened(productOf(name), readsAll)).toContain("anna round-1");
  });

  test("of several bets is looked at where one of them differs", async () => {
    const [first, second, third, fourth] = agreeing["of several bets"]?.entries ?? [];
    if (!first || !second || !third || !fourth) throw new Error("the round has four entries");
    const productId = productOf("one of several");
    const entries = [first, second, third, { ...fourth, payoutAmount: amount("24") }];
    await play([{ productId, entries, records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })] }]);
    expect(await screened(productId, readsAll)).toEqual(["anna round-1"]);
  });

  test("is dropped although another player's round of that name, and her other round, are looked at", async () => {
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

  test("that is not due, of another product, or a bet without one stays marked", async () => {
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
