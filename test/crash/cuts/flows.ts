/** The flows that write money, marks, cursors, books and alerts, in the order of a bet's life. The first two are quick. */

import { afterAll, beforeAll } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { startCallbackServer } from "../../../src/callbacks/server.ts";
import { creditWallet } from "../../../src/callbacks/wallet-store.ts";
import { systemClock } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { openDatabase, type Sql } from "../../../src/db/client.ts";
import { deliverAlerts } from "../../../src/flows/alerts/deliver-alerts.ts";
import { closeDueDays } from "../../../src/flows/closing/close-days.ts";
import { findCorrections } from "../../../src/flows/closing/find-corrections.ts";
import { verifyChain } from "../../../src/flows/closing/read-statement.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { dropExpired } from "../../../src/flows/retention/drop-expired.ts";
import { openAskOutcome } from "../../../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../../../src/flows/verify/operate-transfers.ts";
import { verifyDue } from "../../../src/flows/verify/verify-due.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import { openBudget } from "../../../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server/server.ts";
import { post } from "../../callbacks/operator.ts";
import { HOUR, planOf, START } from "../../sandbox/plans.ts";
import { createOddWorld } from "../../simulation/oddities/odd-world.ts";
import { channelsTo, useAlertListener } from "../../support/alert-listener.ts";
import { createTestClock } from "../../support/clock.ts";
import { amount } from "../../support/examples.ts";
import { CREDENTIALS } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { bookedAs, useVerifyProvider } from "../../support/verify-provider.ts";
import { deposit } from "../../verify/sent.ts";

export interface CutFlow {
  readonly name: string;
  /** what happens before the flow, without cuts */
  prepare(sql: Sql, url: string): Promise<void>;
  /** Runs once, as a tick of the worker or as the requests of a provider. It can run again at any time. */
  run(url: string): Promise<void>;
  /** what must be the same with and without a cut */
  see(sql: Sql): Promise<unknown>;
}

const DAY = 24 * HOUR;
const BEGIN = START - 3 * HOUR;
const CONFIG = parseConfig({
  products: [
    { productId: "ODD", since: new Date(BEGIN).toISOString() },
    { productId: "P1", walletMode: "transfer", since: new Date(BEGIN).toISOString() },
  ],
  pull: { resweepAfter: [], settleDelay: "PT0S" },
  closing: { after: "PT0S" },
  retain: { records: "P90D", entries: "P90D", mismatches: "P90D" },
});
const never = new AbortController().signal;

