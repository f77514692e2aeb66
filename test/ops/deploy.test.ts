/** What deploy/ watches exists: each metric, label and value in rules and dashboard. */

import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { startRecon } from "../cli/run-recon.ts";
import { codesIn, rowsOf } from "../docs/pages.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { ownPort } from "../support/own-port.ts";
import { readSamples, type Sample } from "../support/prometheus-text.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");
const database = useDatabase();

/** A query, with the text of its legend. */
interface PanelQuery {
  readonly query: string;
  readonly shown: string;
}

/** The metric, labels and values that a query names. */
interface QueriedMetric {
  readonly metric: string;
  readonly labels: readonly string[];
  /** label="value" */
  readonly values: readonly (readonly [string, string])[];
}

const GROUPED = /\b(?:by|on|without)\s*\(([^)]*)\)/g;
const SELECTED = /([a-zA-Z_:][\w:]*)\{([^}]*)\}/g;
const WORDS = new Set(["and", "or", "unless", "bool", "offset"]);
/** Prometheus adds these labels when it scrapes. */
const SCRAPED = new Set(["instance", "job"]);

/** Every metric of a query, with the labels by which the query groups and filters. */
function readQuery({ query, shown }: PanelQuery): QueriedMetric[] {
  const listed = /^label_values\((\w+), (\w+)\)$/.exec(query);
  if (listed !== null) return [{ metric: listed[1] ?? "", labels: [listed[2] ?? ""], values: [] }];
  const grouped = Array.from(query.matchAll(GROUPED), ([, labels = ""]) => labels.split(/\s*,\s*/)).flat();
  const legend = Array.from(shown.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g), ([, label = ""]) => label);
  const selectors = Array.from(query.matchAll(SELECTED), ([, metric = "", inner = ""]) => ({
    metric,
    matchers: Array.from(inner.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)),
  }));
  const bare = query.replace(GROUPED, " ").replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, " ");
  const names = Array.from(bare.matchAll(/[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g), ([name]) => name);
  return [...new Set(names.filter((name) => !WORDS.has(name)))].map((metric) => {
    const own = selectors.filter((one) => one.metric === metric).flatMap(({ matchers }) => matchers);
    return {
      metric,
      labels: [...new Set([...grouped, ...legend, ...own.map(([, label = ""]) => label)])],
      values: own.flatMap(([, label = "", how, value = ""]) =>
        how === "=" ? [[label, value] as const] : [],
      ),
    };
  });
}

interface Rule extends PanelQuery {
  /** null: the rule is an alert */
  readonly record: string | null;
}

/** Each rule has its expression on one line. */
function readRules(): Rule[] {
  const text = readFileSync(join(DEPLOY, "prometheus/recon.rules.yaml"), "utf8");
  return text
    .split(/^ {6}- (?=alert|record)/m)
    .slice(1)
    .map((rule) => ({
      record: /^record: (\S+)$/m.exec(rule)?.[1] ?? null,
      query: /^ +expr: (.+)$/m.exec(rule)?.[1] ?? "",
      shown: Array.from(rule.matchAll(/\{\{ *\$labels\.\w+ *\}\}/g), ([one]) => one).join(" "),
    }));
}

function readDashboard(): PanelQuery[] {
  const found: PanelQuery[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { expr, query, legendFormat } = value as {
      expr?: unknown;
      query?: unknown;
      legendFormat?: unknown;
    };
    const text = expr ?? query;
    if (typeof text === "string" && text !== "prometheus") {
      found.push({ query: text, shown: typeof legendFormat === "string" ? legendFormat : "" });
    }
    for (const inner of Object.values(value)) walk(inner);
  };
  for (const path of globSync(join(DEPLOY, "grafana/*.json"))) walk(JSON.parse(readFileSync(path, "utf8")));
  return found;
}

const rules = readRules();
const dashboard = readDashboard();

/** All labels of each metric, and the values of each label. */
type KnownMetrics = Map<string, Map<string, Set<string>>>;

