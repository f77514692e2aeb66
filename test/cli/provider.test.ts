import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { useDatabase } from "../support/database.ts";
import { callRecon } from "./call-recon.ts";
import { type Ended, startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-provider-"));
const CONFIG = join(folder, "recon.config.json");
const PASSWORD = "not to be seen";
const PLACE = { host: "127.0.0.1", port: 0, pageSize: 100, clock: systemClock };

const world = createWorld({
  seed: 1,
  periods: [],
  products: [{ productId: "P1", style: "slot", roundsPerMinute: 1 }],
  players: 1,
  lateSettlementMs: 1_000,
  callbackLagMs: 0,
  reportLagMs: 0,
  faultEveryMinutes: 0,
});
let sandbox: Sandbox;

beforeAll(async () => {
  writeFileSync(CONFIG, JSON.stringify({ products: [{ productId: "P1", topUpPath: "P1_seamless" }] }));
  sandbox = await startSandbox({
    ...PLACE,
    username: "agent",
    password: PASSWORD,
    world,
    faults: [{ when: { endpoint: "deposit", ref: "^lost" }, do: { kind: "drop" } }],
  });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await sandbox.close();
});

const environment = () => ({
  DATABASE_URL: url,
  RECON_CONFIG: CONFIG,
  PROVIDER_BASE_URL: sandbox.url,
  PROVIDER_USERNAME: "agent",
  PROVIDER_PASSWORD: PASSWORD,
});

function recon(args: string, changes: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return callRecon(["provider", ...args.split(" ")], { ...environment(), ...changes });
}

const MONEY = "--username anna --product P1 --amount 10.00 --currency THB";

describe("each endpoint gives the provider's answer as one JSON document", () => {
  const envelope = (data: unknown) => ({ reqId: expect.any(String), code: 0, message: "success", data });
  test.each<[string, unknown]>([
    [
      "seamless-logIn --username anna --product P1 --game G --session-token t --limit 1",
      { url: expect.stringMatching(/^https:/) },
    ],
    ["seamless-games --product P1", { games: expect.any(Array) }],
    ["betTransactionsV2 --product P1 --date 2026-11-20", { txns: [] }],
    ["betTransactionsV2 --product P1 --from 2026-11-20T10:00:00Z --to 2026-11-20T11:00:00Z", { txns: [] }],
    ["freeGameList --product P1", { games: expect.any(Array) }],
    [
      "logIn --username anna --product P1 --game G --mobile",
      { username: "anna", url: expect.stringMatching(/^https:/) },
    ],
    [
      "verifyDepositWithdraw --username anna --product P1 --ref none --type deposit",
      expect.objectContaining({ success: false, transactionRef: "none" }),
    ],
    ["games --product P1", { games: expect.any(Array) }],
    [
      "betLimitsV2 --username anna --product P1 --currency THB",
      [{ productId: "P1", BetLimit: expect.any(Array) }],
    ],
    [
      "free-game --username anna --product P1 --name Spin --expires-in-hours 24 --bet-amount 5 --game-count 3 --game-ids g --yes",
      { freeGameId: expect.any(Number) },
    ],
  ])("%s", async (args, data) => {
    const { code, stdout, stderr } = await recon(`${args} --json`, { DATABASE_URL: undefined });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(envelope(data));
  });

  test("verify-topup, by the config's path or by one of its own", async () => {
    const asked = "verify-topup --username anna --transaction-id T1 --json";
    for (const by of ["--product P1", "--path P1_seamless"]) {
      const { code, stdout } = await recon(`${asked} ${by}`);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ code: 1, message: "no such transaction", data: null });
    }
  });

  test("deposit and withdraw, recorded as pending", async () => {
    const deposit = await recon(`deposit ${MONEY} --ref d-1 --yes --json`);
    expect({ code: deposit.code, stderr: deposit.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(deposit.stdout)).toEqual(
      envelope({
        username: "anna",
        amount: "10.00",
        beforeBalance: "0",
        balance: "10",
        txId: "d-1",
        status: "SUCCESS",
      }),
    );
    expect((await recon(`withdraw ${MONEY} --ref w-1 --yes --json`)).code).toBe(0);
    const rows = await sql<{ ref: string; type: string; status: string }[]>`
      select transaction_ref as ref, type, status from transfers where transaction_ref in ('d-1', 'w-1') order by 1`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { ref: "d-1", type: "DEPOSIT", status: "pending" },
      { ref: "w-1", type: "WITHDRAW", status: "pending" },
    ]);
  });
});

