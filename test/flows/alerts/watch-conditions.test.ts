import { beforeEach, describe, expect, test } from "vitest";
import type { FetchBetPage } from "../../../src/bet.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { ReconError } from "../../../src/errors.ts";
import { remindOfCases, watchConditions, writeDigest } from "../../../src/flows/alerts/watch-conditions.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { changeCases, changeIncidents } from "../../../src/flows/mismatches/change-cases.ts";
import { recordTransitions } from "../../../src/flows/mismatches/record-transitions.ts";
import { measureStorage } from "../../../src/flows/retention/measure-storage.ts";
import type { AskOutcome } from "../../../src/flows/verify/ask-outcome.ts";
import { reportingRefusals } from "../../../src/flows/verify/note-verify-answers.ts";
import { silentLog } from "../../../src/log.ts";
import type { CaseChange } from "../../../src/mismatches/act.ts";
import type { Transition } from "../../../src/mismatches/transitions.ts";
import { resumeStopped } from "../../../src/sync/pull-state-store.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { exampleFinding } from "../../support/findings.ts";
import { openMismatches } from "../../support/open-mismatches.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { deposit } from "../../verify/sent.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({
  products: ["P1", "P2"].map((productId) => ({ productId, since: "2026-11-20T11:50:00Z" })),
  pull: { attempts: 1, resweepAfter: [] },
});
const never = new AbortController().signal;

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const answers: FetchBetPage = async () => ({
  records: [],
  rejected: [],
  nextId: null,
  requestedAt: clock.now(),
  tookMs: 1,
});
const failing =
  (code: "provider-server-error" | "provider-refused"): FetchBetPage =>
  async () => {
    throw new ReconError(code, `it says <${code}>`);
  };

/** Pulls, and watches the result as the job does. */
const tick = async (fetchPage: FetchBetPage, productIds = ["P1"]) => {
  const context: PullContext = { sql, config, clock, log: silentLog, fetchPage };
  for (const productId of productIds) await pullProduct(context, productId, never).catch(() => {});
  await watchConditions(context, []);
};
interface AlertRow {
  readonly kind: string;
  readonly productId: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: what an alert says is what the tests are about.
  readonly body: any;
}
const alerts = () => sql<AlertRow[]>`select kind, product_id as "productId", body from alerts order by id`;
const kinds = async () => (await alerts()).map(({ kind }) => kind);

describe("a product that cannot be fetched", () => {
  test("is reported once, however many gaps it has, and once when the last of them is fetched", async () => {
    for (let index = 0; index < 5; index += 1) {
      await tick(failing("provider-server-error"));
      clock.advance(MINUTE_MS);
    }
    const [alert, ...others] = await alerts();
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      kind: "product-stalled",
      productId: "P1",
      body: {
        what: expect.stringMatching(
          /^P1 is stalled: [\d a-z]+ cannot be fetched, in 1 gap at 2026-11-20 11:45:00Z \(it says <provider-server-error>\)$/,
        ),
        since: expect.stringMatching(/^2026-11-20T12:0/),
      },
    });
    clock.advance(2 * HOUR_MS);
    await tick(answers);
    await tick(answers);
    expect(await kinds()).toEqual(["product-stalled", "product-stalled-over"]);
    await tick(failing("provider-server-error"));
    clock.advance(HOUR_MS);
    await tick(failing("provider-server-error"));
    expect(await kinds()).toEqual(["product-stalled", "product-stalled-over", "product-stalled"]);
  });

  test("is reported for each product on its own, and by one worker only", async () => {
    await tick(failing("provider-server-error"), ["P1", "P2"]);
    await emptyTables(sql, ["alerts", "alert_conditions"]);
    const context = { sql, config, clock, log: silentLog };
    await Promise.all([1, 2, 3].map(() => watchConditions(context, [])));
    expect((await alerts()).map(({ productId }) => productId).sort()).toEqual(["P1", "P2"]);
  });
});

