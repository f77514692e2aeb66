import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { openDatabase, type Query } from "../../src/db/client.ts";
import { Deadline } from "../../src/db/deadline.ts";
import { BY_KEYS } from "../../src/db/pipelined-connection.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { amount, NOON } from "../support/examples.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { exampleEnvelope } from "./operator.ts";
import { openTogether, outcomesOf, type Sent, type Together } from "./together.ts";

const { sql, url } = useDatabase();
let together: Together;
let run = 0;
beforeEach(() => {
  run += 1;
  together = open();
});

function open(database = sql): Together {
  const opened = openTogether(database);
  onTestFinished(() => opened.close());
  return opened;
}

/** Players of this test, each with 100 THB. */
async function openPlayers(count: number): Promise<string[]> {
  const players = Array.from({ length: count }, (_, index) => `run-${run}-player-${index}`);
  for (const username of players) await credit(username, "THB");
  return players;
}

const credit = (username: string, currency: string) =>
  creditWallet(sql, { username, currency, amount: amount("100"), ref: `${username} ${currency}` }, NOON);

/** A placement of 10, as the only bet of the player. */
function place(username: string, item: object = {}, envelope: object = {}): Sent & { body: object } {
  const bet = { id: `bet-of-${username}`, status: "OPEN", roundId: `round-of-${username}`, betAmount: 10 };
  return {
    name: "placeBets",
    body: { ...exampleEnvelope(username), txns: [{ ...bet, ...item }], ...envelope },
  };
}

const transactions = async () => {
  const [row] = await sql<{ count: number }[]>`
    select count(distinct appended_in)::integer as count from callback_entries
    where username like ${`run-${run}-%`}`;
  return row?.count;
};
const debited = async () => {
  const rows = await sql<{ username: string }[]>`
    select username from callback_entries where username like ${`run-${run}-%`} order by username`;
  return rows.map(({ username }) => username);
};

