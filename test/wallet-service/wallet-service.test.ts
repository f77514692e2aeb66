/** A wallet in another language repairs itself with the events of single mismatches, and may be killed anywhere. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { openChannels } from "../../src/alerts/channels.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { readEndpoints } from "../../src/endpoints.ts";
import { deliverAlerts } from "../../src/flows/alerts/deliver-alerts.ts";
import { silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { amount, exampleEntry } from "../support/examples.ts";
import { TOKENS, WRITER } from "../support/ops-browser.ts";
import { ownPort } from "../support/own-port.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, ledgerBegins, readAll } = useDiffWorld();
const folder = mkdtempSync(join(tmpdir(), "recon-wallet-"));
afterAll(() => rmSync(folder, { recursive: true }));
const never = new AbortController().signal;
const secret = () => `whsec_${randomBytes(32).toString("base64")}`;

/** Where the wallet is killed: between any two steps of an event, and between any two events. */
const POINTS = ["received", "credited", "written", "noted", "accepted", "never"] as const;
const PAYOUTS: Readonly<Record<string, string>> = { "bet-1": "20", "bet-2": "7.5", "bet-3": "0.25" };
const MOST_TURNS = 100;

test("python3 is installed: the wallet of this test is written in it", () => {
  expect(spawnSync("python3", ["-c", "import sqlite3"]).status, "install python3 with its sqlite3").toBe(0);
});

test("a wallet that is killed at any step of any event pays each missing payout once, and the mismatches resolve", async () => {
  const [before, now] = [secret(), secret()];
  const port = await ownPort();
  const url = `http://127.0.0.1:${port}/events`;
  // The secret is being changed: the wallet has the old one.
  const endpoints = [{ url, secret: ["SECRET_NOW", "SECRET_BEFORE"], events: ["mismatch.*"] }];
  const settings = { alerts: { endpoints } };
  const config = parseConfig({ products: [{ productId: "P1" }], ...settings });
  const context = { sql, config, clock, log: silentLog };
  const server = await startOpsServer(
    context,
    { host: "127.0.0.1", port: 0, tokens: TOKENS },
    async () => {},
  );
  onTestFinished(() => server.close());
  const problems: string[] = [];
  const given = { SECRET_NOW: now, SECRET_BEFORE: before };
  const read = readEndpoints(
    config.alerts.endpoints,
    given,
    { path: "config", refusesHttp: () => false },
    problems,
  );
  expect(problems).toEqual([]);
  const channels = openChannels(
    { webhook: null, slack: null, endpoints: read },
    { host: "127.0.0.1", port: 1 },
  );
  // A receiver refuses old messages, so they are sent by the real time.
  const deliver = () => deliverAlerts({ ...context, clock: systemClock }, channels, never);

  await ledgerBegins();
  for (const [txnId, payout] of Object.entries(PAYOUTS)) {
    const roundId = `round of ${txnId}`;
    await receive(exampleEntry({ txnId, roundId }));
    await listed(
      recordOf(payout, { id: `record of ${txnId}`, betId: txnId, roundId, payout: amount(payout) }),
    );
  }
  // After all graces, and at each call later.
  let minutes = 80;
  const compare = async () => {
    for (let more = 0; more < 2; more += 1) {
      minutes += 1;
      await diffAt(minutes, { settings });
      await fetchPlanned();
    }
  };
  await compare();
  expect((await readAll()).map(({ kind, status }) => `${kind} ${status}`)).toEqual(
    Object.keys(PAYOUTS).map(() => "missing-settlement open"),
  );

  let turns = 0;
  let state = { balances: [], repairs: [], events: [] } as Wallet;
  while (state.events.length < 2 * Object.keys(PAYOUTS).length && turns < MOST_TURNS) {
    const env = {
      RECON_URL: server.url,
      RECON_TOKEN: WRITER.token,
      EVENT_SECRET: before,
      PORT: String(port),
    };
    const wallet = await startWallet({ ...env, DIE_AT: POINTS[turns % POINTS.length] ?? "" });
    await deliver();
    if (wallet.exitCode === null && wallet.signalCode === null) state = await readWallet(port);
    await stop(wallet);
    await compare();
    // The waits between two attempts are over.
    await sql`update alert_channels set next_attempt_at = null`;
    await sql`update alert_deliveries set next_attempt_at = null where next_attempt_at is not null`;
    turns += 1;
  }

  expect(turns).toBeGreaterThan(POINTS.length);
  expect((await readAll()).map(({ status, resolvedBy }) => `${status} by ${resolvedBy}`)).toEqual(
    Object.keys(PAYOUTS).map(() => "resolved by recon"),
  );
  expect(state.balances).toEqual([["anna", "THB", "27.75"]]);
  expect(state.repairs.map(([entry, , , payout]) => [entry, payout])).toEqual([
    ["repair-1", "20"],
    ["repair-2", "7.5"],
    ["repair-3", "0.25"],
  ]);
  const written =
    await sql`select entry_id from callback_entries where entry_id like 'repair-%' order by entry_id`;
  expect(written.map(({ entry_id }) => entry_id)).toEqual(["repair-1", "repair-2", "repair-3"]);
  for (const id of ["1", "2", "3"]) {
    const own = state.events.filter(([, , , mismatch]) => mismatch === id).map(([, , type]) => type);
    expect(own).toEqual(["mismatch.opened", "mismatch.resolved"]);
  }
  expect(await sql`select id from alerts where endpoints is not null and delivered_at is null`).toEqual([]);
});

interface Wallet {
  readonly balances: readonly (readonly [player: string, currency: string, amount: string])[];
  readonly repairs: readonly (readonly [entry: string, player: string, currency: string, amount: string])[];
  readonly events: readonly (readonly [number: number, id: string, type: string, mismatch: string])[];
}

async function startWallet(env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const program = join(import.meta.dirname, "wallet_service.py");
  const wallet = spawn("python3", [program, join(folder, "wallet.db")], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => stop(wallet));
  await once(createInterface({ input: wallet.stdout }), "line");
  return wallet;
}

async function stop(wallet: ChildProcess): Promise<void> {
  if (wallet.exitCode !== null || wallet.signalCode !== null) return;
  const ended = once(wallet, "exit");
  wallet.kill("SIGKILL");
  await ended;
}

async function readWallet(port: number): Promise<Wallet> {
  const answer = await fetch(`http://127.0.0.1:${port}/state`).catch(() => null);
  // It was killed by its last step.
  if (answer === null) return { balances: [], repairs: [], events: [] };
  return (await answer.json()) as Wallet;
}
