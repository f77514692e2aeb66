/** compose.yaml against the schema of the compose specification, and against the program. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
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
  readonly configs: object;
}

const schemaFault = useSchemas();
// Its $schema is an address of the draft that the checker does not know by this name.
const { $schema: _, ...schema } = JSON.parse(
  readFileSync(join(ROOT, "node_modules/dclint/schemas/compose.schema.json"), "utf8"),
);
const compose: Compose = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8"), { merge: true });
const own = Object.entries(compose.services).filter(([, { image }]) => image === "wallet-recon");

/** What a person puts into .env. */
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
