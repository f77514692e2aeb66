import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type Agent, openAgent } from "../../src/library/agent.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { emptyTables, useDatabase } from "../support/database.ts";

const database = useDatabase();
const CREDENTIALS = { username: "agent", password: "not to be seen" };
const CONFIG = { products: [{ productId: "P1" }, { productId: "P2", walletMode: "transfer" }] };
const PLACE = { host: "127.0.0.1", port: 0, pageSize: 100, clock: systemClock };

const world = createWorld({
  seed: 1,
  periods: [],
  products: ["P1", "P2", "P3"].map((productId) => ({ productId, style: "slot", roundsPerMinute: 1 })),
  players: 1,
  lateSettlementMs: 1_000,
  callbackLagMs: 0,
  reportLagMs: 0,
  faultEveryMinutes: 0,
});

let sandbox: Sandbox;
let agent: Agent;

function open(databaseUrl = database.url): Agent {
  return openAgent({ baseUrl: sandbox.url, ...CREDENTIALS, databaseUrl, config: CONFIG });
}

beforeAll(async () => {
  const when = { endpoint: "deposit" as const };
  sandbox = await startSandbox({
    ...CREDENTIALS,
    ...PLACE,
    world,
    faults: [
      { when: { ...when, ref: "^lost" }, do: { kind: "drop" } },
      { when: { ...when, ref: "^not" }, do: { kind: "status", status: 500, done: false } },
    ],
  });
  agent = open();
});

afterEach(async () => {
  await emptyTables(database.sql, ["transfers"]);
});

afterAll(async () => {
  await agent.close();
  await sandbox.close();
});

const order = (transactionRef: string, changes: object = {}) => ({
  username: "anna",
  productId: "P2",
  currency: "THB",
  amount: "10.00",
  transactionRef,
  ...changes,
});

interface Row {
  readonly transactionRef: string;
  readonly type: string;
  readonly amount: string;
  readonly currency: string;
  readonly status: string;
}

async function recorded(): Promise<Row[]> {
  const rows = await database.sql<Row[]>`
    select transaction_ref as "transactionRef", type, amount, currency, status from transfers order by 1`;
  return rows.map((row) => ({ ...row }));
}

const pending = (transactionRef: string, type = "DEPOSIT") => ({
  transactionRef,
  type,
  amount: "10",
  currency: "THB",
  status: "pending",
});

const sent = () => sandbox.books.transfers().map(({ transactionRef }) => transactionRef);

describe("a call that moves money is recorded before it is sent", () => {
  test("a deposit and a withdrawal are answered, and then wait for their verification", async () => {
    expect(String((await agent.deposit(order("d-1"))).balance)).toBe("10");
    expect(String((await agent.withdraw(order("w-1"))).balance)).toBe("0");
    expect(await recorded()).toEqual([pending("d-1"), pending("w-1", "WITHDRAW")]);
  });

  test.each([
    ["lost-1", "provider-dropped", true],
    ["not-1", "provider-server-error", false],
  ])(
    "%s: an error of the provider leaves the transfer pending, whatever happened",
    async (ref, code, isSent) => {
      await expect(agent.deposit(order(ref))).rejects.toMatchObject({ code });
      expect(await recorded()).toEqual([pending(ref)]);
      expect(sent().includes(ref)).toBe(isSent);
    },
  );

  test("a transfer that cannot be recorded is not sent", async () => {
    const blind = open(`${database.url}_not`);
    await expect(blind.deposit(order("blind-1"))).rejects.toThrow(/does not exist/);
    expect(sent()).not.toContain("blind-1");
    await blind.close();
  });

  test.each([
    ["an amount without its digits", { amount: "10" }, "bad-request"],
    ["a currency in small letters", { currency: "thb" }, "bad-request"],
    ["a product that the config lacks", { productId: "P3" }, "not-found"],
  ])("%s is neither recorded nor sent", async (_, changes, code) => {
    await expect(agent.deposit(order("bad-1", changes))).rejects.toMatchObject({ code });
    expect(await recorded()).toEqual([]);
    expect(sent()).not.toContain("bad-1");
  });

  test("a transfer that was recorded before is not sent again, however often it is asked for", async () => {
    const asked = sandbox.requests().total;
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => agent.deposit(order("twice-1"))));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of all)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "conflict" });
    await expect(agent.deposit(order("twice-1"))).rejects.toMatchObject({ code: "conflict" });
    expect(sandbox.requests().total - asked).toBe(1);
  });
});

test("calls that move no money need no database", async () => {
  const without = open("postgres://127.0.0.1:1/none");
  expect(await without.listTransferGames("P2")).toHaveLength(5);
  const question = { username: "anna", productId: "P2", transactionRef: "none", type: "DEPOSIT" } as const;
  expect(await without.verifyDepositWithdraw(question)).toMatchObject({ success: false });
  await without.close();
});

test("the error names a wrong setting, and plain http to another machine is refused", () => {
  const options = { baseUrl: "http://provider.example", ...CREDENTIALS, databaseUrl: database.url };
  expect(() => openAgent({ ...options, config: { products: [] } })).toThrow(/products/);
  expect(() => openAgent({ ...options, config: CONFIG })).toThrow(/https only/);
});