describe("requests of different players that wait at the same moment", () => {
  test("share a commit, and each gets its own answer", async () => {
    const players = await openPlayers(4);
    const answers = await together.answer(
      players.map((player, index) => place(player, { betAmount: index + 1 })),
    );
    expect(outcomesOf(answers)).toEqual(["0 99", "0 98", "0 97", "0 96"]);
    expect(answers.map((answer) => answer?.["username"])).toEqual(players);
    expect(await transactions()).toBe(1);
  });

  test("are not affected by malformed, refused and unknown ones among them", async () => {
    const [anna = "", ben = "", cora = ""] = await openPlayers(3);
    const answers = await together.answer([
      place(anna),
      place(`run-${run}-unknown`),
      place(ben, { betAmount: -1 }),
      { name: "placeBets", body: "{" },
      { name: "settleBets", body: place(`run-${run}-stranger`).body },
      place(cora, { betAmount: 1000 }),
      { name: "checkBalance", body: exampleEnvelope(ben) },
      { name: "checkBalance", body: exampleEnvelope(`run-${run}-unknown`) },
    ]);
    const expected = ["0 90", "10001", "30001", "30001", "30001", "10002", "0", "10001"];
    expect(outcomesOf(answers)).toEqual(expected);
    expect(String(answers[6]?.["balance"])).toBe("100");
    expect(await debited()).toEqual([anna]);
    const bodies = await sql`select from callback_bodies where body like ${`%run-${run}-%`}`;
    expect(bodies).toHaveLength(7);
  });

  test("can be of different callbacks and products, with several items and whole rounds", async () => {
    const [anna = "", ben = "", cora = "", dora = ""] = await openPlayers(4);
    const items = ["a", "b", "c"].map((id) => ({ id, status: "OPEN", roundId: "r", betAmount: 10 }));
    const before = await together.answer([
      { ...place(anna, {}, { txns: items }) },
      place(ben, { id: "a", roundId: "r" }),
      {
        ...place(cora, { status: "SETTLED", betAmount: 10, payoutAmount: 25 }, { productId: "S1" }),
        name: "settleBets",
      },
    ]);
    expect(outcomesOf(before)).toEqual(["0 70", "0 90", "0 115"]);
    const byRound = { id: "a", status: "REFUND", roundId: "r", betAmount: 0, transactionType: "BY_ROUND" };
    const after = await together.answer([
      { ...place(anna, byRound), name: "cancelBets" },
      { ...place(ben, { id: "a", roundId: "r", status: "SETTLED", payoutAmount: 5 }), name: "settleBets" },
      { ...place(cora, { id: "gone", roundId: "gone", status: "REFUND" }), name: "cancelBets" },
      {
        name: "adjustBalance",
        body: { ...place(dora).body, txns: [{ refId: "x", status: "CREDIT", amount: 7 }] },
      },
    ]);
    expect(outcomesOf(after)).toEqual(["0 100", "0 95", "20001", "0 107"]);
    const late = await together.answer([
      place(cora, { id: "gone", roundId: "gone" }),
      {
        name: "adjustBalance",
        body: { ...place(dora).body, txns: [{ refId: "x", status: "CREDIT", amount: 7 }] },
      },
    ]);
    expect(outcomesOf(late)).toEqual(["20003", "20002"]);
  });

  test("are replayed together: each gets its first answer again, and nothing moves", async () => {
    const sent = (await openPlayers(3)).map((player) => place(player));
    const first = await together.answer(sent);
    expect(await together.answer(sent)).toEqual(first);
    expect(await transactions()).toBe(1);
  });

  test("form batches up to the limits", async () => {
    await together.answer((await openPlayers(60)).map((player) => place(player)));
    expect(await transactions()).toBe(2);
  });

  test("of one player keep their order, and share no commit", async () => {
    const [anna = "", ben = ""] = await openPlayers(2);
    const answers = await together.answer([
      place(anna, { betAmount: 1 }),
      place(ben),
      { ...place(anna, { status: "SETTLED", payoutAmount: 5 }), name: "settleBets" },
      place(anna, { id: "second", betAmount: 104 }),
    ]);
    expect(outcomesOf(answers)).toEqual(["0 99", "0 90", "0 104", "0 0"]);
    expect(await transactions()).toBe(3);
  });

  test("with one request id are applied once", async () => {
    const [anna = "", ben = "", cora = ""] = await openPlayers(3);
    const answers = await together.answer([
      place(anna, {}, { id: `same-${run}` }),
      place(ben, {}, { id: `same-${run}` }),
      place(cora),
    ]);
    expect(outcomesOf(answers)).toEqual(["0 90", "20002", "0 90"]);
  });
});

