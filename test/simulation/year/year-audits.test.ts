/** The audits of a simulated year notice what must not happen: the year is red. */

import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.ts";
import { runYear } from "./run-year.ts";
import { planYear, SHORT_YEAR } from "./year-plan.ts";

/** @param age of the bets that are deleted, in days */
const planFew = (days: number, age: number) =>
  planYear(2, {
    ...SHORT_YEAR,
    days,
    afterwards: 5,
    retain: { records: age, entries: age, mismatches: age, windows: age },
  });

/** Somebody who does more than the worker, when it changes a table. */
function meddling(table: string, when: string, statements: string): string {
  return `
    create function meddle() returns trigger language plpgsql as $$ begin ${statements} return null; end $$;
    create trigger meddle after insert or update on ${table}
      for each row when (pg_trigger_depth() = 0 and ${when}) execute function meddle();`;
}

function deleteFirst(table: string, order: string, where = "true"): string {
  return `delete from ${table} where ctid = (select ctid from ${table} t where ${where} order by ${order} limit 1);`;
}

// Ops of the year acknowledge some mismatches, and their evidence stays as well.
const IS_EVIDENCE = `exists (select from mismatches m where m.status in ('open', 'acknowledged')
  and m.product_id = 'ODD' and t.product_id = 'ODD' and m.username = t.username and m.transaction_id = t.txn_id)`;

const KINDS = [
  "a row of an open day was deleted",
  "a row of before the first closed day was deleted",
  "evidence of a mismatch was deleted",
  "entries have vanished",
  "evidence is lost",
  "recon report --verify ends with 1",
  "the sums of 2025-01",
  "the statement of 2025-01 with its corrections",
] as const;

/** The kinds of some problems, and each problem of no known kind. */
function kindsOf(problems: readonly string[]): Set<string> {
  return new Set(problems.map((line) => KINDS.find((kind) => line.startsWith(kind)) ?? line));
}

describe("a simulated year in which retention deletes more than it may", () => {
  const { sql, url } = useDatabase();

  test("is red for a row of an open day, for one of before the first closed day, and for evidence of a mismatch", async () => {
    const deletions = [
      deleteFirst("bet_records", "accounting_date desc"),
      deleteFirst("windows", "from_at"),
      deleteFirst("callback_entries", "occurred_at", IS_EVIDENCE),
    ];
    await sql.unsafe(meddling("retention_states", "new.walk like 'records of %'", deletions.join("\n")));
    // Bets still begin when the first are deleted.
    const { problems } = await runYear(planFew(10, 3), url, () => {});
    expect(kindsOf(problems)).toEqual(new Set(KINDS.slice(0, 3)));
  });
});

describe("a simulated year in which somebody changes the database", () => {
  const { sql, url } = useDatabase();

  test("is red for a changed statement, and for evidence whose deletion nobody noted", async () => {
    const changes = [
      `update closed_days set statement = jsonb_set(statement, '{rows,0,provider,net}', '"0.01"')
        where number = new.number;`,
      "set local session_replication_role = replica;",
      deleteFirst("callback_entries", "occurred_at", IS_EVIDENCE),
      "set local session_replication_role = origin;",
    ];
    await sql.unsafe(meddling("closed_days", "new.number = 5", changes.join("\n")));
    const { problems } = await runYear(planFew(5, 5), url, () => {});
    expect(kindsOf(problems)).toEqual(new Set(KINDS.slice(3)));
  });
});
