import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeError, type ErrorCode, ReconError } from "../../src/errors.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import { createTestClock } from "../support/clock.ts";
import { NOON } from "../support/examples.ts";

const SECRET = "not to be seen";
const TOKEN = "session-token-of-anna";

interface SeenRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

/** A provider whose answer the test writes. It keeps the requests. */
const seen: SeenRequest[] = [];
let answer: { status: number; body: string; headers?: Record<string, string> } | "drop";
const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  const body = await text(request);
  seen.push({ method, url, authorization: headers.authorization, type: headers["content-type"], body });
  if (answer === "drop") request.socket.destroy();
  else
    response
      .writeHead(answer.status, { "content-type": "application/json", ...answer.headers })
      .end(answer.body);
});
let provider: ProviderClient;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  provider = openProvider(
    { baseUrl, username: "agent", password: SECRET },
    { requestTimeoutMs: 30_000, connections: 2, production: false },
    createTestClock(NOON),
  );
});
beforeEach(() => {
  seen.length = 0;
});
afterAll(async () => {
  provider.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const success = (data: string) => `{"reqId":"r","code":0,"message":"success","data":${data}}`;

function say(body: string, status = 200, headers?: Record<string, string>): void {
  answer = headers === undefined ? { status, body } : { status, body, headers };
}

async function failureOf(asked: Promise<unknown>): Promise<ReconError> {
  const error = await asked.then(
    (value) => `no error, but ${JSON.stringify(value)}`,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ReconError);
  return error as ReconError;
}

const MONEY = { username: "anna", productId: "P1", amount: "10.00", transactionRef: "R1" };
const QUESTION = { username: "anna", productId: "P1", transactionRef: "R1", type: "DEPOSIT" } as const;
const TOP_UP = { username: "anna", transactionId: "T1" };
const LOG_IN = { username: "anna", productId: "P1", gameCode: "G1", isMobileLogin: false };
const SEAMLESS = { ...LOG_IN, sessionToken: TOKEN };
const LIMITS = { username: "anna", productId: "P1", currency: "THB" };
const FREE_GAME = {
  playerName: "anna",
  freeGameName: "Spin",
  expiresInHours: 24,
  betAmount: 5,
  gameCount: 3,
  gameIds: "g-1",
  productId: "P1",
};

const GAME =
  '{"name":"One","category":"c","type":"t","code":"G1","img":"i","rank":1,"locale":{"th":"หนึ่ง","EN":"One"}}';
const MOVED =
  '{"username":"anna","amount":"10.00","beforeBalance":"0.5","balance":"10.5","txId":"R1","status":"SUCCESS"}';
const VERIFIED =
  '{"success":true,"username":"anna","productId":"P1","currency":"THB","transactionRef":"R1","amount":"10","beforeBalance":"0.5","afterBalance":"10.5"}';
const TOPPED_UP =
  '[{"id":"T1","time":"2026-11-20T10:00:00","amount":-10.00,"type":"Withdraw","username":"anna"}]';

describe("each endpoint is called once as the interface says, with Basic authentication", () => {
  const posts: [name: string, data: string, call: () => Promise<unknown>, path: string, body: object][] = [
    [
      "§4.B1 seamless logIn",
      '{"url":"https://x"}',
      () => provider.logInSeamless(SEAMLESS),
      "/seamless/logIn",
      SEAMLESS,
    ],
    [
      "§4.B1 with everything optional",
      '{"url":"https://x"}',
      () =>
        provider.logInSeamless({
          ...SEAMLESS,
          limit: 2,
          currency: "THB",
          language: "en",
          callbackUrl: "https://back",
          betLimit: [1],
        }),
      "/seamless/logIn",
      { ...SEAMLESS, limit: 2, currency: "THB", language: "en", callbackUrl: "https://back", betLimit: [1] },
    ],
    ["§4.C1 logIn", '{"username":"anna","url":"u"}', () => provider.logInTransfer(LOG_IN), "/logIn", LOG_IN],
    ["§4.C2 deposit", MOVED, () => provider.deposit(MONEY), "/deposit", MONEY],
    ["§4.C3 withdraw", MOVED, () => provider.withdraw(MONEY), "/withdraw", MONEY],
    [
      "§4.C4 verifyDepositWithdraw",
      VERIFIED,
      () => provider.verifyDepositWithdraw(QUESTION),
      "/verifyDepositWithdraw",
      QUESTION,
    ],
    [
      "§4.B5 verify-topup",
      TOPPED_UP,
      () => provider.verifyTopUp("P1_seamless", TOP_UP),
      "/P1_seamless/verify-topup",
      TOP_UP,
    ],
    [
      "§4.C7 free-game",
      '{"freeGameId":7}',
      () => provider.grantFreeGame(FREE_GAME),
      "/free-game",
      {
        player_name: "anna",
        free_game_name: "Spin",
        expired_date: 24,
        bet_amount: 5,
        game_count: 3,
        game_ids: "g-1",
        productId: "P1",
      },
    ],
  ];
  test.each(posts)("%s", async (_, data, call, path, body) => {
    say(success(data));
    await call();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      method: "POST",
      url: `/api${path}`,
      authorization: `Basic ${btoa(`agent:${SECRET}`)}`,
      type: "application/json",
    });
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual(body);
  });

  test.each<[string, string, () => Promise<unknown>, string]>([
    [
      "§4.B2",
      `{"games":[${GAME}]}`,
      () => provider.listSeamlessGames("P 1"),
      "/seamless/games?productId=P+1",
    ],
    [
      "§4.B4",
      `{"games":[${GAME}]}`,
      () => provider.listFreeGames("P1"),
      "/seamless/freeGameList?productId=P1",
    ],
    ["§4.C5", `{"games":[${GAME}]}`, () => provider.listTransferGames("P1"), "/games?productId=P1"],
    [
      "§4.C6",
      "[]",
      () => provider.listBetLimits(LIMITS),
      "/betLimitsV2?username=anna&productId=P1&currency=THB",
    ],
    [
      "§4.B3 by day",
      '{"txns":[]}',
      () => provider.fetchBetDay({ productId: "P1", date: "2026-11-20", nextId: "c=1" }),
      "/seamless/betTransactionsV2?productId=P1&date=2026-11-20&nextId=c%3D1",
    ],
  ])("%s", async (_, data, call, url) => {
    say(success(data));
    await call();
    expect(seen).toEqual([expect.objectContaining({ method: "GET", url: `/api${url}`, body: "" })]);
  });
});

