import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { dropExpiredBodies } from "../../src/callbacks/expired-store.ts";
import { startCallbackServer } from "../../src/callbacks/server.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { CONFIG, digits, exampleEnvelope, type Operator, post, startOperator, toBody } from "./operator.ts";

const database = useDatabase();
const { sql } = database;
let operator: Operator;
let logged: string[];
const log = pino({ level: "trace" }, { write: (line) => logged.push(line) });
beforeEach(async () => {
  logged = [];
  operator = await startOperator(sql, { context: { log } });
});

const failure = (id: string, statusCode: number, productId = "P1") => ({
  id,
  statusCode,
  timestampMillis: NOON,
  productId,
});

describe("the answer", () => {
  test("a success has these fields and no others, and its balances have every digit", async () => {
    const betAmount = digits("0.000000000000000000001");
    const { status, text, headers } = await operator.send("placeBets", { betAmount }, { id: "r-1" });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(text).toBe(
      `{"id":"r-1","statusCode":0,"timestampMillis":${NOON},"productId":"P1","currency":"THB","balanceBefore":100,"balanceAfter":99.999999999999999999999,"username":"${operator.player}"}`,
    );
  });

  test("checkBalance answers only the balance, and needs no game and no token", async () => {
    await operator.send("placeBets", { betAmount: digits("33.330") });
    const { text } = await post(operator.url, "checkBalance", {
      ...exampleEnvelope(operator.player),
      id: "c-1",
    });
    expect(text).toBe(
      `{"id":"c-1","statusCode":0,"timestampMillis":${NOON},"productId":"P1","currency":"THB","balance":66.67,"username":"${operator.player}"}`,
    );
  });

  test("a failure has only id, statusCode, productId and timestampMillis", async () => {
    expect((await operator.send("settleBets", {}, { id: "r-2" })).json).toEqual(failure("r-2", 20001));
  });

  test.each(["checkBalance", "placeBets", "adjustBalance"] as const)(
    "%s of a player without a wallet of the currency fails with 10001",
    async (callback) => {
      const items =
        callback === "adjustBalance"
          ? { refId: "r", status: "DEBIT", amount: 1 }
          : { id: "b", status: "OPEN", roundId: "r", betAmount: 1 };
      for (const changes of [{ username: "nobody" }, { currency: "EUR" }]) {
        const body = { ...exampleEnvelope(operator.player), id: "r-3", txns: [items], ...changes };
        expect((await post(operator.url, callback, body)).json).toEqual(failure("r-3", 10001));
      }
    },
  );
});

const SECONDS = NOON / 1000;
const Y2010 = Date.parse("2010-01-01T00:00:00Z");
const TOMORROW = NOON + 24 * 3_600_000;

