/** Old windows, mismatches, alerts, transfers and rejected rows of closed days are deleted; what is still needed stays. */

import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { countRows } from "../../../src/db/row-counts.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, exampleEntry, HOUR_MS, NOON } from "../../support/examples.ts";
import { openMismatches } from "../../support/open-mismatches.ts";

const { sql } = useDatabase();
const DAY_MS = 24 * HOUR_MS;
const never = new AbortController().signal;
const clock = createTestClock(NOON);
const kept = { records: "P30D", entries: "P30D", mismatches: "P30D", windows: "P30D" };
const configOf = (retain: object) => parseConfig({ products: [{ productId: "P1" }], retain });
/** All bets are compared: a day of which one waits is not deleted. */
const drop = async (retain: object = kept) => {
  await sql`truncate diff_marks`;
  const context = { sql, config: configOf(retain), clock, log: silentLog };
  return await dropClosed(context, never, { rows: 2, batches: 100 });
};

const daysAgo = (days: number): Instant => NOON - days * DAY_MS;
const close = (upTo: Instant) => sql`
  insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
  values ('2026-11-19', 'UTC', ${daysAgo(1000)}, ${upTo}, 1, ${NOON}, 'hash', '{}')`;
const column = async (text: string) =>
  (await sql.unsafe<{ value: number | string }[]>(text)).map(({ value }) => value);

beforeEach(async () => {
  await emptyTables(sql);
  await close(daysAgo(1));
});

describe("windows older than retain.windows", () => {
  const window = (age: number, status: string, fields: { fetched?: number; kind?: string } = {}) => sql`
    insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at)
    values ('P1', ${fields.kind ?? "live"}, ${daysAgo(age)}, ${daysAgo(age) + HOUR_MS}, ${status}, ${daysAgo(age)},
      ${status === "done" ? daysAgo(fields.fetched ?? age) : null})`;
  const ages = () =>
    column(
      `select round(extract(epoch from '2026-11-20T12:00:00Z' - from_at) / 86400)::integer as value from windows order by id`,
    );

  test("are deleted if they are finished, and nothing else is", async () => {
    for (const age of [60, 50, 40, 20]) await window(age, "done");
    await window(45, "split");
    await window(44, "planned", { kind: "backfill" });
    await window(43, "gap", { kind: "resweep" });
    expect(await drop()).toMatchObject({ windows: 4 });
    expect(await ages()).toEqual([20, 44, 43]);
    expect(await drop({ windows: null })).toEqual({ records: 0, entries: 0 });
  });

  test("stay if they were fetched later, or fetched the time of a gap", async () => {
    await window(60, "done", { fetched: 10, kind: "backfill" });
    await window(50, "gap");
    await window(50, "done", { kind: "backfill" });
    await drop();
    expect(await ages()).toEqual([60, 50, 50]);
  });

  test("stay while their day is not closed", async () => {
    await sql`delete from closed_days`;
    await window(60, "done");
    expect(await drop()).toEqual({ records: 0, entries: 0 });
    expect(await ages()).toEqual([60]);
  });
});

