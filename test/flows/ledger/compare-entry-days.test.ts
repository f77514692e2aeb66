/** Entries that vanish without a trigger: a superuser's session in the replica role, triggers that were off. */

import { setTimeout } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { foldEntryNotes, keepRowCounts } from "../../../src/db/row-counts.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import { closeDueDays } from "../../../src/flows/closing/close-days.ts";
import { compareEntryDays } from "../../../src/flows/ledger/compare-entry-days.ts";
import { followLedger } from "../../../src/flows/ledger/follow-ledger.ts";
import { importLedger } from "../../../src/flows/ledger/import-ledger.ts";
import { openOverview } from "../../../src/flows/read/read-overview.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { readGoneDays } from "../../../src/ledger/entry-days-store.ts";
import { judgeHealth } from "../../../src/ops/dashboard/overview/health-verdict.ts";
import { callRecon } from "../../cli/call-recon.ts";
import { exampleEntry, HOUR_MS } from "../../support/examples.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, url, clock, diffAt, receive, listed, fetchRange, mismatches, ledgerBegins } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock);
const signal = new AbortController().signal;
const program = postgres(url, { max: 4, onnotice: () => {} });
/** For statements that begin and end transactions themselves. */
const alone = postgres(url, { max: 1, onnotice: () => {} });
afterAll(() => Promise.all([program.end(), alone.end()]));

/** As the worker does every ten minutes. */
async function compareDays(more: Record<string, unknown> = {}): Promise<void> {
  await keepRowCounts(sql, "callback_entries", clock.now(), { largeBytes: 0, recountMs: 30 * DAY_MS });
  await compareEntryDays(context(more), signal);
}

/** Compares all days, including days that are not due. @returns the days with a difference */
async function findGone(): Promise<string[]> {
  clock.set(clock.now() + 25 * HOUR_MS);
  await compareDays();
  return (await readGoneDays(sql)).map(({ day, accepted, found }) => `${day}: ${accepted} ${found}`);
}

/** As an administrator, whose session fires no trigger. */
const unseen = (...statements: string[]) =>
  program.begin(async (tx) => {
    await tx.unsafe("set local session_replication_role = replica");
    for (const statement of statements) await tx.unsafe(statement);
  });
const alerts = async () => {
  await watchConditions(context(), []);
  return await sql<{ kind: string; what: string; toDo: string }[]>`
    select kind, body ->> 'what' as what, body ->> 'toDo' as "toDo" from alerts
    where starts_with(kind, 'entries-vanished') order by id`;
};
/** As `pg_restore --disable-triggers`, or an attacker who owns the table. The next run of the ledger job restores the triggers. */
const untriggered = async (...statements: string[]) => {
  await program.unsafe("alter table callback_entries disable trigger user");
  for (const statement of statements) await program.unsafe(statement);
  await program.unsafe("alter table callback_entries enable trigger user");
};
/** An insert of a copy of an entry. */
const like = (changed: Record<string, string>) =>
  `insert into callback_entries select (jsonb_populate_record(e, '${JSON.stringify(changed)}')).*
    from callback_entries e where callback = 'placeBets' limit 1`;
const readOverview = async () => judgeHealth(await openOverview(context())());
const rowsChange = (how: "never" | "replace") =>
  followLedger(context({ ledger: { rowsChange: how } }), signal);

/** A bet that both sides have: two entries of 2026-11-20. */
async function playAgreed(): Promise<void> {
  await ledgerBegins();
  await receive(...callbacksOf("25"));
  await listed(recordOf("25"));
  await diffAt(90);
  expect(await mismatches()).toEqual([]);
  await compareDays();
}

