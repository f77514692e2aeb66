/** A real worker, and an operator that hands its ledger over by HTTP. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { WORKER } from "../simulation/crew.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, useHttpProvider } from "../support/http-provider.ts";
import { ownPort } from "../support/own-port.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-handed-over-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CONFIG = {
  products: [{ productId: "P1", since: formatInstant(systemClock.now() - 60_000) }],
  pull: { every: "PT1S", settleDelay: "PT1S", overlap: "PT2S", windowMin: "PT1S", resweepAfter: ["PT10S"] },
  diff: { every: "PT1S", callbackGrace: "PT2S", providerGrace: "PT3S" },
};

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

const stories = async () =>
  (
    await sql<{ story: string }[]>`
      select kind || ' of ' || coalesce(transaction_id, bet_id) || ' is ' || status as story from mismatches`
  ).map(({ story }) => story);
const becomes = (story: string) => eventually(story, async () => (await stories()).includes(story));

test("entries and recorded callbacks that are handed over while a worker runs are compared", async () => {
  const listed: { at: number; item: string }[] = [];
  provider.answer(({ from, to }) =>
    page(listed.filter(({ at }) => at >= from && at < to).map(({ item }) => item)),
  );
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(CONFIG));
  const port = await ownPort();
  const environment = {
    DATABASE_URL: url,
    PROVIDER_BASE_URL: provider.url(),
    PROVIDER_USERNAME: "agent",
    PROVIDER_PASSWORD: "secret",
    RECON_CONFIG: config,
    OPS_PORT: String(port),
  };
  const worker = startRecon([WORKER.name], environment, WORKER.awaited);
  onTestFinished(() => worker.kill("SIGKILL"));
  expect(await worker.ready).toBe(true);
  const handOver = async (format: string, lines: readonly object[]) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/ledger/${format}`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    });
    return { status: answer.status, taken: await answer.json() };
  };

  expect(await handOver("entries", entriesOf("unlisted"))).toMatchObject({
    status: 200,
    taken: { added: 2 },
  });
  const at = systemClock.now();
  const date = JSON.stringify(formatInstant(at));
  for (const bet of ["late", "wrong"]) {
    const ids = { id: `"rec-${bet}"`, betId: `"${bet}"`, roundId: `"round-${bet}"` };
    const dates = { accountingDate: date, updatedDate: date };
    listed.push({ at, item: betItem({ ...ids, ...dates, payout: "25.00", payoutStatus: '"WIN"' }) });
  }
  await Promise.all([
    becomes("missing-at-provider of unlisted is open"),
    becomes("missing-in-ledger of late is open"),
    becomes("missing-in-ledger of wrong is open"),
  ]);
  const lines = [...callbacksOf("late", 25), ...callbacksOf("wrong", 50)];
  for (const taken of [
    { added: 4, known: 0 },
    { added: 0, known: 4 },
  ]) {
    expect(await handOver("callbacks", lines)).toMatchObject({ status: 200, taken });
  }
  await Promise.all([
    becomes("missing-in-ledger of late is resolved"),
    becomes("net-differs of wrong is open"),
  ]);
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});
