import { describe, expect, onTestFinished, test } from "vitest";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { useDatabase } from "../support/database.ts";
import { amount, NOON } from "../support/examples.ts";
import { exampleEnvelope } from "./operator.ts";
import { openTogether, outcomesOf, type Sent } from "./together.ts";

const { sql } = useDatabase();

/** Placements of 1 THB, one in each of these rounds. */
function place(player: string, productId: string, rounds: readonly string[]): Sent {
  const txns = rounds.map((roundId, index) => ({
    id: `${player}-bet-${index}`,
    status: "OPEN",
    roundId,
    betAmount: 1,
  }));
  return { name: "placeBets", body: { ...exampleEnvelope(player), productId, txns } };
}

const marks = async () =>
  await sql`
    select product_id as product, mark.*, due_at > now() as "isLater"
    from diff_marks, unnest(usernames, round_ids, bet_refs) as mark (player, round, bet) order by bet`;

test.each([
  ["alone", "alone"],
  ["together with those of other players", "together"],
])("the entries of requests that are applied %s are marked and counted, each once", async (_how, run) => {
  // The operator's clock is ahead, so the mark is due by the database's clock.
  const together = openTogether(sql, Date.now() + 3_600_000);
  onTestFinished(() => together.close());
  const [anna, ben, cora, dora] = [`anna-${run}`, `ben-${run}`, `cora-${run}`, `dora-${run}`] as const;
  for (const username of [anna, ben, cora, dora])
    await creditWallet(sql, { username, currency: "THB", amount: amount("10"), ref: username }, NOON);
  await sql`delete from diff_marks`;
  await sql`delete from entry_notes`;

  const batches = [
    [place(anna, "P1", ["round-1", "UNKNOWN"])],
    [place(ben, "S1", ["round-1"])],
    [place(cora, "P1", [""])],
    [place(dora, "P1", Array(11).fill("round-2"))],
  ];
  const answers = [];
  for (const batch of run === "together" ? [batches.flat()] : batches)
    answers.push(...(await together.answer(batch)));
  expect(outcomesOf(answers)).toEqual(["0 8", "0 9", "0 9", "10002"]);

  expect(await marks()).toEqual([
    { product: "P1", player: anna, round: "round-1", bet: `${anna}-bet-0`, isLater: false },
    { product: "P1", player: anna, round: null, bet: `${anna}-bet-1`, isLater: false },
    { product: "S1", player: ben, round: "round-1", bet: `${ben}-bet-0`, isLater: false },
    { product: "P1", player: cora, round: null, bet: `${cora}-bet-0`, isLater: false },
  ]);
  const [added] = await sql`select sum(added)::integer as entries from entry_notes`;
  expect(added).toEqual({ entries: 4 });
});

describe("a batch's row of marks", () => {
  /** Players with 10 THB each, and no marks yet. */
  async function openPlayers(...players: readonly string[]) {
    for (const username of players)
      await creditWallet(sql, { username, currency: "THB", amount: amount("10"), ref: username }, NOON);
    await sql`delete from diff_marks`;
  }

  test("has no mark for a replay, which wrote no entry", async () => {
    const together = openTogether(sql);
    onTestFinished(() => together.close());
    await openPlayers("emma", "finn");
    const sent = [place("emma", "P1", ["round-1"])];
    await together.answer(sent);
    await sql`delete from diff_marks`;
    const answers = await together.answer([...sent, place("finn", "P1", ["round-1"])]);
    expect(outcomesOf(answers)).toEqual(["0 9", "0 9"]);
    expect((await marks()).map(({ player }) => player)).toEqual(["finn"]);
  });

  test("is due when its entries were received, even if the operator's clock is behind", async () => {
    const behind = Date.now() - 3_600_000;
    await openPlayers("gina", "hugo");
    const together = openTogether(sql, behind);
    onTestFinished(() => together.close());
    await together.answer([place("gina", "P1", ["round-1"]), place("hugo", "P1", ["round-1"])]);
    expect(await sql`select due_at as "dueAt" from diff_marks`).toEqual([{ dueAt: behind }]);
  });
});
