import { expect, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { createLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS, MINUTE_MS } from "../support/examples.ts";
import { CREDENTIALS, page, status, useHttpProvider } from "../support/http-provider.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();

test("a log line of a job names its queue and job, and the product, window or backfill", async () => {
  const now = systemClock.now();
  const config = parseConfig({
    products: [{ productId: "P1", since: formatInstant(now - 30 * MINUTE_MS) }],
    pull: { every: "PT0.2S", settleDelay: "PT0S" },
  });
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", [], { write: (line: string) => lines.push(JSON.parse(line)) });
  const limits = { requestTimeoutMs: 60_000, connections: 2, production: false };
  const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, systemClock);
  const context = { sql, config, clock: systemClock, log, fetchPage: client.fetchBetPage };
  const past = { productId: "P1", from: now - 10 * HOUR_MS, to: now - 9 * HOUR_MS };
  const { id } = await requestBackfill(context, await planBackfill(context, past));
  // Live windows time out until they are short; then the provider refuses the credentials.
  provider.answer(({ from, to }) => {
    if (from < now - HOUR_MS) return page([]);
    return to - from > 10 * MINUTE_MS ? status(504) : status(401);
  });

  const worker = await startWorker(context, { redisUrl: null, databaseUrl: url });
  const lineOf = (words: string) =>
    eventually(`there is a line "${words}"`, () => lines.find(({ msg }) => String(msg).includes(words)));
  try {
    const jobId = expect.stringMatching(/./);
    const window = { productId: "P1", windowId: expect.any(Number), kind: "live", from: expect.any(String) };
    // Any of these jobs may fetch a due window.
    const queue = expect.stringMatching(/^(?:pull|fetch)$/);
    expect(await lineOf("did not answer the window")).toMatchObject({ queue, jobId, ...window });
    expect(await lineOf("credentials were refused")).toMatchObject({ queue, jobId, productId: "P1" });
    const ended = { queue: "backfill", jobId, productId: "P1", backfillId: id };
    expect(await lineOf("a backfill has ended")).toMatchObject(ended);
  } finally {
    await worker.stop();
    client.close();
  }
});
