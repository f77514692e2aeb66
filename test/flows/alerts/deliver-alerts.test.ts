import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import type { AlertChannel } from "../../../src/alerts/channel.ts";
import { countUndelivered, recordAlert } from "../../../src/alerts/store.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { inSnapshot } from "../../../src/db/transactions.ts";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import type { FlowContext } from "../../../src/flows/context.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import type { Transition } from "../../../src/mismatches/transitions.ts";
import {
  type AlertListener,
  channelsTo,
  SECRET_PATH,
  useAlertListener,
  WEBHOOK_SECRET,
} from "../../support/alert-listener.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { exampleFinding } from "../../support/findings.ts";

const { sql } = useDatabase();
const webhook = useAlertListener();
const slack = useAlertListener();
const clock = createTestClock(NOON);
const logged: string[] = [];
const log = pino(
  { level: "trace" },
  new Writable({
    write: (chunk, _, done) => {
      logged.push(String(chunk));
      done();
    },
  }),
);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, config, clock, log };
const never = new AbortController().signal;

beforeEach(async () => {
  clock.set(NOON);
  logged.length = 0;
  await emptyTables(sql);
});

const both = () => channelsTo({ webhook, slack });
const deliver = (channels: readonly AlertChannel[] = both()) => deliverAlerts(context, channels, never);
const write = async (...names: (string | number)[]) => {
  for (const name of names) {
    const body = { what: `alert ${name}` };
    const alert = { idempotencyKey: String(name), kind: "ledger-stale", productId: "P1", body };
    await recordAlert(sql, { ...alert, at: clock.now() });
  }
};
const keysAt = ({ heard }: AlertListener) => heard.map(({ json }) => json.idempotencyKey ?? json.text);
const texts = (...names: (string | number)[]) => names.map((name) => `alert ${name}`);
const down = (_: unknown, response: ServerResponse) => response.writeHead(503).end();
/** Ticks every half a minute for so long. */
const tickFor = async (lengthMs: number, channels = both()) => {
  for (const end = clock.now() + lengthMs; clock.now() < end; clock.advance(30_000)) {
    await watchConditions(context, ["webhook", "slack"]);
    await deliver(channels);
  }
};

describe("an alert", () => {
  test("is delivered once to every channel, in the order of events", async () => {
    await write(1, 2, 3);
    await deliver();
    await deliver();
    expect(keysAt(webhook)).toEqual(["1", "2", "3"]);
    expect(keysAt(slack)).toEqual(texts(1, 2, 3));
    expect(await countUndelivered(sql)).toBe(0);
  });

  test("waits if no channel is set, and is sent when there is one", async () => {
    await write(1);
    await deliver([]);
    expect(await countUndelivered(sql)).toBe(1);
    await deliver(channelsTo({ slack }));
    expect(keysAt(slack)).toEqual(texts(1));
    expect(await countUndelivered(sql)).toBe(0);
  });

  test("counts as undelivered while one of its channels lacks it", async () => {
    slack.answer(down);
    await write(1, 2);
    await deliver();
    expect(keysAt(webhook)).toEqual(["1", "2"]);
    expect(await countUndelivered(sql)).toBe(2);
    await deliver(channelsTo({ webhook }));
    expect(await countUndelivered(sql)).toBe(0);
  });

  test("that is sent while its worker dies is sent again with the same key", async () => {
    await write(1);
    const ending = new AbortController();
    webhook.answer(() => ending.abort());
    await expect(deliverAlerts(context, channelsTo({ webhook }), ending.signal)).rejects.toThrow();
    webhook.answer((_, response) => response.writeHead(204).end());
    await deliver(channelsTo({ webhook }));
    expect(keysAt(webhook)).toEqual(["1", "1"]);
    const [first, second] = webhook.heard;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(second?.body).toBe(first?.body);
  });
});