describe("a malformed request fails with 30001, and the log names the field", () => {
  const bet = { id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 1 };
  test.each([
    ["placeBets", { timestampMillis: "now" }, /timestampMillis must be whole milliseconds.*\\"now\\"/],
    ["placeBets", { timestampMillis: digits("1.5") }, /timestampMillis/],
    ["placeBets", { timestampMillis: digits("9999999999999999") }, /timestampMillis/],
    ["placeBets", { timestampMillis: undefined }, /timestampMillis must be whole.*but is missing/],
    ["placeBets", { timestampMillis: SECONDS }, /timestampMillis must not be before 2010, but is 1795176000/],
    [
      "settleBets",
      { timestampMillis: Y2010 - 1 },
      /timestampMillis must not be before 2010, but is 1262303999999/,
    ],
    [
      "placeBets",
      { timestampMillis: TOMORROW + 1 },
      /timestampMillis must not be more than a day after the time of receipt, but is 1795262400001/,
    ],
    [
      "checkBalance",
      { timestampMillis: SECONDS },
      /timestampMillis must not be before 2010, but is 1795176000/,
    ],
    ["placeBets", { currency: undefined }, /currency must be text, but is missing/],
    ["placeBets", { username: 7 }, /username must be text, but is 7/],
    ["placeBets", { username: "a\0b" }, /username has a character that cannot be stored/],
    ["placeBets", { username: "x".repeat(600) }, /username is longer than 512 bytes/],
    ["placeBets", { txns: undefined }, /txns must be an array/],
    ["placeBets", { txns: [] }, /txns must have from 1 to 500 items, but has 0/],
    ["placeBets", { txns: Array(501).fill(bet) }, /txns must have from 1 to 500 items, but has 501/],
    ["placeBets", { txns: [bet, 5] }, /txns\[1\] must be an object/],
    [
      "placeBets",
      { txns: [{ ...bet, betAmount: "1" }] },
      /txns\[0\]\.betAmount must be a number, but is \\"1\\"/,
    ],
    [
      "placeBets",
      { txns: [{ ...bet, betAmount: -1 }] },
      /txns\[0\]\.betAmount must not be negative, but is -1/,
    ],
    [
      "placeBets",
      { txns: [{ ...bet, betAmount: digits("1e99") }] },
      /txns\[0\]\.betAmount must be a decimal/,
    ],
    [
      "placeBets",
      { txns: [{ ...bet, status: undefined }] },
      /txns\[0\]\.status must be text, but is missing/,
    ],
    [
      "settleBets",
      { txns: [{ ...bet, payoutAmount: 1, isSingleState: "yes" }] },
      /txns\[0\]\.isSingleState must be true or false, but is \\"yes\\"/,
    ],
    ["placeBets", { txns: [{ ...bet, roundId: null }] }, /txns\[0\]\.roundId must be text, but is null/],
    [
      "placeBets",
      { txns: [{ ...bet, skipBalanceUpdate: 1 }] },
      /skipBalanceUpdate must be true or false, but is 1/,
    ],
    ["settleBets", { txns: [bet] }, /txns\[0\]\.payoutAmount must be a number, but is missing/],
    [
      "rollback",
      { txns: [{ ...bet, payoutAmount: 1, transactionType: "BY_HAND" }] },
      /transactionType must be BY_TRANSACTION, BY_BET or BY_ROUND, but is \\"BY_HAND\\"/,
    ],
    [
      "adjustBalance",
      { txns: [{ refId: "r", status: "TAKE", amount: 1 }] },
      /status must be DEBIT or CREDIT/,
    ],
    ["placeBets", { productId: "P9" }, /productId \\"P9\\" is not in the config/],
    ["placeBets", { productId: "T1" }, /productId \\"T1\\" has a transfer wallet/],
  ] as const)("%s with %j", async (callback, changes, line) => {
    const body: Record<string, unknown> = {
      ...exampleEnvelope(operator.player),
      id: "m-1",
      txns: [bet],
      ...changes,
    };
    const { status, json } = await post(operator.url, callback, body);
    expect(status).toBe(200);
    expect(json).toEqual(failure("m-1", 30001, String(body["productId"])));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatch(line);
    expect(JSON.parse(logged[0] ?? "")).toMatchObject({ callback, requestId: "m-1", statusCode: 30001 });
    expect(await operator.balance()).toBe("100");
  });

  test.each(["{", "", "[]", '"text"', '{"id":"a","id":"b"}', "[".repeat(200_000)])(
    "a body like %.20j",
    async (body) => {
      expect((await post(operator.url, "placeBets", body)).json).toEqual(failure("", 30001, ""));
    },
  );
});

