import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { readRejected } from "../../../src/diff/link-store.ts";
import { type CompareOptions, compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { createLog, silentLog } from "../../../src/log.ts";
import { changeEntriesUnseen } from "../../support/database.ts";
import { amount, exampleEntry } from "../../support/examples.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, mismatches, readAll, ledgerBegins } =
  useDiffWorld();

/** The logged errors, as "player: error". */
function collectErrors() {
  const logged: string[] = [];
  const write = (line: string) => {
    const { productId, username, error } = JSON.parse(line) as Record<string, string>;
    logged.push(`${productId} ${username}: ${error}`);
  };
  return { logged, log: createLog("error", [], { write }) };
}

/** Bets of some players, each paid out 1 in the ledger and 2 at the provider. */
async function differFor(...usernames: string[]): Promise<void> {
  const idsOf = (username: string) => ({ username, txnId: `${username}-bet`, roundId: `${username}-round` });
  await receive(
    ...usernames.flatMap((username) =>
      callbacksOf("1", idsOf(username)).map((entry) => ({
        ...entry,
        entryId: `${username} ${entry.entryId}`,
      })),
    ),
  );
  await listed(
    ...usernames.map((username) =>
      recordOf("2", { username, betId: `${username}-bet`, id: username, roundId: `${username}-round` }),
    ),
  );
}

/** NaN instead of an amount, as an operator's own ledger may contain it. */
const spoil = (username: string) =>
  changeEntriesUnseen(
    sql,
    `update callback_entries set moved = 'NaN' where username = '${username}' and callback = 'settleBets'`,
  );

describe("a bet that cannot be judged", () => {
  test("delays no other bet, is logged with its player, and is judged when that is possible, an hour later", async () => {
    const { logged, log } = collectErrors();
    await differFor("anna", "ben", "cleo", "dora", "emil");
    await spoil("cleo");
    await diffAt(15, { log });
    const others = ["anna", "ben", "dora", "emil"].map((name) => `payout-differs of ${name}-bet is open`);
    expect(await mismatches()).toEqual(others);
    expect(logged).toEqual([expect.stringMatching(/^P1 cleo: .*moved.*NaN/)]);

    await changeEntriesUnseen(
      sql,
      "update callback_entries set moved = 1 where username = 'cleo' and callback = 'settleBets'",
    );
    await diffAt(74);
    expect(await mismatches()).toEqual(others);
    await diffAt(75);
    expect(await mismatches()).toEqual([...others, "payout-differs of cleo-bet is open"].sort());
  });

  test("keeps its mark if no bet of the comparison can be judged", async () => {
    const { logged, log } = collectErrors();
    await differFor("anna", "ben");
    await spoil("anna");
    await spoil("ben");
    await diffAt(15, { log });
    expect(logged).toHaveLength(2);
    const marks = await sql`select unnest(usernames) as username, due_at as "dueAt" from diff_marks`;
    expect(marks.map(({ username, dueAt }) => `${username} ${dueAt}`).sort()).toEqual([
      `anna ${minute(75)}`,
      `ben ${minute(75)}`,
    ]);
  });
});

describe("a round that was too large", () => {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const compare = async (minutes: number, options: CompareOptions) => {
    clock.set(minute(minutes));
    await compareProduct({ sql, config, clock, log: silentLog }, "P1", new AbortController().signal, options);
  };
  const setAside = () => sql`select username, subject from comparisons_set_aside`;
  const bets = ["a", "b", "c", "d"];
  const ofBet = (txnId: string, roundId = "large") =>
    callbacksOf("1", { txnId, roundId }).map((entry) => ({ ...entry, entryId: `${txnId} ${entry.entryId}` }));

  beforeEach(async () => {
    await ledgerBegins();
    await receive(...bets.flatMap((txnId) => ofBet(txnId)));
    await compare(1, { limits: { wholeRound: 2, rows: 5 } });
    expect(await setAside()).toEqual([{ username: "anna", subject: "round:large" }]);
    await listed(...bets.map((betId) => recordOf("1", { betId, id: betId, roundId: "large" })));
  });

  test("is no longer set aside if the screening finds that all of it agrees", async () => {
    await compare(62, { screenFrom: 1 });
    await fetchPlanned();
    await compare(130, { screenFrom: 1 });
    expect(await setAside()).toEqual([]);
    expect(await mismatches()).toEqual([]);
  });

  test("is no longer set aside if another round's mark led to it and took its mark too", async () => {
    const again = { roundId: "other", entryId: "other", requestId: "other" };
    await receive(...callbacksOf("1", { txnId: "a", ...again }).slice(1));
    await sql`
      insert into wide_rounds (product_id, username, round_id, currency, apart)
      values ('P1', 'anna', 'large', null, array[]::text[])`;
    // One batch of marks comes first, and with it the mark that leads to the round.
    await sql`delete from diff_marks`;
    await sql`
      insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
      select 'P1', array_agg('anna'::text), array_agg(case n when 1 then 'other'::text end),
        array_agg(case when n > 1 then 'no ' || n end),
        ${minute(60)}::timestamptz
      from generate_series(1, 500) as n
      union all select 'P1', array['anna'], array['large'], array[null], ${minute(61)}::timestamptz`;
    const limits = { wholeRound: 2, rows: 40_000 };
    await compare(62, { limits, screenFrom: Number.POSITIVE_INFINITY });
    expect(await setAside()).toEqual([]);
  });
});

describe("a session that cannot be judged", () => {
  const SETTINGS = { settings: { products: [{ productId: "P1", settlement: "session" }] } };
  const debit = (username: string): CallbackEntry =>
    exampleEntry({
      callback: "adjustBalance",
      status: "DEBIT",
      username,
      entryId: `${username} debit`,
      txnId: `${username}-ref`,
      roundId: null,
      betAmount: amount("10"),
      occurredAt: minute(0),
      receivedAt: minute(0),
    });
  const settle = async (log: ReturnType<typeof createLog>) => {
    for (const minutes of [1, 61, 62]) {
      await diffAt(minutes, { ...SETTINGS, log });
      await fetchPlanned();
    }
  };
  const players = async () => (await readAll()).map(({ username, kind }) => `${username} ${kind}`).sort();

  test("delays no other player's session, and is logged with its player", async () => {
    const { logged, log } = collectErrors();
    await receive(debit("anna"), debit("ben"), debit("cleo"));
    await changeEntriesUnseen(sql, "update callback_entries set moved = 'NaN' where username = 'ben'");
    await settle(log);
    expect(await players()).toEqual(["anna session-differs", "cleo session-differs"]);
    expect(new Set(logged)).toEqual(new Set([expect.stringMatching(/^P1 ben: /)]));
  });

  test("because it is too long for memory is not cut: it is logged, and makes no mismatch", async () => {
    const { logged, log } = collectErrors();
    await receive(debit("ben"));
    await sql`
      insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        bet_amount, skip_balance_update, occurred_at, received_at)
      select 'more ' || n, callback, request_id, product_id, username, currency, 'more ' || n, status, bet_amount,
        skip_balance_update, occurred_at, received_at
      from callback_entries, generate_series(1, 40000) as n where username = 'ben'`;
    await sql`delete from diff_marks where cardinality(usernames) > 1`;
    await diffAt(1, { ...SETTINGS, log });
    expect(await players()).toEqual([]);
    expect(logged[0]).toMatch(/^P1 ben: .*the sessions of ben .* more than 40000 entries or records/);
  });
});

test("a rejected record is found by its player's index, in any spelling of the player", async () => {
  const raw = (username: string, betId: string) => JSON.stringify({ stake: "much", username, betId });
  const names = [
    'quo"te',
    "back\\slash",
    "ünïcode\n",
    ...Array.from({ length: 3_000 }, (_, n) => `player-${n}`),
  ];
  const raws = names.map((name) => raw(name, "b1"));
  await sql`
    insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
    select 'P1', raw, md5(raw), 'unusable', now() from unnest(${raws}::text[]) as t (raw)`;
  await sql`analyze rejected_records`;
  const asked = names.slice(0, 4).map((username) => ({ username, ref: "b1" }));
  const connection = await sql.reserve();
  const scans = async () => {
    await connection`select pg_stat_force_next_flush()`;
    const [row] = await connection<{ scans: number }[]>`
      select idx_scan as scans from pg_stat_user_indexes where indexrelname = 'rejected_records_player'`;
    return row?.scans;
  };
  try {
    const before = (await scans()) ?? 0;
    expect(await readRejected(connection, "P1", [...asked, { username: "player-1", ref: "b2" }])).toEqual(
      asked,
    );
    expect(await scans()).toBe(before + asked.length + 1);
  } finally {
    connection.release();
  }
});
