/** Data that the database cannot compare in time: it is found, set aside and tried again, while everything else is compared. */

import { afterEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { type CompareProductResult, compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { noting } from "../../../src/flows/note-work.ts";
import { readWorkReport } from "../../../src/flows/read/read-work.ts";
import { silentLog } from "../../../src/log.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, receive, listed, mismatches } = useDiffWorld();
const config = parseConfig({ products: [{ productId: "P1" }] });

/** Bets of some players, each paid out 1 in the ledger and 2 at the provider. */
async function differFor(...usernames: string[]): Promise<void> {
  for (const username of usernames) {
    const ids = { username, txnId: `${username}-bet`, roundId: `${username}-round` };
    const named = (entry: { entryId: string }) => ({ entryId: `${username} ${entry.entryId}` });
    await receive(...callbacksOf("1", ids).map((entry) => ({ ...entry, ...named(entry) })));
    await listed(
      recordOf("2", { username, betId: ids.txnId, id: `${username} listed`, roundId: ids.roundId }),
    );
  }
}

/** Ends the statement for the mismatches of some players, as the database's time-out does. */
async function slowFor(usernames: readonly string[]): Promise<void> {
  await sql.unsafe(`
    create or replace function too_slow() returns trigger language plpgsql as $$ begin
      raise exception 'canceling statement due to statement timeout' using errcode = '57014';
    end $$;
    drop trigger if exists too_slow on mismatches;
    create trigger too_slow before insert on mismatches for each row
      when (new.username = any('{${usernames.join()}}')) execute function too_slow()`);
}

afterEach(async () => {
  await sql.unsafe("drop trigger if exists too_slow on mismatches");
});

/** Runs a tick, and notes it as the worker does. @returns the error; null: the tick succeeded */
async function tickAt(minutes: number): Promise<string | null> {
  clock.set(minute(minutes));
  const context = { sql, config, clock, log: silentLog };
  const signal = new AbortController().signal;
  const options = { upToOf: ({ upTo }: CompareProductResult) => upTo };
  const compare = () => compareProduct(context, "P1", signal);
  return await noting(context, { work: "comparing", subject: "P1" }, signal, compare, options).then(
    () => null,
    (error: Error) => error.message,
  );
}

const setAside = async () =>
  (
    await sql<{ username: string; subject: string; code: string; retryAt: number }[]>`
    select username, subject, code, retry_at as "retryAt" from comparisons_set_aside order by username`
  ).map(
    ({ username, subject, code, retryAt }) =>
      `${username} ${subject} ${code} until ${(retryAt - minute(0)) / 60_000}`,
  );
const openOf = (...names: string[]) => names.map((name) => `payout-differs of ${name}-bet is open`);

describe("a comparison for which the database takes too long", () => {
  test("is set aside once it has failed twice, and everything else of the product is compared", async () => {
    await differFor("anna", "ben", "cleo", "dora");
    await slowFor(["cleo"]);
    expect(await tickAt(15)).toMatch(/statement timeout/);
    expect(await tickAt(16)).toMatch(/statement timeout/);
    expect(await mismatches()).toEqual([]);
    expect(await tickAt(17)).toBeNull();
    expect(await mismatches()).toEqual(openOf("anna", "ben", "dora"));
    expect(await setAside()).toEqual(["cleo round:cleo-round too-slow until 77"]);

    const { comparing } = await readWorkReport({ sql, config, clock, log: silentLog });
    expect(comparing.setAside).toBe(1);
    expect(comparing.problem).toMatch(/P1: 1 comparison failed and is set aside/);
    expect(comparing.problem).toMatch(/round cleo-round of player cleo took the database too long/);
  });

  test("is retried after longer and longer waits, without a reviewer, and delays nothing meanwhile", async () => {
    await differFor("cleo");
    await slowFor(["cleo"]);
    for (const at of [15, 16, 17]) await tickAt(at);
    const trials: string[] = [];
    for (const at of [77, 137, 257, 497, 977, 1937, 3377, 4817]) {
      await differFor(`other${at}`);
      expect(await tickAt(at)).toBeNull();
      trials.push(...(await setAside()));
      // The ledger's other entries of the round wait for the same attempt.
      await receive(...callbacksOf("1", { username: "cleo", txnId: `late ${at}`, roundId: "cleo-round" }));
      expect(await tickAt(at + 20)).toBeNull();
      expect(await mismatches()).toContain(openOf(`other${at}`)[0]);
    }
    expect(trials).toEqual(
      [137, 257, 497, 977, 1937, 3377, 4817, 6257].map(
        (until) => `cleo round:cleo-round too-slow until ${until}`,
      ),
    );
    expect(
      await sql`select from diff_marks where usernames = array['cleo'] and due_at < ${minute(6257)}`,
    ).toEqual([]);
  });

  test("is compared, and no longer set aside, once the database is fast enough for it", async () => {
    await differFor("anna", "cleo");
    await slowFor(["cleo"]);
    for (const at of [15, 16, 17]) await tickAt(at);
    await slowFor([]);
    expect(await tickAt(76)).toBeNull();
    expect(await mismatches()).toEqual(openOf("anna"));
    expect(await tickAt(77)).toBeNull();
    expect(await mismatches()).toEqual(openOf("anna", "cleo"));
    expect(await setAside()).toEqual([]);
  });

  test("is set aside with others like it, each on its own", async () => {
    await differFor("anna", "ben", "cleo");
    await slowFor(["anna", "ben", "cleo"]);
    for (const at of [15, 16]) expect(await tickAt(at)).toMatch(/statement timeout/);
    expect(await tickAt(17)).toBeNull();
    expect(await setAside()).toHaveLength(3);
    await slowFor(["ben"]);
    expect(await tickAt(77)).toBeNull();
    expect(await mismatches()).toEqual(openOf("anna", "cleo"));
    expect(await setAside()).toEqual(["ben round:ben-round too-slow until 137"]);
  });
});