describe("a request that cannot share a commit is applied alone", () => {
  const untilDebited = (players: readonly string[]) =>
    eventually(`only ${players.join(", ")} are debited`, async () => {
      return (await debited()).join() === players.join();
    });

  test.each(["THB", "USD"])(
    "because somebody has locked the player's %s wallet, while the others are answered",
    async (locked) => {
      const [anna = "", ben = "", cora = ""] = await openPlayers(3);
      await credit(ben, "USD");
      const { answering } = await sql.begin(async (tx) => {
        await tx`select from wallets where username = ${ben} and currency = ${locked} for update`;
        const answering = together.answer([place(anna), place(ben), place(cora)]);
        await untilDebited([anna, cora]);
        const again = [place(anna, { id: "b" }), place(cora, { id: "b" })];
        expect(outcomesOf(await together.answer(again))).toEqual(["0 80", "0 80"]);
        return { answering };
      });
      expect(outcomesOf(await answering)).toEqual(["0 90", "0 90", "0 90"]);
    },
  );

  test("because another transaction has locked the wallets of many players: no other player waits, and a player whose wallet is unlocked is answered at once", async () => {
    const players = await openPlayers(9);
    const [anna = "", ben = "", cora = "", ...locked] = players;
    const lock = (tx: Query, names: readonly string[]) =>
      tx`select from wallets where username = any(${names}::text[]) for update`;
    const { answeringLocked } = await sql.begin(async (others) => {
      await lock(others, locked);
      const answeringLocked = together.answer(locked.map((player) => place(player)));
      const { answeringAnna } = await sql.begin(async (own) => {
        await lock(own, [anna]);
        const answeringAnna = together.answer([place(anna)]);
        const same = { id: `same-${run}` };
        const answers = await together.answer([place(ben, {}, same), place(cora, {}, same)]);
        expect(outcomesOf(answers)).toEqual(["0 90", "20002"]);
        return { answeringAnna };
      });
      expect(outcomesOf(await answeringAnna)).toEqual(["0 90"]);
      expect(await debited()).toEqual([anna, ben]);
      return { answeringLocked };
    });
    expect(outcomesOf(await answeringLocked)).toEqual(locked.map(() => "0 90"));
  });

  test("because its deadline is near, so the others keep their time", async () => {
    const [anna = "", ben = ""] = await openPlayers(2);
    const nearlyOver = new Deadline(60_000);
    nearlyOver.leftMs = () => 900;
    const answers = await together.answer([{ ...place(anna), deadline: nearlyOver }, place(ben)]);
    expect(outcomesOf(answers)).toEqual(["0 90", "0 90"]);
    expect(await transactions()).toBe(2);
  });

  test("because another transaction holds its request id, while the others are answered", async () => {
    const [anna = "", ben = "", cora = ""] = await openPlayers(3);
    const id = `taken-${run}`;
    const { answering } = await sql.begin(async (tx) => {
      await tx`
        insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
        values ('P1', 'placeBets', ${id}, '', 0, 0)`;
      const answering = together.answer([place(anna), place(ben, {}, { id }), place(cora)]);
      await untilDebited([anna, cora]);
      return { answering };
    });
    expect(outcomesOf(await answering)).toEqual(["0 90", "20002", "0 90"]);
  });

  test("because the database refuses it: it fails alone, and the others are applied", async () => {
    const [anna = "", ben = "", cora = ""] = await openPlayers(3);
    await sql.unsafe(`create or replace function refuse_ben() returns trigger language plpgsql as
      'begin if new.username = ''${ben}'' then raise ''no''; end if; return new; end'`);
    await sql`create trigger refuse before insert on callback_entries for each row execute function refuse_ben()`;
    onTestFinished(async () => {
      await sql`drop trigger refuse on callback_entries`;
    });
    const answers = await together.answer([place(anna), place(ben), place(cora)]);
    expect(outcomesOf(answers)).toEqual(["0 90", "50001", "0 90"]);
    expect(await debited()).toEqual([anna, cora]);
  });

  test("because its deadline passed while the writes of all took long: it is not applied, and the others are", async () => {
    const [anna = "", ben = ""] = await openPlayers(2);
    await sql.unsafe(`create or replace function take_long() returns trigger language plpgsql as
      'begin perform pg_sleep(1.6); return null; end'`);
    await sql`create trigger slow before insert on callback_requests for each statement execute function take_long()`;
    onTestFinished(async () => {
      await sql`drop trigger slow on callback_requests`;
    });
    const soonOver = new Deadline(1_500);
    const answers = await together.answer([{ ...place(anna), deadline: soonOver }, place(ben)]);
    expect(outcomesOf(answers)).toEqual(["50001", "0 90"]);
    expect(await debited()).toEqual([ben]);
  });

  test("because its time is over: it is not applied, and the others are", async () => {
    const [anna = "", ben = ""] = await openPlayers(2);
    const over = new Deadline(60_000);
    over.leftMs = () => 0;
    const answers = await together.answer([{ ...place(anna), deadline: over }, place(ben)]);
    expect(outcomesOf(answers)).toEqual(["50001", "0 90"]);
    expect(await debited()).toEqual([ben]);
  });
});

describe("a malformed request is refused", () => {
  test("even if its body cannot be stored, and while the player's requests wait", async () => {
    const [anna = ""] = await openPlayers(1);
    const { answering } = await sql.begin(async (tx) => {
      await tx`select from wallets where username = ${anna} for update`;
      await tx`lock table callback_bodies in access exclusive mode`;
      const answering = together.answer([place(anna)]);
      const malformed = [place(anna, { betAmount: -1 }), { name: "checkBalance" as const, body: "{" }];
      expect(outcomesOf(await together.answer(malformed))).toEqual(["30001", "30001"]);
      return { answering };
    });
    expect(outcomesOf(await answering)).toEqual(["0 90"]);
  });

  test.each([64, 1_000, 3_000, 4_000, 5_000, 100_000])(
    "because it nests too deeply, even in a field that nobody reads: %i lists",
    async (depth) => {
      const [anna = ""] = await openPlayers(1);
      const nested = (levels: number) =>
        JSON.stringify(place(anna, {}, { ignored: 0 }).body).replace(
          '"ignored":0',
          `"ignored":${"[".repeat(levels)}${"]".repeat(levels)}`,
        );
      const answers = await together.answer([
        { name: "placeBets", body: nested(depth) },
        { name: "placeBets", body: nested(63) },
      ]);
      expect(outcomesOf(answers)).toEqual(["30001", "0 90"]);
    },
  );
});

