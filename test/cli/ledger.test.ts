/** `recon ledger import`, once in a process of its own, as a user runs it. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { exampleEntryLine } from "../support/examples.ts";
import { callRecon } from "./call-recon.ts";
import { startRecon } from "./run-recon.ts";

const { sql, url } = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "recon-import-"));
writeFileSync(join(folder, "config.json"), JSON.stringify({ products: [{ productId: "P1" }] }));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, "entries.ndjson");
writeFileSync(file, `${exampleEntryLine("e1")}\noh no\n${exampleEntryLine("e2")}\n`);
const environment = { DATABASE_URL: url, RECON_CONFIG: join(folder, "config.json"), LOG_LEVEL: "warn" };
const run = (...args: string[]) => callRecon(["ledger", "import", ...args], environment);

test("a file is tried, imported, and known the second time; a bad line is named and stops nothing", async () => {
  const tried = await run(file, "--format", "entries", "--dry-run");
  expect(tried).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Dry run, nothing is stored. Entries: 2 added/),
  });
  expect(await sql`select from callback_entries`).toHaveLength(0);
  expect(await startRecon(["ledger", "import", file, "--format", "entries"], environment).ended).toEqual({
    code: 0,
    stdout:
      "Entries: 2 added, 0 known already, 0 changed; 0 callbacks skipped, 1 line rejected.\nRejected lines are kept with their reasons (recon rejected list). Correct them, and import them again.\n",
    // On a slow machine the progress comes before it.
    stderr: expect.stringMatching(/(?:^|\n)line 2 is rejected: the line is not JSON\n$/),
  });
  expect(JSON.parse((await run(file, "--format", "entries", "--json")).stdout)).toEqual({
    added: 0,
    known: 2,
    changed: 0,
    skipped: 0,
    rejected: [{ line: 2, reason: "the line is not JSON" }],
    rejectedLines: 1,
  });
  const listed = await sql`
    select who like 'cli:%' as "isPerson", via, format, name, added, known, rejected, error
    from ledger_imports where ended_at is not null order by id`;
  const of = { isPerson: true, via: "command", format: "entries", name: "entries.ndjson", error: null };
  expect(listed).toEqual([
    { ...of, added: 2, known: 0, rejected: 1 },
    { ...of, added: 0, known: 2, rejected: 1 },
  ]);
});

test("a format or a file that is none is wrong usage", async () => {
  expect(await run(file, "--format", "xml")).toMatchObject({
    code: 2,
    stderr: 'recon: --format must be entries or callbacks, but is "xml"\n',
  });
  expect(await run(join(folder, "none"), "--format", "entries")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/none cannot be read: ENOENT/),
  });
  expect(await run(folder, "--format", "entries")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/cannot be read: it is a folder\n$/),
  });
});
