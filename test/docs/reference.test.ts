/** The tables of the documentation name exactly what the code has: settings, error codes, alerts, kinds, statuses, columns. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { exampleAlerts } from "../../src/alerts/examples.ts";
import { configSchema, parseConfig } from "../../src/config-file.ts";
import { EVENT_TYPES } from "../../src/endpoints.ts";
import { ERROR_CODES } from "../../src/errors.ts";
import { LEDGER_COLUMNS } from "../../src/ledger/relation.ts";
import { MISMATCH_KINDS, MISMATCH_STATUSES } from "../../src/mismatch.ts";
import { CODE_OF_STATUS } from "../../src/ops/http/problem.ts";
import { TRANSFER_STATUSES } from "../../src/transfer.ts";
import { NOON } from "../support/examples.ts";
import { codesIn, ROOT, readPage, rowsOf } from "./pages.ts";

/** The names between backticks in the first column of these tables. */
const namesIn = (page: string, firstHeading: string) =>
  rowsOf(page, firstHeading).flatMap(([first = ""]) => codesIn(first));

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly default?: unknown;
}

/** Every setting by its path, with its default from the schema. */
function settingsOf(node: Node, path = ""): [path: string, fallback: unknown][] {
  // The fields of an endpoint have a table of their own.
  if (node.items?.properties !== undefined && path !== "alerts.endpoints")
    return settingsOf(node.items, `${path}[]`);
  if (node.properties === undefined) return [[path, node.default]];
  return Object.entries(node.properties).flatMap(([name, child]) =>
    name === "$schema" ? [] : settingsOf(child, path === "" ? name : `${path}.${name}`),
  );
}

describe("docs/settings.md", () => {
  const schema = z.toJSONSchema(configSchema, { io: "input" }) as Node;
  const settings = settingsOf(schema);
  const rows = rowsOf("docs/settings.md", "setting");

  test("has every setting of recon.config.json once, and no other", () => {
    expect(rows.map(([name = ""]) => codesIn(name)).sort()).toEqual(settings.map(([path]) => [path]).sort());
  });

  test.each(rows)("says the default of %s as the schema has it", (name, shown = "") => {
    if (shown === "required") {
      expect(codesIn(name)).toEqual(["products[].productId"]);
      expect(() => parseConfig({ products: [{}] })).toThrow("productId");
      return;
    }
    const path = codesIn(name)[0] ?? "";
    const fallback = JSON.parse(codesIn(shown)[0] ?? "");
    const inSchema = settings.find(([one]) => one === path)?.[1];
    // The JSON Schema has no defaults of lists of durations: the parsed configs below compare those.
    if (inSchema !== undefined) expect(fallback).toEqual(inSchema);
    const [section = "", field = ""] = path.replace("[]", "").split(".");
    const given = section === "products" ? { [field]: fallback } : {};
    const withIt = parseConfig({
      products: [{ productId: "P1", ...given }],
      ...(section === "products" ? {} : { [section]: { [field]: fallback } }),
    });
    expect(withIt).toEqual(parseConfig({ products: [{ productId: "P1" }] }));
  });

  test("leads to docs/alerts.md, which has every field of an endpoint", () => {
    const endpoint = schema.properties?.["alerts"]?.properties?.["endpoints"]?.items?.properties ?? {};
    expect(namesIn("docs/alerts.md", "field").sort()).toEqual(Object.keys(endpoint).sort());
  });

  test("has every environment variable, and no other", () => {
    const text = readFileSync(join(ROOT, "src/environment.ts"), "utf8");
    const [, schemaText = ""] = /const environmentSchema = z\.object\(\{([\s\S]*?)^\}\);/m.exec(text) ?? [];
    const variables = Array.from(schemaText.matchAll(/^ {2}([A-Z_]+):/gm), ([, name]) => name);
    variables.push("RECON_CONFIG");
    expect(variables.length).toBeGreaterThan(15);
    expect(namesIn("docs/settings.md", "variable").sort()).toEqual(variables.sort());
  });
});

test("docs/errors.md has every error code once with an anchor, and no other", () => {
  const codes = [...ERROR_CODES, ...Object.values(CODE_OF_STATUS)].sort();
  expect(namesIn("docs/errors.md", "code").sort()).toEqual(codes);
  const anchors = Array.from(readPage("docs/errors.md").matchAll(/^\| <a id="([a-z0-9-]+)"><\/a>`\1` \|/gm));
  expect(anchors.map(([, code]) => code).sort()).toEqual(codes);
});

test("docs/alerts.md has every kind of alert once, and no other", () => {
  const kinds = exampleAlerts(NOON).map(({ kind }) => kind);
  expect(namesIn("docs/alerts.md", "`type`").sort()).toEqual(kinds.sort());
  expect(namesIn("docs/alerts.md", "event").sort()).toEqual([...EVENT_TYPES].sort());
});

test("docs/mismatches.md has every kind and status of mismatches once", () => {
  expect(namesIn("docs/mismatches.md", "kind").sort()).toEqual([...MISMATCH_KINDS].sort());
  expect(namesIn("docs/mismatches.md", "status").sort()).toEqual([...MISMATCH_STATUSES].sort());
});

test("docs/transfers.md has every status, and every mismatch of transfers and top-ups", () => {
  expect(namesIn("docs/transfers.md", "status").sort()).toEqual([...TRANSFER_STATUSES].sort());
  const kinds = MISMATCH_KINDS.filter((kind) => /^(transfer|top-up)-/.test(kind));
  expect(namesIn("docs/transfers.md", "mismatch").sort()).toEqual([...kinds].sort());
});

test("docs/ledger.md has every column of the ledger, with its type, and says which columns may be null", () => {
  const rows = rowsOf("docs/ledger.md", "column").flatMap(([names = "", kind, nullable]) =>
    codesIn(names).map((name) => ({ name, kind, nullable: nullable === "yes" })),
  );
  const columns = LEDGER_COLUMNS.map(({ name, kind, nullable }) => ({ name, kind, nullable }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(rows.sort(byName)).toEqual(columns.sort(byName));
});

test("docs/operations.md says of every table how long its rows are kept", () => {
  const listed = rowsOf("docs/operations.md", "rows (table)").flatMap(([rows = ""]) => codesIn(rows));
  const tables = globSync("src/db/schema/*.ts", { cwd: ROOT }).flatMap((file) =>
    Array.from(
      readFileSync(join(ROOT, file), "utf8").matchAll(/pgTable\(\s*"(\w+)"/g),
      ([, name = ""]) => name,
    ),
  );
  expect(listed.sort()).toEqual(tables.sort());
});