function knowSamples(samples: readonly Sample[]): KnownMetrics {
  const known: KnownMetrics = new Map();
  for (const { name, labels } of samples) {
    const own = known.get(name) ?? new Map<string, Set<string>>();
    known.set(name, own);
    for (const [label, value] of Object.entries(labels)) {
      own.set(label, (own.get(label) ?? new Set()).add(value));
    }
  }
  for (const { record, query } of rules) {
    if (record === null) continue;
    const [, labels = ""] = /^sum by \(([^)]*)\)/.exec(query) ?? [];
    known.set(record, new Map(labels.split(", ").map((label) => [label, new Set()])));
  }
  return known;
}

/** A sentence for each name in a query that does not exist. */
function missingIn(known: KnownMetrics, queries: readonly PanelQuery[]): string[] {
  return queries.flatMap((query) =>
    readQuery(query).flatMap(({ metric, labels, values }) => {
      const own = known.get(metric);
      if (own === undefined) return [`there is no ${metric}, asked for by ${query.query}`];
      const lacking = labels.filter((label) => !own.has(label) && !SCRAPED.has(label));
      const unseen = values.filter(([label, value]) => own.get(label)?.has(value) === false);
      return [
        ...lacking.map((label) => `${metric} has no label ${label}, asked for by ${query.query}`),
        ...unseen.map(
          ([label, value]) => `${metric} has no ${label}="${value}", asked for by ${query.query}`,
        ),
      ];
    }),
  );
}

/** What a service of compose.yaml sets, where the environment beside it has these variables. */
function environmentOf(service: string, given: Readonly<Record<string, string>>): Record<string, string> {
  const compose = readFileSync(join(DEPLOY, "../compose.yaml"), "utf8");
  const text = compose.split(/^ {2}(?=\w+:\n)/m).find((one) => one.startsWith(`${service}:\n`)) ?? "";
  const [, block = ""] = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(text) ?? [];
  const set = Array.from(block.matchAll(/^ {6}([A-Z_]+): (.*)$/gm), ([, name = "", value = ""]) => [
    name,
    value.replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_, from: string, fallback: string) => given[from] ?? fallback),
  ]);
  return Object.fromEntries(set);
}

/**
 * As compose.yaml does, but for ports and stores. Ends with the test.
 * @returns its metrics
 */
async function startTap(): Promise<() => Promise<Sample[]>> {
  const journal = mkdtempSync(join(tmpdir(), "recon-tap-"));
  const { said, child, ended } = startRecon(["tap", "--target", "http://127.0.0.1:9", "--journal", journal], {
    NODE_ENV: "production",
    ...environmentOf("tap", { OPS_TOKENS: "watch:read:long-enough-to-be-a-real-token" }),
    DATABASE_URL: database.url,
    CALLBACK_PORT: String(await ownPort()),
    OPS_PORT: "0",
  });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(journal, { recursive: true });
  });
  const address = () => /metrics at (http:\S+)/.exec(said())?.[1]?.replace("0.0.0.0", "127.0.0.1");
  await eventually("the tap runs", () => child.exitCode !== null || address() !== undefined);
  expect(child.exitCode, said()).toBeNull();
  return async () => readSamples(await (await fetch(address() ?? "")).text());
}

/** A day of long ago, whose only bet was confirmed within an hour. */
async function closeOldDay(): Promise<void> {
  const hash = "0".repeat(64);
  const statement = JSON.stringify({ rows: [], corrections: [] });
  await database.sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2020-01-01', 'UTC', '2020-01-01Z', '2020-01-02Z', 1, '2020-01-03Z', ${hash}, ${statement}::text::jsonb)`;
  await database.sql`
    insert into confirmed_days (day, product_id, currency, stake, within_hour, within_day, within_week)
    values ('2020-01-01', 'TABLE', 'THB', 10, 10, 10, 10)`;
}