test("every statement finds its rows by keys, even while the tables are empty", async () => {
  const database = openDatabase(url, 1);
  onTestFinished(() => database.end());
  const statements = new Set<string>();
  Object.assign(database.options, { debug: (_: number, text: string) => statements.add(text) });
  const [anna = "", ben = ""] = await openPlayers(2);
  const sent = open(database);
  for (const players of [[anna], [anna, ben]]) {
    const id = `of-${players.length}`;
    const byRound = { id, roundId: id, status: "REFUND", transactionType: "BY_ROUND" };
    await sent.answer(players.map((player) => place(player, { id, roundId: id })));
    await sent.answer(players.map((player) => ({ ...place(player, byRound), name: "cancelBets" })));
    await sent.answer(
      players.map((player) => ({
        name: "adjustBalance",
        body: { ...place(player).body, txns: [{ refId: id, status: "CREDIT", amount: 7 }] },
      })),
    );
  }
  const explained = [...statements].filter((text) => /^\s*(select|with)/.test(text));
  expect(explained.length).toBeGreaterThan(10);
  const plans = await sql.begin(async (tx) => {
    for (const [name, value] of Object.entries(BY_KEYS)) await tx`select set_config(${name}, ${value}, true)`;
    const rows = [];
    for (const text of explained) rows.push(...(await tx.unsafe(`explain (generic_plan) ${text}`)));
    return rows.map((row) => String(row["QUERY PLAN"]));
  });
  expect(plans.join("\n")).toContain("Index Scan using wallet_bets_product_id_username_txn_id_pk");
  expect(plans.filter((line) => /Seq Scan|Hash Join|Merge Join|Materialize|Bitmap/.test(line))).toEqual([]);
});

test("a caller that disconnects while its request waits with others is not debited, and the others are", async () => {
  const [anna = "", ben = ""] = await openPlayers(2);
  const gone = new Deadline(60_000);
  const answering = together.answer([{ ...place(anna), deadline: gone }, place(ben)]);
  gone.leave(new Error("the caller has disconnected"));
  expect(outcomesOf(await answering)).toEqual(["none", "0 90"]);
  expect(await debited()).toEqual([ben]);
});

test.each(["takes place", "does not"])(
  "when the connection is lost during a shared commit that %s, each request gets the answer that is true",
  async (commit) => {
    const players = await openPlayers(3);
    const proxy = await startTcpProxy(url);
    const far = openDatabase(proxy.url, 1);
    onTestFinished(async () => {
      await far.end({ timeout: 0 });
      await proxy.close();
    });
    await sql`create table holds as select true`;
    await sql.unsafe(`create or replace function hold() returns trigger language plpgsql as
      'begin while exists (select from holds) loop perform pg_sleep(0.01); end loop; return new; end'`);
    await sql`
      create constraint trigger hold after insert on callback_entries deferrable initially deferred
      for each row execute function hold()`;
    onTestFinished(async () => {
      await sql`drop trigger hold on callback_entries`;
      await sql`drop table holds`;
    });
    const distant = open(far);
    const answering = distant.answer(players.map((player) => place(player)));
    await eventually("the commit waits", async () => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      if (rows.length === 0) return false;
      await proxy.refuse();
      if (commit === "does not") await sql`select pg_terminate_backend(${rows[0]?.pid ?? 0})`;
      return true;
    });
    await proxy.restore();
    await sql`delete from holds`;
    const expected = commit === "does not" ? "50001" : "0 90";
    expect(outcomesOf(await answering)).toEqual(players.map(() => expected));
    expect(await debited()).toEqual(commit === "does not" ? [] : players);
  },
);
