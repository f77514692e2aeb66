/** What agent APIs do in the field that the interface does not show: each over real HTTP, against the sandbox. */

import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { readTransferStory } from "../../src/flows/read/read-transfer.ts";
import { openAskOutcome } from "../../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../../src/flows/verify/operate-transfers.ts";
import { verifyDue } from "../../src/flows/verify/verify-due.ts";
import { openAgent } from "../../src/library/agent.ts";
import { silentLog } from "../../src/log.ts";
import { openBudget } from "../../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import type { AgentFault } from "../../src/sandbox/faults/agent-fault.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { planOf } from "../sandbox/plans.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { body, useHttpProvider } from "../support/http-provider.ts";
import { replyWith, useVerifyProvider } from "../support/verify-provider.ts";
import { deposit } from "../verify/sent.ts";

const { sql, url } = useDatabase();
const report = useHttpProvider();
const agentApi = useVerifyProvider();
const CREDENTIALS = { username: "agent", password: "of the field" };
const clock = createTestClock(NOON);
const LOG_IN = { username: "anna", productId: "LIVE", gameCode: "bac-1", isMobileLogin: false };
const SEAMLESS = { ...LOG_IN, sessionToken: "s3ss10n" };

let sandbox: Sandbox | null = null;
afterEach(async () => {
  await sandbox?.close();
  sandbox = null;
  await emptyTables(sql);
});

async function startAgentApi(...faults: AgentFault[]): Promise<ProviderClient> {
  const place = { host: "127.0.0.1", port: 0, pageSize: 100 };
  sandbox = await startSandbox({ ...CREDENTIALS, ...place, world: createWorld(planOf()), clock, faults });
  return clientOf(sandbox.url);
}

function clientOf(baseUrl: string): ProviderClient {
  const limits = { requestTimeoutMs: 60_000, connections: 2, production: false };
  const client = openProvider({ baseUrl, ...CREDENTIALS }, limits, clock);
  onTestFinished(() => client.close());
  return client;
}

describe('transfer errors include code 5004, "Transaction not found"', () => {
  const NOT_FOUND: AgentFault = { when: { endpoint: "verifyDepositWithdraw" }, do: { kind: "not-found" } };

  async function verifyUntil(
    minutes: readonly number[],
    { verify = {}, isSent = false }: { readonly verify?: object; readonly isSent?: boolean },
    ...faults: AgentFault[]
  ) {
    const client = await startAgentApi(...faults);
    const config = parseConfig({ products: [{ productId: "LIVE", walletMode: "transfer" }], verify });
    const context = { sql, config, clock, log: silentLog };
    const ask = openAskOutcome(
      client,
      openBudget(sql, { concurrency: 2, minIntervalMs: 0 }, 5_000, clock),
      context,
    );
    clock.set(NOON);
    const { username, productId, transactionRef } = deposit({ productId: "LIVE" });
    if (isSent) await client.deposit({ username, productId, transactionRef, amount: "10.00" });
    await handOverTransfers(context, [{ transfer: deposit({ productId: "LIVE" }), label: "" }]);
    for (const one of minutes) {
      clock.set(NOON + one * MINUTE_MS);
      await verifyDue({ ...context, ask }, new AbortController().signal);
    }
    return await readTransferStory(context, { ref: "ref-1", kind: null, productId: null, username: null });
  }

  test("the answer is a no that must be repeated before it counts", async () => {
    const once = await verifyUntil([1], {}, NOT_FOUND);
    expect(once).toMatchObject({
      status: "pending",
      answers: [{ says: "failed", code: "5004", message: "Transaction not found" }],
    });
    expect(once.answers[0]?.raw).toContain("5004");
    await sandbox?.close();
    await emptyTables(sql);
    expect(await verifyUntil([1, 16], {}, NOT_FOUND)).toMatchObject({ status: "rejected" });
  });

  test("a transfer that is found in the end is accepted", async () => {
    const early = { ...NOT_FOUND, when: { ...NOT_FOUND.when, times: 1 } };
    const story = await verifyUntil([1, 16], { isSent: true }, early);
    expect(story).toMatchObject({ status: "accepted", answers: [{ says: "failed" }, { says: "booked" }] });
  });

  test("the answer counts as no answer if verify.notFoundCodes lacks the code", async () => {
    const story = await verifyUntil([1, 16, 60], { verify: { notFoundCodes: [] } }, NOT_FOUND);
    expect(story.status).toBe("pending");
    expect(story.answers.map(({ says }) => says)).not.toContain("failed");
  });
});

