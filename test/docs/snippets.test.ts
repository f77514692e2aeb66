/** Runs what the documentation shows, and replaces only addresses. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openWebhook } from "../../src/alerts/channels.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openAgent } from "../../src/library/agent.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { callRecon } from "../cli/call-recon.ts";
import { PROGRAM } from "../cli/run-recon.ts";
import { useAlertListener, WEBHOOK_SECRET } from "../support/alert-listener.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { page, useHttpProvider } from "../support/http-provider.ts";
import { blocksOf, blockWith, PAGES, USER_PAGES } from "./pages.ts";

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const webhook = useAlertListener();
const folder = mkdtempSync(join(tmpdir(), "recon-docs-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => emptyTables(sql));

const blocks = USER_PAGES.flatMap(blocksOf);
const inLanguage = (language: string) => blocks.filter((block) => block.language === language);

/** Runs lines of shell in the folder; `npx recon` is the command of this checkout. */
async function runShell(lines: string, environment: NodeJS.ProcessEnv = {}) {
  const shell = spawn("sh", ["-c", `set -e\nnpx() { shift; "$NODE" "$PROGRAM" "$@"; }\n${lines}`], {
    cwd: folder,
    env: { PATH: process.env["PATH"], NODE: process.execPath, PROGRAM, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => shell.on("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { code, stdout, stderr };
}

function writeConfig(config: unknown): void {
  writeFileSync(
    join(folder, "recon.config.json"),
    typeof config === "string" ? config : JSON.stringify(config),
  );
}

test("a test checks every language of code blocks", () => {
  const known = ["sh", "sql", "json", "ts", "js", "mermaid", ""];
  const others = PAGES.flatMap(blocksOf).filter(({ language }) => !known.includes(language));
  expect(others).toEqual([]);
});

test("the database accepts the SQL, and its rows are entries", async () => {
  // Roles belong to the whole server; test/ledger/rights.test.ts runs the grants for roles of its own.
  const statements = inLanguage("sql").filter(({ text: statement }) => !statement.includes("grant insert"));
  expect(statements.length).toBeGreaterThan(3);
  for (const statement of statements) {
    await sql.begin(async (tx) => {
      await tx.unsafe("drop view if exists recon_ledger");
      if (statement.text.startsWith("create table"))
        await tx.unsafe("drop table if exists wallet_transactions");
      await tx.unsafe(statement.text);
      const [row] = await tx`select (select count(*)::int from rejected_entries) as rejected`;
      expect(row, statement.page).toEqual({ rejected: 0 });
      await tx`delete from diff_marks`;
      await tx.unsafe("set local session_replication_role = replica; delete from callback_entries");
    });
  }
});

test("README.md and docs/ledger.md show the same row", () => {
  const [a, b] = ["README.md", "docs/ledger.md"].map((one) => blockWith(one, "sql", "insert into"));
  expect(a).toBe(b);
});

test("every JSON document is valid, and the program accepts every config file", () => {
  const documents = inLanguage("json").map(({ text }) => JSON.parse(text));
  const configs = documents.filter((one) => "products" in one);
  expect(configs.length).toBeGreaterThan(2);
  for (const config of configs) expect(parseConfig(config).products.length).toBeGreaterThan(0);
});

describe("an alert", () => {
  const shown = JSON.parse(blockWith("docs/alerts.md", "json", "incident-opened"));
  const send = async () => {
    const { type, productId, idempotencyKey, timestamp, data, text, link } = shown;
    const channel = openWebhook({ url: webhook.url(), secret: WEBHOOK_SECRET }, () => ({
      title: text,
      lines: [],
      link,
    }));
    const alert = { kind: type, productId, idempotencyKey, body: data, at: Date.parse(timestamp) };
    await channel.send(alert, Date.now(), AbortSignal.timeout(10_000));
    const [heard] = webhook.heard;
    return heard as NonNullable<typeof heard>;
  };

  test("is sent as the page shows it, and the shown lines verify it", async () => {
    const { body, json, headers } = await send();
    expect(json).toEqual(shown);
    const script = blockWith("docs/alerts.md", "js", "standardwebhooks").replace(/^import .*$/m, "");
    const verify = new Function("Webhook", "process", "rawBody", "request", `${script}\nreturn alert;`);
    const withSecret = (secret: string) => ({ env: { ALERT_WEBHOOK_SECRET: secret } });
    expect(verify(Webhook, withSecret(WEBHOOK_SECRET), body, { headers })).toEqual(shown);
    const other = `whsec_${Buffer.alloc(24).toString("base64")}`;
    expect(() => verify(Webhook, withSecret(other), body, { headers })).toThrow();
  });
});

test("the shortest way to connect a provider and a ledger ends with a doctor who finds no fault", async () => {
  provider.answer(() => page([]));
  writeConfig(blockWith("README.md", "json", "products"));
  const connect = blockWith("README.md", "sh", "recon doctor")
    .replace(/postgres:\/\/\S+/, url)
    .replace("https://agent.example", provider.url());
  const { code, stdout, stderr } = await runShell(connect);
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/no entry is known yet/)]);
  expect(provider.asked.map(({ headers }) => headers.authorization)).toEqual([
    `Basic ${Buffer.from("agent:secret").toString("base64")}`,
  ]);
});

test("the shown lines hand over transfers, and have no effect the second time", async () => {
  writeConfig({ products: [{ productId: "P1", walletMode: "transfer" }] });
  const lines = blockWith("docs/transfers.md", "sh", "transfers add");
  for (const turn of [1, 2]) {
    const { code, stderr } = await runShell(lines, { DATABASE_URL: url });
    expect(code, `${turn}: ${stderr}`).toBe(0);
  }
  expect(await sql`select transaction_ref as ref, amount from transfers`).toEqual([
    { ref: "ref-1", amount: "10" },
  ]);
});

test("the shown lines import the shown entry and the shown callback, each once", async () => {
  writeConfig({ products: [{ productId: "P1" }] });
  for (const [format, field] of [
    ["entries", "entry_id"],
    ["callbacks", "receivedAt"],
  ] as const) {
    const shown = JSON.parse(blockWith("docs/ledger.md", "json", field));
    writeFileSync(join(folder, `${format}.ndjson`), `${JSON.stringify(shown)}\n`);
    const [line = ""] = blockWith("docs/ledger.md", "sh", `--format ${format}`).split("\n");
    for (const counts of ["1 added, 0 known", "0 added, 1 known"]) {
      const { code, stdout, stderr } = await runShell(line, { DATABASE_URL: url });
      expect([code, stdout], stderr).toEqual([0, expect.stringContaining(counts)]);
    }
  }
  expect(await sql`select txn_id, moved from callback_entries order by entry_id collate "C"`).toEqual([
    { txn_id: "bet-1", moved: "-10" },
    { txn_id: "bet-1", moved: "-10" },
  ]);
});

test("the shown line credits a player of the built-in wallet once", async () => {
  const [credit = ""] = blockWith("docs/callbacks.md", "sh", "recon wallet credit").split("\n");
  for (const turn of [1, 2]) {
    const { code, stderr } = await runShell(credit, { DATABASE_URL: url });
    expect(code, `${turn}: ${stderr}`).toBe(0);
  }
  const { stdout } = await callRecon(["wallet", "show", "--username", "anna", "--json"], {
    DATABASE_URL: url,
  });
  expect(JSON.parse(stdout)).toMatchObject({ wallets: [{ username: "anna", balance: "100" }] });
});

test("the shown lines send and record a deposit", async () => {
  const world = createWorld({
    seed: 1,
    periods: [],
    products: [{ productId: "P1", style: "slot", roundsPerMinute: 1 }],
    players: 1,
    lateSettlementMs: 1_000,
    callbackLagMs: 0,
    reportLagMs: 0,
    faultEveryMinutes: 0,
  });
  const credentials = { username: "agent", password: "secret" };
  const place = { host: "127.0.0.1", port: 0, pageSize: 100, clock: systemClock };
  const sandbox = await startSandbox({ ...credentials, ...place, world, faults: [] });
  try {
    const script = blockWith("docs/transfers.md", "ts", "openAgent")
      .replace(/^import .*$/m, "")
      .replace("https://agent.example", sandbox.url)
      .replace(/postgres:\/\/[^"]+/, url);
    const run = new Function("openAgent", `return (async () => {${script}})();`);
    await run(openAgent);
    expect(sandbox.books.transfers().map(({ transactionRef }) => transactionRef)).toEqual(["ref-1"]);
    expect(await sql`select transaction_ref as ref, status from transfers`).toEqual([
      { ref: "ref-1", status: "pending" },
    ]);
  } finally {
    await sandbox.close();
  }
});
