/** A week of a small shop, for the README's pictures. Everything follows from its seed and its clock. */

import type { Instant } from "../../src/clock.ts";
import type { Sql } from "../../src/db/client.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { sampleTrends } from "../../src/flows/trends/trends.ts";
import type { AnyFault } from "../../src/sandbox/faults/fault-list.ts";
import { QUARTER_MS } from "../../src/work/trend-store.ts";
import { noteDone } from "../../src/work/work-store.ts";
import { HOUR_MS, MINUTE_MS } from "../support/examples.ts";
import { openPlayedWorld } from "./played-world.ts";
import { decideSome, fetchSomeAgain, openTill } from "./shop-people.ts";

const BEGIN = Date.parse("2026-11-14T06:00:00Z");
const GAP = Date.parse("2026-11-20T09:00:00Z");
const TODAY = Date.parse("2026-11-20T00:00:00Z");
const YESTERDAY_NOON = Date.parse("2026-11-19T12:00:00Z");
const AFTERNOON = Date.parse("2026-11-20T12:00:00Z");
const NOW = Date.parse("2026-11-20T14:20:00Z");

const PLAYED = [
  { productId: "TABLE", style: "table", roundsPerMinute: 0.3 },
  { productId: "SLOT", style: "slot", roundsPerMinute: 0.5 },
  { productId: "SPORT", style: "sport", roundsPerMinute: 0.1 },
] as const;
/** Its money moves by transfers, so the world has no rounds of it. */
const WALLET = { productId: "WALLET", style: "slot", roundsPerMinute: 0 } as const;

const iso = (at: Instant) => new Date(at).toISOString();
const gatewayGaveUp = { kind: "status", status: 504, retryAfterAs: "seconds" } as const;

const FAULTS: readonly AnyFault[] = [
  {
    when: { product: "SPORT", hoursUtc: [9], between: [iso(GAP), "2026-11-21T00:00:00Z"] },
    do: { kind: "code", code: 9, message: "the report is not ready" },
  },
  { when: { product: "SLOT", hoursUtc: [4, 5, 6], longerThan: "PT20M" }, do: gatewayGaveUp },
  { when: { endpoint: "deposit", ref: "^lost-" }, do: { ...gatewayGaveUp, done: false } },
  {
    when: { endpoint: "verifyDepositWithdraw", ref: "unheard|^late-" },
    do: { ...gatewayGaveUp, done: false },
  },
];

export interface Shop {
  readonly context: FlowContext;
  /** of the pictures, by their names */
  readonly paths: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openShop(sql: Sql): Promise<Shop> {
  const played = await openPlayedWorld(sql, {
    begin: BEGIN,
    world: {
      seed: 11,
      periods: [{ from: BEGIN, to: NOW }],
      products: [...PLAYED, WALLET],
      players: 40,
      lateSettlementMs: 20 * MINUTE_MS,
      callbackLagMs: 1_000,
      reportLagMs: 1_000,
      faultEveryMinutes: 300,
      forDemo: true,
    },
    config: {
      products: [
        ...PLAYED.map(({ productId }) => ({ productId, since: iso(BEGIN) })),
        { productId: WALLET.productId, walletMode: "transfer" },
      ],
      // One request at a time, so that the order of requests is fixed.
      pull: { resweepAfter: ["P1D"], concurrency: 1 },
      verify: { giveUpAfter: "PT6H", concurrency: 1 },
    },
    faults: FAULTS,
  });
  const { context, clock } = played;
  const till = openTill(played, WALLET.productId);

  /** As long as the trends of a day, with a sample for each quarter of an hour. */
  const playSampled = async (until: Instant) => {
    while (clock.now() < until) {
      await played.playUntil(Math.min(until, clock.now() + QUARTER_MS), QUARTER_MS);
      await sampleTrends(context);
    }
  };

  await played.playUntil(YESTERDAY_NOON, 6 * HOUR_MS);
  await playSampled(TODAY);
  await decideSome(context);
  await till.send("deposit-1041", "250.00");
  await till.send("lost-1042", "80.00");
  await till.send("unheard-1043", "1200.00");
  await till.verifyUntil(TODAY + 8 * HOUR_MS);
  await playSampled(AFTERNOON);
  await fetchSomeAgain(context, "TABLE", { from: TODAY - 48 * HOUR_MS, to: TODAY });
  await playSampled(NOW);
  await till.send("deposit-1050", "40.00");
  await till.send("late-1051", "310.00");
  await till.verifyUntil(NOW);
  clock.set(NOW);
  await sampleTrends(context);
  await noteAllWork(sql);
  const missing = await firstMismatch(sql);
  return {
    context,
    paths: {
      incidents: "/incidents",
      trends: "/trends",
      mismatches: "/mismatches?sort=at-risk",
      mismatch: `/mismatches/${missing}`,
      transfers: "/transfers",
      transfer: "/transfers/unheard-1043",
      backfills: `/backfills?product=SPORT&from=${iso(GAP)}&to=${iso(GAP + HOUR_MS)}`,
      report: "/report?day=2026-11-19",
      coverage: `/coverage?product=SPORT&from=${iso(GAP - HOUR_MS)}&to=${iso(GAP + 3 * HOUR_MS)}`,
    },
    close: played.close,
  };
}

/** As a worker notes it: here no jobs run. */
async function noteAllWork(sql: Sql): Promise<void> {
  for (const { productId } of PLAYED) {
    await noteDone(sql, { work: "comparing", subject: productId }, NOW, { upTo: NOW });
  }
  for (const work of ["verifying", "alerting"] as const) await noteDone(sql, { work, subject: "" }, NOW, {});
}

/** A mismatch that has both sides. */
async function firstMismatch(sql: Sql): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    select id from mismatches where status = 'open' and provider is not null and ledger is not null
    order by amount_at_risk desc, id limit 1`;
  return row?.id ?? 1;
}
