import { expect, test } from "vitest";
import type { AlertChannel } from "../../../src/alerts/channel.ts";
import { recordAlert } from "../../../src/alerts/store.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { Sql } from "../../../src/db/client.ts";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import { silentLog } from "../../../src/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { NOON } from "../../support/examples.ts";
import { inManyOrders, type Orders } from "../../support/orders.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;
const config = parseConfig({ products: [{ productId: "P1" }] });
const ALERTS = ["1", "2", "3", "4"];

const deliver = (own: Sql, channel: AlertChannel) =>
  deliverAlerts({ sql: own, config, clock: createTestClock(NOON), log: silentLog }, [channel], never);

const write = (key: string) =>
  recordAlert(sql, {
    idempotencyKey: key,
    kind: "ledger-stale",
    productId: "P1",
    body: { what: `alert ${key}` },
    at: NOON,
  });

const channelOf = (send: (key: string) => Promise<void>): AlertChannel => ({
  name: "webhook",
  send: async ({ idempotencyKey }) => {
    await send(idempotencyKey);
    return { outcome: "delivered" };
  },
});

/** Three workers deliver, alerts are written meanwhile, leases end, and one worker is killed. */
async function play(orders: Orders) {
  await emptyTables(sql);
  await write("1");
  await write("2");
  const heard: string[] = [];
  let ended = 0;
  const endLease = async () => {
    const { count } = await sql`
      update alert_channels set lease_until = clock_timestamp() - interval '1 second'
      where lease_until > clock_timestamp()`;
    ended += count;
  };
  const worker = async (name: string, isAlive: () => boolean) => {
    const send = async (key: string) => {
      await orders.step(`${name} sends ${key}`, async () => void (isAlive() && heard.push(key)));
      if (!isAlive()) await new Promise<never>(() => {});
    };
    for (const _ of [1, 2]) await deliver(orders.connect(name, sql, isAlive), channelOf(send));
  };
  let left = orders.stepsOfLife;
  void worker("the killed one", () => {
    left -= 1;
    return left >= 0;
  });
  await Promise.all([
    worker("one", () => true),
    worker("another", () => true),
    ...ALERTS.slice(2).map((key) => orders.step(`alert ${key} is written`, () => write(key))),
    ...[1, 2].map(() => orders.step("a lease ends", endLease)),
  ]);
  return { heard, ended };
}

test("in any order of statements, answers, ending leases and a kill each alert is sent, in order, and twice only after a lease has ended", async () => {
  await inManyOrders(play, async ({ heard, ended }) => {
    expect(heard.length - new Set(heard).size).toBeLessThanOrEqual(ended);
    // That of the killed worker.
    const { count } = await sql`
      update alert_channels set lease_until = null, lease_token = null where lease_until is not null`;
    await deliver(
      sql,
      channelOf(async (key) => void heard.push(key)),
    );
    expect(heard.length - new Set(heard).size).toBeLessThanOrEqual(ended + count);
    const order = await sql<{ key: string }[]>`select idempotency_key as key from alerts order by id`;
    expect([...new Set(heard)]).toEqual(order.map(({ key }) => key));
    expect(await sql`select from alerts where delivered_at is null`).toEqual([]);
  });
});
