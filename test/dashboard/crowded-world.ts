/**
 * A world whose names, ids and amounts are as long as they can be, for tests of the layout of all pages. Its product
 * has an id of 40 characters without a place to break.
 */

import type { Instant } from "../../src/clock.ts";
import { writeClosedDay } from "../../src/closing/closed-day-store.ts";
import { writeCorrections } from "../../src/closing/correction-store.ts";
import { hashOf } from "../../src/closing/statement.ts";
import type { Sql } from "../../src/db/client.ts";
import { writeStorage } from "../../src/db/storage-store.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { recordImport } from "../../src/flows/ledger/import-ledger.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { beginImport } from "../../src/ledger/past-import-store.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { noteFailed, writeQueues } from "../../src/work/work-store.ts";
import { amount, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { openPlayedWorld, type PlayedWorld } from "./played-world.ts";
import { openTill } from "./shop-people.ts";

const LONG_PRODUCT = "PRODUCT_WITH_AN_ID_OF_FORTY_CHARACTERS_X";
const LONG_NAME = "player.with.a.long.name.0123456789abcdefghijklmnopqrstuvwxyz";
const LONG_ID = "bet-0f9b1d6e-5a7c-4e52-9d8f-3c2b1a0f9e8d-0f9b1d6e-5a7c-4e52-9d8f-3c2b1a0f9e8d";
const LONG_REF = `unheard-${"0123456789".repeat(6)}`;
const LARGE = "12975633.2606";
const BEGIN = NOON - 30 * HOUR_MS;
const CORRECTED_DAY = "2026-11-18";

const iso = (at: Instant) => new Date(at).toISOString();
const silent = { kind: "status", status: 504, retryAfterAs: "seconds", done: false } as const;

export interface CrowdedWorld {
  readonly context: FlowContext;
  /** of every page, by what it shows */
  readonly paths: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openCrowdedWorld(sql: Sql): Promise<CrowdedWorld> {
  const product = (productId: string) => ({ productId, style: "table", roundsPerMinute: 0.05 }) as const;
  const played = await openPlayedWorld(sql, {
    begin: BEGIN,
    world: {
      seed: 4,
      periods: [{ from: BEGIN, to: NOON }],
      products: [product(LONG_PRODUCT), product("TABLE"), { ...product("WALLET"), roundsPerMinute: 0 }],
      players: 5,
      lateSettlementMs: MINUTE_MS,
      callbackLagMs: 1_000,
      reportLagMs: 1_000,
      faultEveryMinutes: 200,
    },
    config: {
      products: [
        { productId: LONG_PRODUCT, since: iso(BEGIN) },
        { productId: "TABLE", since: iso(BEGIN) },
        { productId: "WALLET", walletMode: "transfer" },
      ],
      verify: { giveUpAfter: "PT1H" },
    },
    faults: [
      {
        when: { product: "TABLE", hoursUtc: [9], between: [iso(NOON - 3 * HOUR_MS), iso(NOON + HOUR_MS)] },
        do: { kind: "code", code: 9, message: "the report is not ready" },
      },
      { when: { endpoint: "deposit", ref: "^unheard" }, do: silent },
      { when: { endpoint: "verifyDepositWithdraw", ref: "^unheard" }, do: silent },
    ],
  });
  await played.playUntil(NOON - 4 * HOUR_MS, 13 * HOUR_MS);
  const till = openTill(played, "WALLET");
  await till.send(LONG_REF, "1234567.00");
  await till.send("deposit-1", "250.00");
  await till.verifyUntil(NOON - 2 * HOUR_MS);
  await played.playUntil(NOON, 2 * HOUR_MS);
  await fillWithLongWords(sql, played);
  await fillBooks(sql, played);
  const [{ id } = { id: 0 }] = await sql<
    { id: number }[]
  >`select min(id) as id from mismatches where bet_id = ${LONG_ID}`;
  const [{ bet } = { bet: "" }] = await sql<{ bet: string }[]>`
    select min(bet_id) as bet from bet_records where product_id = ${LONG_PRODUCT}`;
  const [{ alert } = { alert: 0 }] = await sql<
    { alert: number }[]
  >`select max(id) as alert from alerts where product_id = ${LONG_PRODUCT}`;
  const range = new URLSearchParams({ product: LONG_PRODUCT, from: iso(BEGIN), to: iso(NOON) });
  const gap = new URLSearchParams({ product: "TABLE", from: iso(NOON - 6 * HOUR_MS), to: iso(NOON) });
  return {
    context: played.context,
    paths: {
      overview: "/",
      incidents: "/incidents?state=all",
      incident: "/incidents/2",
      "wrong incidents": "/incidents?state=lost",
      mismatches: "/mismatches",
      "no mismatches": "/mismatches?kind=top-up-differs",
      "wrong filters": `/mismatches?kind=lost&minAmount=much&from=${"yesterday".repeat(9)}&username=${LONG_NAME}`,
      mismatch: `/mismatches/${id}`,
      "mismatch of one side": `/mismatches/${id + 2}`,
      coverage: `/coverage?${range}`,
      "coverage with a gap": `/coverage?${gap}`,
      "wrong coverage": `/coverage?product=${LONG_PRODUCT}&from=${"yesterday".repeat(9)}&to=x`,
      backfills: `/backfills?${range}`,
      backfill: "/backfills/1",
      report: "/report?day=2026-11-19",
      "two days": "/report/against?day=2026-11-19&against=2026-11-18",
      "wrong days": `/report/against?day=2026-11-19&against=${"Mars".repeat(20)}`,
      "lines of a report": "/report/items?day=2026-11-19",
      "wrong lines": `/report/items?day=2026-11-19&explainedBy=${"Mars".repeat(20)}`,
      month: "/report?month=2026-11",
      "wrong report": `/report?day=2026-11-19&zone=${"Mars".repeat(20)}`,
      "a correction": `/report?day=${CORRECTED_DAY}`,
      "closing a month": "/report/close?month=2026-11",
      "a check": "/report/verify",
      "an invoice": "/report/invoice?month=2026-11",
      health: "/health",
      alerts: "/alerts",
      alert: `/alerts/${alert}`,
      imports: "/imports",
      import: "/imports/1",
      trends: "/trends?span=week",
      "trends of one": `/trends?product=${LONG_PRODUCT}`,
      "wrong trends": `/trends?span=${"year".repeat(20)}&product=${LONG_ID}`,
      transfers: "/transfers?status=pending,accepted,rejected,inconclusive",
      transfer: `/transfers/${LONG_REF}`,
      rejected: "/rejected",
      "a rejected one": "/rejected/record-1",
      search: `/search?q=${LONG_REF}`,
      "search of a bet": `/search?q=${bet}`,
      "nothing found": `/search?q=${LONG_ID}`,
      "wrong search": `/search?q=${"x".repeat(800)}`,
      "time zone": "/time-zone",
      "wrong time zone": `/time-zone?zone=${"Mars".repeat(20)}`,
      "not found": `/mismatches/${"9".repeat(14)}`,
    },
    close: played.close,
  };
}

/** A correction, imports, failed deliveries, and work that is held up. */
async function fillBooks(sql: Sql, { context, clock }: PlayedWorld): Promise<void> {
  const now = clock.now();
  const side = (net: string) => ({ bets: 1, stake: LARGE, payout: "0", net, rewards: null, tips: null });
  const figures = { mismatches: "0", adjustments: "0", pending: "0", rounding: "0", outside: "0" };
  const ledger = { ...side(`-${LARGE}`), rewards: LARGE, tips: LARGE, moved: `-${LARGE}` };
  const from = Date.parse(`${CORRECTED_DAY}T00:00:00Z`);
  const row = {
    productId: LONG_PRODUCT,
    currency: "THB",
    provider: side(`-${LARGE}`),
    ledger,
    difference: "0",
    ...figures,
    rest: "0",
    complete: true,
  };
  const day = { day: CORRECTED_DAY, zone: "UTC", from, to: from + 24 * HOUR_MS };
  const statement = { ...day, rows: [row], corrections: [], number: 1, closedAt: now, previousHash: null };
  await writeClosedDay(sql, { ...statement, hash: hashOf(statement) });
  await writeCorrections(
    sql,
    [
      {
        day: CORRECTED_DAY,
        productId: LONG_PRODUCT,
        currency: "THB",
        username: LONG_NAME,
        betId: LONG_ID,
        transactionId: null,
        before: { provider: side(`-${LARGE}`), ledger, ...figures },
        after: { provider: side("98765432109876543210.12345678"), ledger, ...figures },
        difference: "98765432122852176470.38405678",
        reason: "the provider's payout changed",
      },
    ],
    now,
  );
  const lines = [`{"entry_id":"${LONG_ID}","product_id":"${"x".repeat(300)}"}`, `"${"y".repeat(400)}"`];
  const source = {
    who: LONG_NAME,
    via: "page",
    format: "entries",
    name: `${LONG_ID}.ndjson`,
    bytes: 900,
  } as const;
  const chunks = async function* () {
    yield Buffer.from(lines.join("\n"));
  };
  await recordImport(context, chunks(), { shape: "json", onImported: () => {} }, source);
  await beginImport(sql, { ...source, via: "command", bytes: null }, now);
  const failure = { code: null, message: `${LONG_ID}: ${"z".repeat(300)}` };
  for (let times = 0; times < 2; times += 1) {
    await noteFailed(sql, { work: "comparing", subject: LONG_PRODUCT }, now, failure);
  }
  await writeQueues(sql, [{ queue: "pull", everyMs: MINUTE_MS }]);
  await sql.begin((tx) => writeStorage(tx, now, 1e12, new Map([["windows", 100_000]])));
  await sql`
    insert into alert_deliveries (alert_id, channel, attempts, next_attempt_at, last_error)
    select id, 'webhook', 12, ${now}, ${failure.message} from alerts`;
}

async function fillWithLongWords(sql: Sql, { context, clock }: PlayedWorld): Promise<void> {
  const provider = { ...PROVIDER_SIDE, id: LONG_ID, betId: LONG_ID, stake: LARGE, username: LONG_NAME };
  const ledger = { ...LEDGER_SIDE, txnId: LONG_ID, moved: `-${LARGE}`, username: LONG_NAME };
  const long = { productId: LONG_PRODUCT, username: LONG_NAME, provider, ledger };
  await openMismatches(sql, context.config, clock.now(), [
    {
      ...long,
      betId: LONG_ID,
      roundId: LONG_ID,
      amountAtRisk: amount(LARGE),
      reason: `paid out ${LARGE} THB at the provider, 25.50 THB in the ledger of ${LONG_ID}`,
    },
    {
      ...long,
      betId: `${LONG_ID}-2`,
      currency: "USD",
      amountAtRisk: amount("98765432109876543210.12345678"),
    },
    { ...long, betId: `${LONG_ID}-3`, kind: "missing-in-ledger", ledger: null, currency: null },
    { productId: "TABLE", amountAtRisk: amount("0.5"), betId: "short" },
  ]);
  await sql`
    insert into comments (about, about_id, at, by, note)
    select about, id, ${clock.now()}, ${LONG_NAME}, ${`${LONG_ID}\n${"it waits ".repeat(40)}`}
    from (select 'mismatch' as about, id from mismatches union all select 'incident', id from incidents) all_of_them`;
  const raw = JSON.stringify({ id: LONG_ID, text: "x".repeat(500) });
  await writeRejected(sql, LONG_PRODUCT, [{ raw, reason: `${LONG_ID}: id must be text` }], clock.now());
  const range = { productId: LONG_PRODUCT, from: BEGIN, to: NOON - 6 * HOUR_MS };
  await requestBackfill(context, await planBackfill(context, range));
}