describe("an item with a status that its callback does not allow", () => {
  const STATUSES = ["OPEN", "WAITING", "SETTLED", "REFUND", "REJECT", "ROLLBACK", "TIPS", "DEBIT", "CREDIT"];
  const OTHERS = ["UNSETTLED", "VOID", "open", "settled", "FOO"];
  test.each([
    ["placeBets", ["OPEN", "WAITING"]],
    ["adjustBets", ["OPEN"]],
    ["settleBets", ["SETTLED"]],
    ["winRewards", ["SETTLED"]],
    ["cancelBets", ["REFUND", "REJECT"]],
    ["rollback", ["ROLLBACK"]],
    ["placeTips", ["TIPS"]],
    ["cancelTips", ["REFUND"]],
    ["adjustBalance", ["DEBIT", "CREDIT"]],
    ["voidSettled", [...STATUSES, ...OTHERS]],
    ["unsettleBets", [...STATUSES, ...OTHERS]],
    ["rollbackBets", [...STATUSES, ...OTHERS]],
  ])("fails with 30001 and moves nothing: %s takes %j", async (callback, right) => {
    const amounts = { betAmount: 1, payoutAmount: 1, amount: 1 };
    const send = async (status: string) => {
      const item = { id: `bet-${status}`, refId: status, roundId: status, gameCode: "g", playInfo: "p" };
      const txns = [{ ...item, ...amounts, status }];
      return (await post(operator.url, callback, { ...exampleEnvelope(operator.player), txns })).json;
    };
    const wrong = [...STATUSES, ...OTHERS].filter((status) => !right.includes(status));
    for (const status of wrong) {
      expect([status, (await send(status)).statusCode]).toEqual([status, 30001]);
      expect(logged.at(-1)).toContain("status must be");
    }
    expect(await operator.balance()).toBe("100");
    expect(await sql`select from callback_entries where username = ${operator.player}`).toHaveLength(0);
    for (const status of right)
      expect([status, [0, 20001, 20003].includes((await send(status)).statusCode)]).toEqual([status, true]);
  });

  test("is refused with all items of its request, which names the item", async () => {
    const item = { status: "SETTLED", roundId: "r", payoutAmount: 5 };
    const txns = [
      { ...item, id: "a" },
      { ...item, id: "b", status: "REFUND" },
    ];
    const { json } = await post(operator.url, "winRewards", { ...exampleEnvelope(operator.player), txns });
    expect(json.statusCode).toBe(30001);
    expect(logged[0]).toContain('txns[1].status must be SETTLED in winRewards, but is \\"REFUND\\"');
    expect(await operator.balance()).toBe("100");
  });
});