describe("a channel that is down", () => {
  test("gets everything in order once it is up, and does not delay the other channel", async () => {
    await webhook.goDown();
    const all: number[] = [];
    for (let name = 1; name <= 12; name += 1) {
      await write(name);
      all.push(name);
      await deliver();
      clock.advance(MINUTE_MS);
    }
    expect(keysAt(slack)).toEqual(texts(...all));
    expect(await countUndelivered(sql)).toBe(12);
    for (let more = 0; more < 20; more += 1, clock.advance(10 * MINUTE_MS)) await deliver();
    await webhook.comeBack();
    clock.advance(HOUR_MS);
    await deliver();
    expect(keysAt(webhook)).toEqual(all.map(String));
    expect(keysAt(slack)).toEqual(texts(...all));
    expect(await countUndelivered(sql)).toBe(0);
  });

  test("is tried less and less often, at least hourly, and its attempts and last error are kept", async () => {
    slack.answer(down);
    await write(1);
    for (const end = NOON + 6 * HOUR_MS; clock.now() < end; clock.advance(30_000)) {
      await deliver(channelsTo({ slack }));
    }
    const tries = slack.heard.length;
    // Without growing waits there would be 720 attempts; with them the wait is an hour after ten attempts.
    expect(tries).toBeGreaterThanOrEqual(10);
    expect(tries).toBeLessThanOrEqual(24);
    const [state] = await sql<{ waitMs: number; attempts: number }[]>`
      select attempts, (extract(epoch from next_attempt_at) * 1000)::float8 - ${clock.now()} as "waitMs",
        last_error, failing_since from alert_channels`;
    expect(state).toMatchObject({
      attempts: tries,
      last_error: "ALERT_SLACK_URL answered with HTTP 503",
      failing_since: NOON,
    });
    expect(state?.waitMs).toBeLessThanOrEqual(HOUR_MS);
    expect(await sql`select attempts, last_error from alert_deliveries`).toEqual([
      { attempts: tries, last_error: "ALERT_SLACK_URL answered with HTTP 503" },
    ]);
  });

  test("that asks for a pause gets it", async () => {
    slack.answer((_, response) => response.writeHead(429, { "retry-after": "600" }).end());
    await write(1);
    await deliver(channelsTo({ slack }));
    clock.advance(599_000);
    await deliver(channelsTo({ slack }));
    expect(slack.heard).toHaveLength(1);
    clock.advance(1_000);
    await deliver(channelsTo({ slack }));
    expect(slack.heard).toHaveLength(2);
  });

  test("is reported through the other one, once, and so is its end", async () => {
    webhook.answer(down);
    await write("first", "second");
    await tickFor(20 * MINUTE_MS);
    expect(keysAt(slack)).toEqual([
      ...texts("first", "second"),
      "webhook does not accept alerts: 2 wait, the oldest since 2026-11-20 12:00:00Z; ALERT_WEBHOOK_URL answered with HTTP 503",
    ]);
    webhook.answer((_, response) => response.writeHead(200).end());
    const vain = webhook.heard.length;
    await tickFor(HOUR_MS);
    expect(keysAt(slack).slice(3)).toEqual(["no alert waits for webhook any more"]);
    expect(webhook.heard.slice(vain).map(({ json }) => json.type)).toEqual([
      "ledger-stale",
      "ledger-stale",
      "alerts-undelivered",
      "alerts-undelivered-over",
    ]);
    expect(await countUndelivered(sql)).toBe(0);
  });
});

test("an alert that a channel refuses waits alone: later ones are delivered, and it is tried again", async () => {
  const isBad = (text: string) => text.includes("alert bad");
  slack.answer((heard, response) => response.writeHead(isBad(heard.body) ? 400 : 200).end("invalid_blocks"));
  await write("bad", 1, 2);
  await deliver();
  expect(keysAt(slack)).toEqual(texts("bad", 1, 2));
  expect(keysAt(webhook)).toEqual(["bad", "1", "2"]);
  expect(await countUndelivered(sql)).toBe(1);
  await write(3);
  await deliver();
  expect(keysAt(slack)).toEqual(texts("bad", 1, 2, 3));
  slack.answer((_, response) => response.writeHead(200).end());
  clock.advance(MINUTE_MS);
  await deliver();
  expect(keysAt(slack).at(-1)).toBe("alert bad");
  expect(await countUndelivered(sql)).toBe(0);
});

