import { describe, expect, onTestFinished, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { countUndelivered, recordAlert } from "../../src/alerts/store.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { channelsTo, useAlertListener } from "../support/alert-listener.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

const webhook = useAlertListener();
const slack = useAlertListener();

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const { sql } = database;
  const queues = open(database);

  test("a worker delivers alerts and the digest: to one channel while the other hangs, and after the queues were emptied", async () => {
    const config = parseConfig({
      products: [{ productId: "P1", walletMode: "transfer" }],
      alerts: { every: "PT0.2S" },
    });
    const fetchPage = async () => ({ records: [], rejected: [], nextId: null, requestedAt: 0, tookMs: 1 });
    const channels = channelsTo({ webhook, slack });
    const context = { sql, config, clock: systemClock, log: silentLog, fetchPage, channels };
    const write = (key: string) =>
      recordAlert(sql, {
        idempotencyKey: key,
        kind: "ledger-stale",
        productId: "P1",
        body: { what: key },
        at: systemClock.now(),
      });
    const keys = () => webhook.heard.map(({ json }) => String(json.idempotencyKey));
    const arrives = (key: string) => eventually(`${key} arrives`, () => keys().includes(key));
    // Each day has a digest of its own, and midnight may pass during the test.
    const isDigest = (key: string) => key.startsWith("digest/");
    slack.answer(() => {});
    await write("first");
    const worker = await startWorker(
      context,
      { redisUrl: queues.redisUrl(), databaseUrl: database.url },
      200,
    );
    onTestFinished(() => worker.stop());
    await arrives("first");
    await eventually("the digest arrives", () => keys().some(isDigest));
    await write("while the other hangs");
    await arrives("while the other hangs");
    await queues.empty();
    await write("after the queues were emptied");
    await arrives("after the queues were emptied");
    await eventually("the other was sent something", () => slack.heard.length > 0);
    await worker.stop();
    // An attempt may have been given up and repeated; the alerts behind it must wait all the same.
    expect(new Set(slack.heard.map(({ body }) => body)).size).toBe(1);
    const others = keys().filter((key) => !isDigest(key));
    expect(others).toEqual(["first", "while the other hangs", "after the queues were emptied"]);
    expect(await countUndelivered(sql)).toBe(new Set(keys()).size);
  });
});