describe("refused credentials", () => {
  test("are one alert for all products, and are over when every one of them is fetched again", async () => {
    await tick(failing("provider-refused"), ["P1", "P2"]);
    expect(await alerts()).toMatchObject([
      {
        kind: "credentials-refused",
        productId: null,
        body: { what: "the provider refuses the credentials: the worker cannot pull P1, P2" },
      },
    ]);
    clock.advance(HOUR_MS + MINUTE_MS);
    await tick(answers, ["P1"]);
    expect(await kinds()).toEqual(["credentials-refused"]);
    await tick(answers, ["P2"]);
    expect(await kinds()).toEqual(["credentials-refused", "credentials-refused-over"]);
  });

  test("are not over because a worker started, or because an hour has passed", async () => {
    await tick(failing("provider-refused"));
    await resumeStopped(sql);
    await watchConditions({ sql, config, clock, log: silentLog }, []);
    await tick(failing("provider-refused"));
    clock.advance(2 * HOUR_MS);
    await tick(failing("provider-refused"));
    expect(await kinds()).toEqual(["credentials-refused"]);
  });

  test("are reported if only transfers are verified, until a question is answered", async () => {
    const context = { sql, config, clock, log: silentLog };
    const refused = new ReconError("provider-refused", "no");
    const nothing = { code: null, message: null, raw: null, refused: null };
    const at = { askedAt: NOON, answeredAt: NOON };
    let heard: Awaited<ReturnType<AskOutcome>> = { ...nothing, refused, answer: { says: "nothing", ...at } };
    const ask = reportingRefusals(context, async () => heard);
    const look = async () => {
      for (let index = 0; index < 2; index += 1) await ask(deposit({}), never);
      await watchConditions(context, []);
    };
    await look();
    heard = { ...nothing, answer: { says: "nothing", ...at } };
    await look();
    expect(await kinds()).toEqual(["credentials-refused"]);
    heard = { ...nothing, answer: { says: "failed", ...at } };
    const afterRestart = reportingRefusals(context, async () => heard);
    await afterRestart(deposit({}), never);
    await look();
    expect(await kinds()).toEqual(["credentials-refused", "credentials-refused-over"]);
  });
});

test("a full disk is reported, once more each day while it is urgent, and over when there is space", async () => {
  const context = { sql, config, clock, log: silentLog };
  const measure = async (diskBytes: number | null) => {
    await measureStorage(context, diskBytes);
    await watchConditions(context, []);
  };
  await measure(null);
  expect(await alerts()).toEqual([]);
  for (let minute = 0; minute < 20; minute += 10) {
    await measure(1_000_000);
    clock.advance(10 * MINUTE_MS);
  }
  expect(await alerts()).toMatchObject([
    {
      kind: "disk-full",
      productId: null,
      body: {
        what: "the database's disk: no space left of the 1.0 MB that DATABASE_DISK allows",
        toDo: expect.stringContaining("raise DATABASE_DISK"),
      },
    },
  ]);
  clock.advance(24 * HOUR_MS);
  await measure(1_000_000);
  expect(await kinds()).toEqual(["disk-full", "disk-full"]);
  await measure(1e15);
  expect(await kinds()).toEqual(["disk-full", "disk-full", "disk-full-over"]);
});

test("rejected records are reported once a day, with the first reason, and only if they are new", async () => {
  const rejecting = (raw: string, reason = "stake: is no amount <b>"): FetchBetPage => {
    const rejected = [{ raw, reason }];
    return async (...asked) => ({ ...(await answers(...asked)), rejected });
  };
  await tick(rejecting("one"));
  clock.advance(5 * MINUTE_MS);
  await tick(rejecting("two"));
  expect(await alerts()).toMatchObject([
    {
      kind: "rejected-records",
      productId: "P1",
      body: {
        what: "P1: a record of the provider cannot be used; for example, stake: is no amount <b>",
        count: 1,
      },
    },
  ]);
  clock.advance(24 * HOUR_MS);
  await tick(rejecting("two"));
  expect(await kinds()).toEqual(["rejected-records"]);
  clock.advance(5 * MINUTE_MS);
  await tick(rejecting("three", `${"x".repeat(299)}😀`));
  expect(await kinds()).toEqual(["rejected-records", "rejected-records"]);
});

test("the digest reports unresolved money once a day, by age, owner and currency", async () => {
  const DAY_MS = 24 * HOUR_MS;
  let bets = 0;
  const openAt = async (age: number, text: string, currency: string) => {
    bets += 1;
    const finding = exampleFinding({ betId: `bet-${bets}`, amountAtRisk: amount(text), currency });
    await sql.begin((tx) =>
      recordTransitions(tx, [{ change: "open", content: finding }], config, NOON - age),
    );
  };
  await openAt(0, "0.10", "THB");
  await openAt(DAY_MS - 1, "0.20", "THB");
  await openAt(DAY_MS, "7", "USD");
  await openAt(40 * DAY_MS, "123456789012345678.01", "THB");
  await openAt(41 * DAY_MS, "5", "THB");
  const resolve: Transition[] = [{ change: "resolve", id: 5 }];
  await sql.begin((tx) => recordTransitions(tx, resolve, config, NOON));
  await sql`update mismatches set owner = 'mia' where id = 3`;
  await emptyTables(sql, ["alerts"]);
  const context = { sql, config, clock, log: silentLog };
  await Promise.all([1, 2, 3].map(() => writeDigest(context)));
  const [digest, ...others] = await alerts();
  expect(others).toEqual([]);
  expect(digest).toMatchObject({
    kind: "digest",
    body: {
      what: "2026-11-20: 4 mismatches wait for a decision",
      ages: [
        { age: "less than a day old", count: 2, amounts: [{ currency: "THB", amount: "0.3" }] },
        { age: "a day to a week old", count: 1, amounts: [{ currency: "USD", amount: "7" }] },
        {
          age: "older than a month",
          count: 1,
          amounts: [{ currency: "THB", amount: "123456789012345678.01" }],
        },
      ],
    },
  });
  expect(digest?.body.owners).toMatchObject([
    { owner: null, count: 3, oldest: "2026-10-11T12:00:00.000Z" },
    { owner: "mia", count: 1, amounts: [{ currency: "USD", amount: "7" }] },
  ]);
  clock.advance(11 * HOUR_MS);
  await writeDigest(context);
  expect(await kinds()).toEqual(["digest"]);
  clock.advance(HOUR_MS);
  await writeDigest(context);
  expect(await kinds()).toEqual(["digest", "digest"]);
});

