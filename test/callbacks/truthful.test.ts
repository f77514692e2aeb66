import { connect } from "node:net";
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readBody } from "../../src/callbacks/raw-body.ts";
import { isMalformed, readRequest } from "../../src/callbacks/request.ts";
import { openWallet } from "../../src/callbacks/wallet.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { Deadline } from "../../src/db/deadline.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { exampleEnvelope, type Operator, post, startOperator } from "./operator.ts";
import { openTogether, outcomesOf } from "./together.ts";

const { sql, url } = useDatabase();
let operator: Operator;
let logged: string[];
const log = pino({ level: "trace" }, { write: (line) => logged.push(line) });
beforeEach(async () => {
  logged = [];
  operator = await startOperator(sql, { context: { log } });
});

/** Applies a placement of 10 with the given deadline. */
function place(id: string, deadline: Deadline, database: Sql = sql, changes: { readonly id?: string } = {}) {
  const wallet = openWallet(database, createTestClock(NOON));
  onTestFinished(async () => {
    deadline.stop();
    await wallet.close();
  });
  const item = { id, status: "OPEN", roundId: "round-1", betAmount: 10 };
  const body = readBody(
    Buffer.from(JSON.stringify({ ...exampleEnvelope(operator.player), ...changes, txns: [item] })),
  );
  const request = readRequest("placeBets", body.value, NOON);
  if (isMalformed(request)) throw new Error(request.reason);
  const received = { request, settings: { singleState: false }, body: body.kept, signature: null };
  return wallet.apply(received, deadline);
}

/** Runs this statement for each entry, at the end of the insert or at the commit, until the test ends. */
async function doAtEach(at: "statement" | "commit", what: string): Promise<void> {
  await sql.unsafe(`create or replace function take_long() returns trigger language plpgsql as
    'begin perform ${what}; return new; end'`);
  const when = at === "commit" ? "constraint trigger slow after" : "trigger slow before";
  const deferred = at === "commit" ? "deferrable initially deferred" : "";
  await sql.unsafe(
    `create ${when} insert on callback_entries ${deferred} for each row execute function take_long()`,
  );
  onTestFinished(async () => {
    await sql`drop trigger slow on callback_entries`;
  });
}

/** Blocks the commit of every entry until `letGo`. @param cancelled whether a cancelled commit still succeeds */
async function holdCommits(cancelled = "fails"): Promise<{ letGo(): Promise<void> }> {
  const wait = "pg_advisory_xact_lock(1)";
  await doAtEach(
    "commit",
    cancelled === "fails"
      ? wait
      : `pg_sleep(0); begin perform ${wait}; exception when query_canceled then perform ${wait}; end`,
  );
  const holder = await sql.reserve();
  await holder`select pg_advisory_lock(1)`;
  return {
    letGo: async () => {
      await holder`select pg_advisory_unlock(1)`;
      holder.release();
    },
  };
}

