import { beforeEach, describe, expect, test } from "vitest";
import { readClosedDays, readClosedTime } from "../../../src/closing/closed-day-store.ts";
import type { ZonedDay } from "../../../src/closing/day-bounds.ts";
import { findFlaw } from "../../../src/closing/statement.ts";
import { closeDueDays } from "../../../src/flows/closing/close-days.ts";
import { findCorrections } from "../../../src/flows/closing/find-corrections.ts";
import { READY_TO_CLOSE, readMonth, readStatement } from "../../../src/flows/closing/read-statement.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { parseDay, parseMonth } from "../../../src/ops/input/report-query.ts";
import { correctionsOfAll } from "../../support/corrections.ts";
import { amount, exampleSettle, HOUR_MS } from "../../support/examples.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const { sql, clock, diffAt, receive, listed, readAll, ledgerBegins } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant } = useClosing(sql, clock);

beforeEach(async () => {
  await ledgerBegins();
});

/** The day of the examples is over and complete; one bet agrees, another pays 5 more at the provider. */
async function playDay(): Promise<void> {
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  await receive(...callbacksOf("20"), ...callbacksOf("20", { txnId: "bet-2", roundId: "round-2" }));
  await listed(recordOf("20"), recordOf("25", { id: "rec-2", betId: "bet-2", roundId: "round-2" }));
  await diffAt(20 * 60);
  clock.set(TODAY + DAY_MS + HOUR_MS);
}

describe("closing a day", () => {
  test("stores its statement with a number and the hash of the day before", async () => {
    await playDay();
    expect(await close("2026-11-20")).toMatchObject({
      isNew: true,
      closed: { number: 1, previousHash: null },
    });
    clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
    await close("2026-11-21");
    const [first, second] = await readClosedDays(sql, 0, 10);
    expect(first?.rows).toMatchObject([
      {
        productId: "P1",
        provider: { bets: 2, payout: "45" },
        difference: "5",
        mismatches: "5",
        complete: true,
      },
    ]);
    expect(second).toMatchObject({ number: 2, previousHash: first?.hash, from: first?.to });
    if (first === undefined || second === undefined) throw new Error("two days are closed");
    expect([findFlaw(first, null), findFlaw(second, first)]).toEqual([null, null]);
    expect((await readClosedTime(sql))?.to).toBe(TODAY + 2 * DAY_MS);
  });

  test("a second time changes nothing", async () => {
    await playDay();
    await close("2026-11-20");
    expect(await close("2026-11-20")).toMatchObject({ isNew: false, closed: { number: 1 } });
    expect(await readClosedDays(sql, 0, 10)).toHaveLength(1);
  });

  test("at the same time in two processes closes it once", async () => {
    await playDay();
    const results = await Promise.all([close("2026-11-20"), close("2026-11-20")]);
    expect(results.filter((one) => "isNew" in one && one.isNew)).toHaveLength(1);
    expect(await readClosedDays(sql, 0, 10)).toHaveLength(1);
  });

  test("leaves a day open that has not ended, or was not fetched, and says why", async () => {
    await playDay();
    clock.set(TODAY + DAY_MS - 1);
    expect(await close("2026-11-20")).toMatchObject({ reason: expect.stringContaining("in the future") });
    clock.set(TODAY + 3 * DAY_MS + HOUR_MS);
    await sql`update windows set status = 'gap' where from_at = ${TODAY}`;
    expect(await close("2026-11-20")).toMatchObject({
      reason:
        "P1 was not fetched from 2026-11-20 00:00:00Z to 2026-11-20 01:00:00Z (recon coverage says why).",
    });
    expect(await readClosedDays(sql, 0, 10)).toEqual([]);
  });

  test("refuses a day that is not the next one", async () => {
    await playDay();
    clock.set(TODAY + 5 * DAY_MS);
    await close("2026-11-20");
    await expect(close("2026-11-22")).rejects.toThrow(
      "2026-11-22 cannot be closed: days are closed in order, and 2026-11-21 is the next one",
    );
    await expect(close("2026-11-18")).rejects.toThrow("the first closed day is later");
  });

  test("by itself begins with the first whole day, and stops if closing.after is not over", async () => {
    await playDay();
    clock.set(TODAY + 2 * DAY_MS + 2 * HOUR_MS);
    const due = () => closeDueDays(context({ closing: { after: "P1D" } }), new AbortController().signal);
    expect((await due()).map((one) => ("closed" in one ? one.closed.day : one.reason))).toEqual([
      "2026-11-19",
      "2026-11-20",
    ]);
    expect(await due()).toEqual([]);
  });

  test("continues where the last day ended when the zone changes", async () => {
    await playDay();
    clock.set(TODAY + 4 * DAY_MS);
    await close("2026-11-20");
    await close("2026-11-21", "Asia/Bangkok");
    const [first, second] = await readClosedDays(sql, 0, 10);
    expect(second).toMatchObject({ day: "2026-11-21", from: first?.to, to: TODAY + DAY_MS + 17 * HOUR_MS });
  });
});

