/** A provider of the sandbox over real HTTP, and an operator with a habit. Plays once through a worker's own flows. */

import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { readReport } from "../../src/flows/reports/read-report.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import type { PlantedFault, World } from "../../src/sandbox/world/world.ts";
import { type AuditedMismatch, auditMismatches } from "../simulation/audit.ts";
import { type LedgerHabit, ledgerSettings, openLedgerWriter } from "../simulation/ledger-writer.ts";
import type { StyleName } from "../simulation/oddities/odd-plan.ts";
import { createOddWorld } from "../simulation/oddities/odd-world.ts";
import { readEverOpened } from "../simulation/run-seed.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, type TestDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { pullProduct } from "../support/pull-product.ts";

const CREDENTIALS = { username: "field", password: "seen there" };
const PRODUCT = "P1";
const PLAYED_MS = HOUR_MS;
const LATE_MS = HOUR_MS;
const STUCK_MS = 3 * HOUR_MS;
const STEP_MS = 15 * MINUTE_MS;
/** Shorter than callbackGrace, so that the operator can commit or correct rows in the next step. */
const SHORT_STEP_MS = 10 * MINUTE_MS;
/** The end of play. */
const LATER_STEP_MS = 45 * MINUTE_MS;

export interface Habit {
  readonly style: StyleName;
  readonly product?: object;
  readonly diff?: object;
  /** how the operator's program writes its rows; default: as `recon callbacks` does */
  readonly ledger?: LedgerHabit;
  /** which entries the operator keeps, in the order of their receipt; default: all */
  readonly keeps?: (entry: CallbackEntry) => boolean;
  /** whether the world plants faults of its own; default: yes */
  readonly hasFaults?: boolean;
}

export interface Played {
  readonly planted: readonly PlantedFault[];
  /** planted faults that are not open, or open with wrong values */
  readonly missed: readonly PlantedFault[];
  /** all other mismatches that were ever opened */
  readonly wrong: readonly AuditedMismatch[];
  readonly rows: Awaited<ReturnType<typeof readReport>>["rows"];
}

/** Plays an hour from noon on, and the time until all marks are judged. */
export async function playField(
  { sql, url }: TestDatabase,
  { style, product, diff, ledger = "own", keeps = () => true, hasFaults = true }: Habit,
): Promise<Played> {
  await emptyTables(sql);
  const clock = createTestClock(NOON);
  const world = createOddWorld({
    seed: 11,
    periods: [{ from: NOON, to: NOON + PLAYED_MS }],
    products: [{ productId: PRODUCT, style, roundsPerMinute: 1 }],
    players: 8,
    lateSettlementMs: LATE_MS,
    callbackLagMs: 5 * MINUTE_MS,
    reportLagMs: MINUTE_MS,
    faultEveryMinutes: hasFaults ? 6 : 1_000_000,
  });
  const config = parseConfig({
    products: [
      { productId: PRODUCT, since: new Date(NOON).toISOString(), stuckOpenAfter: "PT3H", ...product },
    ],
    pull: { resweepAfter: ["PT1H"] },
    diff: diff ?? {},
    ledger: { since: new Date(NOON - STUCK_MS - HOUR_MS).toISOString(), ...ledgerSettings(ledger) },
  });
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 50,
  });
  const limits = { requestTimeoutMs: 60_000, connections: 2, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const context = { sql, config, clock, log: silentLog, fetchPage: provider.fetchBetPage };
  const received: World["entriesReceived"] = (range) => world.entriesReceived(range).filter(keeps);
  const writer = await openLedgerWriter(ledger, url, { ...world, entriesReceived: received }, NOON);
  const never = new AbortController().signal;
  const steps = planSteps(ledger === "own" ? STEP_MS : SHORT_STEP_MS);
  try {
    for (const [index, now] of steps.entries()) {
      clock.set(now);
      const nextAt = steps[index + 1] ?? Number.POSITIVE_INFINITY;
      await writer.deliver(context, now, nextAt - now <= SHORT_STEP_MS);
      await pullProduct(context, PRODUCT, never);
      await compareProduct(context, PRODUCT, never);
    }
  } finally {
    provider.close();
    await Promise.all([writer.close(), sandbox.close()]);
  }
  const planted = world.plantedBy(clock.now());
  const { missed, wrong } = auditMismatches(planted, await readEverOpened(sql));
  const day = { day: "2026-11-20", zone: "UTC", from: NOON - 12 * HOUR_MS, to: NOON + 12 * HOUR_MS };
  const { rows } = await readReport(context, day);
  return { planted, missed, wrong, rows };
}

function planSteps(stepMs: number): number[] {
  const busyUntil = NOON + PLAYED_MS + LATE_MS + HOUR_MS / 4;
  const end = NOON + PLAYED_MS + LATE_MS + STUCK_MS + 2 * HOUR_MS;
  const steps: number[] = [];
  for (let now = NOON + stepMs; now <= end; now += now < busyUntil ? stepMs : LATER_STEP_MS) steps.push(now);
  return steps;
}
