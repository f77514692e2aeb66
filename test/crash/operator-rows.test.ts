/** A real worker, a program of the operator that knows only the columns of `callback_entries`, and one that hands rows over by HTTP. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { WORKER } from "../simulation/crew.ts";
import { type ReconProcess, startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, useHttpProvider } from "../support/http-provider.ts";
import { ownPort } from "../support/own-port.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-plain-sql-"));
const program = postgres(url, { max: 2, onnotice: () => {} });
const another = postgres(url, { max: 1, onnotice: () => {} });

const began = systemClock.now();
const CONFIG = {
  products: [{ productId: "P1", since: formatInstant(began - 60_000) }],
  pull: {
    every: "PT1S",
    settleDelay: "PT1S",
    overlap: "PT2S",
    windowMin: "PT1S",
    resweepAfter: ["PT10S"],
  },
  diff: { every: "PT1S", callbackGrace: "PT2S", providerGrace: "PT3S" },
};

/** The provider's records by betId, with their dates. */
const listed = new Map<string, { at: number; item: string }>();

function list(bet: string, payout: string): void {
  const at = systemClock.now();
  const date = JSON.stringify(formatInstant(at));
  const ids = { id: `"rec-${bet}"`, betId: `"${bet}"`, roundId: `"round-${bet}"` };
  const item = betItem({ ...ids, payout, payoutStatus: '"WIN"', accountingDate: date, updatedDate: date });
  listed.set(bet, { at, item });
}

/** What the program writes for a bet of 10.00 that pays 25.00. */
const placement = (bet: string) => insert(bet, "placeBets", "OPEN", "10.00", "null");
const settlement = (bet: string) => insert(bet, "settleBets", "SETTLED", "null", "25.00");
/** In one transaction, so that nobody sees one row without the other. */
const bothOf = (bet: string) => `${placement(bet)}; ${settlement(bet)}`;
function insert(bet: string, callback: string, status: string, stake: string, payout: string): string {
  return `insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
      status, bet_amount, payout_amount, skip_balance_update, occurred_at, received_at)
    values ('${bet} ${callback}', '${callback}', '${bet} ${callback}', 'P1', 'anna', 'THB', '${bet}', 'round-${bet}',
      '${status}', ${stake}, ${payout}, false, now(), now())`;
}

const stories = async () =>
  (
    await sql<{ story: string }[]>`
      select kind || ' of ' || coalesce(transaction_id, bet_id) || ' is ' || status as story from mismatches`
  ).map(({ story }) => story);
const becomes = (story: string) => eventually(`${story}`, async () => (await stories()).includes(story));

let worker: ReconProcess;
let port: number;
/** The provider does not answer before this. */
let opened = Promise.resolve();

beforeEach(() =>
  provider.answer(({ from, to }) => async (response) => {
    await opened;
    page([...listed.values()].filter(({ at }) => at >= from && at < to).map(({ item }) => item))(response);
  }),
);
beforeAll(async () => {
  await program.unsafe(bothOf("before"));
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(CONFIG));
  port = await ownPort();
  const environment = {
    DATABASE_URL: url,
    PROVIDER_BASE_URL: provider.url(),
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "secret",
    RECON_CONFIG: config,
    OPS_PORT: String(port),
  };
  worker = startRecon([WORKER.name], environment, WORKER.awaited);
  expect(await worker.ready).toBe(true);
});
afterAll(async () => {
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
  await Promise.all([program.end({ timeout: 5 }), another.end()]);
  rmSync(folder, { recursive: true });
});