describe("a request that is not a callback gets an HTTP status", () => {
  const ask = (path: string, init: RequestInit) => fetch(`${operator.url}/${path}`, init);

  test("413 for a body that is too large", async () => {
    const body = `{"pad":"${"x".repeat(1024 * 1024)}"}`;
    expect((await post(operator.url, "placeBets", body)).status).toBe(413);
  });

  test("415 for another content type", async () => {
    expect(
      (await ask("placeBets", { method: "POST", body: "{}", headers: { "content-type": "text/plain" } }))
        .status,
    ).toBe(415);
  });

  test("405 with Allow for another method", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await ask("placeBets", { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("404 for another path", async () => {
    expect((await post(operator.url, "placeBet", {})).status).toBe(404);
  });
});

describe("a signature", () => {
  const key = "a key of our own";
  const sign = (body: string, at: string) => createHmac("sha256", key).update(`${body}.${at}`).digest("hex");
  const send = async (changes: { at?: number; signed?: string; headers?: Record<string, string> }) => {
    const { url, player } = await startOperator(sql, { context: { log }, settings: { signatureKey: key } });
    const body = toBody({ ...exampleEnvelope(player), id: "s-1" });
    const at = String(changes.at ?? NOON);
    const headers = {
      "sapi-signature": sign(changes.signed ?? body, at),
      "sapi-timestamp": at,
      ...changes.headers,
    };
    return (await post(url, "checkBalance", body, headers)).json.statusCode;
  };

  test("that matches body and time lets a callback through for five minutes", async () => {
    expect(await send({})).toBe(0);
    expect(await send({ at: NOON - 5 * MINUTE_MS })).toBe(0);
    expect(await send({ at: NOON + 5 * MINUTE_MS })).toBe(0);
  });

  test.each([
    ["of another body", { signed: "{}" }],
    ["that is too old", { at: NOON - 5 * MINUTE_MS - 1 }],
    ["from the future", { at: NOON + 5 * MINUTE_MS + 1 }],
    ["of another time", { headers: { "sapi-timestamp": String(NOON + 1) } }],
    ["that is not hexadecimal", { headers: { "sapi-signature": "x" } }],
    ["without a time", { headers: { "sapi-timestamp": "" } }],
  ])("%s fails with 30002, and nothing is stored", async (_what, changes) => {
    const [before] = await sql`select count(*) as bodies from callback_bodies`;
    expect(await send(changes)).toBe(30002);
    expect(await sql`select count(*) as bodies from callback_bodies`).toEqual([before]);
  });
});

describe("a captured signed body", () => {
  const key = "a key of our own";
  const signed = (body: string) => ({
    "sapi-signature": createHmac("sha256", key).update(`${body}.${NOON}`).digest("hex"),
    "sapi-timestamp": String(NOON),
  });
  const start = async () => await startOperator(sql, { context: { log }, settings: { signatureKey: key } });

  test("is refused as another callback, even by another server process", async () => {
    const [one, another] = [await start(), await start()];
    const txns = [{ id: "bet-1", status: "SETTLED", roundId: "r", payoutAmount: 50 }];
    const placed = toBody({
      ...exampleEnvelope(one.player),
      txns: [{ id: "bet-1", status: "OPEN", roundId: "r", betAmount: 10 }],
    });
    const settle = toBody({ ...exampleEnvelope(one.player), txns });
    const outcomeOf = async (url: string, callback: string, body: string) =>
      (await post(url, callback, body, signed(body))).json.statusCode;
    expect(await outcomeOf(one.url, "placeBets", placed)).toBe(0);
    expect(await outcomeOf(one.url, "settleBets", settle)).toBe(0);
    expect(await outcomeOf(one.url, "winRewards", settle)).toBe(30002);
    expect(await outcomeOf(another.url, "winRewards", settle)).toBe(30002);
    expect(await outcomeOf(another.url, "settleBets", settle)).toBe(0);
    expect(await one.balance()).toBe("140");
    expect(logged.join("")).toMatch(/this signature was sent to settleBets before/);
  });

  test("is refused as another callback after a restart of the server", async () => {
    const settings = { host: "127.0.0.1", port: 0, basePath: "", signatureKey: key, allowedIps: [] };
    const context = { sql, config: CONFIG, clock: createTestClock(NOON), log };
    const { player, balance } = operator;
    const before = await startCallbackServer(context, settings);
    const bet = { id: "bet-1", roundId: "r" };
    const placed = { ...exampleEnvelope(player), txns: [{ ...bet, status: "OPEN", betAmount: 10 }] };
    const settled = { ...exampleEnvelope(player), txns: [{ ...bet, status: "SETTLED", payoutAmount: 50 }] };
    const outcomeOf = async (url: string, callback: string, body: string) =>
      (await post(url, callback, body, signed(body))).json.statusCode;
    expect(await outcomeOf(before.url, "placeBets", toBody(placed))).toBe(0);
    expect(await outcomeOf(before.url, "settleBets", toBody(settled))).toBe(0);
    await before.close();
    const after = await startCallbackServer(context, settings);
    onTestFinished(() => after.close());
    expect(await outcomeOf(after.url, "winRewards", toBody(settled))).toBe(30002);
    expect(await balance()).toBe("140");
  });

  test("is refused as another callback, even if the first one was refused", async () => {
    const { url, player, balance } = await start();
    const txns = [{ id: "unknown", status: "SETTLED", roundId: "r", payoutAmount: 50 }];
    const body = toBody({ ...exampleEnvelope(player), txns });
    expect((await post(url, "settleBets", body, signed(body))).json.statusCode).toBe(20001);
    expect((await post(url, "winRewards", body, signed(body))).json.statusCode).toBe(30002);
    expect(await balance()).toBe("100");
  });

  test("with a wrong signature is not even read", async () => {
    const { url, player } = await start();
    const body = toBody({ ...exampleEnvelope(player), id: "s-2" });
    const { json } = await post(url, "checkBalance", body, { ...signed(body), "sapi-timestamp": "1" });
    expect(json).toEqual(failure("", 30002, ""));
  });
});

describe("an address outside the list", () => {
  const connectFrom = async (url: string, localAddress: string) => {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", localAddress });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };

  test("is disconnected before it has sent anything; a listed address is served", async () => {
    const { url } = await startOperator(sql, { settings: { allowedIps: ["203.0.113.7", "2001:db8::/32"] } });
    const socket = await connectFrom(url, "127.0.0.1");
    let said = "";
    socket.on("data", (bytes) => {
      said += bytes;
    });
    if (!socket.destroyed) await once(socket, "close");
    expect(said).toBe("");
    const open = await startOperator(sql, { settings: { allowedIps: ["127.0.0.0/8"] } });
    expect((await post(open.url, "checkBalance", exampleEnvelope(open.player))).status).toBe(200);
  });

  test("keeps no allowed caller out by opening many silent connections, and writes few log lines", async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line) => lines.push(line) });
    const settings = { allowedIps: ["127.0.0.1"] };
    const { url, player } = await startOperator(sql, { settings, context: { log } });
    for (let i = 0; i < 2_100; i += 1) await connectFrom(url, "127.0.0.2");
    for (let i = 0; i < 30; i += 1) {
      expect((await post(url, "checkBalance", exampleEnvelope(player))).json.statusCode).toBe(0);
    }
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        msg: expect.stringMatching(/closed connections from addresses that are not in CALLBACK_ALLOWED_IPS/),
        address: "127.0.0.2",
        count: 1,
      },
    ]);
  });
});