describe("entries that an administrator deletes without firing the triggers", () => {
  beforeEach(playAgreed);

  test("are noticed within a day; the alert has the day, both numbers and what to do", async () => {
    await unseen("delete from callback_entries where callback = 'settleBets'");
    clock.set(minute(90) + 23 * HOUR_MS);
    await compareDays();
    expect(await readGoneDays(sql)).toEqual([]);
    clock.set(minute(90) + 25 * HOUR_MS);
    await compareDays();
    const [{ accepted, found } = { accepted: 0, found: 0 }] = await readGoneDays(sql);
    expect(accepted - found).toBe(1);
    expect(await alerts()).toEqual([
      {
        kind: "entries-vanished",
        what: `callback_entries does not have the entries that were accepted. By day (UTC): 2026-11-20: ${accepted} accepted, ${found} found`,
        toDo: expect.stringContaining("recon ledger accept --day 2026-11-20 --note TEXT"),
      },
    ]);
  });

  test("leave a mismatch, although no entry and no record has changed", async () => {
    await unseen("delete from callback_entries where txn_id = 'bet-1'");
    await findGone();
    await fetchRange(minute(-60), minute(120));
    await diffAt(27 * 60);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
  });

  test("are no longer reported once the same rows are inserted", async () => {
    await program.unsafe("create table backup as select * from callback_entries");
    await unseen("delete from callback_entries where txn_id = 'bet-1'");
    expect(await findGone()).toHaveLength(1);
    await alerts();
    await program.unsafe(
      "insert into callback_entries select * from backup on conflict do nothing; drop table backup",
    );
    await compareDays();
    expect(await readGoneDays(sql)).toEqual([]);
    expect((await alerts()).map(({ kind }) => kind)).toEqual(["entries-vanished", "entries-vanished-over"]);
  });

  test("keep their day from closing until they are back", async () => {
    await fetched(TODAY - DAY_MS, TODAY + DAY_MS);
    clock.set(TODAY + DAY_MS + HOUR_MS);
    await diffAt((TODAY + DAY_MS + HOUR_MS - minute(0)) / 60_000);
    await program.unsafe("create table backup as select * from callback_entries");
    await unseen("delete from callback_entries where callback = 'settleBets'");
    const reason = expect.stringMatching(
      /^callback_entries does not have the entries that were accepted: 2026-11-20: \d+ accepted, \d+ found\. Insert/,
    );
    // The comparison at closing finds it, although the day was compared today.
    expect(await close("2026-11-20")).toEqual({ day: "2026-11-20", reason });
    expect(await closeDueDays(context({ closing: { after: "PT0S" } }), signal)).toContainEqual({
      day: "2026-11-20",
      reason,
    });
    await program.unsafe(
      "insert into callback_entries select * from backup on conflict do nothing; drop table backup",
    );
    await compareDays();
    expect(await close("2026-11-20")).toMatchObject({ isNew: true });
  });

  test("are no longer reported when the operator accepts the day, which the audit log notes", async () => {
    await unseen("delete from callback_entries where callback = 'settleBets'");
    await findGone();
    expect(await alerts()).toHaveLength(1);
    const accept = (day: string) =>
      callRecon(["ledger", "accept", "--day", day, "--note", "asked for deletion"], { DATABASE_URL: url });
    expect(await accept("2026-11-31")).toMatchObject({
      code: 2,
      stderr: 'recon: day must be a date such as 2026-11-20, but is "2026-11-31"\n',
    });
    expect(await accept("2026-11-19")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no entry of 2026-11-19 is missing"),
    });
    expect(await accept("2026-11-20")).toMatchObject({
      code: 0,
      stdout: "The entries of 2026-11-20 are accepted as they are now.\n",
    });
    expect((await alerts()).map(({ kind }) => kind)).toEqual(["entries-vanished", "entries-vanished-over"]);
    expect(
      await sql`select details::jsonb ->> 'note' as note, status from audit_log where details like '%2026-11-20%'`,
    ).toEqual([{ note: "asked for deletion", status: 0 }]);
    expect(await findGone()).toEqual([]);
  });

  test("twice are reported twice, and are not considered back if only some are", async () => {
    await program.unsafe("create table backup as select * from callback_entries");
    await unseen("delete from callback_entries where callback = 'settleBets' and txn_id = 'bet-1'");
    const [first = ""] = await findGone();
    const accepted = Number(first.split(" ")[1]);
    await receive(exampleEntry({ entryId: "late", txnId: "bet-9", roundId: "round-9" }));
    await unseen("delete from callback_entries where callback = 'placeBets' and txn_id = 'bet-1'");
    expect(await findGone()).toEqual([`2026-11-20: ${accepted + 1} ${accepted - 1}`]);
    await program.unsafe(`insert into callback_entries select * from backup where callback = 'placeBets'
      on conflict do nothing; drop table backup`);
    expect(await findGone()).toHaveLength(1);
  });
});

