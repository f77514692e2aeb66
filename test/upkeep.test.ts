import { expect, test } from "vitest";
import { judgeUpkeep } from "../src/upkeep.ts";

type Facts = Parameters<typeof judgeUpkeep>[0];

const well: Facts = {
  transactionIds: 0.09,
  multixactIds: 0.01,
  transaction: { pid: 7, application: "wallet-recon", state: "active", ageSeconds: 300 },
  prepared: null,
  slot: { name: "replica", isActive: true, transactions: 100_000 },
  overdue: [{ table: "diff_marks", dead: 20_000, overdue: 4 }],
  seesAll: true,
  autovacuum: true,
};

test("autovacuum that keeps up is no problem", () => {
  expect(judgeUpkeep(well)).toEqual([]);
});

test.each<[string, Partial<Facts>, RegExp, RegExp]>([
  [
    "transaction ids",
    { transactionIds: 0.3 },
    /^30 % of PostgreSQL's transaction ids are used/,
    /vacuum \(freeze\)/,
  ],
  ["multixact ids", { multixactIds: 0.26 }, /^26 % of PostgreSQL's multixact ids/, /mxid_age/],
  [
    "a transaction that is open for hours",
    {
      transaction: {
        pid: 42,
        application: "psql",
        state: "idle in transaction",
        ageSeconds: 4 * 3_600,
      },
    },
    /^a transaction of "psql" \(pid 42, idle in transaction\) has been open for 4 h/,
    /pg_terminate_backend\(42\)/,
  ],
  [
    "a forgotten prepared transaction",
    { prepared: { name: "abc", ageSeconds: 86_400 } },
    /^the prepared transaction "abc" has been open for/,
    /rollback prepared 'abc'/,
  ],
  [
    "a slot without a reader",
    { slot: { name: "old_replica", isActive: false, transactions: 20_000_000 } },
    /^the replication slot "old_replica" \(not in use\) holds back the rows of the last 20,000,000/,
    /pg_drop_replication_slot\('old_replica'\)/,
  ],
  [
    "a slot whose replica does not follow",
    { slot: { name: "replica", isActive: true, transactions: 20_000_000 } },
    /\(in use\)/,
    /long query/,
  ],
  ["autovacuum that is off", { autovacuum: false }, /^autovacuum is off/, /autovacuum = on/],
  [
    "a table that autovacuum does not reach",
    { overdue: [{ table: "windows", dead: 900_000, overdue: 9 }] },
    /^autovacuum does not keep up with windows \(900,000 dead rows\)$/,
    /run vacuum/,
  ],
])("%s: one problem that says what to do", (_, changes, found, mend) => {
  const problems = judgeUpkeep({ ...well, ...changes });
  expect(problems).toHaveLength(1);
  expect(problems[0]?.found).toMatch(found);
  expect(problems[0]?.mend).toMatch(mend);
});
