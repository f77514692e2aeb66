/** A real worker, and a program of the operator that knows only the columns of `callback_entries`. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { WORKER } from "../simulation/crew.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, useHttpProvider } from "../support/http-provider.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-plain-sql-"));
const program = postgres(url, { max: 2, onnotice: () => {} });
const another = postgres(url, { max: 1, onnotice: () => {} });
afterAll(async () => {
  await Promise.all([program.end(), another.end()]);
  rmSync(folder, { recursive: true });
});

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

test("every row that another program writes is compared, both rows from before the start and rows written while the worker runs", async () => {
  let opened = Promise.resolve();
  provider.answer(({ from, to }) => async (response) => {
    await opened;
    page([...listed.values()].filter(({ at }) => at >= from && at < to).map(({ item }) => item))(response);
  });
  await program.unsafe(bothOf("before"));
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(CONFIG));
  const environment = {
    DATABASE_URL: url,
    PROVIDER_BASE_URL: provider.url(),
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "secret",
    RECON_CONFIG: config,
    OPS_PORT: "0",
  };
  const worker = startRecon([WORKER.name], environment, WORKER.awaited);
  onTestFinished(() => worker.kill("SIGKILL"));
  expect(await worker.ready).toBe(true);

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
  expect((await stories()).toSorted()).toEqual([
    "missing-at-provider of before is open",
    "missing-at-provider of running is open",
    "missing-at-provider of slow is open",
    "missing-in-ledger of late is resolved",
    "net-differs of agreed is open",
  ]);
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
}, 600_000);
