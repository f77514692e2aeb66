import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { type Metrics, openMetrics } from "../../src/ops/metrics/metrics.ts";
import type { QueueState } from "../../src/ops/metrics/state-gauges.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { openProvider } from "../../src/provider/client.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { body, CREDENTIALS, hang, page, status, useHttpProvider } from "../support/http-provider.ts";
import { bearer, READER, serveOps, TOKENS } from "../support/ops-browser.ts";
import { readSamples, type Sample, showMetric } from "../support/prometheus-text.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const SECOND_MS = 1_000;
const database = useDatabase();
const { sql } = database;
const provider = useHttpProvider();
const config = parseConfig({ products: [{ productId: "P1" }, { productId: 'P"2' }] });
const QUEUES: QueueState[] = [
  {
    queue: "pull",
    jobs: new Map([
      ["waiting", 3],
      ["active", 1],
    ]),
  },
];

let clock = createTestClock(NOON);
beforeEach(async () => {
  clock = createTestClock(NOON);
  await emptyTables(sql);
});

interface MetricsChanges {
  sql?: Sql;
  countQueues?: () => Promise<QueueState[]>;
  log?: Log;
  longestReadMs?: number;
}

function open(changes: MetricsChanges = {}): Metrics {
  const context = { sql: changes.sql ?? sql, config, clock, log: changes.log ?? silentLog };
  return openMetrics(
    context,
    changes.countQueues ?? (async () => QUEUES),
    changes.longestReadMs ?? MINUTE_MS,
  );
}

/** With a short limit one scrape may be too slow, and a later one is not. */
function untilUp(metrics: Metrics): Promise<true> {
  return eventually("the database answers in time", async () => {
    clock.advance(5_000);
    expect(showMetric(await scrape(metrics), "recon_database_up")).toEqual(["1"]);
    return true;
  });
}

async function scrape(metrics: Metrics): Promise<Sample[]> {
  return readSamples((await metrics.show()).text);
}