test("a worker and a tap export every metric, label and value that the rules and the dashboard name; the dashboard and the documentation show every metric of ours", async () => {
  // Some metrics are about what a new worker finds only after minutes.
  await openMismatches(database.sql, parseConfig({ products: [{ productId: "TABLE" }] }), Date.now(), [
    { productId: "TABLE" },
  ]);
  await closeOldDay();
  const tapMetrics = await startTap();
  const port = String(await ownPort());
  const { said, child, ended } = startRecon(["worker"], {
    DATABASE_URL: database.url,
    DATABASE_DISK: "500GB",
    OPS_PORT: port,
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => child.exitCode !== null || (await fetch(`${url}/readyz`)).ok;
  await eventually("the worker runs", isReady);
  expect(child.exitCode, said()).toBeNull();
  const asked = await fetch(`${url}/api/backfills`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ productId: "TABLE", from: "2026-01-01T00:00:00Z", to: "2026-01-01T01:00:00Z" }),
  });
  expect(asked.ok, said()).toBe(true);

  let known: KnownMetrics = new Map();
  let missing: string[] = [];
  const isComplete = async () => {
    const workerMetrics = readSamples(await (await fetch(`${url}/metrics`)).text());
    known = knowSamples([...workerMetrics, ...(await tapMetrics())]);
    missing = missingIn(known, [...rules, ...dashboard]);
    return missing.length === 0;
  };
  // To read all metrics again and again would keep the worker from its work.
  await eventually(
    "space is measured",
    async () => (await database.sql`select from storage_states`).length > 0,
  );
  // The missing names say more than a time-out.
  await eventually("everything is there", isComplete).catch(() => {});
  expect(missing).toEqual([]);

  const shown = new Set(dashboard.flatMap(readQuery).map(({ metric }) => metric));
  const own = [...known.keys()].filter((name) => name.startsWith("recon_"));
  expect(own.length).toBeGreaterThan(20);
  expect(own.filter((name) => !shown.has(name))).toEqual([]);
  expect(documentedMetrics()).toEqual(labelsOf(known, own));
  child.kill("SIGTERM");
  await ended;
});

/** Each metric of the documentation with its labels. */
function documentedMetrics() {
  const tables = [...rowsOf("docs/metrics.md", "metric"), ...rowsOf("docs/tap.md", "metric of the tap")];
  const rows = tables.flatMap(([names = "", labels = ""]) =>
    codesIn(names).map((name) => [name, labels === "" ? [] : labels.split(", ").sort()] as const),
  );
  return Object.fromEntries(rows);
}

/** Each of these metrics with its labels. A histogram counts as one metric. */
function labelsOf(known: KnownMetrics, names: readonly string[]) {
  const rows = names.map((name) => {
    const labels = [...(known.get(name)?.keys() ?? [])].filter((label) => label !== "le");
    return [name.replace(/_(?:bucket|sum|count)$/, ""), labels.sort()] as const;
  });
  return Object.fromEntries(rows);
}

test("every alert says what it is about, how severe it is, and what to do", () => {
  const text = readFileSync(join(DEPLOY, "prometheus/recon.rules.yaml"), "utf8");
  const alerts = text.split(/^ {6}- alert: /m).slice(1);
  expect(alerts.length).toBeGreaterThan(10);
  for (const alert of alerts) {
    expect(alert).toMatch(/severity: (?:warning|critical)\n/);
    expect(alert).toMatch(/summary: \S/);
    expect(alert).toMatch(/description: >-\n +\S/);
  }
});

describe("a query with an unknown name is found", () => {
  const samples = readSamples('recon_a{product="P1",state="up"} 1\nrecon_b 1\n');
  test.each([
    ["sum by (product) (rate(recon_c[5m]))", "", "there is no recon_c"],
    ["max by (kind) (recon_a)", "", "recon_a has no label kind"],
    ['max(recon_a{kind="x"})', "", "recon_a has no label kind"],
    ['max(recon_a{state="down"}) or vector(0)', "", 'recon_a has no state="down"'],
    ["recon_b", "{{product}}", "recon_b has no label product"],
    ["label_values(recon_b, product)", "", "recon_b has no label product"],
    ["recon_a and on (instance) recon_c > 5", "{{instance}}", "there is no recon_c"],
  ])("%s", (query, shown, problem) => {
    expect(missingIn(knowSamples(samples), [{ query, shown }])).toEqual([expect.stringContaining(problem)]);
  });
});
