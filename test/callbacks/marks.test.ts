import { expect, onTestFinished, test } from "vitest";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { useDatabase } from "../support/database.ts";
import { amount, NOON } from "../support/examples.ts";
import { exampleEnvelope } from "./operator.ts";
import { openTogether, outcomesOf, type Sent } from "./together.ts";

const { sql } = useDatabase();

/** Placements of 1 THB, one in each of these rounds. */
function place(player: string, rounds: readonly string[]): Sent {
  const txns = rounds.map((roundId, index) => ({
    id: `${player}-bet-${index}`,
    status: "OPEN",
    roundId,
    betAmount: 1,
  }));
  return { name: "placeBets", body: { ...exampleEnvelope(player), txns } };
}

test.each([
  ["alone", "alone"],
  ["together with those of other players", "together"],
])("the entries of requests that are applied %s are marked and counted, each once", async (_how, run) => {
  const together = openTogether(sql);
  onTestFinished(() => together.close());
  const [anna, ben, cora, dora] = ["anna", "ben", "cora", "dora"].map((name) => `${name}-${run}`) as [
    string,
    string,
    string,
    string,
  ];
  for (const username of [anna, ben, cora, dora])
    await creditWallet(sql, { username, currency: "THB", amount: amount("10"), ref: username }, NOON);
  await sql`delete from diff_marks`;
  await sql`delete from rows_added where table_name = 'callback_entries'`;

  const batches = [
    [place(anna, ["round-1", "UNKNOWN"])],
    [place(ben, ["round-1"])],
    [place(cora, [""])],
    [place(dora, Array(11).fill("round-2"))],
  ];
  const answers = [];
  for (const batch of run === "together" ? [batches.flat()] : batches)
    answers.push(...(await together.answer(batch)));
  expect(outcomesOf(answers)).toEqual(["0 8", "0 9", "0 9", "10002"]);

  expect(
    await sql`
      select usernames.name, round_id as "roundId", bet_ref as "betRef" from diff_marks, unnest(usernames, round_ids, bet_refs) as usernames (name, round_id, bet_ref)
      where product_id = 'P1' and due_at <= ${NOON} order by bet_ref`,
  ).toEqual([
    { name: anna, roundId: "round-1", betRef: `${anna}-bet-0` },
    { name: anna, roundId: null, betRef: `${anna}-bet-1` },
    { name: ben, roundId: "round-1", betRef: `${ben}-bet-0` },
    { name: cora, roundId: null, betRef: `${cora}-bet-0` },
  ]);
  const [added] =
    await sql`select sum(added)::integer as entries from rows_added where table_name = 'callback_entries'`;
  expect(added).toEqual({ entries: 4 });
});