describe("a malformed request is refused before anything is sent, and the error names the field", () => {
  test.each<[string, Partial<typeof MONEY>, RegExp]>([
    ["no digits after the point", { amount: "10" }, /amount must have exactly two digits .* but is "10"/],
    ["one digit after the point", { amount: "10.0" }, /amount must have exactly two digits/],
    ["three digits", { amount: "10.000" }, /amount must have exactly two digits/],
    ["nothing", { amount: "0.00" }, /amount must be above 0/],
    ["a negative amount", { amount: "-1.00" }, /amount must have exactly two digits/],
    ["an amount in letters", { amount: "ten" }, /amount must have/],
    [
      "an amount that is a number",
      { amount: 10.0 as unknown as string },
      /amount must be text such as "10.00"/,
    ],
    ["no player", { username: "" }, /username must not be empty/],
    ["no reference", { transactionRef: "" }, /transactionRef must not be empty/],
    ["a missing product", { productId: undefined as unknown as string }, /productId is missing/],
    [
      "a NUL in the reference",
      { transactionRef: "a\0b" },
      /transactionRef has a character that cannot be sent/,
    ],
  ])("money: %s", async (_, wrong, message) => {
    for (const move of [provider.deposit, provider.withdraw]) {
      const error = await failureOf(move({ ...MONEY, ...wrong }));
      expect(error).toMatchObject({ code: "bad-request", answer: null });
      expect(error.message).toMatch(message);
    }
    expect(seen).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>, RegExp]>([
    [
      "an unknown type",
      () => provider.verifyDepositWithdraw({ ...QUESTION, type: "BET" as "DEPOSIT" }),
      /type must be one of DEPOSIT, WITHDRAW, but is "BET"/,
    ],
    [
      "a path of several segments",
      () => provider.verifyTopUp("../deposit", TOP_UP),
      /topUpPath must be one segment/,
    ],
    ["a path to the parent", () => provider.verifyTopUp("..", TOP_UP), /topUpPath must be one segment/],
    [
      "no transactionId",
      () => provider.verifyTopUp("p", { ...TOP_UP, transactionId: "" }),
      /transactionId must not/,
    ],
    [
      "half an hour",
      () => provider.grantFreeGame({ ...FREE_GAME, expiresInHours: 0.5 }),
      /expiresInHours must be a whole/,
    ],
    [
      "no games",
      () => provider.grantFreeGame({ ...FREE_GAME, gameCount: 0 }),
      /gameCount must be at least 1/,
    ],
    [
      "half a bet",
      () => provider.grantFreeGame({ ...FREE_GAME, betAmount: 1.5 }),
      /betAmount must be a whole number/,
    ],
    [
      "a currency in small letters",
      () => provider.listBetLimits({ ...LIMITS, currency: "thb" }),
      /currency must be three/,
    ],
    ["an empty game list", () => provider.listTransferGames(""), /productId must not be empty/],
    [
      "a day that does not exist",
      () => provider.fetchBetDay({ productId: "P1", date: "2026-02-30", nextId: null }),
      /date must be a day such as 2026-11-20, but is "2026-02-30"/,
    ],
    [
      "an exit that is no URL",
      () => provider.logInTransfer({ ...LOG_IN, callbackUrl: "back" }),
      /callbackUrl must be a URL/,
    ],
    [
      "no token",
      () => provider.logInSeamless({ ...SEAMLESS, sessionToken: "" }),
      /sessionToken must not be empty/,
    ],
  ])("%s", async (_, call, message) => {
    const error = await failureOf(call());
    expect(error.code).toBe("bad-request");
    expect(error.message).toMatch(message);
    expect(seen).toEqual([]);
  });
});

describe("an answer is read exactly", () => {
  test("amounts keep every digit, with or without padding, as text or as a number", async () => {
    say(
      success(
        '{"username":"anna","amount":10.10,"beforeBalance":"0.123456789012345678901","balance":"1e2","txId":"R1","status":"SUCCESS","more":[1]}',
      ),
    );
    const answered = await provider.deposit(MONEY);
    expect([answered.amount, answered.beforeBalance, answered.balance].map((one) => one.toFixed())).toEqual([
      "10.1",
      "0.123456789012345678901",
      "100",
    ]);
  });

  test("a verified transfer has each field, and the whole answer as evidence", async () => {
    say(success(VERIFIED));
    const answered = await provider.verifyDepositWithdraw(QUESTION);
    expect(answered).toMatchObject({
      success: true,
      username: "anna",
      productId: "P1",
      currency: "THB",
      transactionRef: "R1",
      raw: success(VERIFIED),
    });
    expect([answered.amount, answered.beforeBalance, answered.afterBalance].map(String)).toEqual([
      "10",
      "0.5",
      "10.5",
    ]);
  });

  test.each([
    ["with everything", VERIFIED.replace("true", "false"), "10"],
    ["with nothing else", '{"success":false}', "null"],
    ["with nulls", '{"success":false,"username":null,"amount":null,"transactionRef":null}', "null"],
  ])("a transfer that failed: %s", async (_, data, amount) => {
    say(success(data));
    const answered = await provider.verifyDepositWithdraw(QUESTION);
    expect(answered).toMatchObject({ success: false, transactionRef: "R1" });
    expect(String(answered.amount)).toBe(amount);
  });

  test("a transfer that happened, with only the fields that make it certain", async () => {
    say(success('{"success":true,"username":"anna","productId":"P1","currency":"THB","amount":"10"}'));
    expect(await provider.verifyDepositWithdraw(QUESTION)).toMatchObject({
      success: true,
      transactionRef: "R1",
      beforeBalance: null,
      afterBalance: null,
    });
  });

  test("a top-up that happened, with a negative amount, and several items", async () => {
    const two = TOPPED_UP.replace("]", `,${TOPPED_UP.slice(1)}`).replace("Withdraw", "TopUp");
    say(`{"code":0,"message":"ok","data":${two}}`);
    const answered = await provider.verifyTopUp("P1_seamless", TOP_UP);
    expect(answered).toMatchObject({ code: 0, message: "ok", raw: expect.stringContaining('"code":0') });
    expect(answered.data?.map(({ amount, ...rest }) => ({ ...rest, amount: amount.toFixed() }))).toEqual([
      { id: "T1", time: "2026-11-20T10:00:00", amount: "-10", type: "TopUp", username: "anna" },
      { id: "T1", time: "2026-11-20T10:00:00", amount: "-10", type: "Withdraw", username: "anna" },
    ]);
  });

  test.each(["null", "[]", "{}", '""'])(
    "code 1 of verify-topup with data %s: the top-up failed",
    async (data) => {
      say(`{"code":1,"message":"no such transaction","data":${data}}`);
      expect(await provider.verifyTopUp("P1_seamless", TOP_UP)).toMatchObject({
        code: 1,
        message: "no such transaction",
        data: null,
      });
    },
  );

  test("games, with languages in upper or lower case, and without optional fields", async () => {
    const bare = '{"category":"c","type":"t","code":"G2","img":"","rank":2.5,"providerCode":"p"}';
    say(success(`{"games":[${GAME},${bare}]}`));
    const games = await provider.listSeamlessGames("P1");
    expect(games).toEqual([
      {
        name: "One",
        category: "c",
        type: "t",
        code: "G1",
        img: "i",
        rank: 1,
        providerCode: null,
        locale: { TH: "หนึ่ง", EN: "One" },
        extra: null,
      },
      {
        name: null,
        category: "c",
        type: "t",
        code: "G2",
        img: "",
        rank: 2.5,
        providerCode: "p",
        locale: null,
        extra: null,
      },
    ]);
    expect(await failureOf(provider.listTransferGames("P1"))).toMatchObject({
      code: "provider-bad-envelope",
    });
  });

  test("bet limits, logins and free games", async () => {
    say(success('[{"productId":"P1","BetLimit":[{"limit":1,"Max":1000.50,"Min":1}]}]'));
    const [group] = await provider.listBetLimits(LIMITS);
    expect({
      ...group,
      limits: group?.limits.map((one) => [one.limit, String(one.most), String(one.least)]),
    }).toEqual({
      productId: "P1",
      limits: [[1, "1000.5", "1"]],
      extra: null,
    });
    say(success('{"username":"anna","url":"https://play"}'));
    const address = { url: "https://play", urls: ["https://play"] };
    expect(await provider.logInTransfer(LOG_IN)).toEqual({ username: "anna", ...address, extra: null });
    expect(await provider.logInSeamless(SEAMLESS)).toMatchObject(address);
    say(success('{"freeGameId":90071992547409931}'));
    expect(await provider.grantFreeGame(FREE_GAME)).toEqual({
      freeGameId: "90071992547409931",
      extra: null,
    });
  });

  test("a login with a list of addresses: the client uses the first one", async () => {
    say(success('{"username":"anna","url":["https://play","https://mirror"]}'));
    const addresses = { url: "https://play", urls: ["https://play", "https://mirror"] };
    expect(await provider.logInTransfer(LOG_IN)).toMatchObject(addresses);
    expect(await provider.logInSeamless(SEAMLESS)).toMatchObject(addresses);
  });

  test("undocumented fields are kept as they came", async () => {
    say(success('{"freeGameId":1,"expiresAt":12.340,"more":{"a":[1]}}'));
    const { extra } = await provider.grantFreeGame(FREE_GAME);
    expect(extra).toBe('{"expiresAt":12.340,"more":{"a":[1]}}');
    say(success('{"url":"https://play","region":"asia"}'));
    expect((await provider.logInSeamless(SEAMLESS)).extra).toBe('{"region":"asia"}');
  });
});

describe("a wrong answer has a code, says what is wrong, and is kept as evidence", () => {
  const verify = () => provider.verifyDepositWithdraw(QUESTION);
  const topUp = () => provider.verifyTopUp("P1_seamless", TOP_UP);
  const cases: [string, () => Promise<unknown>, string, ErrorCode, RegExp][] = [
    [
      "another transfer",
      verify,
      success(VERIFIED.replace("R1", "R2")),
      "provider-bad-envelope",
      /is "R2", but "R1" was asked for/,
    ],
    [
      "a failure of another transfer",
      verify,
      success('{"success":false,"transactionRef":"R2"}'),
      "provider-bad-envelope",
      /"R2"/,
    ],
    [
      "success as text",
      verify,
      success(VERIFIED.replace("true", '"true"')),
      "provider-bad-envelope",
      /data.success must be true or false/,
    ],
    [
      "no success",
      verify,
      success('{"transactionRef":"R1"}'),
      "provider-bad-envelope",
      /data.success .* missing/,
    ],
    [
      "a success without an amount",
      verify,
      success(VERIFIED.replace('"amount":"10",', "")),
      "provider-bad-envelope",
      /data.amount/,
    ],
    [
      "an amount that is none",
      verify,
      success(VERIFIED.replace('"10"', '"ten"')),
      "provider-bad-envelope",
      /data.amount .* "ten"/,
    ],
    [
      "a success without a player",
      verify,
      success(VERIFIED.replace("anna", "")),
      "provider-bad-envelope",
      /data.username/,
    ],
    ["no data", verify, success("null"), "provider-bad-envelope", /data must be an object/],
    ["a code", verify, '{"code":12,"message":"busy","data":null}', "provider-rejected", /code 12 "busy"/],
    ["a code that is text", verify, '{"code":"0"}', "provider-bad-envelope", /no numeric "code"/],
    ["HTML", verify, "<html>", "provider-not-json", /not JSON/],
    ["half of it", verify, success(VERIFIED).slice(0, 60), "provider-cut-short", /ends before/],
    [
      "a deposit of another reference",
      () => provider.deposit(MONEY),
      success(MOVED.replace("R1", "R2")),
      "provider-bad-envelope",
      /data.txId/,
    ],
    [
      "a deposit without a balance",
      () => provider.deposit(MONEY),
      success(MOVED.replace("balance", "b")),
      "provider-bad-envelope",
      /data.balance/,
    ],
    [
      "a top-up without an id",
      topUp,
      `{"code":0,"data":${TOPPED_UP.replace("T1", "")}}`,
      "provider-bad-envelope",
      /data\[0\].id/,
    ],
    [
      "a top-up of no type",
      topUp,
      `{"code":0,"data":${TOPPED_UP.replace("Withdraw", "X")}}`,
      "provider-bad-envelope",
      /data\[0\].type/,
    ],
    ["a top-up without items", topUp, '{"code":0,"data":[]}', "provider-bad-envelope", /data is empty/],
    [
      "a top-up that happened, without data",
      topUp,
      '{"code":0,"data":null}',
      "provider-bad-envelope",
      /data must be a list/,
    ],
    [
      "a top-up that failed, with data",
      topUp,
      `{"code":1,"data":${TOPPED_UP}}`,
      "provider-bad-envelope",
      /but data has items/,
    ],
    [
      "another code of verify-topup",
      topUp,
      '{"code":2,"message":"later","data":null}',
      "provider-rejected",
      /code 2 "later"/,
    ],
    [
      "code 1 of free-game",
      () => provider.grantFreeGame(FREE_GAME),
      '{"code":1,"message":"no"}',
      "provider-rejected",
      /code 1 "no"/,
    ],
    [
      "a game without a code",
      () => provider.listFreeGames("P1"),
      success(`{"games":[${GAME.replace("code", "c0de")}]}`),
      "provider-bad-envelope",
      /data.games\[0\].code/,
    ],
    [
      "games that are no list",
      () => provider.listFreeGames("P1"),
      success('{"games":{}}'),
      "provider-bad-envelope",
      /data.games must be a list/,
    ],
    [
      "a limit that is text",
      () => provider.listBetLimits(LIMITS),
      success('[{"productId":"P1","BetLimit":[{"limit":"1","Max":1,"Min":1}]}]'),
      "provider-bad-envelope",
      /limit must be a number/,
    ],
  ];
  test.each(cases)("%s", async (_, call, body, code, message) => {
    say(body);
    const error = await failureOf(call());
    expect(error).toMatchObject({ code, retryable: true, answer: { status: 200, raw: body } });
    expect(error.message).toMatch(message);
    expect(seen).toHaveLength(1);
  });

  test("an error keeps the code and the provider's message in fields of their own", async () => {
    say('{"code":-7,"message":"closed","data":null}');
    expect((await failureOf(verify())).answer).toMatchObject({ code: "-7", message: "closed" });
  });

  test.each<[number, ErrorCode]>([
    [408, "provider-http-408"],
    [429, "provider-throttled"],
    [401, "provider-refused"],
    [404, "provider-bad-status"],
    [500, "provider-server-error"],
    [504, "provider-http-504"],
    [302, "provider-bad-status"],
  ])("HTTP %i is never followed, and the request is never repeated", async (status, code) => {
    say('{"code":3,"message":"why"}', status, { location: "/api/deposit", "retry-after": "7" });
    for (const call of [() => provider.deposit(MONEY), verify]) {
      seen.length = 0;
      const error = await failureOf(call());
      expect(error).toMatchObject({ code, answer: { status, code: "3", message: "why" } });
      expect(seen).toHaveLength(1);
    }
  });

  test("a dropped connection does not repeat the request", async () => {
    answer = "drop";
    for (const call of [
      () => provider.deposit(MONEY),
      () => provider.withdraw(MONEY),
      () => provider.grantFreeGame(FREE_GAME),
    ]) {
      seen.length = 0;
      expect(await failureOf(call())).toMatchObject({ code: "provider-dropped", answer: null });
      expect(seen).toHaveLength(1);
    }
  });

  test("an answer larger than the limit for one thing is not read to its end", async () => {
    say(success(`{"url":"${"x".repeat(2 * 1024 * 1024)}"}`));
    expect(await failureOf(verify())).toMatchObject({ code: "provider-too-large" });
  });
});

describe("no error shows a secret, however it is printed", () => {
  const authorization = btoa(`agent:${SECRET}`);
  test.each([
    ["a debug page", 500, `Authorization: Basic ${authorization} ${SECRET}`],
    ["a message", 200, `{"code":9,"message":"bad password ${SECRET}"}`],
    ["a field", 200, success(`{"success":"${SECRET}"}`)],
    ["no JSON", 200, `${SECRET} ${authorization}`],
    ["a URL", 404, `/log-in?p=${encodeURIComponent(SECRET)}&a=${encodeURIComponent(authorization)}`],
  ])("credentials that the provider repeats in %s", async (_, status, body) => {
    say(body, status);
    const error = await failureOf(provider.verifyDepositWithdraw(QUESTION));
    expectHidden(error, SECRET, authorization, encodeURIComponent(SECRET));
  });

  test.each([
    ["a code", 200, `{"code":9,"message":"token ${TOKEN} is too long"}`],
    ["HTTP 500", 500, `https://play?token=${TOKEN}`],
    ["a malformed address", 200, success(`{"url":{"token":"${TOKEN}"}}`)],
    ["malformed data", 200, success(`"${TOKEN}"`)],
    ["half an answer", 200, success(`{"url":"https://play?token=${TOKEN}"}`).slice(0, -4)],
    ["no JSON", 200, TOKEN],
  ])("a session token, or an address of a game, in %s", async (_, status, body) => {
    say(body, status);
    expectHidden(await failureOf(provider.logInSeamless(SEAMLESS)), TOKEN, SECRET);
    expectHidden(await failureOf(provider.logInTransfer(LOG_IN)), TOKEN, SECRET);
  });

  test.each([
    ['{"username":"anna"}', "data.url must be text, and not empty"],
    ['{"username":"anna","url":[]}', "data.url must not be an empty list"],
    [`{"username":"anna","url":["${TOKEN}",5]}`, "data.url[1] must be text, and not empty"],
    [`{"url":"${TOKEN}"}`, "data.username must be text, and not empty"],
    [`"${TOKEN}"`, "data must be an object"],
  ])("the error names the field without its value: %#", async (data, problem) => {
    say(success(data));
    const error = await failureOf(provider.logInTransfer(LOG_IN));
    expect(error.message).toContain(problem);
    expectHidden(error, TOKEN);
  });

  test("a session token in a malformed request", async () => {
    const error = await failureOf(provider.logInSeamless({ ...SEAMLESS, sessionToken: `${TOKEN}\0` }));
    expectHidden(error, TOKEN);
  });

  function expectHidden(error: ReconError, ...secrets: string[]): void {
    const printed = [describeError(error), inspect(error, { depth: 20, showHidden: true }), error.stack].join(
      "\n",
    );
    for (const secret of secrets) expect(printed).not.toContain(secret);
  }
});
