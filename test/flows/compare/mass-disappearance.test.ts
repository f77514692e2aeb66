/** More records vanish from one window than any page, mark or batch can hold, and every one of them is noticed. */

import { expect, test } from "vitest";
import type { BetRecord, FetchBetPage } from "../../../src/bet.ts";
import { parseInstant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { silentLog } from "../../../src/log.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { fetchNextWindow } from "../../support/pull-product.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, ledgerBegins } = useDiffWorld();
const config = parseConfig({ products: [{ productId: "P1" }] });

const BETS = 2_300;
const PAGE = 1_000;

const idOf = (bet: number) => `bet-${String(bet).padStart(5, "0")}`;
const ofBet = (bet: number) => ({
  username: `player-${bet % 400}`,
  roundId: `round-${Math.floor(bet / 3)}`,
});

test("2,300 bets vanish from one hour, and each is a mismatch", async () => {
  await ledgerBegins();
  let listed: BetRecord[] = Array.from({ length: BETS }, (_, bet) =>
    recordOf("25", { ...ofBet(bet), betId: idOf(bet), id: `rec-${bet}` }),
  );
  await receive(
    ...Array.from({ length: BETS }, (_, bet) =>
      callbacksOf("25", { ...ofBet(bet), txnId: idOf(bet) }).map((entry) => ({
        ...entry,
        entryId: `${bet} ${entry.entryId}`,
        requestId: `${bet} ${entry.requestId}`,
      })),
    ).flat(),
  );
  const fetchPage: FetchBetPage = async ({ from, to, nextId }) => {
    const inRange = listed.filter((record) => {
      const at = parseInstant(record.accountingDate, "accountingDate");
      return from <= at && at < to;
    });
    const at = Number(nextId ?? 0);
    const next = at + PAGE < inRange.length ? String(at + PAGE) : null;
    const page = { records: inRange.slice(at, at + PAGE), rejected: [], tookMs: 1 };
    return { ...page, nextId: next, requestedAt: clock.now() };
  };
  const context = {
    sql,
    config,
    clock: { now: clock.now, sleep: async () => {} },
    log: silentLog,
    fetchPage,
  };
  const never = new AbortController().signal;
  const kinds = ["live", "confirm", "resweep"] as const;
  const fetchPlanned = async () => {
    while ((await fetchNextWindow(context, "P1", kinds, clock.now(), never)) !== null);
  };
  const sweep = async (minutes: number) => {
    clock.set(minute(minutes));
    await planWindows(sql, "P1", "resweep", [{ from: minute(-60), to: minute(0) }]);
    await fetchPlanned();
  };
  await sweep(60);
  await diffAt(61);
  // One of three bets of a round stays, and must not hide the others.
  listed = listed.filter((_, bet) => bet % 3 === 0);
  const stays = listed.length;
  await sweep(120);
  expect(await sql`select count(*) as count from record_absences`).toEqual([{ count: BETS - stays }]);
  for (let minutes = 121; minutes <= 140; minutes += 1) {
    await diffAt(minutes);
    await fetchPlanned();
  }
  const kindsFound = await sql`select kind, status, count(*) as count from mismatches group by 1, 2`;
  expect(kindsFound).toEqual([{ kind: "vanished-at-provider", status: "open", count: BETS - stays }]);
});