describe("a date whose time a longer day took, because the zone changed twice", () => {
  const more = { closing: { zone: "Pacific/Kiritimati" } };
  const left = "it has no day of its own, because its time belongs to the closed day 2026-11-20";

  beforeEach(async () => {
    await fetched(TODAY - 3 * DAY_MS, TODAY + 3 * DAY_MS);
    clock.set(TODAY + 3 * DAY_MS + HOUR_MS);
    await close("2026-11-19", "Pacific/Kiritimati");
    await close("2026-11-20", "Pacific/Pago_Pago");
  });

  test("has no statement of its own, but that of the day which has it; another zone's day is computed", async () => {
    const nothing = async ({ day, zone }: ZonedDay) => ({ day, zone, rows: [] });
    const ask = (zone: string, isZoneAsked: boolean) =>
      readStatement(context(more), { ...parseDay("2026-11-21", zone), isZoneAsked }, nothing);
    for (const isZoneAsked of [false, true])
      await expect(ask("Pacific/Kiritimati", isZoneAsked)).rejects.toMatchObject({
        code: "not-found",
        message: `there is no statement of 2026-11-21: ${left} (closing.zone changed); ask for 2026-11-20`,
      });
    expect(await ask("UTC", true)).toMatchObject({ day: "2026-11-21", zone: "UTC", closed: null });
  });

  test("cannot be closed, says which day has it, and keeps no month open", async () => {
    await expect(close("2026-11-21", "Pacific/Kiritimati")).rejects.toThrow(left);
    const { open } = await readMonth(context(more), parseMonth("2026-11"));
    expect(open.map(({ day }) => day)).not.toContain("2026-11-21");
    expect(open.find(({ day }) => day === "2026-11-22")?.reason).toBe(READY_TO_CLOSE);
    expect(await close("2026-11-22", "Pacific/Kiritimati")).toMatchObject({
      closed: { number: 3, from: TODAY + DAY_MS + 11 * HOUR_MS },
    });
    await expect(close("2026-11-21", "Pacific/Kiritimati")).rejects.toThrow(left);
    await expect(close("2026-11-18", "Pacific/Kiritimati")).rejects.toThrow("the first closed day is later");
  });
});