describe("bodies of requests", () => {
  const kept = async () =>
    await sql`select request_id as "requestId", status_code as "statusCode", body from callback_bodies
      where request_id like 'k-%' or request_id is null order by id`;
  // The id of an entry contains the id of its body.
  beforeEach(() => emptyTables(sql, ["callback_bodies", "callback_entries"]));

  test("are stored as received, for successes and failures", async () => {
    const body = `{ "txns":[{"id":"bet-1","status":"OPEN","roundId":"r","betAmount":1.50, "extra":[]}], ${JSON.stringify({ ...exampleEnvelope(operator.player), id: "k-1" }).slice(1)}`;
    await post(operator.url, "placeBets", body);
    await post(operator.url, "settleBets", body);
    await post(operator.url, "placeBets", "{");
    expect(await kept()).toEqual([
      { requestId: "k-1", statusCode: 0, body },
      { requestId: "k-1", statusCode: 30001, body },
      { requestId: null, statusCode: 30001, body: "{" },
    ]);
  });

  test("are stored and logged without session tokens", async () => {
    const token = "secret-7f3a";
    const envelope = { ...exampleEnvelope(operator.player), id: "k-2" };
    const nested = { deep: [{ SessionToken: token }], text: `{"sessionToken":"${token}"}` };
    const whole = JSON.stringify({ ...envelope, sessionToken: token, extra: nested });
    await post(operator.url, "checkBalance", whole);
    await post(operator.url, "checkBalance", whole.replace('"sessionToken"', '"session\\u0054oken"'));
    await post(operator.url, "placeBets", whole);
    await post(operator.url, "placeBets", whole.slice(0, -1));
    await post(operator.url, "placeBets", whole.slice(0, -1).replaceAll("oken", "\\u006fken"));
    const rows = await kept();
    expect(rows).toHaveLength(5);
    expect(rows[0]?.["statusCode"]).toBe(0);
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(logged.join("")).not.toContain(token);
  });

  test.each([
    "token",
    "Token",
    "TOKEN",
    "authToken",
    "auth_token",
    "Auth-Token",
    "session-token",
    "SESSION_TOKEN",
    "sessiontoken",
    "session token",
    "x-session-token",
    "accessToken",
    "tokens",
    "sessionTokenOld",
  ])("are stored without the field %s, at any depth and inside texts", async (name) => {
    const secret = "secret-7f3a";
    const envelope = { ...exampleEnvelope(operator.player), id: `k-${name}` };
    const text = JSON.stringify({ [name]: secret });
    const txns = [{ id: "bet-1", status: "OPEN", roundId: "r", betAmount: 1, [name]: secret, text }];
    const address = `https://wallet.example/back?${name.replace(" ", "")}=${secret}`;
    const body = {
      ...envelope,
      [name]: secret,
      deep: [{ [name]: [secret] }],
      text: JSON.stringify(text),
      address,
      txns,
    };
    await post(operator.url, "placeBets", toBody(body));
    await post(operator.url, "placeBets", toBody({ ...body, currency: 1 }));
    await post(operator.url, "placeBets", toBody(body).slice(0, -1));
    const rows = await kept();
    expect(rows.map(({ statusCode }) => statusCode)).toEqual([0, 30001, 30001]);
    expect(JSON.stringify(rows) + logged.join("")).not.toContain(secret);
  });

  test("keep all other text that contains such a word", async () => {
    const envelope = { ...exampleEnvelope(operator.player), id: "k-5" };
    const txns = [
      {
        id: "bet-1",
        status: "OPEN",
        roundId: "token-1",
        betAmount: 1.5,
        playInfo: "Token of Ra",
        tokenType: 2,
      },
    ];
    const body = toBody({ ...envelope, txns });
    await post(operator.url, "placeBets", body);
    expect(await kept()).toEqual([{ requestId: "k-5", statusCode: 0, body }]);
  });

  test("are deleted in small batches when they expire", async () => {
    for (let index = 0; index < 3; index += 1) await operator.send("placeTips", { id: `tip-${index}` });
    await sql`update callback_bodies set received_at = received_at + id * interval '1 second'`;
    const drop = (to: number) => dropExpiredBodies(sql, { from: 0, to }, 2);
    expect(await drop(NOON)).toEqual({ count: 0, last: null });
    expect(await drop(NOON + MINUTE_MS)).toEqual({ count: 2, last: NOON + 2_001 });
    expect(await drop(NOON + MINUTE_MS)).toEqual({ count: 1, last: NOON + 3_001 });
    expect(await sql`select 1 from callback_entries where username = ${operator.player}`).toHaveLength(3);
  });
});