test("an alert at which a channel fails again and again waits alone in the end: the others are delivered at once", async () => {
  const isBad = (text: string) => text.includes("alert bad");
  webhook.answer((heard, response) => response.writeHead(isBad(heard.body) ? 500 : 200).end());
  const toOne = () => deliver(channelsTo({ webhook }));
  await write("bad", 1, 2);
  for (let hours = 0; hours < 12; hours += 1, clock.advance(HOUR_MS)) await toOne();
  for (const name of [3, 4]) {
    await write(name);
    await toOne();
  }
  expect(keysAt(webhook).filter((key) => key !== "bad")).toEqual(["1", "2", "3", "4"]);
  webhook.answer((_, response) => response.writeHead(200).end());
  clock.advance(HOUR_MS);
  await toOne();
  expect(keysAt(webhook).at(-1)).toBe("bad");
  expect(await countUndelivered(sql)).toBe(0);
});

describe("several workers", () => {
  test("share the channels, and send nothing twice", async () => {
    const names = Array.from({ length: 30 }, (_, index) => index);
    await write(...names);
    await Promise.all([deliver(), deliver(), deliver()]);
    // A worker that found a channel taken has skipped it; the next tick sends the rest.
    await deliver();
    expect(keysAt(webhook)).toEqual(names.map(String));
    expect(keysAt(slack)).toEqual(texts(...names));
  });

  test("take over the channel of a dead worker when its lease is over, and the dead one sends no more", async () => {
    await write(1, 2);
    const answers: ServerResponse[] = [];
    webhook.answer((_, response) => answers.push(response));
    const slow = deliver(channelsTo({ webhook }));
    await eventually("it sends", () => answers.length === 1);
    webhook.answer((_, response) => response.writeHead(200).end());
    await deliver(channelsTo({ webhook }));
    expect(keysAt(webhook)).toEqual(["1"]);
    await sql`update alert_channels set lease_until = clock_timestamp()`;
    await deliver(channelsTo({ webhook }));
    expect(keysAt(webhook)).toEqual(["1", "1", "2"]);
    answers[0]?.writeHead(503).end();
    await slow;
    expect(keysAt(webhook)).toEqual(["1", "1", "2"]);
    expect(await countUndelivered(sql)).toBe(0);
    expect(await sql`select attempts from alert_channels`).toEqual([{ attempts: 0 }]);
  });
});

test("neither the log nor the database contains a URL, a key or a signature", async () => {
  await write(1);
  webhook.answer((heard, response) => response.writeHead(500).end(`${heard.headers["webhook-signature"]}`));
  await slack.goDown();
  await deliver();
  clock.advance(HOUR_MS);
  webhook.answer((_, response) => response.writeHead(200).end());
  await deliver();
  const kept = await sql`
    select (select json_agg(c) from alert_channels c)::text || (select json_agg(d) from alert_deliveries d)::text as text`;
  const written = logged.join("") + JSON.stringify(kept);
  expect(written).toContain("ALERT_SLACK_URL cannot be reached");
  const signature = String(webhook.heard[0]?.headers["webhook-signature"]).slice(3);
  for (const secret of [SECRET_PATH, WEBHOOK_SECRET.slice(6), signature])
    expect(written).not.toContain(secret);
});

test("a thousand mismatches of one cause reach ops as one alert, one for each tenfold growth, and one recovery", async () => {
  let bets = 0;
  const open = (count: number): Transition[] =>
    Array.from({ length: count }, () => {
      bets += 1;
      return { change: "open", content: exampleFinding({ betId: `bet-${bets}` }) };
    });
  const resolve = (count: number): Transition[] =>
    Array.from({ length: count }, (_, index) => ({ change: "resolve", id: index + 1 }));
  const steps = [open(1), open(9), open(40), open(50), open(900), resolve(1000)];
  for (const transitions of steps) {
    await inSnapshot(sql, (tx) => recordTransitions(tx, transitions, config, clock.now()));
    await deliver();
    clock.advance(MINUTE_MS);
  }
  expect(webhook.heard).toHaveLength(4);
  clock.advance(MINUTE_MS);
  await deliver();
  expect(webhook.heard.map(({ json }) => `${json.type} ${json.data.count}`)).toEqual([
    "incident-opened 1",
    "incident-grown 10",
    "incident-grown 100",
    "incident-grown 1000",
    "incident-over 1000",
  ]);
  expect(slack.heard.at(-1)?.json.text).toBe(
    "Over: payout-differs in P1: over, none of 1000 mismatches is open any more (4500.00 THB)",
  );
  expect(slack.heard).toHaveLength(5);
});
