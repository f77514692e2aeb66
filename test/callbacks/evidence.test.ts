import { beforeEach, describe, expect, test } from "vitest";
import { readEvidence } from "../../src/flows/read/read-evidence.ts";
import { dropExpired } from "../../src/flows/retention/drop-expired.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { CONFIG, startOperator } from "./operator.ts";

const { sql } = useDatabase();
beforeEach(() => emptyTables(sql));

test("the evidence has the bodies of applied and of refused callbacks, without session tokens", async () => {
  const operator = await startOperator(sql);
  const token = { sessionToken: "a-session-token" };
  await operator.outcomeOf("placeBets", {}, { id: `placed-${operator.player}`, ...token });
  expect(await operator.outcomeOf("placeBets", {}, { id: `again-${operator.player}`, ...token })).toBe(
    "20002",
  );
  const context = { sql, config: CONFIG, clock: createTestClock(NOON), log: silentLog };
  const { username } = (await sql<{ username: string }[]>`select username from callback_entries`)[0] ?? {
    username: "",
  };
  const [{ receivedAt } = { receivedAt: 0 }] = await sql<{ receivedAt: number }[]>`
    select received_at as "receivedAt" from callback_entries`;
  await openMismatches(sql, CONFIG, NOON, [{ username, betId: "bet-1", occurredAt: receivedAt }]);
  const { mismatches } = await readEvidence(context, { ids: ["1"] });
  const [one] = mismatches;
  expect(one?.entries).toMatchObject([{ callback: "placeBets", body: "kept", bodyId: one?.bodies[0]?.id }]);
  expect(one?.bodies).toMatchObject([
    { requestId: `placed-${operator.player}`, statusCode: 0, body: expect.stringContaining('"bet-1"') },
    { requestId: `again-${operator.player}`, statusCode: 20002 },
  ]);
  expect(JSON.stringify(mismatches)).not.toContain("a-session-token");
});

describe("bodies that are older than retain.rawBodies", () => {
  const LATER = NOON + 400 * 24 * HOUR_MS;
  const context = { sql, config: CONFIG, clock: createTestClock(LATER), log: silentLog };
  const drop = () => dropExpired(context, new AbortController().signal, { rows: 2, batches: 100 });
  const left = async () => {
    const rows = await sql<{ id: string }[]>`select request_id as id from callback_bodies b order by b.id`;
    return rows.map(({ id }) => id).join(" ");
  };

  /** Two bets of one player: the first with a refused repetition, the second in another round. */
  async function play() {
    const operator = await startOperator(sql);
    const bet2 = { id: "bet-2", roundId: "round-2" };
    await operator.send("placeBets", {}, { id: "placed" });
    await operator.send("placeBets", {}, { id: "refused" });
    await operator.send("placeBets", bet2, { id: "other" });
    await operator.send("placeBets", bet2, { id: "refused-other" });
    return operator.player;
  }
  const of = (username: string): Partial<MismatchContent> => ({
    username,
    occurredAt: NOON,
    ledger: { ...LEDGER_SIDE, username },
    provider: { ...PROVIDER_SIDE, username },
  });
  const NONE = { betId: null, transactionId: null, roundId: null, ledger: null, provider: null };

  test.each([
    ["the bet", {}, "placed refused"],
    [
      "its round",
      { kind: "round-differs", ...NONE, subject: "round:round-1", roundId: "round-1" },
      "placed refused",
    ],
    [
      "the request",
      { kind: "balance-differs", ...NONE, subject: 'request:["placeBets","placed"]' },
      "placed",
    ],
    [
      "a session of the player",
      { kind: "session-differs", ...NONE, subject: `session:${new Date(NOON).toISOString()} THB` },
      "placed other",
    ],
    [
      "a top-up of this ref",
      { kind: "top-up-inconclusive", ...NONE, subject: "top-up:bet-1", transactionRef: "bet-1" },
      "placed refused",
    ],
    ["the bet at another time", { occurredAt: NOON - HOUR_MS, ledger: null, provider: null }, "placed"],
    [
      "another bet",
      { betId: "bet-9", transactionId: "bet-9", roundId: "round-9", ledger: null, provider: null },
      "",
    ],
    ["the bet of another product", { productId: "P2" }, ""],
  ] as const)("stay while a mismatch of %s is not decided, and go afterwards", async (_, fields, kept) => {
    const player = await play();
    await openMismatches(sql, CONFIG, NOON, [{ ...of(player), ...(fields as Partial<MismatchContent>) }]);
    await drop();
    expect(await left()).toBe(kept);
    await sql`update mismatches set status = 'acknowledged'`;
    await drop();
    expect(await left()).toBe(kept);
    await sql`update mismatches set status = 'resolved', resolved_by = 'anna'`;
    await drop();
    expect(await left()).toBe("");
  });

  test("also stay if the provider names another player", async () => {
    const player = await play();
    const kind = "username-differs";
    await openMismatches(sql, CONFIG, NOON, [{ ...of(player), kind, username: "bo" }]);
    await drop();
    expect(await left()).toBe("placed refused");
  });

  test("also stay if the provider sends a year that PostgreSQL cannot read", async () => {
    const player = await play();
    const provider = { ...PROVIDER_SIDE, username: player, accountingDate: "+012026-11-20T00:00:00.000Z" };
    await openMismatches(sql, CONFIG, NOON, [{ ...of(player), provider }]);
    await drop();
    expect(await left()).toBe("placed refused");
  });
});
