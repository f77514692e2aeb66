/** A client that a common generator makes of the OpenAPI document: it compiles, and works against the server. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const config = parseConfig({ products: [{ productId: "P1" }] });

/** As a payments team writes it: it takes over all open mismatches, once each, and asks for an hour again. */
const PROGRAM = `
import { defaults, type Mismatch, type Problem } from "./recon.ts";
import * as recon from "./recon.ts";

const { RECON_URL = "", RECON_TOKEN = "" } = process.env;
defaults.baseUrl = RECON_URL;
defaults.headers = { authorization: \`Bearer \${RECON_TOKEN}\` };

function describe({ id, kind, amountAtRisk, currency, provider }: Mismatch): string {
  const stake: string = provider !== null && "stake" in provider ? provider.stake : "unknown";
  return \`\${id} \${kind} \${amountAtRisk} \${currency ?? "?"} of \${stake}\`;
}

const seen: string[] = [];
const problems: Problem[] = [];
let after: string | undefined;
do {
  const query = after === undefined ? {} : { after };
  const page = await recon.listMismatches({ status: "open", limit: 2, count: "true", ...query });
  if (page.status !== 200) throw new Error(page.data.detail);
  seen.push(\`\${page.data.mismatches.length} of \${page.data.count}\`);
  for (const mismatch of page.data.mismatches) {
    seen.push(describe(mismatch));
    for (let time = 0; time < 2; time += 1) {
      const key = { idempotencyKey: \`comment-\${mismatch.id}\` };
      const added = await recon.commentMismatch(mismatch.id, { note: "taken over" }, key);
      if (added.status !== 201) throw new Error(added.data.detail);
      seen.push(\`comment \${added.data.comment.id} by \${added.data.comment.by}\`);
    }
  }
  after = page.data.next ?? undefined;
} while (after !== undefined);

const missing = await recon.readMismatch("999");
if (missing.status !== 200) problems.push(missing.data);
const hour = { productId: "P1", from: "2026-11-19T00:00:00Z", to: "2026-11-19T01:00:00Z" };
const backfill = await recon.requestBackfill(hour);
if (backfill.status === 201) seen.push(\`backfill \${backfill.data.backfill.id} is \${backfill.data.backfill.status}\`);
else if (backfill.status !== 200) problems.push(backfill.data);
console.log(JSON.stringify({ seen, codes: problems.map(({ code, type }) => [code, new URL(type).hash]) }));
`;
const STRICT = {
  compilerOptions: {
    module: "nodenext",
    target: "es2024",
    lib: ["es2025", "dom"],
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  },
  include: ["*.ts"],
};

test("a generated client compiles with a program that uses it, and works", async () => {
  const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
  const ops = { host: "127.0.0.1", port: 0, tokens: [WRITER] };
  const server = await startOpsServer(context, ops, async () => {});
  onTestFinished(() => server.close());
  await openMismatches(sql, config, NOON, [{}, {}, {}]);
  // In the checkout, so that the client finds its runtime; below node_modules Node would not run TypeScript.
  mkdirSync(join(ROOT, ".recon"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".recon/client-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const headers = { authorization: `Bearer ${WRITER.token}` };
  const document = await (await fetch(`${server.url}/api/openapi.json`, { headers })).text();
  const files = {
    "recon.json": document,
    "program.ts": PROGRAM,
    "tsconfig.json": JSON.stringify(STRICT),
    "package.json": '{ "type": "module" }',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);

  const node = (...words: string[]) =>
    run(process.execPath, words, {
      cwd: folder,
      env: { ...process.env, RECON_URL: server.url, RECON_TOKEN: WRITER.token },
    });
  await node(join(ROOT, "node_modules/oazapfts/dist/cli.js"), "recon.json", "recon.ts");
  await node(join(ROOT, "node_modules/typescript/bin/tsc"), "-p", ".");
  const { stdout } = await node("program.ts");
  const taken = (id: number) => [
    `${id} payout-differs 4.5 THB of 10.00`,
    `comment ${id} by hand`,
    `comment ${id} by hand`,
  ];
  expect(JSON.parse(stdout)).toEqual({
    seen: ["2 of 3", ...taken(1), ...taken(2), "1 of 3", ...taken(3), "backfill 1 is queued"],
    codes: [["not-found", "#not-found"]],
  });
  expect(await sql`select id from comments`).toHaveLength(3);
});
