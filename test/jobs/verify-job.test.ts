import { describe, expect, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { startWorker, type WorkerContext } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openAskOutcome } from "../../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../../src/flows/verify/operate-transfers.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { openBudget } from "../../src/provider/budget.ts";
import { openProvider } from "../../src/provider/client.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry } from "../support/examples.ts";
import { CREDENTIALS } from "../support/http-provider.ts";
import { bookedAs, topUpAnswer, useVerifyProvider } from "../support/verify-provider.ts";
import { deposit, SECOND_MS } from "../verify/sent.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

const SCHEDULE_CHECK_MS = 200;
const provider = useVerifyProvider();

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const queues = open(database);
  const { sql } = database;
  const config = parseConfig({
    products: [{ productId: "P1", walletMode: "transfer", topUpPath: "p1_seamless" }],
    verify: { every: "PT0.2S" },
  });

  function contextOf(): WorkerContext {
    const base = { sql, config, clock: systemClock, log: silentLog };
    const limits = { requestTimeoutMs: 60_000, connections: 8, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, systemClock);
    onTestFinished(() => client.close());
    const budget = openBudget(sql, { concurrency: 8, minIntervalMs: 0 }, 60_000, systemClock);
    const fetchPage = async () => ({ records: [], rejected: [], nextId: null, requestedAt: 0, tookMs: 1 });
    return { ...base, fetchPage, ask: openAskOutcome(client, budget, base) };
  }

  const statuses = async () => {
    const rows = await sql<{ text: string }[]>`
      select transaction_ref || ' ' || status as text from transfers
      union all select transaction_ref || ' ' || status from top_ups order by text`;
    return rows.map(({ text }) => text);
  };

  const hand = async (context: WorkerContext, transactionRef: string) => {
    const sentAt = systemClock.now() - 11 * SECOND_MS;
    await handOverTransfers(context, [{ transfer: deposit({ transactionRef, sentAt }), label: "" }]);
  };

  test("a worker verifies transfers that were handed over and top-ups from the ledger, also after its queues were emptied", async () => {
    provider.answer((question) =>
      question.path === "/verifyDepositWithdraw"
        ? bookedAs(question)
        : topUpAnswer({
            id: "top-up",
            time: "2026-11-20T12:00:00Z",
            amount: 10,
            type: "TopUp",
            username: "anna",
          }),
    );
    const context = contextOf();
    const at = systemClock.now() - 11 * SECOND_MS;
    const moved = { callback: "adjustBalance", status: "DEBIT", roundId: null, txnId: "top-up" } as const;
    await appendEntries(sql, [exampleEntry({ ...moved, occurredAt: at, receivedAt: at })]);
    await hand(context, "before");
    const connections = { redisUrl: queues.redisUrl(), databaseUrl: database.url };
    const worker = await startWorker(context, connections, SCHEDULE_CHECK_MS);
    onTestFinished(() => worker.stop());
    const isVerified = async (...expected: string[]) => {
      expect(await statuses()).toEqual(expected);
      return true;
    };
    await eventually("both are verified", () => isVerified("before accepted", "top-up accepted"));
    await queues.empty();
    await hand(context, "emptied");
    await eventually("the next is verified", () =>
      isVerified("before accepted", "emptied accepted", "top-up accepted"),
    );
    // A tick that ran when the queues were emptied may have verified the transfer.
    await eventually("the schedule is back", async () => {
      expect(await readSchedules()).toEqual(["tick 200"]);
      return true;
    });
    await worker.stop();
    expect(provider.questions).toHaveLength(3);
  });

  async function readSchedules(): Promise<string[]> {
    const backend = openBackend(queues.redisUrl(), database.url, silentLog);
    const queue = backend.openQueue("verify");
    const schedulers = await queue.getJobSchedulers();
    await queue.close();
    await backend.close();
    return schedulers.map(({ key, every }) => `${key} ${every}`);
  }
});
