/** `npm run saturate -- [CASE…] [--json]`: more load than can be done, and things that stand still; exit 1 where a check fails. */

import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Check, SaturationCase } from "./case.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false } },
});
const cases = await loadCases();
const unknown = positionals.find((name) => !cases.some((one) => one.name === name));
if (unknown !== undefined) {
  console.error(
    `saturate: there is no case "${unknown}"; there are ${cases.map(({ name }) => name).join(", ")}`,
  );
  process.exit(2);
}

const results: { readonly name: string; readonly seconds: number; readonly checks: readonly Check[] }[] = [];
for (const { name, what, run } of cases) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  if (!values.json) console.log(`${name}: ${what}`);
  const startedAt = performance.now();
  const checks = await run();
  results.push({ name, seconds: Math.round((performance.now() - startedAt) / 1000), checks });
  if (values.json) continue;
  for (const { what, value, bar, holds } of checks) {
    console.log(`  ${holds ? "holds" : "FAILS"}  ${what}: ${value} (${bar})`);
  }
}
if (values.json) console.log(JSON.stringify({ cases: results }, null, 2));
process.exit(results.every(({ checks }) => checks.every(({ holds }) => holds)) ? 0 : 1);

/** Each file of `cases` exports one case as `saturation`. */
async function loadCases(): Promise<SaturationCase[]> {
  const folder = new URL("./cases/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
  const modules = files.sort().map(async (file): Promise<{ saturation: SaturationCase }> => {
    return await import(new URL(file, folder).href);
  });
  return (await Promise.all(modules)).map((module) => module.saturation);
}