describe("mismatches older than retain.mismatches", () => {
  /** @returns the subject, which names the test's own bet */
  const mismatch = async (bet: string, age: number, fields: Record<string, unknown> = {}) => {
    const at = daysAgo(age);
    await openMismatches(sql, configOf(kept), at, [
      { betId: bet, transactionId: bet, subject: `bet:${bet}`, occurredAt: at },
    ]);
    const ended = { status: "resolved", resolved_by: "recon", resolved_at: at, ...fields };
    await sql`update mismatches set ${sql(ended)} where bet_id = ${bet}`;
  };
  const left = () => column("select bet_id as value from mismatches order by bet_id");

  test("are deleted with their history and their comments if they have ended", async () => {
    await mismatch("old", 60);
    await mismatch("young", 20);
    await mismatch("lasting", 60, { resolved_at: daysAgo(20) });
    for (const status of ["open", "acknowledged"])
      await mismatch(status, 60, { status, resolved_by: null, resolved_at: null });
    await sql`insert into comments (about, about_id, at, by, note) select 'mismatch', id, now(), 'bo', 'asked' from mismatches`;
    expect(await drop()).toMatchObject({ mismatches: 1 });
    expect(await column("select about_id as value from comments order by 1")).toEqual(
      await column("select id as value from mismatches order by 1"),
    );
    expect(await left()).toEqual(["acknowledged", "lasting", "open", "young"]);
    expect(
      await sql`select from mismatch_events e where not exists (select from mismatches m where m.id = e.mismatch_id)`,
    ).toEqual([]);
    expect(await column("select count(*) as value from incident_members")).toEqual([4]);
  });

  test("take their incident with its comments along, once a newer incident of the kind exists", async () => {
    await mismatch("old", 60);
    await mismatch("young", 20);
    await sql`update incidents set open = 0, ended_at = last_at`;
    await sql`insert into comments (about, about_id, at, by, note) select 'incident', id, now(), 'bo', 'asked' from incidents`;
    expect(await drop()).toMatchObject({ mismatches: 1, incidents: 1 });
    expect(await column("select id as value from incidents")).toEqual([2]);
    expect(await column("select about_id as value from comments")).toEqual([2]);
  });

  test("stay if ops decided while the difference holds, unless their bet may be deleted too", async () => {
    await mismatch("decided", 60, { resolved_by: "ann" });
    await drop({ ...kept, records: null });
    expect(await left()).toEqual(["decided"]);
    await drop();
    expect(await left()).toEqual([]);
  });

  test("stay if ops decided as long as a row of their bet must stay, and go with the other ones of the bet", async () => {
    const at = daysAgo(60);
    const entry = (fields: Partial<CallbackEntry>) =>
      exampleEntry({ roundId: null, occurredAt: at, receivedAt: at, ...fields });
    await mismatch("open", 60, { resolved_by: "ann" });
    await mismatch("changed", 60, { resolved_by: "ann" });
    await mismatch("twice", 60, { resolved_by: "ann" });
    await openMismatches(sql, configOf(kept), at, [
      {
        kind: "round-differs",
        betId: null,
        transactionId: null,
        roundId: "round-twice",
        subject: "round:round-twice",
        occurredAt: at,
      },
    ]);
    await sql`update mismatches set status = 'ignored', resolved_by = 'bo', resolved_at = ${at} where bet_id is null`;
    const settled = (txnId: string, receivedAt: Instant) => [
      entry({ txnId }),
      entry({
        txnId,
        callback: "settleBets",
        betAmount: null,
        payoutAmount: amount("1"),
        occurredAt: at + 1,
        receivedAt,
      }),
    ];
    await appendEntries(sql, [
      entry({ txnId: "open" }),
      ...settled("changed", daysAgo(5)),
      ...settled("twice", at).map((one) => ({ ...one, roundId: "round-twice" })),
    ]);
    await drop();
    expect(await left()).toEqual(["changed", "open"]);
    expect(await column("select distinct txn_id as value from callback_entries order by 1")).toEqual([
      "changed",
      "open",
    ]);
    clock.set(NOON + 40 * DAY_MS);
    await drop().finally(() => clock.set(NOON));
    expect(await left()).toEqual(["open"]);
  });

  test("stay if they have an adjustment, whose reference must not count twice", async () => {
    await mismatch("adjusted", 60);
    await sql`
      insert into adjustments (mismatch_id, ref, amount, currency, at, by, note)
      select id, 'r1', 1, 'THB', ${daysAgo(60)}, 'ann', '' from mismatches`;
    await drop();
    expect(await left()).toEqual(["adjusted"]);
  });

  test("stay with their alerts if the setting is null; alerts for which no channel waits go with it", async () => {
    await mismatch("old", 60);
    await sql`insert into alert_channels (channel) values ('webhook')`;
    await sql`update alerts set delivered_at = ${daysAgo(60)}`;
    await sql`
      insert into alerts (idempotency_key, kind, body, created_at) values ('k', 'gap', '{}', ${daysAgo(60)})`;
    await drop({ ...kept, mismatches: null });
    expect([await left(), await column("select count(*) as value from alerts")]).toEqual([["old"], [2]]);
    await drop();
    expect(await column("select idempotency_key as value from alerts")).toEqual(["k"]);
    // Nobody has ever configured a channel.
    await sql`delete from alert_channels`;
    await sql`update retention_states set after = null`;
    await drop();
    expect(await column("select idempotency_key as value from alerts")).toEqual([]);
  });
});

test("transfers whose outcome is certain are deleted with their answers, and counted no more", async () => {
  const transfer = async (ref: string, age: number, status: string, mismatchKind: string | null = null) => {
    const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`
      insert into transfers (transaction_ref, product_id, username, currency, type, amount, status, sent_at, handed_at,
        decided_at, mismatch_kind)
      values (${ref}, 'P1', 'anna', 'THB', 'DEPOSIT', 1, ${status}, ${daysAgo(age)}, ${daysAgo(age)}, ${daysAgo(age)},
        ${mismatchKind}) returning id`;
    await sql`
      insert into transfer_answers (of_id, attempt, asked_at, took_ms, says, status, is_decisive)
      values (${id}, 1, ${daysAgo(age)}, 1, 'booked', ${status}, true)`;
  };
  await transfer("old", 60, "accepted");
  await transfer("young", 20, "accepted");
  await transfer("pending", 60, "pending");
  await transfer("inconclusive", 60, "inconclusive");
  await transfer("different", 60, "rejected", "transfer-differs");
  expect(await drop()).toMatchObject({ transfers: 1 });
  expect(await column("select transaction_ref as value from transfers order by 1")).toEqual([
    "different",
    "inconclusive",
    "pending",
    "young",
  ]);
  expect(await column("select count(*) as value from transfer_answers")).toEqual([4]);
  expect(await countRows(sql, "transfers")).toBe(4);
});

test("rejected rows and tombstones of old time are deleted", async () => {
  for (const age of [60, 20]) {
    await sql`
      insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
      values ('P1', ${`${age}`}, ${`${age}`}, '', ${daysAgo(age)})`;
    await sql`
      insert into rejected_entries (entry_digest, raw, reason, first_seen_at)
      values (${`${age}`}, ${`${age}`}, '', ${daysAgo(age)})`;
    await sql`
      insert into wallet_tombstones (product_id, username, kind, ref, at)
      values ('P1', 'anna', 'bet', ${`${age}`}, ${daysAgo(age)})`;
  }
  await drop();
  for (const [table, name] of [
    ["rejected_records", "raw"],
    ["rejected_entries", "raw"],
    ["wallet_tombstones", "ref"],
  ])
    expect(await column(`select ${name} as value from ${table}`)).toEqual(["20"]);
});