test.concurrent("every row that another program writes is compared, both rows from before the start and rows written while the worker runs", async () => {
  const slow = await program.reserve();
  await slow.unsafe("begin");
  await slow.unsafe(bothOf("slow"));
  // Holds back the provider's answers between the record of a bet and its rows.
  const { promise, resolve: open } = Promise.withResolvers<void>();
  opened = promise;
  list("agreed", "25.00");
  list("late", "25.00");
  await Promise.all([program.unsafe(bothOf("running")), another.unsafe(bothOf("agreed"))]);
  open();
  await Promise.all([
    becomes("missing-at-provider of before is open"),
    becomes("missing-at-provider of running is open"),
    becomes("missing-in-ledger of late is open"),
  ]);

  await slow.unsafe("commit");
  slow.release();
  await program.unsafe(bothOf("late"));
  await program.unsafe(placement("agreed").replaceAll("'agreed placeBets'", "'agreed again'"));
  await program.unsafe("update callback_entries set payout_amount = 1 where entry_id = 'running settleBets'");
  await Promise.all([
    becomes("missing-at-provider of slow is open"),
    becomes("missing-in-ledger of late is resolved"),
    becomes("net-differs of agreed is open"),
    eventually(
      "the change is alerted",
      async () => (await sql`select from alerts where kind = 'ledger-changed'`).length === 1,
    ),
  ]);
  const ofProgram = (await stories()).filter((story) => !story.includes("handed"));
  expect(ofProgram.toSorted()).toEqual([
    "missing-at-provider of before is open",
    "missing-at-provider of running is open",
    "missing-at-provider of slow is open",
    "missing-in-ledger of late is resolved",
    "net-differs of agreed is open",
  ]);
});

/** Each bet has a stake of 10.00 and pays 25.00. */
const CALLBACKS = [
  { callback: "placeBets", status: "OPEN", amount: { betAmount: 10 } },
  { callback: "settleBets", status: "SETTLED", amount: { payoutAmount: 25 } },
] as const;

function entriesOf(bet: string): object[] {
  const now = formatInstant(systemClock.now());
  return CALLBACKS.map(({ callback, status, amount }) => ({
    entry_id: `${bet} ${callback}`,
    callback,
    request_id: `${bet} ${callback}`,
    product_id: "P1",
    username: "anna",
    currency: "THB",
    txn_id: bet,
    round_id: `round-${bet}`,
    status,
    bet_amount: "betAmount" in amount ? amount.betAmount : null,
    payout_amount: "payoutAmount" in amount ? amount.payoutAmount : null,
    skip_balance_update: false,
    occurred_at: now,
    received_at: now,
  }));
}

/** @param paid what the wallet paid for the settlement, as its answer says */
function callbacksOf(bet: string, paid: number): object[] {
  const now = systemClock.now();
  return CALLBACKS.map(({ callback, status, amount }) => ({
    callback,
    receivedAt: formatInstant(now),
    request: {
      id: `${bet} ${callback}`,
      timestampMillis: now,
      productId: "P1",
      username: "anna",
      currency: "THB",
      txns: [{ id: bet, status, roundId: `round-${bet}`, ...amount }],
    },
    response: {
      statusCode: 0,
      balanceBefore: 100,
      balanceAfter: callback === "placeBets" ? 90 : 100 + paid,
    },
  }));
}

test.concurrent("entries and recorded callbacks that are handed over while a worker runs are compared", async () => {
  const handOver = async (format: string, lines: readonly object[]) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/ledger/${format}`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    });
    return { status: answer.status, taken: await answer.json() };
  };

  expect(await handOver("entries", entriesOf("handed unlisted"))).toMatchObject({
    status: 200,
    taken: { added: 2 },
  });
  list("handed late", "25.00");
  list("handed wrong", "25.00");
  await Promise.all([
    becomes("missing-at-provider of handed unlisted is open"),
    becomes("missing-in-ledger of handed late is open"),
    becomes("missing-in-ledger of handed wrong is open"),
  ]);
  const lines = [...callbacksOf("handed late", 25), ...callbacksOf("handed wrong", 50)];
  for (const taken of [
    { added: 4, known: 0 },
    { added: 0, known: 4 },
  ]) {
    expect(await handOver("callbacks", lines)).toMatchObject({ status: 200, taken });
  }
  await Promise.all([
    becomes("missing-in-ledger of handed late is resolved"),
    becomes("net-differs of handed wrong is open"),
  ]);
});
