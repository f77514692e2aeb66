/** Rows of `callback_entries` as another program writes them: over its own connection, in plain SQL. */

import postgres from "postgres";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { CALLBACKS } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import { followLedger } from "../../src/flows/ledger/follow-ledger.ts";
import { reportRejectedEntries } from "../../src/flows/ledger/report-rejected-entries.ts";
import { findIdleTriggers } from "../../src/ledger/triggers-store.ts";
import { silentLog } from "../../src/log.ts";
import { iso, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";

const { sql, url, clock, diffAt, listed, fetchRange, mismatches } = useDiffWorld();
const program = postgres(url, { max: 1, onnotice: () => {} });
const another = postgres(url, { max: 1, onnotice: () => {} });
afterAll(() => Promise.all([program.end(), another.end()]));

const COLUMNS = `entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status, bet_amount,
  payout_amount, skip_balance_update, moved, occurred_at, received_at`;
type Fields = Readonly<Partial<Record<string, string | null>>>;

/** A row as SQL values: a placement of 10.00 THB by anna at 11:55, changed by the given fields. */
function values(entryId: string, fields: Fields = {}): string {
  const row = {
    callback: "placeBets",
    request_id: `request-${entryId}`,
    product_id: "P1",
    username: "anna",
    currency: "THB",
    txn_id: "bet-1",
    round_id: "round-1",
    status: "OPEN",
    bet_amount: "10.00",
    payout_amount: null,
    skip_balance_update: "false",
    moved: null,
    occurred_at: iso(-5),
    received_at: iso(-5),
    ...fields,
  };
  const quoted = [entryId, ...Object.values(row)].map((value) => (value === null ? "null" : `'${value}'`));
  return `(${quoted.join(", ")})`;
}
const settle = (fields: Fields = {}): Fields => ({
  callback: "settleBets",
  status: "SETTLED",
  bet_amount: null,
  payout_amount: "25.00",
  occurred_at: iso(-4),
  received_at: iso(-4),
  ...fields,
});
const insert = (...rows: string[]) => `insert into callback_entries (${COLUMNS}) values ${rows.join(", ")}`;
const BET = [values("e1"), values("e2", settle())];
const rowsChange = async (how: "never" | "replace") => {
  const config = parseConfig({ products: [{ productId: "P1" }], ledger: { rowsChange: how } });
  await followLedger({ sql, config, clock, log: silentLog }, new AbortController().signal);
};
const rejected = () => sql<{ kind: string; entryId: string; reason: string }[]>`
  select kind, entry_id as "entryId", reason from rejected_entries order by id`;
/** Fetches everything since an hour before noon, in windows of an hour. */
async function fetchUntil(minutes: number): Promise<void> {
  for (let from = -60; from < minutes; from += 60) await fetchRange(minute(from), minute(from + 60));
}

/** Compares after all grace periods and confirm fetches. */
async function compareAll(): Promise<string[]> {
  await diffAt(90);
  clock.set(minute(125));
  await fetchUntil(120);
  await diffAt(130);
  return await mismatches();
}

describe("a row that another program writes is compared", () => {
  beforeEach(() => rowsChange("never"));

  test("by insert: a settled bet that the provider does not know becomes a mismatch", async () => {
    await program.unsafe(insert(...BET));
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("by copy", async () => {
    const lines = ["e1", "e2"].map((id, index) =>
      [
        id,
        index === 0 ? "placeBets" : "settleBets",
        `request-${id}`,
        "P1",
        "anna",
        "THB",
        "bet-1",
        "round-1",
        index === 0 ? "OPEN" : "SETTLED",
        index === 0 ? "10.00" : "\\N",
        index === 0 ? "\\N" : "25.00",
        "f",
        "\\N",
        iso(-5),
        iso(-5),
      ].join("\t"),
    );
    const copy = await program.unsafe(`copy callback_entries (${COLUMNS}) from stdin`).writable();
    await new Promise<void>((done, fail) => {
      copy.on("error", fail);
      copy.on("finish", done);
      copy.end(`${lines.join("\n")}\n`);
    });
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("with a callback in upper or lower case, alone and among others", async () => {
    await program.unsafe(insert(values("e1", { callback: "placebets" })));
    await program.unsafe(
      insert(values("e2", settle({ callback: "SETTLEBETS" })), values("e3", { callback: "stealMoney" })),
    );
    expect(await sql`select entry_id as id, callback from callback_entries order by 1`).toEqual([
      { id: "e1", callback: "placeBets" },
      { id: "e2", callback: "settleBets" },
    ]);
    expect(await rejected()).toMatchObject([{ entryId: "e3", kind: "unusable" }]);
    expect(await sql`select sum(added) as added from entry_notes`).toEqual([{ added: 2 }]);
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("after its record was judged: a second debit becomes a mismatch", async () => {
    await program.unsafe(insert(...BET));
    await listed(recordOf("25"));
    expect(await compareAll()).toEqual([]);
    await program.unsafe(
      insert(values("e3", { moved: "-10.00", occurred_at: iso(-5), received_at: iso(130) })),
    );
    clock.set(minute(200));
    await fetchUntil(180);
    await diffAt(210);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is open"]);
  });

  test("late: the mismatch of a missing bet resolves itself", async () => {
    await program.unsafe(insert(values("e0", { txn_id: "bet-0", round_id: "round-0", ...OLD })));
    await listed(recordOf("25"));
    await diffAt(20);
    expect(await mismatches()).toContain("missing-in-ledger of bet-1 is open");
    await program.unsafe(insert(...BET));
    await diffAt(21);
    expect(await mismatches()).toContain("missing-in-ledger of bet-1 is resolved");
  });

  test("in a transaction that commits long after later rows were committed and compared", async () => {
    const slow = await program.reserve();
    await slow.unsafe("begin");
    await slow.unsafe(insert(...BET));
    await another.unsafe(
      insert(
        values("f1", { txn_id: "bet-2", round_id: "round-2" }),
        values("f2", settle({ txn_id: "bet-2", round_id: "round-2" })),
      ),
    );
    expect(await compareAll()).toEqual(["missing-at-provider of bet-2 is open"]);
    await slow.unsafe("commit");
    slow.release();
    await diffAt(131);
    expect((await mismatches()).toSorted()).toEqual([
      "missing-at-provider of bet-1 is open",
      "missing-at-provider of bet-2 is open",
    ]);
  });

  test("by a session that replays what another server wrote", async () => {
    await program.begin(async (tx) => {
      await tx.unsafe("set local session_replication_role = replica");
      await tx.unsafe(insert(...BET));
    });
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("by a user that may only insert", async () => {
    await sql.unsafe(`
      do $$ begin create role writer; exception when duplicate_object then null; end $$;
      grant insert on callback_entries to writer`);
    await program.begin(async (tx) => {
      await tx.unsafe("set local role writer");
      await tx.unsafe(insert(...BET));
    });
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("by a user with temporary tables of the same names, which stay untouched", async () => {
    await program.begin(async (tx) => {
      await tx.unsafe(`
        create temp table callback_entries (like public.callback_entries including defaults) on commit drop;
        create temp table diff_marks (product_id text) on commit drop;
        create temp table rejected_entries (entry_digest text) on commit drop`);
      await tx.unsafe(insert(...BET, values("bad", { bet_amount: "NaN" })));
      await tx.unsafe("insert into public.callback_entries select * from callback_entries");
      expect(await tx`select count(*)::int as staged from callback_entries`).toEqual([{ staged: 3 }]);
    });
    expect(await rejected()).toMatchObject([{ entryId: "bad" }]);
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test.each([
    "recon_mark_entry(null, 1)",
    "recon_reject_entry(null, 'unusable', 'a lie')",
    "recon_watch_entries()",
    "recon_mark_entries()",
  ])("a user that may only insert may not call %s", async (call) => {
    await sql.unsafe(`
      do $$ begin create role writer; exception when duplicate_object then null; end $$;
      grant insert on callback_entries to writer`);
    const called = program.begin(async (tx) => {
      await tx.unsafe("set local role writer");
      await tx.unsafe(`select ${call}`);
    });
    await expect(called).rejects.toThrow(/^permission denied/);
  });

  test("with the column that says when another database wrote it, as a top-up is", async () => {
    const topUp = { callback: "adjustBalance", status: "DEBIT", round_id: null };
    await program.unsafe(`
      insert into callback_entries (${COLUMNS}, appended_in)
      values ${[values("e1", topUp), values("e2")].map((row) => row.replace(/\)$/, ", '3')")).join(", ")}`);
    expect(
      await sql`select entry_id from callback_entries where appended_in = '3' order by entry_id`,
    ).toEqual([{ entry_id: "e2" }]);
    expect(await rejected()).toEqual([]);
  });

  test("by a restore with triggers switched off, once the worker has noticed", async () => {
    await program.unsafe("alter table callback_entries disable trigger all");
    await program.unsafe(insert(...BET));
    await program.unsafe("alter table callback_entries enable trigger all");
    expect(await compareAll()).toEqual([]);
    await rowsChange("never");
    await diffAt(131);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("by such a restore; other writers wait only while the triggers are switched on", async () => {
    await program.unsafe("alter table callback_entries disable trigger all");
    await program.unsafe(insert(...BET));
    await program.unsafe("alter table callback_entries enable trigger all");
    const slow = await program.reserve();
    await sql`select recon_watch_entries()`;
    await slow.unsafe("begin");
    await slow.unsafe(insert(values("f1", { txn_id: "bet-2", round_id: "round-2" })));
    await rowsChange("never");
    expect(await findIdleTriggers(sql)).toEqual(["recon_truncated"]);
    await slow.unsafe("commit");
    slow.release();
    await rowsChange("never");
    expect(await findIdleTriggers(sql)).toEqual([]);
    expect(await compareAll()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("when any number of rows is written at once, and all are counted", async () => {
    await program.unsafe(
      insert(
        ...Array.from({ length: 1_203 }, (_, n) => values(`e${n}`, { txn_id: `bet-${n}`, round_id: null })),
      ),
    );
    const marks = await sql<{ marks: number; most: number }[]>`
      select sum(cardinality(usernames)) as marks, max(cardinality(usernames)) as most from diff_marks`;
    expect(marks).toEqual([{ marks: 1_203, most: 30 }]);
    expect(
      await sql`
      select sum(added)::int as added from entry_notes`,
    ).toEqual([{ added: 1_203 }]);
  });

  test("with an earlier time than the ledger's start: later records are compared again", async () => {
    const older = { accountingDate: iso(-60), updatedDate: iso(-60), betId: "bet-old", roundId: "round-old" };
    await listed(recordOf("25", { ...older, id: "rec-old" }));
    await program.unsafe(insert(...BET));
    await listed(recordOf("25"));
    expect(await compareAll()).toEqual([]);
    await program.unsafe(insert(values("e0", { txn_id: "bet-0", round_id: "round-0", ...OLD })));
    await diffAt(140);
    expect(await mismatches()).toContain("missing-in-ledger of bet-old is open");
  });
});

/** An hour before everything else. */
const OLD: Fields = { occurred_at: iso(-90), received_at: iso(-90) };

describe("a row that cannot be used is kept with its reason, and the others are accepted", () => {
  const HOUR_BEHIND = iso(-24 * 60 - 6);
  test.each([
    ["callback", { callback: "placeBet" }, /^callback is "placeBet", which is none of placeBets/],
    ["bet_amount", { bet_amount: "NaN" }, /^bet_amount is NaN, which is no decimal/],
    ["moved", { moved: "-Infinity" }, /^moved is -Infinity, which is no decimal/],
    [
      "occurred_at in seconds",
      { occurred_at: "1970-01-21T12:00:00Z" },
      /^occurred_at is 1970-01-21.* lies before 2010/,
    ],
    [
      "occurred_at a year ahead",
      { occurred_at: "2027-11-20T12:00:00Z" },
      /^occurred_at is 2027-11-20.* more than a day after received_at/,
    ],
    ["received_at", { received_at: HOUR_BEHIND }, /^occurred_at is .* more than a day after received_at/],
    [
      "received_at without end",
      { received_at: "infinity" },
      /^received_at is infinity, which lies before 2010 or after 9999$/,
    ],
  ] as const)("%s", async (_, fields, reason) => {
    await program.unsafe(insert(values("bad", fields), ...BET));
    expect(await rejected()).toEqual([
      { kind: "unusable", entryId: "bad", reason: expect.stringMatching(reason) },
    ]);
    expect(
      await sql`select count(*)::int as entries, min(occurred_at) as start from callback_entries`,
    ).toEqual([{ entries: 2, start: minute(-5) }]);
  });

  test("keeps its bet from being reported as missing", async () => {
    await program.unsafe(insert(values("e0", { txn_id: "bet-0", round_id: "round-0", ...OLD })));
    await program.unsafe(insert(values("bad", { callback: "placeBet" })));
    await listed(recordOf("25"));
    await diffAt(20);
    expect(await mismatches()).not.toContain("missing-in-ledger of bet-1 is open");
  });

  test("does not hide the missing bet any more when the corrected row names another bet", async () => {
    await program.unsafe(insert(values("e0", { txn_id: "bet-0", round_id: "round-0", ...OLD })));
    await program.unsafe(insert(values("bad", { callback: "placeBet" })));
    await listed(recordOf("25"));
    await program.unsafe(insert(values("bad", { txn_id: "bet-2", round_id: "round-2" })));
    await diffAt(20);
    expect(await mismatches()).not.toContain("missing-in-ledger of bet-1 is open");
    const config = parseConfig({ products: [{ productId: "P1" }] });
    await reportRejectedEntries({ sql, config, clock, log: silentLog });
    await diffAt(21);
    expect(await mismatches()).toContain("missing-in-ledger of bet-1 is open");
  });

  test("is no longer rejected once it is inserted again with usable values", async () => {
    await program.unsafe(insert(values("e0", { txn_id: "bet-0", round_id: "round-0", ...OLD })));
    await program.unsafe(
      insert(values("e1", { bet_amount: "NaN" }), values("bad", { callback: "placeBet" })),
    );
    await listed(recordOf("25"));
    await program.unsafe(insert(values("e1", { txn_id: "bet-2", round_id: "round-2" })));
    await program.unsafe(insert(values("bad", { callback: "placeBet" })));
    const config = parseConfig({ products: [{ productId: "P1" }] });
    await reportRejectedEntries({ sql, config, clock, log: silentLog });
    expect(await rejected()).toMatchObject([{ entryId: "bad" }]);
  });

  test("is kept with the same text in every time zone of the writer's session", async () => {
    const zones = ["Asia/Bangkok", "America/New_York"];
    for (const zone of zones) {
      await program.begin(async (tx) => {
        await tx.unsafe(`set local timezone = '${zone}'`);
        await tx.unsafe(insert(values("bad", { occurred_at: "2027-11-20T12:00:00Z" })));
      });
      await reportRejectedEntries({
        sql,
        config: parseConfig({ products: [{ productId: "P1" }] }),
        clock,
        log: silentLog,
      });
    }
    expect(await sql`select reason, reported_at is null as news from rejected_entries`).toEqual([
      { reason: expect.stringMatching(/^occurred_at is 2027-11-20T12:00:00\+00:00/), news: false },
    ]);
    expect(await sql`select count(*)::int as alerts from alerts`).toEqual([{ alerts: 1 }]);
  });

  test("the table accepts exactly the callbacks that the program knows", async () => {
    const [row] = await sql<{ names: string }[]>`
      select recon_describe_fault('callback', '{"callback": "x"}') as names`;
    expect(row?.names).toBe(`callback is "x", which is none of ${CALLBACKS.join(", ")}`);
    for (const [index, callback] of CALLBACKS.entries()) {
      await program.unsafe(insert(values(`known-${index}`, { callback })));
    }
    expect(await rejected()).toEqual([]);
  });

  test("operations are alerted once per day and product", async () => {
    const config = parseConfig({ products: [{ productId: "P1" }] });
    const context = { sql, config, clock, log: silentLog };
    await program.unsafe(insert(values("bad", { callback: "placeBet" })));
    await reportRejectedEntries(context);
    await program.unsafe(insert(values("worse", { callback: "placeBet" })));
    await reportRejectedEntries(context);
    const alerts = await sql<
      { kind: string; what: string }[]
    >`select kind, body ->> 'what' as what from alerts`;
    expect(alerts).toEqual([
      {
        kind: "rejected-entries",
        what: expect.stringMatching(
          /^P1: 1 row of the ledger cannot be used; for example, callback is "placeBet"/,
        ),
      },
    ]);
  });
});

describe("a row that is changed afterwards", () => {
  const alerts = () => sql<{ kind: string }[]>`select kind from alerts`;
  const report = () =>
    reportRejectedEntries({
      sql,
      config: parseConfig({ products: [{ productId: "P1" }] }),
      clock,
      log: silentLog,
    });

  describe('with rowsChange "never"', () => {
    beforeEach(async () => {
      await rowsChange("never");
      await program.unsafe(insert(...BET));
      await listed(recordOf("25"));
      expect(await compareAll()).toEqual([]);
    });

    test("keeps its first content; the change is kept and raises an alert", async () => {
      await program.unsafe("update callback_entries set payout_amount = 20 where entry_id = 'e2'");
      await report();
      expect(await rejected()).toEqual([
        {
          kind: "changed",
          entryId: "e2",
          reason:
            'entry "e2" was changed (payout_amount from 25.00 to 20); its first content stays, because ledger.rowsChange is "never"',
        },
      ]);
      expect(await alerts()).toEqual([{ kind: "ledger-changed" }]);
      await diffAt(150);
      expect(await mismatches()).toEqual([]);
    });

    test("stays when a program deletes it", async () => {
      await program.unsafe("delete from callback_entries where entry_id = 'e2'");
      await report();
      expect(await rejected()).toMatchObject([
        {
          kind: "changed",
          entryId: "e2",
          reason: expect.stringMatching(/^entry "e2" was deleted; it stays/),
        },
      ]);
      expect(await alerts()).toEqual([{ kind: "ledger-changed" }]);
      expect(await sql`select count(*)::int as entries from callback_entries`).toEqual([{ entries: 2 }]);
    });

    test("survives a truncate, which fails with an error that says what to do", async () => {
      await expect(program.unsafe("truncate callback_entries")).rejects.toMatchObject({
        message: "callback_entries is a ledger and cannot be truncated",
        hint: expect.stringMatching(/^Delete rows instead/),
      });
    });

    test("to the values it already has counts as unchanged", async () => {
      await program.unsafe("update callback_entries set payout_amount = 25.000 where entry_id = 'e2'");
      expect(await rejected()).toEqual([]);
    });
  });

  describe('with rowsChange "replace"', () => {
    beforeEach(async () => {
      await rowsChange("replace");
      await program.unsafe(insert(...BET));
      await listed(recordOf("25"));
      expect(await compareAll()).toEqual([]);
    });

    test("is compared with its new content, and its history is kept", async () => {
      await program.unsafe("update callback_entries set payout_amount = 20 where entry_id = 'e2'");
      await diffAt(150);
      expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
      expect(
        await sql`select entry_id, change, content ->> 'payout_amount' as payout from entry_versions`,
      ).toEqual([{ entry_id: "e2", change: "replaced", payout: "25.00" }]);
      expect(await rejected()).toEqual([]);
    });

    test("no longer counts for its bet when a program deletes it", async () => {
      await program.unsafe("delete from callback_entries where entry_id = 'e2'");
      await diffAt(150);
      expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
      expect(await sql`select entry_id, change from entry_versions`).toEqual([
        { entry_id: "e2", change: "deleted" },
      ]);
    });

    test("to belong to another bet causes both bets to be compared", async () => {
      await program.unsafe(
        "update callback_entries set txn_id = 'bet-9', round_id = 'round-9' where entry_id = 'e2'",
      );
      await diffAt(131);
      clock.set(minute(200));
      await fetchUntil(180);
      await diffAt(210);
      expect((await mismatches()).toSorted()).toEqual([
        "missing-at-provider of bet-9 is open",
        "missing-settlement of bet-1 is open",
      ]);
    });

    test("to something unusable keeps its content; the change is kept", async () => {
      await program.unsafe("update callback_entries set callback = 'settle' where entry_id = 'e2'");
      expect(await rejected()).toEqual([
        {
          kind: "changed",
          entryId: "e2",
          reason: expect.stringMatching(
            /^entry "e2" was changed to what cannot be used; its first content stays: callback is "settle"/,
          ),
        },
      ]);
      await diffAt(150);
      expect(await mismatches()).toEqual([]);
    });
  });
});