describe("a difference is also found", () => {
  beforeEach(playAgreed);

  test("if other rows take the place of deleted ones", async () => {
    await program.unsafe("alter table callback_entries disable trigger user");
    await program.unsafe("update callback_entries set moved = 30 where callback = 'settleBets'");
    await program.unsafe("select recon_watch_entries(), recon_mark_entries()");
    const [gone = ""] = await findGone();
    expect(gone).toMatch(/^2026-11-20: (\d+) \1$/);
    expect((await alerts())[0]?.what).toMatch(
      /accepted, \d+ found with other content; the triggers were off until /,
    );
  });

  test("if rows vanish while the triggers are off", async () => {
    await untriggered("delete from callback_entries where callback = 'settleBets'");
    await rowsChange("never");
    expect(await findGone()).toHaveLength(1);
    expect((await alerts())[0]?.what).toMatch(
      /accepted, \d+ found; the triggers were off until .*, so changes /,
    );
  });

  test("if more rows were inserted than vanished while the triggers were off; unusable rows are rejected", async () => {
    await untriggered(
      "create table backup as select * from callback_entries",
      "delete from callback_entries where callback = 'settleBets' and txn_id = 'bet-1'",
      like({ entry_id: "other-1" }),
      like({ entry_id: "other-2", txn_id: "bet-8" }),
      like({ entry_id: "steal", callback: "stealMoney" }),
      like({ entry_id: "nan", moved: "NaN" }),
    );
    await rowsChange("never");
    expect(await sql`select entry_id, reason from rejected_entries order by 1`).toEqual([
      { entry_id: "nan", reason: expect.stringMatching(/^moved is NaN/) },
      { entry_id: "steal", reason: expect.stringMatching(/^callback is "stealMoney"/) },
    ]);
    await compareDays();
    const [{ accepted, found } = { accepted: 0, found: 0 }] = await readGoneDays(sql);
    expect(found - accepted).toBe(1);
    expect((await alerts())[0]?.what).toContain(
      `2026-11-20: ${accepted} accepted, ${found} found; some of those accepted may still be missing; the triggers were off until 2026-`,
    );
    // A restore of the right rows past the triggers ends it.
    await untriggered(
      "delete from callback_entries where starts_with(entry_id, 'other-')",
      "insert into callback_entries select * from backup on conflict do nothing",
      "drop table backup",
    );
    await rowsChange("never");
    expect(await findGone()).toEqual([]);
    expect((await alerts()).map(({ kind }) => kind)).toEqual(["entries-vanished", "entries-vanished-over"]);
  });

  test("if all rows vanish while the triggers are off; doctor and status do not call that a new ledger", async () => {
    const [{ entries } = { entries: 0 }] = await sql<
      { entries: number }[]
    >`select count(*) as entries from callback_entries`;
    await untriggered("truncate callback_entries");
    const empty = `callback_entries is empty, although ${entries} entries were accepted`;
    const says = async () => {
      const status = await callRecon(["status"], { DATABASE_URL: url });
      const doctor = await callRecon(["doctor", "--json"], { DATABASE_URL: url });
      const checks: { check: string; ok: boolean; found: string }[] = JSON.parse(doctor.stdout).checks;
      expect(status.stdout).toContain(`ledger      ${empty} (recon doctor)`);
      return checks.find(({ check }) => check === "ledger");
    };
    expect(await says()).toMatchObject({ ok: false });
    await rowsChange("never");
    expect(await says()).toMatchObject({ ok: false, found: empty });
    expect((await readOverview()).findings.map(({ text }) => text)).toContain(empty);
    // The finding does not change what was accepted.
    expect(await findGone()).toHaveLength(2);
    expect(await says()).toMatchObject({ ok: false, found: empty });
  });

  test("if a whole day is gone", async () => {
    await unseen("delete from callback_entries where occurred_at >= '2026-11-20'");
    expect(await findGone()).toEqual([expect.stringMatching(/^2026-11-20: \d+ 0$/)]);
  });
});

describe("a repair after other entries were added", () => {
  beforeEach(playAgreed);

  test("does not end the finding by itself; the alert says that the operator must accept the day", async () => {
    await program.unsafe("create table backup as select * from callback_entries");
    await unseen("delete from callback_entries where txn_id = 'bet-1'");
    expect(await findGone()).toHaveLength(1);
    expect((await alerts())[0]?.toDo).toContain(
      "the alert ends by itself if the same rows are back before the day gets another entry. Otherwise, or if the rows are right as they are, accept each day: recon ledger accept --day 2026-11-20 --note TEXT",
    );
    await receive(exampleEntry({ entryId: "late", txnId: "bet-9", roundId: "round-9" }));
    await program.unsafe(
      "insert into callback_entries select * from backup on conflict do nothing; drop table backup",
    );
    expect(await findGone()).toHaveLength(1);
    const accepted = await callRecon(["ledger", "accept", "--day", "2026-11-20", "--note", "restored"], {
      DATABASE_URL: url,
    });
    expect(accepted).toMatchObject({ code: 0 });
    expect(await findGone()).toEqual([]);
  });
});