test("an answer on a terminal is a table", async () => {
  const { code, stdout } = await startRecon(["provider", "games", "--product", "P1"], environment()).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^code +0$/m);
  expect(stdout).toMatch(/^games:\nname +category +type +code /m);
  expect(stdout).toMatch(/^P1 1 +GAME +SANDBOX +P1-1 /m);
});

describe("a command that moves money asks first", () => {
  test.each([
    `deposit ${MONEY} --ref ask-1`,
    `withdraw ${MONEY} --ref ask-1`,
    "free-game --username anna --product P1 --name S --expires-in-hours 1 --bet-amount 5 --game-count 3 --game-ids g",
  ])("is refused without a terminal and without --yes: %s", async (args) => {
    const before = sandbox.requests().total;
    const { code, stdout, stderr } = await recon(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^recon: nothing was sent: there is no terminal to confirm in\. To .+, add --yes\.$/m,
    );
    expect(sandbox.requests().total).toBe(before);
    expect((await sql`select from transfers where transaction_ref = 'ask-1'`).count).toBe(0);
  });

  test("says that the outcome is unknown if the answer is lost, and what to do", async () => {
    const { code, stdout, stderr } = await recon(`deposit ${MONEY} --ref lost-1 --yes --json`);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "provider-dropped" } });
    expect(stderr).toMatch(
      /the outcome is unknown.*Do not send the transfer again.*recon transfers show lost-1/,
    );
    expect(stderr).toMatch(/deposit lost-1 of anna at P1: the connection was dropped/);
    expect(stderr).not.toContain(PASSWORD);
    const again = await recon(`deposit ${MONEY} --ref lost-1 --yes`);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("is known already") });
    expect(again.stderr).not.toContain("unknown");
  });
});

describe("a failure is one clear line", () => {
  test.each<[string, number, RegExp]>([
    [`deposit ${MONEY.replace("10.00", "10")} --ref x --yes`, 2, /amount must have exactly two digits/],
    [`deposit ${MONEY.replace("THB", "baht")} --ref x --yes`, 2, /currency must be three capital letters/],
    [`deposit ${MONEY} --yes`, 2, /required option '--ref <reference>' not specified/],
    [`deposit ${MONEY.replace("P1", "P9")} --ref x --yes`, 1, /there is no product "P9"; the config has P1/],
    [
      "verifyDepositWithdraw --username a --product P1 --ref r --type bet",
      2,
      /type must be one of DEPOSIT, WITHDRAW/,
    ],
    ["verify-topup --username a --transaction-id t", 2, /either --product or --path/],
    ["betTransactionsV2 --product P1 --from 2026-11-20T10:00:00Z", 2, /either --from and --to, or --date/],
    ["betTransactionsV2 --product P1 --from noon --to 2026-11-20T10:00:00Z", 2, /--from must be a date-time/],
    ["cashier", 2, /unknown command 'cashier'/],
  ])("recon provider %s", async (args, exit, line) => {
    const { code, stdout, stderr } = await recon(args);
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
    expect(stderr).toMatch(line);
    expect(stderr).not.toMatch(/\n {4}at |internal error/);
  });

  test("a refused answer is shown, and the exit code is that of a refusal", async () => {
    const { code, stdout, stderr } = await recon("games --product NONE --json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: 2, data: null });
    expect(stderr).toMatch(/^recon: games of NONE was answered with code 2 "no product is called NONE"\n$/);
  });

  test("without a provider the command says how to get one", async () => {
    const none = { PROVIDER_BASE_URL: undefined, PROVIDER_USERNAME: undefined, PROVIDER_PASSWORD: undefined };
    const { code, stderr } = await recon("games --product P1", none);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^recon: no provider is set: set PROVIDER_BASE_URL.*"recon sandbox"/);
  });
});