/** Call at the top of a test file. */
export function useFlows(): readonly CutFlow[] {
  const clock = createTestClock(BEGIN);
  const world = createOddWorld({
    ...planOf({ periods: [{ from: START, to: START + HOUR / 2 }], faultEveryMinutes: 4 }),
    products: [{ productId: "ODD", style: "odd", roundsPerMinute: 0.7 }],
    lateReportMs: HOUR / 3,
  });
  const webhook = useAlertListener();
  const booked = useVerifyProvider();
  let sandbox: Sandbox;
  let provider: ProviderClient;
  let verifying: ProviderClient;
  beforeAll(async () => {
    const { username, password } = CREDENTIALS;
    const serving = { host: "127.0.0.1", port: 0, username, password, pageSize: 12 };
    sandbox = await startSandbox({ ...serving, world, clock });
    const limits = { requestTimeoutMs: 60_000, connections: 8, production: false };
    provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
    verifying = openProvider({ baseUrl: booked.url(), ...CREDENTIALS }, limits, clock);
  });
  afterAll(async () => {
    provider.close();
    verifying.close();
    await sandbox.close();
  });

  const contextOf = (sql: Sql): PullContext => ({
    sql,
    config: CONFIG,
    clock,
    log: silentLog,
    fetchPage: (request, signal) => provider.fetchBetPage(request, signal),
  });
  /** The same moment for each run, independent of the clock in the run before. */
  const at = (now: number, work: (context: PullContext) => Promise<void>) => async (url: string) => {
    clock.set(now);
    const sql = openDatabase(url, 3);
    await work(contextOf(sql)).finally(() => sql.end({ timeout: 1 }));
  };
  const compare = async (context: PullContext) => {
    // Two comparisons with the confirm fetches between them, one grace apart.
    for (const wait of [0, 2 * HOUR]) {
      clock.advance(wait);
      await compareProduct(context, "ODD", never);
      await pullProduct(context, "ODD", never);
      await compareProduct(context, "ODD", never);
    }
  };
  const played = START + 3 * HOUR;
  const later = START + 3 * DAY;
  const old = later + 200 * DAY;

  return [
    {
      name: "storing entries",
      prepare: async () => {},
      run: at(played, async ({ sql }) => {
        const entries = world.entriesReceived({ from: 0, to: played });
        await appendEntries(sql, entries.slice(0, 20));
        await appendEntries(sql, entries.slice(20));
      }),
      see: seeEntries,
    },
    {
      name: "answering callbacks",
      prepare: async (sql) => {
        await creditWallet(
          sql,
          { username: "anna", currency: "THB", amount: amount("1000"), ref: "first" },
          played,
        );
      },
      run: async (url) => {
        clock.set(played);
        const sql = openDatabase(url, 3);
        const context = {
          sql,
          config: parseConfig({ products: [{ productId: "P1" }] }),
          clock,
          log: silentLog,
        };
        const settings = { host: "127.0.0.1", port: 0, basePath: "", signatureKey: null, allowedIps: [] };
        try {
          const server = await startCallbackServer(context, settings);
          // A provider sends again what was not answered with 0, and continues with the next bet meanwhile.
          for (const [callback, body] of CALLBACKS) await post(server.url, callback, body).catch(() => {});
          await server.close();
        } finally {
          await sql.end({ timeout: 1 });
        }
      },
      see: async (sql) => [
        await sql`select username, balance from wallets order by 1`,
        await sql`select callback, txn_id, moved from callback_entries where username = 'anna' order by 2, 1`,
      ],
    },
    {
      name: "pulling",
      prepare: async () => {},
      run: at(played, async (context) => {
        await pullProduct(context, "ODD", never);
      }),
      see: async (sql) => [
        await sql`select id, bet_id, bet_status, stake, payout, updated_date from bet_records order by id`,
        await sql`select id, count(*) as versions from bet_record_versions group by 1 order by 1`,
        await sql`select kind, from_at, to_at, status from windows order by from_at, to_at`,
        await sql`select distinct unnest(bet_refs) as marked from diff_marks order by 1`,
      ],
    },
    {
      name: "comparing",
      prepare: async (_, url) => {
        await at(played + 2 * HOUR, async (context) => {
          await appendEntries(context.sql, world.entriesReceived({ from: 0, to: later }));
          await pullProduct(context, "ODD", never);
        })(url);
      },
      run: at(played + 4 * HOUR, compare),
      see: async (sql) => [
        await sql`select kind, subject, status, amount_at_risk, effect from mismatches order by 1, 2`,
        await sql`
          select m.kind, m.subject, e.from_status, e.to_status from mismatch_events e join mismatches m on m.id = e.mismatch_id
          order by 1, 2, e.id`,
        await sql`select kind, count(*) as alerts from alerts group by 1 order by 1`,
      ],
    },
    {
      name: "sending alerts",
      prepare: async () => {},
      run: at(played + 7 * HOUR, async (context) => {
        await deliverAlerts(context, channelsTo({ webhook }), never);
      }),
      see: async (sql) => {
        const alerts = await sql<{ key: string }[]>`select idempotency_key as key from alerts order by id`;
        const heard = new Set(webhook.heard.map(({ json }) => json.idempotencyKey));
        const [{ left = 0 } = {}] = await sql`
          select count(*) as left from alerts a where not exists (select from alert_deliveries d where d.alert_id = a.id)`;
        return { alerts, unheard: alerts.filter(({ key }) => !heard.has(key)), left };
      },
    },
    {
      name: "closing and correcting",
      prepare: async (_, url) => {
        await at(later, async (context) => {
          await pullProduct(context, "ODD", never);
          await pullProduct(context, "P1", never);
          await compare(context);
          await closeDueDays(context, never);
          const { sql } = context;
          await sql`update callback_entries set payout_amount = payout_amount + 1, moved = moved + 1
            where entry_id in (select entry_id from callback_entries where callback = 'settleBets' and moved is not null
              order by entry_id limit 5)`;
        })(url);
        await at(later + 2 * DAY, async (context) => {
          await pullProduct(context, "ODD", never);
          await pullProduct(context, "P1", never);
          await compare(context);
        })(url);
      },
      run: at(later + 2 * DAY + 5 * HOUR, async (context) => {
        await findCorrections(context, never);
        await closeDueDays(context, never);
      }),
      see: async (sql) => [
        await sql`select day, number, statement->'rows' as rows from closed_days order by number`,
        await sql`select product_id from closed_parts`,
        await sql`select * from closed_bets order by subject, bet_ref, day, currency, username`,
        await sql`select day, correction - 'at' - 'reason' as correction from corrections order by day, correction`,
        (await verifyChain(contextOf(sql))).flaw,
      ],
    },
    {
      name: "deleting",
      prepare: async () => {},
      run: at(old, async (context) => {
        await dropExpired(context, never);
        await dropClosed(context, never, { rows: 7, batches: 1_000 });
      }),
      see: async (sql) => {
        const tables = [
          "bet_records",
          "bet_record_versions",
          "callback_entries",
          "closed_bets",
          "mismatches",
          "windows",
        ];
        const counts = tables.map(async (table) => (await sql`select from ${sql(table)}`).length);
        return [await Promise.all(counts), (await verifyChain(contextOf(sql))).flaw];
      },
    },
    {
      name: "verifying",
      prepare: async (_, url) => {
        await at(old, async (context) => {
          const transfers = Array.from({ length: 4 }, (_, index) =>
            deposit({ transactionRef: `ref-${index}`, sentAt: old - HOUR }),
          );
          await handOverTransfers(
            context,
            transfers.map((transfer) => ({ transfer, label: "" })),
          );
        })(url);
      },
      run: at(old + HOUR, async (context) => {
        booked.answer((question) => bookedAs(question));
        const budget = openBudget(context.sql, { concurrency: 8, minIntervalMs: 0 }, 60_000, systemClock);
        await verifyDue({ ...context, ask: openAskOutcome(verifying, budget, context) }, never);
      }),
      see: (sql) => sql`select transaction_ref, status from transfers order by 1`,
    },
  ];
}

