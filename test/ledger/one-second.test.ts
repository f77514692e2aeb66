/**
 * Ledgers with whole seconds and random ids: the order of entries within a second is lost, and must not matter.
 * RECON_HISTORIES=10000 plays more histories, RECON_SEED others.
 */

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import type { AssessSettings } from "../../src/diff/compare.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { amount, exampleRecord, HOUR_MS, NOON } from "../support/examples.ts";
import { type ModelBet, ModelPlayer, showCents, type Turn } from "./lives.ts";

const HISTORIES = Number(process.env["RECON_HISTORIES"] ?? 500);
const SETTINGS: AssessSettings = {
  productId: "P1",
  matchBy: ["betId", "id", "round"],
  ledgerStart: NOON - 1000 * HOUR_MS,
  stuckOpenAfterMs: HOUR_MS,
  openBetsListed: true,
  lostBets: "written",
  nominalStakes: false,
  tolerance: new Map(),
};

/**
 * A bet with a stake, and up to seven turns that a provider could send and an operator would accept. Each has an amount
 * of its own, because an equal reward is a repeat.
 */
const turn = fc.record({ what: fc.nat(60), bet: fc.constant(0), cents: fc.integer({ min: 1, max: 500 }) });
const histories = fc.uniqueArray(turn, { minLength: 2, maxLength: 8, selector: ({ cents }) => cents });

function play(turns: readonly Turn[]): ModelPlayer {
  const player = new ModelPlayer({ settlesOnce: true });
  for (const turn of turns) player.play(turn);
  return player;
}

const inOneSecond = (entries: readonly CallbackEntry[]) =>
  entries.map((entry) => ({ ...entry, entryId: randomUUID(), occurredAt: NOON, receivedAt: NOON }));

function recordOf({ txnId, status, stake, settlement, reward, kind }: ModelBet): StoredRecord[] {
  if (kind === "tip") return [];
  const listed = { open: "OPEN", settled: "SETTLED", void: "VOID" } as const;
  const payout = amount(showCents(status === "settled" ? settlement + reward : 0));
  return [
    exampleRecord({
      betId: txnId,
      betStatus: listed[status],
      stake: amount(showCents(stake)),
      payout,
      payoutStatus: "UNKNOWN",
    }),
  ];
}

const alarmsOf = (records: readonly StoredRecord[], entries: readonly CallbackEntry[]) =>
  assessPairs(records, foldEntries(entries, { singleState: false }), SETTINGS).flatMap(
    ({ pending }) => pending?.content.reason ?? [],
  );

test(`no true history of one bet within one second raises an alarm (${HISTORIES} histories)`, () => {
  let played = 0;
  fc.assert(
    fc.property(histories, (turns) => {
      const { bets, entries } = play(turns);
      played += 1;
      const said = entries.map(({ callback, moved }) => `${callback} ${moved?.toFixed()}`);
      expect({ said, alarms: alarmsOf(bets.flatMap(recordOf), inOneSecond(entries)) }).toEqual({
        said,
        alarms: [],
      });
    }),
    { numRuns: HISTORIES, seed: Number(process.env["RECON_SEED"] ?? 34) },
  );
  expect(played).toBeGreaterThanOrEqual(HISTORIES);
});