test("a callback without a database fails with 50001 and changes nothing, and the same request succeeds afterwards", async () => {
  const proxy = await startTcpProxy(database.url);
  const far = openDatabase(proxy.url, 2);
  const cut = await startOperator(sql, { context: { sql: far, log } });
  expect(await cut.outcomeOf("placeBets", {})).toBe("0 90");
  await proxy.refuse();
  const request = { ...exampleEnvelope(cut.player), id: "d-1" };
  const txns = [{ id: "bet-2", status: "OPEN", roundId: "r", betAmount: 5 }];
  const { status, json } = await post(cut.url, "placeBets", { ...request, txns });
  expect({ status, json }).toEqual({ status: 200, json: failure("d-1", 50001) });
  expect((await post(cut.url, "checkBalance", request)).json).toEqual(failure("d-1", 50001));
  expect(JSON.parse(logged.at(-1) ?? "")).toMatchObject({ requestId: "d-1", statusCode: 50001 });
  expect(await cut.balance()).toBe("90");
  await far.end({ timeout: 0 });
  expect((await post(operator.url, "placeBets", { ...request, txns })).json).toMatchObject({
    balanceAfter: 85,
  });
});

test.each([
  ["during a statement", "create trigger ends before insert"],
  ["during its commit", "create constraint trigger ends after insert"],
])(
  "a callback whose connection ends %s fails with 50001 and changes nothing, and the same requests succeed afterwards",
  async (_, trigger) => {
    const outcomeOf = (index: number) =>
      operator.outcomeOf("placeBets", { id: `bet-${index}`, betAmount: 1 });
    const askAll = () => Promise.all(Array.from({ length: 15 }, (_none, index) => outcomeOf(index)));
    const deferred = trigger.includes("constraint") ? "deferrable initially deferred" : "";
    await sql.unsafe(`create or replace function end_connection() returns trigger language plpgsql as
    'begin perform pg_terminate_backend(pg_backend_pid()); return new; end'`);
    await sql.unsafe(
      `${trigger} on callback_entries ${deferred} for each row execute function end_connection()`,
    );
    try {
      expect(new Set(await askAll())).toEqual(new Set(["50001"]));
    } finally {
      await sql`drop trigger ends on callback_entries`;
    }
    expect(await operator.balance()).toBe("100");
    expect((await askAll()).every((answer) => answer.startsWith("0 "))).toBe(true);
    expect(await operator.balance()).toBe("85");
  },
);