describe("no session, not even one in the replica role, truncates the ledger", () => {
  test.each(["origin", "replica"])("%s", async (role) => {
    await playAgreed();
    await rowsChange("never");
    const emptied = program.begin(async (tx) => {
      await tx.unsafe(`set local session_replication_role = ${role}`);
      await tx.unsafe("truncate callback_entries");
    });
    await expect(emptied).rejects.toThrow("callback_entries is a ledger and cannot be truncated");
  });

  test("after a restore has changed the triggers, too", async () => {
    await playAgreed();
    await program.unsafe(
      "alter table callback_entries disable trigger user; alter table callback_entries enable trigger user",
    );
    await rowsChange("never");
    await expect(unseen("truncate callback_entries")).rejects.toThrow("is a ledger and cannot be truncated");
  });
});

describe("no entries are reported as gone", () => {
  const COLUMNS = `entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status, bet_amount,
    payout_amount, skip_balance_update, moved, occurred_at, received_at`;
  const rows = (from: number, to: number, days = 1) => `
    select 'n' || n, 'placeBets', 'q' || n, 'P1', 'player-' || n % 7, 'THB', 't' || n, 'r' || n % 11, 'OPEN', n * 1.10, null::numeric,
      false, nullif(n % 3, 0) * -1.5, '2026-11-19T23:00:00Z'::timestamptz + (n % ${days}) * interval '1 day', '2026-11-25T00:00:00Z'::timestamptz
    from generate_series(${from}, ${to}) as n`;
  const insert = (from: number, to: number, days = 1) =>
    `insert into callback_entries (${COLUMNS}) ${rows(from, to, days)}`;

  test.each([
    ["one by one", [insert(1, 1), insert(2, 2)]],
    ["of one day in one statement", [insert(1, 500)]],
    ["of several days in one statement", [insert(1, 500, 5)]],
    [
      "with rows among them that cannot be used",
      [
        insert(1, 500, 5).replace(
          "'THB', 't'",
          "'THB', case when n % 9 = 0 then repeat('x', 700) else 't' end",
        ),
        insert(501, 501).replace("'placeBets'", "'steal'"),
      ],
    ],
    ["and some rolled back", [`begin; ${insert(1, 50)}; rollback`, insert(51, 60)]],
    ["and known ones skipped", [insert(1, 50), `${insert(1, 60)} on conflict do nothing`]],
    [
      "by a session in the replica role",
      [`begin; set local session_replication_role = replica; ${insert(1, 20, 3)}; commit`],
    ],
  ])("of entries that are inserted %s", async (_how, statements) => {
    for (const statement of statements) await alone.unsafe(statement);
    expect(await findGone()).toEqual([]);
    const [sums] = await sql`
      select (select sum(entries) from entry_days)::int as accounted, (select count(*) from callback_entries)::int as entries`;
    expect(sums?.["accounted"]).toBe(sums?.["entries"]);
    expect(sums?.["entries"]).toBeGreaterThan(0);
  });

  test("if ledger.rowsChange replaces and deletes them", async () => {
    await rowsChange("replace");
    await program.unsafe(insert(1, 100, 3));
    await program.unsafe("update callback_entries set moved = 1.23 where entry_id like 'n1%'");
    await program.unsafe(
      "update callback_entries set occurred_at = occurred_at + interval '2 days' where entry_id like 'n2%'",
    );
    await program.unsafe("update callback_entries set bet_amount = bet_amount * 1.000");
    await program.unsafe("delete from callback_entries where entry_id like 'n3%'");
    expect(await findGone()).toEqual([]);
  });

  test("if a change of them is refused", async () => {
    await rowsChange("never");
    await program.unsafe(insert(1, 100, 3));
    await program.unsafe("update callback_entries set moved = 1.23 where entry_id like 'n1%'");
    await program.unsafe("delete from callback_entries where entry_id like 'n3%'");
    expect(await findGone()).toEqual([]);
  });

  test("if they are imported, or read from a relation whose rows change", async () => {
    const line = (n: number) =>
      `${JSON.stringify({ entry_id: `i${n}`, callback: "placeBets", request_id: `q${n}`, product_id: "P1", username: "anna", currency: "THB", txn_id: `b${n}`, round_id: "r", status: "OPEN", bet_amount: 10, skip_balance_update: false, occurred_at: "2026-11-20T10:00:00Z", received_at: "2026-11-20T10:00:01Z" })}\n`;
    const file = [Buffer.from(Array.from({ length: 30 }, (_, n) => line(n)).join(""))];
    for (let time = 0; time < 2; time += 1) {
      const input = (async function* () {
        yield* file;
      })();
      await importLedger(context(), input, { format: "entries", shape: null, onImported: () => {} });
    }
    await program.unsafe(
      `create table own (like callback_entries including defaults); insert into own (${COLUMNS}) ${rows(1, 40, 3)}`,
    );
    const follow = () =>
      followLedger(context({ ledger: { relation: "own", rowsChange: "replace" } }), signal);
    await follow();
    await program.unsafe("update own set moved = 7");
    await follow();
    await program.unsafe("drop table own");
    expect(await findGone()).toEqual([]);
  });

  test("if retention deletes them; the entries that it keeps are still watched", async () => {
    await playAgreed();
    await receive(exampleEntry({ entryId: "open", txnId: "bet-open", roundId: "round-open" }));
    await fetched(TODAY - DAY_MS, TODAY + DAY_MS);
    await diffAt((TODAY + DAY_MS + HOUR_MS - minute(0)) / 60_000);
    expect(await close("2026-11-20")).toMatchObject({ isNew: true });
    clock.set(TODAY + 40 * DAY_MS);
    const before = (await sql`select from callback_entries`).length;
    await dropClosed(context({ retain: { records: "P30D", entries: "P30D" } }), signal);
    const after = await sql`select entry_id as id from callback_entries`;
    expect(after.length).toBeLessThan(before);
    expect(after.map(({ id }) => id)).toContain("open");
    expect(await findGone()).toEqual([]);
    await unseen("delete from callback_entries where entry_id = 'open'");
    expect(await findGone()).toHaveLength(1);
  });

  test("if a restore without triggers fills an empty database, even if a program writes before the worker starts", async () => {
    const restored = [insert(1, 100, 4), insert(101, 120, 2)];
    await untriggered(...restored);
    await program.unsafe(insert(201, 210, 4));
    await rowsChange("never");
    expect(await findGone()).toEqual([]);
    await unseen("delete from callback_entries where entry_id = 'n4'");
    expect(await findGone()).toHaveLength(1);
  });

  test("if a restore without triggers brings them together with the accounts", async () => {
    await program.unsafe(insert(1, 100, 4));
    await compareDays();
    await program.unsafe(
      "create table kept as select * from callback_entries; create table days as select * from entry_days",
    );
    await unseen("delete from callback_entries; delete from entry_days; delete from entry_notes");
    await untriggered(
      "insert into callback_entries select * from kept",
      "insert into entry_days select * from days",
      "drop table kept, days",
    );
    await program.unsafe(insert(201, 210, 4));
    await rowsChange("never");
    expect(await findGone()).toEqual([]);
  });

  test("if they are older than the accounts: their days count as accepted when they are first compared", async () => {
    await unseen(insert(1, 100, 4));
    await sql`delete from entry_notes`;
    await sql`select recon_recount_entries()`;
    await program.unsafe(insert(101, 150, 6));
    expect(await findGone()).toEqual([]);
    await unseen("delete from callback_entries where entry_id = 'n4'");
    expect(await findGone()).toHaveLength(1);
  });

  test("while writers commit and roll back in any order, and notes are added up at the same time", async () => {
    const stop = new AbortController();
    let written = 0;
    const writer = async (lane: number) => {
      for (let turn = 0; !stop.signal.aborted; turn += 1) {
        const from = lane * 1_000_000 + turn * 20;
        await program
          .begin(async (tx) => {
            await tx.unsafe(insert(from, from + (turn % 7), 3));
            if (turn % 3 === 0) await setTimeout(turn % 5);
            if (turn % 4 === 0) throw new Error("rolled back");
          })
          .catch((error: Error) => {
            if (error.message !== "rolled back") throw error;
          });
        written += 1;
      }
    };
    const writers = [1, 2, 3].map(writer);
    while (written < 300) {
      await sql.begin((tx) => foldEntryNotes(tx));
      clock.set(clock.now() + 25 * HOUR_MS);
      await compareEntryDays(context(), signal);
      expect(await readGoneDays(sql)).toEqual([]);
    }
    stop.abort();
    await Promise.all(writers);
    expect(await findGone()).toEqual([]);
  });
});
