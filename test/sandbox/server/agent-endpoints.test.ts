import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TransferAnswer } from "../../../src/agent-api.ts";
import { AGENT_ENDPOINTS } from "../../../src/agent-endpoints.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { systemClock } from "../../../src/clock.ts";
import { ReconError } from "../../../src/errors.ts";
import { parseAmount } from "../../../src/money.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { AGENT_FAULT_KINDS, type AgentFault } from "../../../src/sandbox/faults/agent-fault.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server/server.ts";
import { createWorld } from "../../../src/sandbox/world/world.ts";
import { CREDENTIALS } from "../agent.ts";
import { HOUR, MINUTE, planOf, START } from "../plans.ts";
import { createStillClock } from "../still-clock.ts";

const NOW = START + 3 * HOUR;
const world = createWorld(planOf());

let clock = createStillClock(NOW);
let sandbox: Sandbox;
let agent: ProviderClient;

async function start(...faults: AgentFault[]): Promise<void> {
  const place = { host: "127.0.0.1", port: 0, pageSize: 100 };
  sandbox = await startSandbox({ ...CREDENTIALS, ...place, world, clock, waitingClock: clock, faults });
  const limits = { requestTimeoutMs: 60_000, connections: 2, production: false };
  agent = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, systemClock);
}

beforeEach(() => {
  clock = createStillClock(NOW);
});

afterEach(async () => {
  agent.close();
  await sandbox.close();
});

const order = (transactionRef: string, amount = "10.00", username = "anna") => ({
  username,
  productId: "LIVE",
  amount,
  transactionRef,
});

const verify = (transactionRef: string, type: "DEPOSIT" | "WITHDRAW" = "DEPOSIT") =>
  agent.verifyDepositWithdraw({ username: "anna", productId: "LIVE", transactionRef, type });

const TOP_UP: CallbackEntry = {
  entryId: "e-1",
  callback: "adjustBalance",
  requestId: "q-1",
  productId: "LIVE",
  username: "anna",
  currency: "THB",
  txnId: "T1",
  roundId: null,
  status: "CREDIT",
  betAmount: null,
  payoutAmount: parseAmount("12.5", "payoutAmount"),
  transactionType: null,
  singleState: null,
  endRound: null,
  skipBalanceUpdate: false,
  moved: null,
  balanceBefore: null,
  balanceAfter: null,
  occurredAt: NOW - MINUTE,
  receivedAt: NOW - MINUTE,
};

const verifyTopUp = () => agent.verifyTopUp("LIVE_seamless", { username: "anna", transactionId: "T1" });

const texts = (answer: TransferAnswer) =>
  [answer.amount, answer.beforeBalance, answer.afterBalance].map((amount) => amount?.toFixed());

async function failureOf(asked: Promise<unknown>): Promise<ReconError> {
  const error = await asked.then(
    () => "no error",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ReconError);
  return error as ReconError;
}

describe("the books of transfer mode", () => {
  it("move money once, report the transfer, and keep what really happened", async () => {
    await start();
    const deposit = await agent.deposit(order("d-1", "10.50"));
    expect(deposit).toMatchObject({ username: "anna", txId: "d-1", status: "SUCCESS" });
    const withdraw = await agent.withdraw(order("w-1", "0.25"));
    expect([withdraw.amount, withdraw.beforeBalance, withdraw.balance].map(String)).toEqual([
      "0.25",
      "10.5",
      "10.25",
    ]);
    const answer = await verify("w-1", "WITHDRAW");
    expect(answer).toMatchObject({ success: true, username: "anna", productId: "LIVE", currency: "THB" });
    expect(texts(answer)).toEqual(["0.25", "10.5", "10.25"]);
    expect(
      sandbox.books
        .transfers()
        .map((one) => [one.transactionRef, one.type, one.amount.toFixed(), one.bookedAt]),
    ).toEqual([
      ["d-1", "DEPOSIT", "10.5", NOW],
      ["w-1", "WITHDRAW", "0.25", NOW],
    ]);
    expect(sandbox.books.balanceOf("anna", "LIVE").toFixed()).toBe("10.25");
  });

  it("keep each player's balance for each product", async () => {
    await start();
    await agent.deposit(order("d-1"));
    await agent.deposit({ ...order("d-2"), productId: "SLOT" });
    await agent.deposit(order("d-3", "1.00", "ben"));
    const of = (username: string, productId: string) => String(sandbox.books.balanceOf(username, productId));
    expect([of("anna", "LIVE"), of("anna", "SLOT"), of("ben", "LIVE"), of("ben", "SLOT")]).toEqual([
      "10",
      "10",
      "1",
      "0",
    ]);
  });

  it.each([
    ["a reference that it knows", () => agent.deposit(order("d-1", "3.00")), /known already/],
    ["another player's deposit with it", () => agent.deposit(order("d-1", "3.00", "ben")), /known already/],
    ["a withdrawal beyond the balance", () => agent.withdraw(order("w-1", "10.01")), /too low/],
    [
      "a product that it lacks",
      () => agent.deposit({ ...order("x"), productId: "NONE" }),
      /no product is called/,
    ],
  ])("refuse %s with a code, and move nothing", async (_, call, message) => {
    await start();
    await agent.deposit(order("d-1"));
    const error = await failureOf(call());
    expect(error.code).toBe("provider-rejected");
    expect(error.message).toMatch(message);
    expect(sandbox.books.transfers()).toHaveLength(1);
    expect(sandbox.books.balanceOf("anna", "LIVE").toFixed()).toBe("10");
  });

  it.each([
    ["a reference it never saw", { transactionRef: "d-2" }],
    ["another player", { username: "ben" }],
    ["another product", { productId: "SLOT" }],
    ["the other direction", { type: "WITHDRAW" as const }],
  ])("say that %s failed", async (_, other) => {
    await start();
    await agent.deposit(order("d-1"));
    const question = { username: "anna", productId: "LIVE", transactionRef: "d-1", type: "DEPOSIT" } as const;
    expect(await agent.verifyDepositWithdraw({ ...question, ...other })).toMatchObject({ success: false });
  });
});

