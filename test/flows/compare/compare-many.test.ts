import { describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import type { Sql } from "../../../src/db/client.ts";
import { writeMarks } from "../../../src/diff/mark-store.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { silentLog } from "../../../src/log.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, listed, readAll, mismatches, changesOf, ledgerBegins } = useDiffWorld();

/** Reports every statement of the transactions that begin through it. */
function watched(real: Sql, tell: (statement: string) => void): Sql {
  const spy = (tx: object) =>
    new Proxy(tx, {
      apply: (target, self, args) => {
        tell(String(args[0]));
        return Reflect.apply(target as never, self, args) as unknown;
      },
    });
  return new Proxy(real, {
    get: (target, name, receiver) =>
      name === "begin"
        ? (options: string, work: (tx: never) => Promise<unknown>) =>
            target.begin(options, (tx) => work(spy(tx) as never))
        : Reflect.get(target, name, receiver),
  });
}

test("a comparison of many players reads their data at once, and gives each a mismatch of their own", async () => {
  const players = Array.from({ length: 300 }, (_, index) => `player-${index}`);
  await receive(
    ...players.flatMap((username) =>
      callbacksOf("1", { username }).map((entry) => ({ ...entry, entryId: `${username} ${entry.entryId}` })),
    ),
  );
  await listed(...players.map((username) => recordOf("2", { username })));
  const reads: string[] = [];
  const through = watched(sql, (statement) => {
    if (statement.includes("from mismatches m")) reads.push(statement);
  });
  await diffAt(15, { through });
  expect((await readAll()).map(({ username }) => username).sort()).toEqual([...players].sort());
  expect(reads.length).toBeLessThan(10);
});

test("marks that are rescheduled together lie in rows that one comparison can take", async () => {
  const marks = Array.from({ length: 1_200 }, (_, index) => ({
    username: "anna",
    roundId: `round-${index}`,
    betRef: null,
    dueAt: minute(1),
  }));
  await writeMarks(sql, "P1", marks);
  const rows = await sql<
    { count: number }[]
  >`select cardinality(usernames) as count from diff_marks order by id`;
  expect(rows.map(({ count }) => count).sort()).toEqual([200, 500, 500]);
});

test("a round of thousands of bets is compared as any other round", async () => {
  await ledgerBegins();
  const bets = Array.from({ length: 3_000 }, (_, index) => `bet-${index}`);
  await receive(
    ...bets.flatMap((txnId) => [
      exampleEntry({ txnId, entryId: `p ${txnId}`, requestId: `p ${txnId}` }),
      exampleSettle({ txnId, entryId: `s ${txnId}`, requestId: `s ${txnId}`, payoutAmount: amount("1") }),
    ]),
  );
  await listed(
    ...bets.slice(0, 2_999).map((betId) => recordOf("1", { betId, id: `r ${betId}` })),
    recordOf("2", { betId: "bet-2999", id: "r" }),
  );
  await diffAt(15);
  expect(await mismatches()).toEqual(["payout-differs of bet-2999 is open"]);
});

describe("a reviewer's decision", () => {
  const ignore = async () => {
    const config = parseConfig({ products: [{ productId: "P1" }] });
    const [mismatch] = await readAll();
    await actOnMismatches(
      { sql, config, clock, log: silentLog },
      {
        action: "ignore",
        target: { ids: [mismatch?.id ?? ""] },
        note: "it will be sent again",
        by: "mia",
        expected: null,
        adjustment: null,
      },
    );
  };

  test("stays while the difference is compared again, and when it is gone", async () => {
    await receive(...callbacksOf("1"));
    await listed(recordOf("2"));
    await diffAt(15);
    await ignore();
    await listed(recordOf("2", { updatedDate: iso(16), gameName: "another name" }));
    await diffAt(40);
    await listed(recordOf("1", { updatedDate: iso(41) }));
    await diffAt(60);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is ignored"]);
  });

  test("notices that the difference is gone if the screening drops what agrees, and ends when it comes back", async () => {
    const screened = async (minutes: number) => {
      clock.set(minute(minutes));
      const config = parseConfig({ products: [{ productId: "P1" }] });
      await compareProduct({ sql, config, clock, log: silentLog }, "P1", new AbortController().signal, {
        screenFrom: 1,
      });
    };
    await receive(...callbacksOf("1"));
    await listed(recordOf("2"));
    await diffAt(15);
    await ignore();
    await listed(recordOf("1", { updatedDate: iso(16) }));
    await screened(40);
    await listed(recordOf("2", { updatedDate: iso(41) }));
    await screened(60);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  });

  test("ends when the same difference comes back after it was gone", async () => {
    await receive(...callbacksOf("1"));
    await listed(recordOf("2"));
    await diffAt(15);
    await ignore();
    await listed(recordOf("1", { updatedDate: iso(16) }));
    await diffAt(40);
    await listed(recordOf("2", { updatedDate: iso(41) }));
    await diffAt(41);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is ignored"]);
    await diffAt(60);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    expect(await changesOf("1")).toEqual(["null -> open", "open -> ignored", "ignored -> open"]);
  });
});