const untilWaiting = (on: string, count = 1) =>
  eventually(`${count} wait for ${on}`, async () => {
    const rows = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = ${on}`;
    return rows.length === count;
  });

/** Does `work` while the player's wallet is locked, then unlocks the wallet. */
async function whileLocked<Result>(work: () => Promise<Result>): Promise<{ result: Result }> {
  return await sql.begin(async (tx) => {
    await tx`select from wallets where username = ${operator.player} for update`;
    return { result: await work() };
  });
}

describe("a request without a successful answer is not applied", () => {
  test("when its deadline passed while it waited for the wallet", async () => {
    const deadline = new Deadline(100);
    const { result } = await whileLocked(async () => {
      const refused = expect(place("bet-1", deadline)).rejects.toThrow("it was not done within 0.1 s");
      await expect(deadline.over).rejects.toThrow("it was not done within 0.1 s");
      return { refused };
    });
    await result.refused;
    expect(await operator.balance()).toBe("100");
  });

  test("when the server was suspended and the database would commit too late", async () => {
    await doAtEach("statement", "pg_sleep(0.5)");
    const deadline = new Deadline(60_000);
    // The remaining time when the request is judged.
    deadline.leftMs = () => 100;
    await expect(place("bet-1", deadline)).rejects.toThrow("it could not be committed in time");
    expect(await operator.balance()).toBe("100");
    expect(await sql`select from callback_entries where username = ${operator.player}`).toEqual([]);
  });

  test("when one of its writes waited until the deadline had passed", async () => {
    const deadline = new Deadline(5_000);
    let placing: Promise<unknown> = Promise.resolve();
    const takesTheId = sql.begin(async (tx) => {
      await tx`
        insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
        values ('P1', 'placeBets', 'taken', '', 0, 0)`;
      placing = place("bet-1", deadline, sql, { id: "taken" });
      placing.catch(() => {});
      await untilWaiting("transactionid");
      await expect(placing).rejects.toThrow("it was not done within 5 s");
      await untilWaiting("transactionid", 0);
      throw new Error("it gives the id back");
    });
    await expect(takesTheId).rejects.toThrow("it gives the id back");
    expect(await operator.balance()).toBe("100");
  });

  test("when its caller disconnected while it waited for the wallet, or for another request of the player", async () => {
    const hangUp = [new AbortController(), new AbortController()];
    await whileLocked(async () => {
      for (const [index, { signal }] of hangUp.entries()) {
        const txns = [{ id: `gone-${index}`, status: "OPEN", roundId: "r", betAmount: 7 }];
        const body = JSON.stringify({ ...exampleEnvelope(operator.player), txns });
        const headers = { "content-type": "application/json" };
        const sent = fetch(`${operator.url}/placeBets`, { method: "POST", headers, body, signal });
        sent.catch(() => {});
        if (index === 0) await untilWaiting("transactionid");
      }
      for (const controller of hangUp) controller.abort();
      // The second request may not have arrived yet.
      await eventually("the first is dropped", () => logged.length > 0);
    });
    expect(logged.join("")).toMatch(
      /the caller has disconnected.*a callback was not applied, because its caller disconnected/,
    );
    expect(await operator.outcomeOf("placeBets", {})).toBe("0 90");
  });
});

/** Which backends wait for a lock. */
const readWaiting = async (): Promise<string> => {
  const rows = await sql`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return rows.map(({ pid }) => pid).join();
};

/** A batch soon stops waiting for a lock; then the request waits for it alone, on another connection. */
async function untilWaitingAlone(): Promise<void> {
  const withOthers = await eventually("it waits with a batch", readWaiting);
  await eventually("it waits alone", async () => {
    const waiting = await readWaiting();
    return waiting !== "" && waiting !== withOthers;
  });
}

describe("a caller that disconnects while its write waits", () => {
  test("cancels the write in the database: nothing is applied when the lock is free", async () => {
    const hangUp = new AbortController();
    const takesTheId = sql.begin(async (tx) => {
      await tx`
        insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
        values ('P1', 'placeBets', 'taken', '', 0, 0)`;
      const txns = [{ id: "bet-1", status: "OPEN", roundId: "r", betAmount: 7 }];
      const body = JSON.stringify({ ...exampleEnvelope(operator.player), id: "taken", txns });
      const headers = { "content-type": "application/json" };
      const { signal } = hangUp;
      fetch(`${operator.url}/placeBets`, { method: "POST", headers, body, signal }).catch(() => {});
      await untilWaitingAlone();
      hangUp.abort();
      await eventually("it does not wait any more", async () => (await readWaiting()) === "");
      throw new Error("it gives the id back");
    });
    await expect(takesTheId).rejects.toThrow("it gives the id back");
    // The server would have ended the statement later, with "canceling statement due to statement timeout".
    await eventually("the log says so", () => logged.length > 0);
    expect(logged.join("")).toMatch(
      /"the caller has disconnected","msg":"a callback was not applied, because its caller disconnected/,
    );
    expect(await operator.balance()).toBe("100");
    expect(await sql`select from callback_entries where username = ${operator.player}`).toEqual([]);
  });

  test("during the commit, too", async () => {
    const commits = await holdCommits();
    const deadline = new Deadline(60_000);
    const placing = place("bet-1", deadline);
    await untilWaitingAlone();
    deadline.leave(new Error("the caller has disconnected"));
    await expect(placing).rejects.toThrow("the caller has disconnected");
    await commits.letGo();
    expect(await operator.balance()).toBe("100");
  });

  test("costs the others of its batch only another attempt", async () => {
    const other = await startOperator(sql);
    await sql.unsafe(`create or replace function take_long() returns trigger language plpgsql as
      'begin if new.username = ''${operator.player}'' then perform pg_sleep(600); end if; return new; end'`);
    await sql`create trigger slow before insert on callback_entries for each row execute function take_long()`;
    onTestFinished(async () => {
      await sql`drop trigger slow on callback_entries`;
    });
    const together = openTogether(sql, NOON, log);
    onTestFinished(() => together.close());
    const gone = new Deadline(60_000);
    const [leaving, staying] = [operator, other].map(({ player }) => ({
      ...exampleEnvelope(player),
      txns: [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10 }],
    }));
    const answering = together.answer([
      { name: "placeBets", body: leaving, deadline: gone },
      { name: "placeBets", body: staying },
    ]);
    await untilWaiting("PgSleep");
    gone.leave(new Error("the caller has disconnected"));
    expect(outcomesOf(await answering)).toEqual(["none", "0 90"]);
    expect([await operator.balance(), await other.balance()]).toEqual(["100", "90"]);
    await untilWaiting("PgSleep", 0);
  });
});

