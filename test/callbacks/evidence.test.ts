import { expect, test } from "vitest";
import { readEvidence } from "../../src/flows/read/read-evidence.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { CONFIG, startOperator } from "./operator.ts";

const { sql } = useDatabase();

test("the evidence has the bodies of what the callbacks server applied and of what it refused, without session tokens", async () => {
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
