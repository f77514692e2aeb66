/** Each way in which work stalls: its alert, its end, its metric, its line on the overview, and the status. */

import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import type { FlowContext } from "../../../src/flows/context.ts";
import { keepOutside } from "../../../src/flows/read/read-outside.ts";
import { openOverview } from "../../../src/flows/read/read-overview.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import { readWorkReport } from "../../../src/flows/read/read-work.ts";
import { silentLog } from "../../../src/log.ts";
import { judgeHealth } from "../../../src/ops/dashboard/overview/health-verdict.ts";
import { openMetrics } from "../../../src/ops/metrics/metrics.ts";
import { pickUpTopUps } from "../../../src/verify/row-store.ts";
import { addTransfers } from "../../../src/verify/store.ts";
import { noteDone, noteFailed, type WorkName, writeQueues } from "../../../src/work/work-store.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { readSamples, showMetric } from "../../support/prometheus-text.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({
  products: [{ productId: "P1" }, { productId: "P2", topUpPath: "p2_seamless" }],
  ledger: { relation: "wallet.ledger" },
});
const context: FlowContext = { sql, config, clock, log: silentLog };
const QUEUES = ["pull", "diff", "alerts", "ledger", "verify", "backfill", "retention"];

const comparing = (subject: string): WorkName => ({ work: "comparing", subject });
const FOLLOWING: WorkName = { work: "following", subject: "wallet.ledger" };
const ALERTING: WorkName = { work: "alerting", subject: "" };
const VERIFYING: WorkName = { work: "verifying", subject: "" };
const CLOSING: WorkName = { work: "closing", subject: "" };
const transfersOf = (productId: string): WorkName => ({
  work: "verifying",
  subject: `transfer ${productId}`,
});

/** All work continues except the named parts, such as "comparing P1" or "head P1". */
async function workOn(except: readonly string[] = []): Promise<void> {
  const now = clock.now();
  const goesOn = (name: string) => !except.includes(name);
  for (const productId of ["P1", "P2"]) {
    if (goesOn(`comparing ${productId}`)) await noteDone(sql, comparing(productId), now, { upTo: now });
    if (goesOn(`pulling ${productId}`)) {
      await noteDone(sql, { work: "pulling", subject: productId }, now);
      await sql`
        insert into pull_states (product_id, begin, head, window_ms) values (${productId}, ${now}, ${now}, 3600000)
        on conflict (product_id) do update set head = ${now - 2 * MINUTE_MS}`;
    }
  }
  if (goesOn("following")) {
    await noteDone(sql, FOLLOWING, now);
    await sql`
      insert into ledger_follows (relation, read_at) values ('wallet.ledger', ${now})
      on conflict (relation) do update set read_at = ${now}`;
  }
  if (goesOn("verifying")) await noteDone(sql, VERIFYING, now);
  for (const queue of QUEUES) {
    if (goesOn(`queue ${queue}`)) await noteDone(sql, { work: "queue", subject: queue }, now);
  }
  if (goesOn("alerting")) {
    await keepOutside(context);
    await watchConditions(context, []);
    await noteDone(sql, ALERTING, now);
  }
}

/** Goes on minute by minute. */
async function workFor(minutes: number, except: readonly string[] = []): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    clock.advance(MINUTE_MS);
    await workOn(except);
  }
}