async function seeEntries(sql: Sql): Promise<unknown> {
  const entries = await sql<CallbackEntry[]>`
    select entry_id, txn_id, callback, moved, bet_amount, payout_amount from callback_entries order by entry_id`;
  const days = await sql`select * from entry_days order by 1, 2, 3`;
  const marks = await sql`select distinct unnest(bet_refs) as marked from diff_marks order by 1`;
  return [entries, days, marks];
}

/** Five bets, placed and settled, and one that is rolled back and settled otherwise. */
const CALLBACKS = ["bet-1", "bet-2", "bet-3"].flatMap((id, index) => {
  const envelope = (name: string) => ({
    id: `${name}-${id}`,
    timestampMillis: START + index,
    productId: "P1",
    currency: "THB",
    username: "anna",
  });
  const item = {
    id,
    roundId: `round-${id}`,
    gameCode: "G1",
    playInfo: "Game One",
    transactionType: "BY_TRANSACTION",
  };
  return [
    ["placeBets", { ...envelope("place"), txns: [{ ...item, status: "OPEN", betAmount: 10 }] }],
    [
      "settleBets",
      { ...envelope("settle"), txns: [{ ...item, status: "SETTLED", betAmount: 10, payoutAmount: 15 }] },
    ],
  ] as const;
});