describe("the other endpoints", () => {
  it("log players in, list games, limits and free games, and grant them", async () => {
    await start();
    const player = { username: "anna", productId: "LIVE", gameCode: "LIVE-1", isMobileLogin: true };
    expect((await agent.logInSeamless({ ...player, sessionToken: "t" })).url).toMatch(/^https:/);
    expect(await agent.logInTransfer(player)).toMatchObject({ username: "anna", url: expect.any(String) });
    const seamless = await agent.listSeamlessGames("LIVE");
    expect(seamless.filter(({ name }) => name === null)).toHaveLength(1);
    expect(seamless[0]).toMatchObject({ code: "LIVE-1", providerCode: "p-1", locale: { EN: "LIVE 1" } });
    expect((await agent.listTransferGames("SLOT")).map(({ name }) => name)).not.toContain(null);
    expect((await agent.listFreeGames("SLOT")).map(({ locale }) => locale)).toEqual([null, null]);
    const [group] = await agent.listBetLimits({ username: "anna", productId: "LIVE", currency: "THB" });
    expect(group?.limits.map(({ limit, most }) => [limit, String(most)])).toEqual([
      [1, "1000"],
      [2, "2000"],
      [3, "3000"],
    ]);
    const game = { freeGameName: "f", expiresInHours: 1, betAmount: 1, gameCount: 1, gameIds: "g" };
    expect(await agent.grantFreeGame({ ...game, playerName: "anna", productId: "SLOT" })).toEqual({
      freeGameId: "1",
      extra: null,
    });
    expect(sandbox.books.freeGames()).toBe(1);
  });

  it("know the top-ups of the world, and added ones", async () => {
    await start();
    expect(await verifyTopUp()).toMatchObject({ code: 1, data: null });
    sandbox.books.topUps.add([TOP_UP]);
    const { data } = await verifyTopUp();
    expect(data?.map(({ amount, ...rest }) => ({ ...rest, amount: amount.toFixed() }))).toEqual([
      { id: "T1", time: "2026-11-20T05:59:00.000Z", amount: "12.5", type: "Withdraw", username: "anna" },
    ]);
  });

  it("have a verify-topup only for the path of a product", async () => {
    await start();
    const asked = agent.verifyTopUp("NONE_seamless", { username: "anna", transactionId: "T1" });
    expect(await failureOf(asked)).toMatchObject({ code: "provider-bad-status", answer: { status: 404 } });
  });

  it("refuse a malformed request, in the envelope", async () => {
    await start();
    const headers = {
      authorization: `Basic ${btoa(`${CREDENTIALS.username}:${CREDENTIALS.password}`)}`,
      "content-type": "application/json",
    };
    for (const body of ['{"username":"anna"}', '{"amount":10}', "[]", "{"]) {
      const response = await fetch(`${sandbox.url}/deposit`, { method: "POST", headers, body });
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(await response.json()).toMatchObject({ code: 1, data: null });
    }
    expect(sandbox.requests()).toMatchObject({ total: 4, refused: 4, answered: 0 });
  });
});