describe("a later change of a closed day", () => {
  test("is a correction with the old and new amounts, and the statement stays", async () => {
    await playDay();
    await close("2026-11-20");
    const [before] = await readClosedDays(sql, 0, 10);
    await receive(
      exampleSettle({
        entryId: "late",
        requestId: "late",
        transactionType: null,
        payoutAmount: amount("3"),
        occurredAt: clock.now(),
        receivedAt: clock.now(),
      }),
    );
    await diffAt(14 * 60);
    await correct();
    const [found] = await correctionsOfAll(sql);
    expect(found).toMatchObject({
      day: "2026-11-20",
      productId: "P1",
      betId: "bet-1",
      transactionId: "bet-1",
    });
    expect(await readClosedDays(sql, 0, 10)).toEqual([before]);
    await expectInvariant();
  });

  test("restated by the provider, and resolved by a user", async () => {
    await playDay();
    await close("2026-11-20");
    await listed(recordOf("22", { updatedDate: "2026-11-21T00:30:00Z" }));
    const [mismatch] = await readAll();
    await actOnMismatches(context(), {
      action: "resolve",
      target: { ids: [mismatch?.id ?? ""] },
      note: "paid by hand",
      by: "mia",
      expected: null,
      adjustment: { amount: "4", ref: "r-1" },
    });
    await diffAt(14 * 60);
    await correct();
    const all = await correctionsOfAll(sql);
    expect(
      all
        .map(({ betId, difference, reason }) => ({ betId, difference, reason }))
        .sort((a, b) => ((a.betId ?? "") < (b.betId ?? "") ? -1 : 1)),
    ).toMatchObject([
      {
        betId: "bet-1",
        difference: "2",
        reason: "The provider changed payout from 20.00 THB to 22.00 THB, net from 10.00 THB to 12.00 THB.",
      },
      {
        betId: "bet-2",
        difference: "0",
        reason: expect.stringContaining(
          `Mismatch ${mismatch?.id} was resolved by mia with the correction r-1 of 4.00 THB (“paid by hand”). Both sides are as they were. What explains their difference changed: mismatches from 5.00 THB to 0.00 THB, adjustments by hand from 0.00 THB to 4.00 THB, rest from 0.00 THB to 1.00 THB.`,
        ),
      },
    ]);
    await expectInvariant();
    await diffAt(16 * 60);
    await correct();
    await expectInvariant();
  });

  test("a decision that is changed is a correction that names the last one", async () => {
    await playDay();
    const [mismatch] = await readAll();
    const decide = (action: "ignore" | "reopen" | "resolve", by: string) =>
      actOnMismatches(context(), {
        action,
        target: { ids: [mismatch?.id ?? ""] },
        note: action,
        by,
        expected: null,
        adjustment: action === "resolve" ? { amount: "5", ref: "r-2" } : null,
      });
    await decide("ignore", "ann");
    await close("2026-11-20");
    await decide("reopen", "bob");
    await decide("resolve", "mia");
    await correct();
    expect(await correctionsOfAll(sql)).toMatchObject([
      {
        betId: "bet-2",
        reason: `Mismatch ${mismatch?.id} was resolved by mia with the correction r-2 of 5.00 THB (“resolve”). Both sides are as they were. What explains their difference changed: mismatches from 5.00 THB to 0.00 THB, adjustments by hand from 0.00 THB to 5.00 THB.`,
      },
    ]);
  });

  test("that arrives as a new bet, or moves to another day", async () => {
    await playDay();
    await close("2026-11-20");
    await receive(...callbacksOf("7", { txnId: "bet-3", roundId: "round-3" }));
    await listed(
      recordOf("7", { id: "rec-3", betId: "bet-3", roundId: "round-3" }),
      recordOf("20", { accountingDate: "2026-11-21T00:10:00Z" }),
    );
    await diffAt(14 * 60);
    await correct();
    expect((await correctionsOfAll(sql)).map(({ betId, reason }) => `${betId}: ${reason}`).sort()).toEqual([
      "bet-1: The bet no longer counts on this day, but on 2026-11-21, which is not closed.",
      "bet-3: The bet arrived after the day was closed.",
    ]);
    await expectInvariant();
    clock.set(minute(3 * 24 * 60));
    await close("2026-11-21");
    await expectInvariant();
  });

  test("that comes back from an open day, or comes from one for the first time, names this day", async () => {
    await playDay();
    await receive(...callbacksOf("30", { txnId: "bet-3", roundId: "round-3" }));
    const third = { id: "rec-3", betId: "bet-3", roundId: "round-3" };
    await listed(recordOf("30", { ...third, accountingDate: "2026-11-21T00:20:00Z" }));
    await diffAt(13 * 60);
    clock.set(TODAY + DAY_MS + HOUR_MS);
    await close("2026-11-20");
    await listed(
      recordOf("20", { accountingDate: "2026-11-21T00:10:00Z", updatedDate: "2026-11-21T00:30:00Z" }),
    );
    await diffAt(14 * 60);
    await correct();
    await sql`delete from corrections`;
    const updatedDate = "2026-11-21T01:30:00Z";
    await listed(recordOf("20", { updatedDate }), recordOf("30", { ...third, updatedDate }));
    await diffAt(16 * 60);
    await correct();
    const back = "The bet counts on this day now; before, it counted on 2026-11-21.";
    expect((await correctionsOfAll(sql)).map(({ betId, reason }) => `${betId}: ${reason}`).sort()).toEqual([
      `bet-1: ${back}`,
      `bet-3: ${back}`,
    ]);
  });

  test("to another currency says so, and of no bet that it arrived", async () => {
    await playDay();
    await close("2026-11-20");
    const inUsd = recordOf("20", { currency: "USD", updatedDate: "2026-11-21T00:30:00Z" });
    await listed(inUsd);
    await diffAt(14 * 60);
    await correct();
    const reasons = async () =>
      (await correctionsOfAll(sql)).map(({ currency, reason }) => `${currency}: ${reason}`).sort();
    expect(await reasons()).toEqual([
      expect.stringMatching(/^THB: The provider changed bets from 1 to 0, /),
      "USD: The provider's bet counts in USD now; before, it counted only in THB.",
    ]);
    await expectInvariant();

    await sql`delete from corrections`;
    await listed({ ...inUsd, currency: "THB", updatedDate: "2026-11-21T01:30:00Z" });
    await diffAt(16 * 60);
    await correct();
    expect(await reasons()).toContain("USD: The provider's bet no longer counts in USD, but in THB.");
  });

  test("of a round that agrees only as a whole names the whole round, and says of no bet that it is new", async () => {
    const roundId = "round-3";
    const payouts = async (first: string, updatedDate?: string) =>
      await listed(
        recordOf(first, {
          id: "rec-3",
          betId: "bet-3",
          roundId,
          ...(updatedDate === undefined ? {} : { updatedDate }),
        }),
        recordOf("20", { id: "rec-4", betId: "bet-4", roundId }),
      );
    await playDay();
    for (const [txnId, payout] of [
      ["bet-3", "30"],
      ["bet-4", "10"],
    ] as const)
      await receive(...callbacksOf(payout, { txnId, roundId }));
    await payouts("20");
    await close("2026-11-20");
    const reasons = async () =>
      (await correctionsOfAll(sql)).map(({ betId, reason }) => `${betId}: ${reason}`).sort();

    await payouts("27", "2026-11-21T01:30:00Z");
    await diffAt(14 * 60);
    await correct();
    const apart =
      "The bets of the round count one by one now; before, they counted together. In sum, the provider changed payout from 40.00 THB to 47.00 THB, net from 20.00 THB to 27.00 THB.";
    expect(await reasons()).toEqual([`bet-3: ${apart}`, `bet-4: ${apart}`]);
    await expectInvariant();

    await sql`delete from corrections`;
    await payouts("20", "2026-11-21T02:30:00Z");
    await diffAt(16 * 60);
    await correct();
    expect(await reasons()).toEqual([
      expect.stringContaining(
        "The bets of the round count together now; before, they counted one by one. In sum, the provider changed payout from 47.00 THB to 40.00 THB",
      ),
      expect.stringContaining("bet-4: The bets of the round count together now"),
    ]);
  });

  test("of a product that is not in the settings becomes a correction when it is again, and holds up no other", async () => {
    await playDay();
    await close("2026-11-20");
    const [mismatch] = await readAll();
    await actOnMismatches(context(), {
      action: "resolve",
      target: { ids: [mismatch?.id ?? ""] },
      note: "paid by hand",
      by: "mia",
      expected: null,
      adjustment: { amount: "5", ref: "r-1" },
    });
    await sql`insert into closing_marks (product_id, usernames, round_ids, bet_refs) values ('P2', '{x}', '{null}', '{x}')`;
    const other = context({ products: [{ productId: "P2" }] });
    expect(await findCorrections(other, new AbortController().signal)).toBe(0);
    expect(await sql`select distinct product_id from closing_marks`).toEqual([{ product_id: "P1" }]);
    expect(await correct()).toBe(1);
    expect(await sql`select from closing_marks`).toHaveLength(0);
    await expectInvariant();
  });

  test("of open days only leaves closed days alone", async () => {
    await playDay();
    await close("2026-11-20");
    const at = { occurredAt: clock.now(), receivedAt: clock.now() };
    await receive(...callbacksOf("7", { txnId: "bet-9", roundId: "round-9", ...at }));
    await diffAt(14 * 60);
    expect(await correct()).toBe(0);
    expect(await sql`select from closing_marks`).toHaveLength(0);
  });
});
