/**
 * `npm run saturate -- [CASE…] [--minutes N] [--json]`: too much load, and parts that stand still. Each check is printed as soon as
 * it is known, with `--json` all of them at the end; exit 1 if one fails.
 */

import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Check, Report, SaturationCase } from "./case.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false }, minutes: { type: "string" } },
});
const print = (line: string) => {
  if (!values.json) console.log(line);
};
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
if (minutes !== undefined && !(minutes > 0 && minutes <= 1_000)) {
  console.error(`saturate: --minutes "${values.minutes}" is not a number of minutes`);
  process.exit(2);
}
const cases = await loadCases();
const unknown = positionals.find((name) => !cases.some((one) => one.name === name));
if (unknown !== undefined) {
  console.error(
    `saturate: there is no case "${unknown}"; there are ${cases.map(({ name }) => name).join(", ")}`,
  );
  process.exit(2);
}

const results: { readonly name: string; readonly seconds: number; readonly checks: readonly Check[] }[] = [];
const secondsSince = (startedAt: number) => Math.round((performance.now() - startedAt) / 1000);
const begunAt = performance.now();
for (const { name, what, run } of cases) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  print(`${name}: ${what}`);
  const startedAt = performance.now();
  const checks: Check[] = [];
  const report: Report = (...known) => {
    checks.push(...known);
    for (const { what, value, bar, holds } of known) {
      print(`  ${holds ? "holds" : "FAILS"}  ${what}: ${value} (${bar})`);
    }
  };
  // The other cases run all the same.
  await run(report, minutes === undefined ? {} : { minutes }).catch((error: unknown) =>
    report({
      what: "the case could not be run to its end",
      value: String(error),
      bar: "no error",
      holds: false,
    }),
  );
  const seconds = secondsSince(startedAt);
  results.push({ name, seconds, checks });
  print(`  ${seconds} s`);
}
const all = results.flatMap(({ name, checks }) => checks.map((check) => ({ name, ...check })));
const failed = all.filter(({ holds }) => !holds);
if (values.json) console.log(JSON.stringify({ cases: results }, null, 2));
print(
  `${results.length} cases in ${secondsSince(begunAt)} s: of ${all.length} checks ${all.length - failed.length} hold, ${failed.length} fail`,
);
for (const { name, what, value, bar } of failed) print(`  FAILS  ${name}: ${what}: ${value} (${bar})`);
process.exit(failed.length === 0 ? 0 : 1);

/** Each file of `cases` exports one case as `saturation`. */
async function loadCases(): Promise<SaturationCase[]> {
  const folder = new URL("./cases/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
  const modules = files.sort().map(async (file): Promise<{ saturation: SaturationCase }> => {
    return await import(new URL(file, folder).href);
  });
  return (await Promise.all(modules)).map((module) => module.saturation);
}