describe("a reminder", () => {
  const context = { sql, config, clock, log: silentLog };
  const change = (change: CaseChange, ...ids: string[]) =>
    changeCases(context, { ids }, { change, note: null, by: "mia" });
  const remindAt = (at: number, ...ids: string[]) => change({ what: "remind", remindAt: at }, ...ids);
  /** Three workers at the same time. @returns what the alerts say that they wrote */
  const remind = async () => {
    await emptyTables(sql, ["alerts"]);
    await Promise.all([1, 2, 3].map(() => remindOfCases(context)));
    return (await alerts()).map(({ kind, body }) => `${kind}: ${body.what}`);
  };

  test("is sent once when it is due, whichever worker runs, with owner, money and ticket", async () => {
    await openMismatches(sql, config, NOON, [{}, {}]);
    await change({ what: "assign", owner: "mia" }, "1");
    await change({ what: "ticket", ticket: "PRV-12", isWithProvider: true }, "1");
    await remindAt(NOON + HOUR_MS, "1");
    expect(await remind()).toEqual([]);
    clock.advance(HOUR_MS);
    expect(await remind()).toEqual([
      "reminder-due: reminder for mia: mismatch 1, payout-differs in P1, 4.50 THB at risk, ticket PRV-12",
    ]);
    const [alert] = await alerts();
    expect(alert?.body).toMatchObject({
      ...{ about: "mismatch", owner: "mia", remindAt: "2026-11-20T13:00:00.000Z", count: 1, ids: ["1"] },
      ...{ tickets: ["PRV-12"], amounts: [{ currency: "THB", amount: "4.5" }] },
      largest: [{ id: "1", username: "anna", amountAtRisk: "4.5" }],
      toDo: "To see it: recon mismatches show 1",
    });
    expect(await remind()).toEqual([]);
    await remindAt(NOON + 2 * HOUR_MS, "1");
    clock.advance(HOUR_MS);
    expect(await remind()).toHaveLength(1);
    expect(await remind()).toEqual([]);
  });

  test("of many is one alert for each owner and time", async () => {
    await openMismatches(sql, config, NOON, [
      {},
      { amountAtRisk: amount("20") },
      { currency: "USD" },
      {},
      {},
    ]);
    await change({ what: "assign", owner: "mia" }, "1", "2", "3");
    await remindAt(NOON + HOUR_MS, "1", "2", "3", "4");
    await remindAt(NOON + 2 * HOUR_MS, "5");
    clock.advance(2 * HOUR_MS);
    expect((await remind()).sort()).toEqual([
      "reminder-due: reminder for mia: 3 mismatches, 24.50 THB, 4.50 USD at risk",
      "reminder-due: reminder, nobody's: mismatch 4, payout-differs in P1, 4.50 THB at risk",
      "reminder-due: reminder, nobody's: mismatch 5, payout-differs in P1, 4.50 THB at risk",
    ]);
  });

  test("of what is decided is not sent, unless it opens again; an incident's is sent while it is open", async () => {
    await openMismatches(sql, config, NOON, [{}, {}]);
    await remindAt(NOON + HOUR_MS, "1");
    const incident = { change: { what: "remind", remindAt: NOON + HOUR_MS } as const, note: null, by: "mia" };
    await changeIncidents(context, { ids: ["1"] }, incident);
    const decide = (...changes: Transition[]) =>
      sql.begin((tx) => recordTransitions(tx, changes, config, clock.now()));
    await decide({ change: "resolve", id: 1 });
    clock.advance(HOUR_MS);
    expect(await remind()).toEqual(["reminder-due: reminder, nobody's: incident 1, payout-differs in P1"]);
    const content = exampleFinding({ betId: "bet-1" });
    await decide({ change: "reopen", id: 1, content });
    expect(await remind()).toHaveLength(1);

    await changeIncidents(
      context,
      { ids: ["1"] },
      {
        ...incident,
        change: { what: "remind", remindAt: NOON + 2 * HOUR_MS },
      },
    );
    await decide({ change: "resolve", id: 1 }, { change: "resolve", id: 2 });
    clock.advance(2 * HOUR_MS);
    expect(await remind()).toEqual([]);
  });
});