/** A worker at work: P1 has a gap of 20 minutes, P"2 was stopped, and every other metric has values. */
async function fill(): Promise<void> {
  await sql`
    insert into pull_states (product_id, begin, head, window_ms, stopped_until) values
      ('P1', ${NOON - 9 * HOUR_MS}, ${NOON - MINUTE_MS}, 1800000, null),
      ('P"2', ${NOON - 9 * HOUR_MS}, ${NOON - 2 * MINUTE_MS}, 3600000, ${NOON + HOUR_MS})`;
  await sql`
    insert into windows (product_id, kind, from_at, to_at, status, attempts) values
      ('P1', 'live', ${NOON - HOUR_MS}, ${NOON - 40 * MINUTE_MS}, 'gap', 1),
      ('P1', 'live', ${NOON - 40 * MINUTE_MS}, ${NOON - MINUTE_MS}, 'done', 0)`;
  await sql`
    insert into record_absences (product_id, username, bet_id, id, missed_since, elsewhere, absent_since) values
      ('P1', 'anna', 'b1', 'r1', ${NOON}, false, null), ('P1', 'anna', 'b2', 'r2', ${NOON}, true, null),
      ('P1', 'anna', 'b3', 'r3', ${NOON}, false, ${NOON})`;
  await sql`
    insert into backfills (product_id, from_at, to_at, status, requested_at)
    select 'P1', ${NOON - HOUR_MS}, ${NOON}, status, ${NOON} from unnest(array['running', 'done', 'done']) as status`;
  await sql`
    insert into mismatches (product_id, username, subject, kind, status, currency, amount_at_risk, reason, occurred_at,
      first_seen_at, last_seen_at)
    select 'P1', 'anna', 'bet:' || n, kind, status, currency, amount::numeric, 'it differs', ${NOON}, ${NOON}, ${NOON}
    from (values (1, 'payout-differs', 'open', 'THB', '10.25'), (2, 'payout-differs', 'acknowledged', 'THB', '0.5'),
      (3, 'payout-differs', 'resolved', 'THB', '99'), (4, 'net-differs', 'open', 'USD', '7'),
      (5, 'net-differs', 'ignored', 'USD', '88'), (6, 'net-differs', 'open', null, '0'))
      as m (n, kind, status, currency, amount)`;
  for (const table of ["transfers", "top_ups"]) {
    await sql`
      insert into ${sql(table)} (transaction_ref, product_id, username, currency, type, amount, status, sent_at, handed_at)
      select 'ref-' || n, 'P1', 'anna', 'THB', 'DEPOSIT', 1, status, ${NOON}, ${NOON}
      from unnest(array['pending', 'accepted', 'accepted', 'inconclusive']) with ordinality as t (status, n)`;
  }
  await sql`
    insert into alerts (idempotency_key, kind, body, created_at, delivered_at) values
      ('a', 'digest', '{}', ${NOON - 3 * HOUR_MS}, ${NOON}), ('b', 'digest', '{}', ${NOON - 90 * SECOND_MS}, null),
      ('c', 'digest', '{}', ${NOON - 30 * SECOND_MS}, null)`;
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    select 'e-' || n, 'placeBets', 'r', 'P1', 'anna', 'THB', 't', 'OPEN', false, ${NOON}, ${NOON}::timestamptz - n * interval '45 s'
    from generate_series(1, 3) as n`;
}

describe("the state", () => {
  test("shows how far each product is, how long its windows are, what is missing, and whether it stands still", async () => {
    await fill();
    const samples = await scrape(open());
    const of = (metric: string) => showMetric(samples, `recon_product_${metric}`);
    expect(of("lag_seconds")).toEqual(["product=P1: 3600", 'product=P\\"2: 120']);
    expect(of("head_lag_seconds")).toEqual(["product=P1: 60", 'product=P\\"2: 120']);
    expect(of("window_seconds")).toEqual(["product=P1: 1800", 'product=P\\"2: 3600']);
    expect(of("gaps")).toEqual(["product=P1: 1", 'product=P\\"2: 0']);
    expect(of("gap_seconds")).toEqual(["product=P1: 1200", 'product=P\\"2: 0']);
    expect(of("stalled")).toEqual(["product=P1: 1", 'product=P\\"2: 1']);
    expect(of("records_in_doubt")).toEqual(["product=P1: 1", 'product=P\\"2: 0']);
  });

  test("says how many mismatches there are and what is at risk in unresolved ones, and counts transfers and top-ups", async () => {
    await fill();
    const samples = await scrape(open());
    expect(showMetric(samples, "recon_mismatches")).toEqual([
      "kind=net-differs,product=P1,status=ignored: 1",
      "kind=net-differs,product=P1,status=open: 2",
      "kind=payout-differs,product=P1,status=acknowledged: 1",
      "kind=payout-differs,product=P1,status=open: 1",
      "kind=payout-differs,product=P1,status=resolved: 1",
    ]);
    expect(showMetric(samples, "recon_mismatch_amount_at_risk")).toEqual([
      "currency=THB,kind=payout-differs,product=P1: 10.75",
      "currency=USD,kind=net-differs,product=P1: 7",
    ]);
    const byStatus = [
      "status=accepted: 2",
      "status=inconclusive: 1",
      "status=pending: 1",
      "status=rejected: 0",
    ];
    expect(showMetric(samples, "recon_transfers")).toEqual(byStatus);
    expect(showMetric(samples, "recon_top_ups")).toEqual(byStatus);
  });

  test("says what waits: jobs, alerts, backfills, and how long ago the last entry came", async () => {
    await fill();
    const samples = await scrape(open());
    expect(showMetric(samples, "recon_queue_jobs")).toEqual([
      "queue=pull,state=active: 1",
      "queue=pull,state=waiting: 3",
    ]);
    expect(showMetric(samples, "recon_alerts_undelivered")).toEqual(["2"]);
    expect(showMetric(samples, "recon_alerts_oldest_undelivered_age_seconds")).toEqual(["90"]);
    expect(showMetric(samples, "recon_backfills")).toEqual(["status=done: 2", "status=running: 1"]);
    expect(showMetric(samples, "recon_ledger_newest_entry_age_seconds")).toEqual(["45"]);
    expect(showMetric(samples, "recon_database_up")).toEqual(["1"]);
    expect(showMetric(samples, "recon_queues_up")).toEqual(["1"]);
  });

  test("has no unknown values: no lag of a product that was never pulled, no age of a ledger without entries", async () => {
    const samples = await scrape(open());
    for (const name of [
      "recon_product_lag_seconds",
      "recon_product_stalled",
      "recon_ledger_newest_entry_age_seconds",
    ]) {
      expect(showMetric(samples, name)).toEqual([]);
    }
    expect(showMetric(samples, "recon_alerts_undelivered")).toEqual(["0"]);
    expect(showMetric(samples, "recon_alerts_oldest_undelivered_age_seconds")).toEqual(["0"]);
  });

  test("names fifty currencies, those of the oldest mismatches, and adds up the others, the same on every worker", async () => {
    await sql`
      insert into mismatches (product_id, username, subject, kind, status, currency, amount_at_risk, reason, occurred_at,
        first_seen_at, last_seen_at)
      select 'P1', 'anna', 'bet:' || n, 'payout-differs', 'open', 'C' || n, n, 'it differs', ${NOON}, ${NOON}, ${NOON}
      from generate_series(1, 60) as n order by n`;
    const first = open();
    const seen = showMetric(await scrape(first), "recon_mismatch_amount_at_risk");
    const named = Array.from({ length: 50 }, (_, index) => `currency=C${index + 1}`);
    const labels = seen.map((one) => one.split(",")[0] ?? "");
    expect(new Set(labels)).toEqual(new Set([...named, "currency=other"]));
    expect(seen).toContain("currency=other,kind=payout-differs,product=P1: 555");
    await sql`update mismatches set status = 'resolved' where currency = 'C1'`;
    clock.advance(5 * MINUTE_MS);
    const later = showMetric(await scrape(first), "recon_mismatch_amount_at_risk");
    expect(later).toEqual(showMetric(await scrape(open()), "recon_mismatch_amount_at_risk"));
    expect(later).toContain("currency=C51,kind=payout-differs,product=P1: 51");
  });

  test("no longer has, in the next scrape, what was resolved or deleted", async () => {
    await fill();
    const metrics = open();
    await scrape(metrics);
    await sql`update mismatches set status = 'resolved'`;
    await sql`delete from backfills where status = 'running'`;
    await emptyTables(sql, ["callback_entries"]);
    clock.advance(5 * MINUTE_MS);
    const samples = await scrape(metrics);
    expect(showMetric(samples, "recon_mismatch_amount_at_risk")).toEqual([]);
    expect(showMetric(samples, "recon_mismatches").every((one) => one.includes("status=resolved"))).toBe(
      true,
    );
    expect(showMetric(samples, "recon_backfills")).toEqual(["status=done: 2"]);
    expect(showMetric(samples, "recon_ledger_newest_entry_age_seconds")).toEqual([]);
  });

  test("is read at most once in five seconds, and ended mismatches once in five minutes; ages grow meanwhile", async () => {
    await fill();
    let counted = 0;
    const countQueues = async () => {
      counted += 1;
      return QUEUES;
    };
    const metrics = open({ countQueues });
    await Promise.all([scrape(metrics), scrape(metrics), scrape(metrics)]);
    await sql`update pull_states set head = head + interval '1 s', window_ms = 60000`;
    await sql`update mismatches set status = 'resolved' where status = 'ignored'`;
    clock.advance(4_999);
    const soon = await scrape(metrics);
    expect(showMetric(soon, "recon_product_window_seconds")).toEqual([
      "product=P1: 1800",
      'product=P\\"2: 3600',
    ]);
    expect(showMetric(soon, "recon_product_head_lag_seconds")[0]).toBe("product=P1: 64.999");
    expect(counted).toBe(1);
    clock.advance(1);
    const later = await scrape(metrics);
    expect(showMetric(later, "recon_product_window_seconds")).toEqual([
      "product=P1: 60",
      'product=P\\"2: 60',
    ]);
    expect(showMetric(later, "recon_mismatches")).toContain("kind=net-differs,product=P1,status=ignored: 1");
    expect(counted).toBe(2);
    clock.advance(5 * MINUTE_MS - 5_000);
    const over = await scrape(metrics);
    expect(showMetric(over, "recon_mismatches")).toContain("kind=net-differs,product=P1,status=resolved: 1");
  });
});

describe("if a server is down", () => {
  test.each(["refuse", "hang"] as const)(
    "and the database does not answer (%s), the process metrics are served all the same, and no stale ones",
    async (how) => {
      await fill();
      const proxy = await startTcpProxy(database.url);
      const own = openDatabase(proxy.url, 2);
      onTestFinished(async () => {
        await proxy.close();
        await own.end({ timeout: 1 });
      });
      const lines: unknown[] = [];
      const log = { warn: (about: unknown, line: string) => lines.push([about, line]) } as unknown as Log;
      const metrics = open({ sql: own, log, ...(how === "hang" ? { longestReadMs: 500 } : {}) });
      await untilUp(metrics);
      lines.length = 0;

      await proxy[how]();
      clock.advance(5_000);
      const samples = await scrape(metrics);
      expect(showMetric(samples, "recon_database_up")).toEqual(["0"]);
      expect(showMetric(samples, "recon_product_lag_seconds")).toEqual([]);
      expect(showMetric(samples, "recon_alerts_undelivered")).toEqual([]);
      expect(showMetric(samples, "recon_queue_jobs")).toHaveLength(2);
      expect(showMetric(samples, "process_resident_memory_bytes")).toHaveLength(1);
      if (how === "refuse")
        expect(lines[0]).toEqual([expect.anything(), "the metrics lack what is in the database"]);
    },
  );

  test("a statement that hangs is ended, and holds no connection", async () => {
    const metrics = open({ longestReadMs: 1_000 });
    await sql.begin(async (tx) => {
      await tx`lock table backfills in access exclusive mode`;
      expect(showMetric(await scrape(metrics), "recon_database_up")).toEqual(["0"]);
    });
    await untilUp(metrics);
  });

  test("and the queues never answer, all other metrics are served, and the queues get no second question", async () => {
    let counted = 0;
    const countQueues = () => {
      counted += 1;
      return new Promise<never>(() => {});
    };
    const metrics = open({ countQueues, longestReadMs: 300 });
    for (const _ of [1, 2]) {
      await untilUp(metrics);
      const samples = await scrape(metrics);
      expect(showMetric(samples, "recon_queues_up")).toEqual(["0"]);
      expect(showMetric(samples, "recon_queue_jobs")).toEqual([]);
      clock.advance(MINUTE_MS);
    }
    expect(counted).toBe(1);
  });
});

describe("the metrics of this process", () => {
  test("begin with 0 for every product, so that the first record or refusal is an increase", async () => {
    const samples = await scrape(open());
    expect(showMetric(samples, "recon_records_total")).toContain("outcome=rejected,product=P1: 0");
    expect(showMetric(samples, "recon_provider_requests_total")).toContain(
      "endpoint=seamless/betTransactionsV2,outcome=provider-refused,product=P1: 0",
    );
  });

  test("count records page by page, by their result", async () => {
    const metrics = open();
    metrics.onPage({ productId: "P1", created: 5, changed: 2, unchanged: 1, rejected: 0 });
    metrics.onPage({ productId: "P1", created: 1, changed: 0, unchanged: 0, rejected: 3 });
    const counted = showMetric(await scrape(metrics), "recon_records_total");
    expect(counted.filter((one) => one.includes("P1"))).toEqual([
      "outcome=changed,product=P1: 2",
      "outcome=created,product=P1: 6",
      "outcome=rejected,product=P1: 3",
      "outcome=unchanged,product=P1: 1",
    ]);
  });

  test("count wrong tokens, and no right ones", async () => {
    const metrics = open();
    const counted = async () => showMetric(await scrape(metrics), "recon_wrong_tokens_total");
    expect(await counted()).toEqual(["0"]);
    const context = { sql, config, clock, log: silentLog };
    const ask = await serveOps(context, TOKENS, { metrics, signIns: { answerEveryMs: 1 } });
    for (let i = 0; i < 12; i += 1) await ask("GET", "/api/audit", { headers: bearer({ token: "guessed" }) });
    await ask("GET", "/api/audit", { headers: bearer(READER) });
    await ask("GET", "/api/audit");
    expect(await counted()).toEqual(["12"]);
  });

  test("count requests by endpoint and result, with their duration", async () => {
    const metrics = open();
    const openClient = (requestTimeoutMs: number) => {
      const limits = { requestTimeoutMs, connections: 2, production: false, watch: metrics.watch };
      const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
      onTestFinished(() => client.close());
      return client;
    };
    const patient = openClient(MINUTE_MS);
    const impatient = openClient(50);
    const leaving = new AbortController();
    const ask = async (answer: Parameters<typeof provider.answer>[0], productId = "P1", client = patient) => {
      provider.answer(answer);
      const request = { productId, from: NOON - HOUR_MS, to: NOON, nextId: null };
      await client.fetchBetPage(request, leaving.signal).catch(() => {});
    };
    await ask(() => page([]));
    await ask(() => {
      clock.advance(700);
      return page([]);
    });
    await ask(() => status(401));
    await ask(() => body('{"code":7,"message":"busy"}'));
    await ask(() => body("[]"));
    await ask(() => hang, "P1", impatient);
    await ask(() => page([]), "a product of nobody's");
    await ask(() => {
      leaving.abort();
      return hang;
    });

    const samples = await scrape(metrics);
    const counted = showMetric(samples, "recon_provider_requests_total").filter(
      (one) => !one.endsWith(": 0"),
    );
    const of = (outcome: string, product = "P1") =>
      `endpoint=seamless/betTransactionsV2,outcome=${outcome},product=${product}`;
    expect(counted).toEqual([
      `${of("aborted")}: 1`,
      `${of("ok", "")}: 1`,
      `${of("ok")}: 2`,
      `${of("provider-bad-envelope")}: 1`,
      `${of("provider-refused")}: 1`,
      `${of("provider-rejected")}: 1`,
      `${of("provider-timeout")}: 1`,
    ]);
    const took = (le: string) =>
      samples.find(
        ({ name, labels }) =>
          name === "recon_provider_request_duration_seconds_bucket" &&
          labels["product"] === "P1" &&
          labels["le"] === le,
      )?.value;
    expect([took("0.5"), took("1"), took("+Inf")]).toEqual([6, 7, 7]);
  });
});

describe("GET /metrics", () => {
  const serve = async (tokens: { name: string; role: "read" | "write"; token: string }[]) => {
    const context = { sql, config, clock, log: silentLog };
    const settings = { host: "127.0.0.1", port: 0, tokens };
    const server = await startOpsServer(context, settings, async () => {}, { metrics: open() });
    onTestFinished(() => server.close());
    return `${server.url}/metrics`;
  };

  test.each([
    ["with tokens", [{ name: "ops", role: "write" as const, token: "a token of somebody" }]],
    ["without", []],
  ])("needs no token (%s), and has the format of Prometheus", async (_, tokens) => {
    const response = await fetch(await serve(tokens));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text).toMatch(/^# HELP recon_mismatch_amount_at_risk .*exact amounts are in the API/m);
    expect(text).toMatch(/^# TYPE recon_records_total counter$/m);
  });

  test("follows the naming conventions: only counters end in _total, every metric has its help, times are seconds", async () => {
    const text = await (await fetch(await serve([]))).text();
    for (const [, name = "", type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, "m"));
      expect(name).not.toMatch(/(?:_ms|_millis|_milliseconds|_minutes|_kb)(?:_|$)/);
    }
  });
});