test("a request whose caller disconnects too late is applied, and the log says so", async () => {
  const commits = await holdCommits("takes place");
  const together = openTogether(sql, NOON, log);
  onTestFinished(() => together.close());
  const deadline = new Deadline(60_000);
  const txns = [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10 }];
  const body = { ...exampleEnvelope(operator.player), txns };
  const answering = together.answer([{ name: "placeBets", body, deadline }]);
  await untilWaiting("advisory");
  deadline.leave(new Error("the caller has disconnected"));
  await commits.letGo();
  await answering;
  expect(logged.join("")).toContain(
    "the caller of a callback disconnected during its commit, and got no answer; the callback was applied",
  );
  expect(await operator.balance()).toBe("90");
});

/** A pool of one connection through a proxy that can break it. */
async function openFar() {
  const proxy = await startTcpProxy(url);
  const far = openDatabase(proxy.url, 1);
  onTestFinished(async () => {
    await far.end({ timeout: 0 });
    await proxy.close();
  });
  return { proxy, far };
}

describe("when a connection is lost during a commit", () => {
  test("and the commit succeeds anyway, the request is answered with success", async () => {
    const commits = await holdCommits();
    const { proxy, far } = await openFar();
    const placing = place("bet-1", new Deadline(60_000), far);
    await untilWaiting("advisory");
    await proxy.refuse();
    await proxy.restore();
    await commits.letGo();
    const verdict = await placing;
    expect(verdict).toMatchObject({ statusCode: 0, answeredAt: NOON });
    expect(verdict.statusCode === 0 && verdict.balanceAfter.toFixed()).toBe("90");
    expect(await operator.balance()).toBe("90");
  });

  test("and the caller has disconnected, the outcome is not searched", async () => {
    const commits = await holdCommits();
    const { proxy, far } = await openFar();
    const deadline = new Deadline(60_000);
    const lost = expect(place("bet-1", deadline, far)).rejects.toThrow(
      "the connection was lost during a commit",
    );
    await untilWaiting("advisory");
    const refused = proxy.refuse();
    deadline.leave(new Error("the caller has disconnected"));
    await refused;
    await lost;
    await commits.letGo();
  });
});

test("the locked wallet of one player does not delay other players", async () => {
  const other = await startOperator(sql);
  const { result } = await whileLocked(async () => {
    const waiting = Array.from({ length: 20 }, (_, index) =>
      operator.outcomeOf("placeBets", { id: `bet-${index}`, betAmount: 1 }),
    );
    await untilWaiting("transactionid");
    const txns = [{ id: "bet-1", status: "OPEN", roundId: "r", betAmount: 10 }];
    const envelope = exampleEnvelope(other.player);
    expect(await operator.outcomeOf("placeBets", txns, envelope)).toBe("0 90");
    return { waiting };
  });
  expect(new Set(await Promise.all(result.waiting)).size).toBe(20);
  expect(await operator.balance()).toBe("80");
});

test("a table that is altered under a running server fails no later callback", async () => {
  const alter = (type: string) => sql.unsafe(`alter table wallets alter username type ${type}`);
  onTestFinished(async () => {
    await alter("text");
  });
  const callAll = async (round: number) => [
    (await post(operator.url, "checkBalance", exampleEnvelope(operator.player))).json.statusCode,
    await operator.outcomeOf("placeBets", { id: `bet-${round}` }),
  ];
  expect([await callAll(1), await callAll(2)]).toEqual([
    [0, "0 90"],
    [0, "0 80"],
  ]);
  await alter("varchar(200)");
  expect([await callAll(3), await callAll(4)]).toEqual([
    [0, "0 70"],
    [0, "0 60"],
  ]);
});

test("the server disconnects a client that sends a body byte by byte", async () => {
  const slow = await startOperator(sql, { limits: { answerMs: 10_000, requestMs: 300 } });
  const socket = connect(Number(new URL(slow.url).port), "127.0.0.1");
  // Write only after reading all that has arrived: a write to a connection that was cut off discards unread data.
  const dripping = setInterval(() => setImmediate(() => socket.write(" ")), 50);
  onTestFinished(() => {
    clearInterval(dripping);
    socket.destroy();
  });
  socket.on("error", () => {});
  socket.write(
    "POST /placeBets HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n",
  );
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk.toString();
  });
  await new Promise((resolve) => socket.once("close", resolve));
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
});
