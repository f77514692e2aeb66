/** Large rounds: a comparison of a part of their bets finds the same as a comparison of all of them. */

import { describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import { writeMarks } from "../../../src/diff/mark-store.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { COMPARE_LIMITS, type CompareLimits } from "../../../src/flows/compare/comparison-context.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { silentLog } from "../../../src/log.ts";
import { emptyTables } from "../../support/database.ts";
import { HOUR_MS } from "../../support/examples.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "./comparison-world.ts";
import { keepOtherwise, type Played, playRounds, waveOf } from "./screen-world.ts";

const { sql, clock, receive, listed, fetchPlanned, ledgerBegins } = useDiffWorld();
const signal = new AbortController().signal;

const WHOLE: CompareLimits = { ...COMPARE_LIMITS, wholeRound: 1_000_000 };
const NARROW: CompareLimits = { ...COMPARE_LIMITS, wholeRound: 4 };

/** The same bets, all of them in a few rounds that are used for ever. */
function inFewRounds(played: readonly Played[], rounds: number): Played[] {
  const within = <One extends { readonly roundId: string | null }>(one: One): One => {
    const number = /^r(-?\d+)$/.exec(one.roundId ?? "")?.[1];
    return number === undefined ? one : { ...one, roundId: `w${Math.abs(Number(number)) % rounds}` };
  };
  return played.map(({ entries, records }) => ({
    entries: entries.map(within),
    records: records.map(within),
  }));
}

/** The same bets from a provider whose records name most bets by their own id, and have a ticket of their own as betId. */
function namedById(played: readonly Played[]): Played[] {
  return played.map(({ entries, records }, round) => ({
    entries,
    records: records.map((one, index) =>
      (round + index) % 4 === 0 ? one : { ...one, betId: `ticket-${one.id}`, id: one.betId },
    ),
  }));
}

/** Waves of play arrive, each compared when it comes and when its graces are over. */
async function playThrough(played: readonly Played[], limits: CompareLimits, config: Config, waves: number) {
  await emptyTables(sql);
  await ledgerBegins();
  let large = 0;
  for (let wave = 0; wave < waves; wave += 1) {
    clock.set(minute(wave * 600));
    const now = waveOf(played, wave, waves);
    await receive(...now.entries);
    await listed(...now.records);
    for (const minutes of [1, 120]) {
      clock.set(minute(wave * 600 + minutes));
      const context = { sql, config, clock, log: silentLog };
      await compareProduct(context, "P1", signal, { screenFrom: Number.POSITIVE_INFINITY, limits });
      await fetchPlanned();
    }
    const [row] = await sql<{ large: number }[]>`
      select count(*) as large from wide_rounds where currency is not null`;
    large = Math.max(large, row?.large ?? 0);
  }
  const context = { sql, config, clock, log: silentLog };
  const dayOf = async (name: string) => {
    const from = Date.parse(`${name}T00:00:00Z`);
    const day = { day: name, zone: "UTC", from, to: from + 24 * HOUR_MS };
    return await readReport(context, day, signal, limits);
  };
  const reports = [await dayOf("2026-11-20"), await dayOf("2026-11-21")];
  return { large, state: { ...(await readState()), reports } };
}

const readState = async () => ({
  mismatches: await sql`
    select username, subject, kind, status, currency, bet_id, transaction_id, round_id, amount_at_risk, reason, provider,
      ledger, first_seen_at, last_seen_at, resolved_at
    from mismatches order by username, subject, kind`,
  events: await sql`
    select m.username, m.subject, m.kind, e.at, e.from_status, e.to_status, e.reason
    from mismatch_events e join mismatches m on m.id = e.mismatch_id order by 1, 2, 3, 4, 5, 6, 7`,
});

const product = (fields: Record<string, unknown>) =>
  parseConfig({ products: [{ productId: "P1", ...fields }] });

describe("a large round is compared as if all of it were loaded", () => {
  test.each<[number, number, string, Record<string, unknown>]>([
    [10, 1, "by all rules", {}],
    [17, 3, "by all rules", {}],
    [18, 2, "by the record's id", { matchBy: ["id", "round"] }],
    [26, 1, "by the round alone", { matchBy: ["round"] }],
    [23, 2, "by the round first", { matchBy: ["round", "betId"] }],
    [13, 2, "by bets alone", { matchBy: ["betId"] }],
    [14, 2, "of an operator that omits losses", { lostBets: "omitted" }],
    [15, 2, "with single-state settlements", { singleState: true }],
    [12, 1, "by all rules, named by the record's id", {}],
    [31, 2, "by all rules, named by the record's id", {}],
    [20, 2, "by the id before the betId, named by the record's id", { matchBy: ["id", "betId", "round"] }],
    [22, 1, "by the id before the betId", { matchBy: ["id", "betId"] }],
    [24, 2, "by the record's id alone, named by it", { matchBy: ["id"] }],
    [28, 2, "by the round alone, named by the record's id", { matchBy: ["round"] }],
    [30, 2, "of an operator that omits losses, named by the record's id", { lostBets: "omitted" }],
  ])("in a random world (seed %i: %i rounds of each player, %s)", async (seed, rounds, how, fields) => {
    const seeded = playRounds(seed, 40);
    const kept =
      fields["lostBets"] === "omitted" ? seeded.map((one, index) => keepOtherwise(one, index)) : seeded;
    // A round with an entry for all its bets is compared as one: half of the worlds have no such entry.
    const actsOnRound = ({ entries }: Played) => entries.some((one) => one.transactionType === "BY_ROUND");
    const named = how.includes("named by") ? namedById(kept) : kept;
    const played = inFewRounds(seed % 2 === 0 ? named.filter((one) => !actsOnRound(one)) : named, rounds);
    const config = product(fields);
    const exact = await playThrough(played, WHOLE, config, 2);
    const narrow = await playThrough(played, NARROW, config, 2);
    expect(narrow.state).toEqual(exact.state);
    expect(exact.large).toBe(0);
    if (seed % 2 === 0) expect(narrow.large).toBeGreaterThan(0);
  });
});

/** Bets of one round that agree; every other bet is lost. */
function agreeingBets(
  ids: (txnId: string) => { betId: string; id: string },
  count: number,
  skipsLosses = false,
) {
  return Array.from({ length: count }, (_, index): Played => {
    const txnId = `bet-${index}`;
    const payout = index % 2 === 0 ? "0" : "1";
    const entries = callbacksOf(payout, { txnId, roundId: "r0" }).map((entry) => ({
      ...entry,
      entryId: `${txnId} ${entry.callback}`,
      requestId: `${txnId} ${entry.callback}`,
    }));
    return {
      entries: skipsLosses && payout === "0" ? entries.slice(0, 1) : entries,
      records: [recordOf(payout, { ...ids(txnId), roundId: "r0" })],
    };
  });
}

describe("the agreeing bets of a large round are not loaded again", () => {
  const byBetId = (txnId: string) => ({ betId: txnId, id: `tx-${txnId}` });
  const byId = (txnId: string) => ({ betId: `ticket ${txnId}`, id: txnId });
  test.each<[string, Record<string, unknown>, typeof byId]>([
    ["named by their betId", {}, byBetId],
    ["named by the record's id alone", {}, byId],
    ["named by the record's id alone, which comes first", { matchBy: ["id", "betId", "round"] }, byId],
    ["named by the record's id, of a product that matches by nothing else", { matchBy: ["id"] }, byId],
    ["named by the record's id, of a product that matches by rounds", { matchBy: ["round"] }, byId],
    ["lost without a settlement", { lostBets: "omitted" }, byBetId],
    ["lost without a settlement, named by the record's id", { lostBets: "omitted" }, byId],
  ])("%s", async (_, fields, ids) => {
    const limits = { wholeRound: 4, rows: 40 };
    const config = product(fields);
    const played = agreeingBets(ids, 70, "lostBets" in fields);
    await ledgerBegins();
    const compare = async (arrived: readonly Played[]) => {
      await receive(...arrived.flatMap(({ entries }) => entries));
      await listed(...arrived.flatMap(({ records }) => records));
      clock.set(clock.now() + 1_000);
      // Only the size of the first wave is known.
      if (arrived.length > 1) {
        await sql`delete from diff_marks`;
        const mark = { username: "anna", roundId: "r0", betRef: null, dueAt: clock.now() };
        await writeMarks(sql, "P1", [mark]);
      }
      await compareProduct({ sql, config, clock, log: silentLog }, "P1", signal, { limits });
    };
    await compare(played.slice(0, 60));
    for (const one of played.slice(60)) await compare([one]);
    expect(await sql`select subject, reason from comparisons_set_aside`).toEqual([]);
    expect(await sql`select cardinality(apart) as apart from wide_rounds`).toEqual([{ apart: 0 }]);
    expect(await sql`select from mismatches`).toEqual([]);
    expect(await sql`select from diff_marks`).toEqual([]);
  });
});

test("a bet that only its record's id names is no bet of a product that matches by betId, once its round differs", async () => {
  const bets = Array.from({ length: 6 }, (_, index) => `bet-${index}`);
  const played = bets.map((txnId): Played => {
    const [placed, settled] = callbacksOf("1", { txnId, roundId: "r0" });
    const ids = { betId: `other ${txnId}`, id: txnId };
    return {
      entries: [placed, settled].flatMap((entry) =>
        entry === undefined ? [] : { ...entry, entryId: `${txnId} ${entry.callback}` },
      ),
      records: [recordOf("1", { ...ids, roundId: "r0" })],
    };
  });
  const odd = {
    ...(played[0] ?? { entries: [] }),
    records: [recordOf("9", { betId: "bet-0", id: "late", roundId: "r0" })],
  };
  const config = product({ matchBy: ["betId"] });
  const compare = async (limits: CompareLimits) => {
    clock.set(minute(0));
    await emptyTables(sql);
    await ledgerBegins();
    await receive(...played.flatMap(({ entries }) => entries));
    await listed(...played.flatMap(({ records }) => records));
    for (const minutes of [1, 120, 121, 300]) {
      clock.set(minute(minutes));
      if (minutes === 121) await listed(...odd.records);
      await compareProduct({ sql, config, clock, log: silentLog }, "P1", signal, { limits });
      await fetchPlanned();
    }
    return await readState();
  };
  const whole = await compare(WHOLE);
  expect(whole.mismatches.length).toBeGreaterThan(6);
  expect(await compare(NARROW)).toEqual(whole);
});