describe("a fault of a deposit", () => {
  it.each([
    ["drop", "provider-dropped"],
    ["cut-short", "provider-cut-short"],
    ["html", "provider-not-json"],
    ["half-json", "provider-cut-short"],
    ["no-code", "provider-bad-envelope"],
  ] as const)("%s: the deposit happens or not, as the fault says", async (kind, code) => {
    await start(
      { when: { endpoint: "deposit", ref: "^not-" }, do: { kind, done: false } },
      { when: { endpoint: "deposit" }, do: { kind } },
    );
    expect(await failureOf(agent.deposit(order("done-1")))).toMatchObject({ code });
    await failureOf(agent.deposit(order("not-1")));
    expect(sandbox.books.transfers().map(({ transactionRef }) => transactionRef)).toEqual(["done-1"]);
    expect(await verify("done-1")).toMatchObject({ success: true });
    expect(await verify("not-1")).toMatchObject({ success: false });
    expect(sandbox.requests().faults[kind]).toBe(2);
  });

  it.each([
    [{ kind: "status", status: 503 }, "provider-server-error"],
    [{ kind: "status", status: 429, retryAfter: 1 }, "provider-throttled"],
    [{ kind: "code", code: 9 }, "provider-rejected"],
    [{ kind: "wrong", field: "txId" }, "provider-bad-envelope"],
    [{ kind: "missing", field: "balance" }, "provider-bad-envelope"],
    [{ kind: "mistyped", field: "amount" }, "provider-bad-envelope"],
  ] as const)("%j: the deposit happens", async (action, code) => {
    await start({ when: { endpoint: ["deposit", "withdraw"] }, do: action });
    expect(await failureOf(agent.deposit(order("d-1")))).toMatchObject({ code });
    expect(await verify("d-1")).toMatchObject({ success: true });
  });

  it("hang: the deposit happens, and no answer comes", async () => {
    await start({ when: { endpoint: "deposit" }, do: { kind: "hang" } });
    const leaving = new AbortController();
    const asked = agent.deposit(order("d-1"), leaving.signal);
    await expect.poll(() => clock.sleeping()).toHaveLength(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    expect(await verify("d-1")).toMatchObject({ success: true });
  });

  it("late: no answer comes, and the deposit is booked only after the delay", async () => {
    await start({ when: { endpoint: "deposit" }, do: { kind: "late", delay: "PT20M" } });
    expect(await failureOf(agent.deposit(order("d-1")))).toMatchObject({ code: "provider-dropped" });
    expect(await verify("d-1")).toMatchObject({ success: false });
    clock.setNow(NOW + 20 * MINUTE);
    expect(await verify("d-1")).toMatchObject({ success: true });
    expect(await failureOf(agent.deposit(order("d-1")))).toMatchObject({ code: "provider-dropped" });
    expect(sandbox.books.balanceOf("anna", "LIVE").toFixed()).toBe("10");
  });
});

describe("a fault of a verification", () => {
  it("denied: the answer says that it failed, at first, for some time, or for ever", async () => {
    await start(
      { when: { endpoint: "verifyDepositWithdraw", ref: "^calls", calls: [1, 2] }, do: { kind: "denied" } },
      {
        when: { endpoint: "verifyDepositWithdraw", ref: "^young", youngerThan: "PT5M" },
        do: { kind: "denied" },
      },
      { when: { endpoint: "verifyDepositWithdraw", ref: "^never" }, do: { kind: "denied" } },
    );
    const ask = async (ref: string) => (await verify(ref)).success;
    for (const ref of ["calls-1", "calls-2", "young", "never"]) await agent.deposit(order(ref));
    expect([await ask("calls-1"), await ask("calls-1"), await ask("calls-2"), await ask("calls-1")]).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect([await ask("young"), await ask("never")]).toEqual([false, false]);
    clock.setNow(NOW + 5 * MINUTE);
    expect([await ask("young"), await ask("never")]).toEqual([true, false]);
  });

  it.each([
    ["amount", "amount", "11"],
    ["username", "username", "invented-anna"],
    ["productId", "productId", "invented-LIVE"],
    ["currency", "currency", "XTS"],
  ] as const)("wrong: another %s", async (field, name, value) => {
    await start({ when: { endpoint: "verifyDepositWithdraw" }, do: { kind: "wrong", field } });
    await agent.deposit(order("d-1"));
    expect(String((await verify("d-1"))[name])).toBe(value);
  });

  it.each([
    [{ kind: "missing", field: "success" }, "provider-bad-envelope"],
    [{ kind: "mistyped", field: "amount" }, "provider-bad-envelope"],
    [{ kind: "wrong", field: "transactionRef" }, "provider-bad-envelope"],
    [{ kind: "no-code" }, "provider-bad-envelope"],
    [{ kind: "html" }, "provider-not-json"],
    [{ kind: "code", code: 77 }, "provider-rejected"],
    [{ kind: "drop" }, "provider-dropped"],
  ] as const)("%j is no answer", async (action, code) => {
    await start({ when: { endpoint: "verifyDepositWithdraw" }, do: action });
    await agent.deposit(order("d-1"));
    expect(await failureOf(verify("d-1"))).toMatchObject({ code });
  });

  it("verify-topup: denied, negative, several, wrong", async () => {
    const when = (call: number) => ({ endpoint: "verify-topup" as const, calls: [call] });
    await start(
      { when: when(1), do: { kind: "denied" } },
      { when: when(2), do: { kind: "negative" } },
      { when: when(3), do: { kind: "several", items: 3 } },
      { when: when(4), do: { kind: "wrong", field: "amount" } },
      { when: when(5), do: { kind: "code", code: 8 } },
    );
    sandbox.books.topUps.add([TOP_UP]);
    const amounts = async () => (await verifyTopUp()).data?.map(({ amount }) => amount.toFixed());
    expect(await verifyTopUp()).toMatchObject({ code: 1, data: null });
    expect(await amounts()).toEqual(["-12.5"]);
    expect(await amounts()).toEqual(["12.5", "12.5", "12.5"]);
    expect(await amounts()).toEqual(["13.5"]);
    expect(await failureOf(verifyTopUp())).toMatchObject({ code: "provider-rejected" });
    expect(await amounts()).toEqual(["12.5"]);
  });
});

describe("which requests a fault strikes", () => {
  const drops = async (refs: readonly string[]) => {
    const struck: string[] = [];
    for (const ref of refs) {
      await agent.deposit(order(ref, "1.00", ref.split("-")[0])).catch(() => struck.push(ref));
    }
    return struck;
  };
  const refs = ["anna-1", "anna-2", "ben-1", "anna-3"];

  it.each<[string, Omit<AgentFault["when"], "endpoint">, string[]]>([
    ["all of them", {}, refs],
    ["of one player", { username: "ben" }, ["ben-1"]],
    ["of one product", { product: "SLOT" }, []],
    ["with a pattern", { ref: "-[12]$" }, ["anna-1", "anna-2", "ben-1"]],
    ["by number", { requests: [2] }, ["anna-2"]],
    ["by number, of those of one player", { username: "anna", requests: [3] }, ["anna-3"]],
    ["so many times", { times: 2 }, ["anna-1", "anna-2"]],
    ["in a time", { between: ["2026-11-20T07:00:00Z", "2026-11-20T08:00:00Z"] }, []],
    ["none of another endpoint", { requests: { every: 5, offset: 0 } }, []],
  ])("%s", async (_, when, struck) => {
    await start({ when: { endpoint: "deposit", ...when }, do: { kind: "drop" } });
    expect(await drops(refs)).toEqual(struck);
  });

  it("a share of references strikes the same references each time", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `anna-${index}`);
    const fault: AgentFault = {
      when: { endpoint: "deposit", shareOfRefs: 0.3 },
      do: { kind: "drop", done: false },
    };
    await start(fault);
    const first = await drops(names);
    expect(first.length).toBeGreaterThan(5);
    expect(first.length).toBeLessThan(35);
    expect(await drops(first)).toEqual(first);
  });

  it("the error about a wrong fault names its place in the list, among faults of both kinds", async () => {
    await start();
    const begin = (...faults: object[]) =>
      startSandbox({
        ...CREDENTIALS,
        world,
        clock,
        host: "127.0.0.1",
        port: 0,
        pageSize: 1,
        faults: faults as AgentFault[],
      });
    const fine = { do: { kind: "hang" } };
    await expect(begin(fine, { when: { endpoint: "cashier" }, do: { kind: "drop" } })).rejects.toThrow(
      /\[1\]\.when\.endpoint: must be one of seamless\/logIn/,
    );
    await expect(
      begin(fine, { when: { endpoint: "games" }, do: { kind: "late", delay: "PT1M" } }),
    ).rejects.toThrow(/\[1\]\.when\.endpoint: can only be deposit or withdraw for this kind/);
    await expect(
      begin({ when: { endpoint: "games", ref: "(" }, do: { kind: "drop" } }, fine),
    ).rejects.toThrow(/\[0\]\.when\.ref: must be a regular expression/);
  });
});

it("the README lists every endpoint, and every kind of its faults", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../../src/sandbox/README.md"), "utf8");
  const section = readme.slice(readme.indexOf("## The other endpoints"));
  for (const name of [...Object.keys(AGENT_ENDPOINTS), ...AGENT_FAULT_KINDS])
    expect(section).toContain(`\`${name}\``);
});
