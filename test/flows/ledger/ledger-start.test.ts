/** If the start of the ledger moves back, earlier bets are compared. */

import { expect, test } from "vitest";
import { exampleEntry } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { clock, diffAt, receive, listed, fetchRange, mismatches } = useDiffWorld();
const since = (minutes: number) => ({ settings: { ledger: { since: iso(minutes) } } });

/** Compares after the grace periods, when everything was fetched. */
async function compareAt(minutes: number, options = {}): Promise<string[]> {
  await diffAt(minutes, options);
  clock.set(minute(minutes + 90));
  for (let from = -300; from < minutes + 60; from += 60) await fetchRange(minute(from), minute(from + 60));
  await diffAt(minutes + 91, options);
  return await mismatches();
}

test("a bet that only the ledger has is compared once ledger.since lies before it", async () => {
  const at = { txnId: "bet-0", roundId: "round-0", occurredAt: minute(-200), receivedAt: minute(-200) };
  await receive(...callbacksOf("25", at), ...callbacksOf("25"));
  await listed(recordOf("25"));
  expect(await compareAt(20, since(-60))).toEqual([]);
  expect(await compareAt(200, since(-300))).toEqual(["missing-at-provider of bet-0 is open"]);
});

test("a bet without a placement counts as older than the ledger until an older entry arrives", async () => {
  const [, settle] = callbacksOf("25");
  if (settle === undefined) throw new Error("a bet is a placement and a settlement");
  await receive(settle);
  await listed(recordOf("25"));
  expect(await compareAt(20)).toEqual([]);
  const daysBefore = minute(-5 * 24 * 60);
  const tip = { callback: "placeTips", username: "zoe", txnId: "tip", roundId: "tip" } as const;
  await receive(exampleEntry({ ...tip, occurredAt: daysBefore, receivedAt: minute(110) }));
  expect(await compareAt(200)).toEqual(["missing-placement of bet-1 is open"]);
});

test("a product's own start takes precedence over the ledger's", async () => {
  const own = (minutes: number) => ({
    settings: { products: [{ productId: "P1", ledgerSince: iso(minutes) }], ledger: { since: iso(-300) } },
  });
  await receive(...callbacksOf("25", { occurredAt: minute(-200), receivedAt: minute(-200) }));
  expect(await compareAt(20, own(-60))).toEqual([]);
  expect(await compareAt(200, own(-250))).toEqual(["missing-at-provider of bet-1 is open"]);
});