describe("logIn answers data.url as text or as a list of texts", () => {
  test("the client reads both, and uses the first address of a list", async () => {
    const plain = await startAgentApi();
    const { url: address, urls } = await plain.logInTransfer(LOG_IN);
    expect(urls).toEqual([address]);
    await sandbox?.close();
    const lists = await startAgentApi({
      when: { endpoint: ["logIn", "seamless/logIn"] },
      do: { kind: "url-list" },
    });
    for (const answer of [await lists.logInTransfer(LOG_IN), await lists.logInSeamless(SEAMLESS)]) {
      expect(answer.url).toMatch(/^https:\/\/play\.invalid\//);
      expect(answer.urls).toEqual([answer.url, `${answer.url}&mirror=1`]);
    }
  });

  test("the library gives both to the operator's own service", async () => {
    await startAgentApi({ when: { endpoint: "seamless/logIn" }, do: { kind: "url-list" } });
    const agent = openAgent({
      baseUrl: sandbox?.url ?? "",
      ...CREDENTIALS,
      databaseUrl: url,
      config: { products: [{ productId: "LIVE" }] },
      production: false,
    });
    onTestFinished(() => agent.close());
    expect((await agent.logInSeamless(SEAMLESS)).urls).toHaveLength(2);
  });

  test("the error about an empty list names the field", async () => {
    agentApi.answer(() => replyWith('{"code":0,"message":"","data":{"url":[]}}'));
    await expect(clientOf(agentApi.url()).logInSeamless(SEAMLESS)).rejects.toMatchObject({
      code: "provider-bad-envelope",
      message: expect.stringContaining("data.url must not be an empty list"),
    });
  });
});

describe("deposit and withdraw are sent with numeric amounts by some, as text by others", () => {
  const send = async (endpoint: string, transactionRef: string, amount: unknown) => {
    const authorization = `Basic ${btoa(`${CREDENTIALS.username}:${CREDENTIALS.password}`)}`;
    const response = await fetch(`${sandbox?.url}/${endpoint}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ username: "anna", productId: "LIVE", transactionRef, amount }),
    });
    return (await response.json()) as { code: number; message: string; data: { amount: string } | null };
  };

  test("the sandbox accepts both as the same money", async () => {
    await startAgentApi();
    for (const [index, amount] of [10, 10.5, "10.50"].entries()) {
      expect(await send("deposit", `d-${index}`, amount)).toMatchObject({ code: 0 });
    }
    expect((await send("withdraw", "w-1", 0.25)).data?.amount).toBe("0.25");
    expect(sandbox?.books.balanceOf("anna", "LIVE").toFixed(2)).toBe("30.75");
  });

  test.each([10.555, "10.5", 0, -1, 1e21, null])(
    "%j is no amount, and the error names the field",
    async (amount) => {
      await startAgentApi();
      const { code, message } = await send("deposit", "d-1", amount);
      expect(code).not.toBe(0);
      expect(message).toContain("amount");
      expect(sandbox?.books.transfers()).toEqual([]);
    },
  );
});

describe("answers carry undocumented fields", () => {
  test("the program keeps them: of a record in its row, of other answers as JSON text", async () => {
    agentApi.answer(() => replyWith('{"code":0,"message":"","data":{"url":"https://play","region":"asia"}}'));
    expect((await clientOf(agentApi.url()).logInSeamless(SEAMLESS)).extra).toBe('{"region":"asia"}');
    const item = `{"id":"1","betId":"b","username":"anna","currency":"THB","accountingDate":"2026-11-20T10:00:00Z",
      "updatedDate":"2026-11-20T10:00:00Z","stake":1,"payout":0,"productId":"LIVE","gameCode":"g","gameName":"G",
      "roundId":"r","betStatus":"SETTLED","payoutStatus":"LOSE","jackpotShare":0.10}`;
    report.answer(() => body(`{"code":0,"message":"","data":{"txns":[${item}]}}`));
    const range = { productId: "LIVE", from: NOON - HOUR_MS, to: NOON, nextId: null };
    const { records } = await clientOf(report.url()).fetchBetPage(range, new AbortController().signal);
    expect(records[0]?.extra).toBe('{"jackpotShare":0.10}');
  });
});

describe("endpoints beyond the seed: /products, /seamless/betLimitsV2, /betTransactionsTransfer", () => {
  test("have no documented details: the sandbox invents no answer", async () => {
    await startAgentApi();
    const authorization = `Basic ${btoa(`${CREDENTIALS.username}:${CREDENTIALS.password}`)}`;
    for (const path of ["products", "seamless/betLimitsV2", "betTransactionsTransfer"]) {
      const { status } = await fetch(new URL(path, sandbox?.url), { headers: { authorization } });
      expect([path, status]).toEqual([path, 404]);
    }
  });
});
