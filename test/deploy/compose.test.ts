/** compose.yaml against the schema of the compose specification, and against the program. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { ROOT } from "../docs/pages.ts";
import { useSchemas } from "../support/json-schema.ts";
import { faultsOf } from "./command-check.ts";
import { writeConfig } from "./write-config.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly depends_on?: object;
  readonly configs?: readonly { readonly source: string }[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content?: string }>>;
}

const schemaFault = useSchemas();
// Its $schema is an address of the draft that the checker does not know by this name.
const { $schema: _, ...schema } = JSON.parse(
  readFileSync(join(ROOT, "node_modules/dclint/schemas/compose.schema.json"), "utf8"),
);
const compose: Compose = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8"), { merge: true });
const own = Object.entries(compose.services).filter(([, { image }]) => image === "wallet-recon");

/** What an operator puts into .env. */
const GIVEN: Readonly<Record<string, string>> = {
  PROVIDER_BASE_URL: "https://agent.example",
  PROVIDER_USERNAME: "agent",
  PROVIDER_PASSWORD: "secret",
  OPS_TOKENS: "ops:write:at-least-16-characters",
  CALLBACK_SIGNATURE_KEY: "at-least-16-characters",
  TAP_TARGET: "https://wallet.example/callbacks",
};

function fill(text: string): string {
  return text.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, other = "") => GIVEN[name] ?? other);
}

test("compose.yaml keeps to the schema of the compose specification", async () => {
  expect(await schemaFault(schema, compose)).toBeNull();
  const wrong = { ...compose, services: { worker: { imagee: "x" } } };
  expect(await schemaFault(schema, wrong)).not.toBeNull();
});

test("the tables belong to a role that is no superuser and that can run the migrations", async () => {
  const admin = postgres(inject("adminUrl"), { max: 1, onnotice: () => {} });
  const unique = `recon_test_${randomBytes(6).toString("hex")}`;
  await admin.unsafe(`create database ${unique}`);
  await admin.unsafe(`create role ${unique}_admin login password 'x'`);
  onTestFinished(async () => {
    await admin.unsafe(`drop database ${unique} with (force)`);
    await admin.unsafe(`drop role ${unique}; drop role ${unique}_admin`);
    await admin.end();
  });
  const script = fill(compose.configs["owner"]?.content ?? "")
    .replaceAll(/\bpostgres\b/g, `${unique}_admin`)
    .replace("password 'recon'", "password 'secret'")
    .replaceAll(/\brecon\b/g, unique);
  for (const statement of script.split(";")) await admin.unsafe(statement);
  const url = new URL(inject("adminUrl"));
  [url.username, url.password, url.pathname] = [unique, "secret", `/${unique}`];
  expect(compose.services["worker"]?.environment?.["DATABASE_URL"]).toMatch(/^postgres:\/\/recon:/);
  expect(await migrateDatabase(url.href)).toBeGreaterThan(0);
  const roles = await admin`
    select rolsuper as super, rolpassword is null as "isWithout" from pg_authid where starts_with(rolname, ${unique}) order by rolname`;
  expect(roles).toEqual([
    { super: false, isWithout: false },
    { super: false, isWithout: true },
  ]);
});

describe.each(own)("service %s", (_name, { command = [], environment = {}, ports = [], ...service }) => {
  const filled = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, fill(value)]));

  test("runs a command that exists, with settings that suffice", async () => {
    const production = { NODE_ENV: "production", ...filled, RECON_CONFIG: writeConfig() };
    const faults = await faultsOf(command.map(fill), production);
    expect(faults).toEqual([]);
  });

  test("publishes only ports at which the command listens, on this machine only", () => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:(?:3000|3001)$/);
  });

  test("names services and configs that exist", () => {
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(Object.keys(service.depends_on ?? {})),
    );
    for (const { source } of service.configs ?? []) expect(compose.configs).toHaveProperty(source);
  });
});