interface AlertRow {
  readonly kind: string;
  readonly body: { readonly what: string; readonly toDo?: string };
}
const alerts = () => sql<AlertRow[]>`select kind, body from alerts order by id`;
const kinds = async () => (await alerts()).map(({ kind }) => kind);
const verdict = async () => judgeHealth(await openOverview(context)());
const said = async () => (await verdict()).findings.map(({ text }) => text).join("; ");
async function metric(name: string): Promise<string[]> {
  const metrics = openMetrics(context, async () => []);
  return showMetric(readSamples((await metrics.show()).text), `recon_${name}`);
}

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
  await writeQueues(
    sql,
    QUEUES.map((queue) => ({ queue, everyMs: MINUTE_MS })),
  );
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    values ('e', 'placeBets', 'r', 'P1', 'anna', 'THB', 't', 'OPEN', false, ${NOON}, ${NOON})`;
  await sql`delete from diff_marks`;
  await workOn();
});

test("while all work continues there is no alert, and the overview says that all is well", async () => {
  await workFor(6);
  expect(await kinds()).toEqual([]);
  expect(await verdict()).toMatchObject({ tone: "good" });
  expect((await readWorkReport(context)).stop).toBeNull();
  const status = await readStatus(context);
  expect(status.comparing).toEqual({
    upTo: "2026-11-20T12:06:00.000Z",
    behindSeconds: 0,
    waiting: 0,
    setAside: 0,
    problem: null,
  });
  expect(status.verifying).toEqual({ behindSeconds: 0, due: 0 });
  expect(await metric("work_age_seconds")).toEqual([
    "work=alerting: 0",
    "work=comparing: 0",
    "work=following: 0",
    "work=verifying: 0",
  ]);
  expect((await metric("stalls")).every((one) => one.endsWith(": 0"))).toBe(true);
});

test("if all work is done once an hour, all is well in between", async () => {
  const hourly = {
    ...config,
    pull: { ...config.pull, every: HOUR_MS },
    diff: { ...config.diff, every: HOUR_MS },
    verify: { ...config.verify, every: HOUR_MS },
  };
  await writeQueues(
    sql,
    QUEUES.map((queue) => ({ queue, everyMs: HOUR_MS })),
  );
  await workFor(1);
  for (let minutes = 0; minutes < 60; minutes += 1) {
    clock.advance(MINUTE_MS);
    await keepOutside({ ...context, config: hourly });
    await watchConditions({ ...context, config: hourly }, []);
    await noteDone(sql, ALERTING, clock.now());
  }
  expect(await kinds()).toEqual([]);
  expect(judgeHealth(await openOverview({ ...context, config: hourly })())).toMatchObject({ tone: "good" });
});

test("if no worker has ever run, nothing looks well, and nothing unknown is 0", async () => {
  await emptyTables(sql);
  const { comparing: compared, verifying } = await readStatus(context);
  expect(compared).toMatchObject({ upTo: null, behindSeconds: null, problem: expect.any(String) });
  expect(verifying).toEqual({ behindSeconds: null, due: 0 });
  expect((await verdict()).tone).toBe("unknown");
  expect(await metric("work_age_seconds")).toEqual([]);
});

describe("resweeps", () => {
  const behind = async () => (await readStatus(context)).products[0]?.resweepBehindSeconds;
  const begunAt = (begin: number) =>
    sql`update pull_states set begin = ${begin}, head = ${NOON} where product_id = 'P1'`;

  test("that are late by more than an hour and a tenth of their age are alerted, and seen everywhere, until they are done", async () => {
    expect(await behind()).toBe(0);
    // The hour from 8 to 9 was to be fetched again at 10, at the age of an hour.
    await begunAt(NOON - 4 * HOUR_MS);
    expect(await behind()).toBe(2 * 3_600);
    await workFor(62);
    expect(await kinds()).toEqual(["resweep-behind"]);
    expect((await alerts())[0]?.body.what).toBe(
      "P1: the resweep after 1 h has been due since 2026-11-20 10:00:00Z",
    );
    expect(await said()).toContain("P1: the resweep after 1 h has been due");
    expect(await metric("product_resweep_behind_seconds")).toContain(`product=P1: ${182 * 60}`);
    expect(await metric("stalls")).toContain("kind=resweep-behind: 1");
    await sql`
      insert into resweep_states (product_id, age_ms, swept_until) values ('P1', 3600000, ${NOON + HOUR_MS})`;
    await workFor(1);
    expect(await kinds()).toEqual(["resweep-behind", "resweep-behind-over"]);
    expect(await behind()).toBe(0);
  });

  test("that are planned and not done count, and the reason of their failure is named", async () => {
    await sql`
      insert into windows (product_id, kind, from_at, to_at, due_at, status, error_message)
      values ('P1', 'resweep', ${NOON - 30 * HOUR_MS}, ${NOON - 29 * HOUR_MS}, ${NOON - 5 * HOUR_MS}, 'gap', 'HTTP 500')`;
    expect(await behind()).toBe(5 * 3_600);
    expect(await said()).toContain(
      "P1: the resweep after 1 d has been due since 2026-11-20 07:00:00Z: HTTP 500",
    );
  });

  test("of a provider that does not answer are no alert of their own", async () => {
    await begunAt(NOON - 4 * HOUR_MS);
    await sql`update pull_states set probe_at = ${NOON}, failures = 2`;
    expect(await said()).not.toContain("fetched again");
  });
});

test("if every worker is dead the ages grow, and the status, the overview and the metrics say so", async () => {
  await workFor(2);
  clock.advance(60 * MINUTE_MS);
  const { comparing: compared, verifying } = await readStatus(context);
  expect(compared).toMatchObject({ behindSeconds: 3_600, problem: expect.stringMatching(/since .*12:02/) });
  expect(verifying.behindSeconds).toBe(3_600);
  expect(await verdict()).toMatchObject({ tone: "bad" });
  expect(await said()).toContain("the alert job has not run since");
  expect(await metric("work_age_seconds")).toContain("work=comparing: 3600");
  expect(await metric("stalls")).toContain("kind=alerting-stalled: 1");
  expect((await readWorkReport(context)).stop).toContain("no alert is sent");
  // A worker that begins again gives all work time to continue, without an alert.
  await workOn();
  expect(await kinds()).toEqual([]);
});

interface StallCase {
  readonly kind: string;
  /** breaks a part; all other parts continue */
  readonly breaks: () => Promise<void>;
  readonly except: readonly string[];
  readonly mends: () => Promise<void>;
  /** minutes until the alert */
  readonly within: number;
  readonly says: RegExp;
  readonly problem?: RegExp;
}

const nothing = async () => {};
const STALLS: Readonly<Record<string, StallCase>> = {
  "the view of the ledger was dropped": {
    kind: "ledger-unreadable",
    breaks: () =>
      noteFailed(sql, FOLLOWING, clock.now(), {
        code: "ledger-unreadable",
        message: "there is no such table or view",
      }),
    except: ["following"],
    mends: nothing,
    within: 1,
    says: /the ledger "wallet.ledger" has not been read since .*: there is no such table or view/,
    problem: /the ledger "wallet.ledger" has not been read/,
  },
  "a product's comparison fails at every tick": {
    kind: "comparing-stalled",
    breaks: () =>
      noteFailed(sql, comparing("P1"), clock.now(), {
        code: null,
        message: "deadlock detected",
        times: 2,
      }),
    except: ["comparing P1"],
    mends: nothing,
    within: 2,
    says: /P1 has not been compared since .*: deadlock detected/,
    problem: /P1 has not been compared since .*: deadlock detected/,
  },
  "no comparison is run": {
    kind: "comparing-stalled",
    breaks: nothing,
    except: ["comparing P1", "comparing P2"],
    mends: nothing,
    within: 6,
    says: /none of 2 products has been compared since /,
    problem: /none of 2 products has been compared since/,
  },
  "something is set aside": {
    kind: "comparing-set-aside",
    breaks: async () => {
      await sql`
        insert into comparisons_set_aside (product_id, username, subject, code, reason, since, retry_at)
        values ('P2', 'anna', 'round:r', 'round-too-wide', 'the round has too many bets', ${clock.now()}, ${clock.now()})`;
    },
    except: [],
    mends: async () => {
      await sql`delete from comparisons_set_aside`;
    },
    within: 1,
    says: /P2: 1 comparison failed and is set aside, the first since .*: the round has too many bets/,
    problem: /P2: 1 comparison failed/,
  },
  "a product is not pulled": {
    kind: "product-stalled",
    breaks: nothing,
    except: ["pulling P2"],
    mends: nothing,
    within: 9,
    says: /P2 is stalled: it has been pulled up to .* and no further/,
  },
  "transfers are not looked for": {
    kind: "verifying-stalled",
    breaks: nothing,
    except: ["verifying"],
    mends: nothing,
    within: 3,
    says: /verifying has not run since .*: 0 transfers and top-ups are due/,
  },
  "no question about a product's transfers has been answered": {
    kind: "verifying-stalled",
    breaks: () =>
      noteFailed(sql, transfersOf("P1"), clock.now(), { code: null, message: "HTTP 500", times: 10 }),
    except: [],
    mends: () => noteDone(sql, transfersOf("P1"), clock.now()),
    within: 2,
    says: /the provider has answered no question about transfers of P1 since .* \(HTTP 500\)/,
  },
  "a transfer waits and is not asked for": {
    kind: "verifying-stalled",
    breaks: async () => {
      await sql`
        insert into transfers (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
          next_verify_at)
        values ('t', 'P2', 'anna', 'THB', 'DEPOSIT', 1, ${clock.now()}, ${clock.now()}, ${clock.now()})`;
    },
    except: [],
    mends: async () => {
      await sql`update transfers set next_verify_at = null`;
    },
    within: 3,
    says: /the provider has answered no question about transfers of P2 since .*; 1 are due/,
  },
  "a due day stays open for more than an hour": {
    kind: "closing-stalled",
    breaks: async () => {
      for (const agoMs of [2 * HOUR_MS, 0]) {
        await noteFailed(sql, CLOSING, clock.now() - agoMs, {
          code: "day-open",
          message: "2026-11-17 stays open. P1 was not fetched from 03:00 to 04:00.",
        });
      }
    },
    except: [],
    mends: () => noteDone(sql, CLOSING, clock.now()),
    within: 2,
    says: /closing has made no progress since .* 2026-11-17 stays open. P1 was not fetched from 03:00 to 04:00/,
  },
  "a queue has no worker": {
    kind: "queue-unserved",
    breaks: nothing,
    except: ["queue backfill"],
    mends: nothing,
    within: 6,
    says: /no job of the queue "backfill" has begun since .*: no worker takes jobs/,
  },
  "no queue has a worker": {
    kind: "queue-unserved",
    breaks: nothing,
    except: QUEUES.map((queue) => `queue ${queue}`),
    mends: nothing,
    within: 3,
    says: /no job of any queue has begun since/,
  },
};

describe.each(Object.entries(STALLS))("%s", (_, { kind, breaks, except, mends, within, says, problem }) => {
  test("is alerted once, with what happened and what to do; overview, metric and status say the same", async () => {
    await workFor(3);
    await breaks();
    await workFor(within, except);
    expect(await alerts()).toMatchObject([
      { kind, body: { what: expect.stringMatching(says), toDo: expect.any(String) } },
    ]);
    expect(await verdict()).toMatchObject({ tone: "bad" });
    expect(await said()).toMatch(says);
    expect(await metric("stalls")).toContain(`kind=${kind}: 1`);
    if (problem !== undefined) expect((await readStatus(context)).comparing.problem).toMatch(problem);
    await workFor(1, except);
    expect(await kinds()).toEqual([kind]);
  });

  test("is over once the work continues, and all is well again", async () => {
    await workFor(3);
    await breaks();
    await workFor(within, except);
    await mends();
    await workFor(2);
    expect(await kinds()).toEqual([kind, `${kind}-over`]);
    expect(await verdict()).toMatchObject({ tone: "good" });
    expect(await metric("stalls")).toContain(`kind=${kind}: 0`);
    expect((await readStatus(context)).comparing.problem).toBeNull();
  });
});

test("one failure that the next tick repairs is no stall", async () => {
  await workFor(3);
  for (const name of [comparing("P1"), comparing("P2"), FOLLOWING]) {
    await noteFailed(sql, name, clock.now(), { code: null, message: "the connection was lost" });
  }
  await workFor(2, ["comparing P1", "comparing P2", "following"]);
  await workFor(1);
  expect(await kinds()).toEqual([]);
});

test("the fault of a relation is one sentence, however many columns it lacks", async () => {
  await noteFailed(sql, FOLLOWING, clock.now(), {
    code: "ledger-unreadable",
    message: "it cannot be read:\n  the column callback is missing\n  the column status is missing",
  });
  await workFor(1, ["following"]);
  expect((await alerts())[0]?.body.what).toMatch(
    /: it cannot be read: the column callback is missing; the column status is missing$/,
  );
});

test("a product that was never compared is alerted once, after it has been watched for long enough", async () => {
  await emptyTables(sql, ["work_states"]);
  await workFor(12, ["comparing P2"]);
  expect(await alerts()).toMatchObject([
    { kind: "comparing-stalled", body: { what: expect.stringContaining("P2 has not been compared yet") } },
  ]);
  await workFor(2);
  expect(await kinds()).toEqual(["comparing-stalled", "comparing-stalled-over"]);
});

test("a ledger that stays unreadable delays comparing, which is alerted too: comparisons go up to the last reading", async () => {
  await workFor(3);
  await noteFailed(sql, FOLLOWING, clock.now(), { code: "ledger-unreadable", message: "gone" });
  await workFor(8, ["following"]);
  expect(await kinds()).toEqual(["ledger-unreadable", "comparing-stalled"]);
  expect((await readStatus(context)).comparing).toMatchObject({
    upTo: "2026-11-20T12:03:00.000Z",
    behindSeconds: 480,
  });
  expect((await readWorkReport(context)).stop).not.toBeNull();
});

test("a stall that was reported does not end because no worker watched for a while", async () => {
  await workFor(3);
  await workFor(7, ["comparing P1"]);
  expect(await kinds()).toEqual(["comparing-stalled"]);
  clock.advance(60 * MINUTE_MS);
  await workOn(["comparing P1"]);
  expect(await kinds()).toEqual(["comparing-stalled"]);
  await workFor(1);
  expect(await kinds()).toEqual(["comparing-stalled", "comparing-stalled-over"]);
});

test.each(["a transfer", "a top-up"])(
  "%s that is known long after it was sent waits since then",
  async (what) => {
    await workFor(3);
    const now = clock.now();
    const yesterday = now - 24 * HOUR_MS;
    const sent = {
      productId: "P2",
      username: "anna",
      currency: "THB",
      transactionRef: "late",
      sentAt: yesterday,
    };
    if (what === "a transfer") {
      const transfer = { ...sent, type: "DEPOSIT", amount: amount("10") } as const;
      await addTransfers(sql, [transfer], now, config.verify);
    } else {
      await sql`
      insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        skip_balance_update, bet_amount, occurred_at, received_at)
      values ('late', 'adjustBalance', 'r', 'P2', 'anna', 'THB', 'late', 'DEBIT', false, 10, ${yesterday}, ${yesterday})`;
      const products = [{ productId: "P2", since: null }];
      expect(await pickUpTopUps(sql, products, { now, firstDelayMs: 10_000 })).toBe(1);
    }
    await workOn();
    expect((await readStatus(context)).verifying).toEqual({ behindSeconds: 0, due: 1 });
    await workFor(2);
    // An adjustBalance of a product that settles by bets is also money outside the comparison.
    const verifying = (kind: string) => kind !== "money-outside";
    expect((await kinds()).filter(verifying)).toEqual([]);
    await workFor(1);
    expect((await alerts()).filter(({ kind }) => verifying(kind))).toMatchObject([
      {
        kind: "verifying-stalled",
        body: { what: expect.stringMatching(/the oldest since 2026-11-20 12:03/) },
      },
    ]);
  },
);

test("a backlog that becomes smaller is behind, and no stall", async () => {
  await workFor(3);
  await sql`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values ('P1', array['anna', 'bob'], array['r', 's'], array[null, null], ${clock.now()})`;
  await workFor(10);
  expect(await kinds()).toEqual([]);
  expect((await readStatus(context)).comparing).toMatchObject({
    upTo: "2026-11-20T12:03:00.000Z",
    behindSeconds: 600,
    waiting: 2,
    problem: null,
  });
  expect(await verdict()).toMatchObject({ tone: "warn" });
  expect(await said()).toBe("comparing is 10 min behind");
});

test("a ledger without entries is shown as empty, and is no stall", async () => {
  await emptyTables(sql, ["callback_entries", "work_states"]);
  for (let minute = 0; minute < 8; minute += 1) {
    clock.advance(MINUTE_MS);
    for (const productId of ["P1", "P2"]) await noteDone(sql, comparing(productId), clock.now());
    await workOn(["comparing P1", "comparing P2"]);
  }
  expect(await kinds()).toEqual([]);
  expect((await readStatus(context)).comparing).toMatchObject({
    upTo: null,
    problem: "P1 is not compared until the ledger has its first entry",
  });
});
