/** `npm run bench -- [NAME…] [--json]`: measures the figures. Exits with 1 if a figure does not hold. */

import { parseArgs } from "node:util";
import { measureCallbacks } from "./callbacks.ts";
import { measureDashboard } from "./dashboard.ts";
import { measureDiff } from "./diff.ts";
import { measureFair } from "./fair.ts";
import { measureHistory } from "./history.ts";
import { measureIdle } from "./idle.ts";
import { measureImport } from "./import.ts";
import { measureInsert } from "./insert.ts";
import { measureMemory } from "./memory.ts";
import { measurePeers } from "./peers.ts";
import { measurePipeline } from "./pipeline.ts";
import { measurePull } from "./pull.ts";
import { measureRange, RANGE_FIGURES } from "./range.ts";
import { measureResweep } from "./resweep.ts";
import { measureRetain } from "./retain.ts";
import { measureStatementOpen } from "./statement-open.ts";
import type { Figure } from "./support/figure.ts";
import { measureTap } from "./tap.ts";
import { measureVerify } from "./verify.ts";
import { measureWidth } from "./width.ts";
import { measureWorkers } from "./workers.ts";

/** The figures of each measurement. A name may be that of a figure or of a measurement. */
const MEASUREMENTS: Readonly<
  Record<
    string,
    { figures: readonly string[]; measure: (isWanted: (figure: string) => boolean) => Promise<Figure[]> }
  >
> = {
  range: { figures: RANGE_FIGURES, measure: measureRange },
  pull: { figures: ["pull-copy", "pull-rows"], measure: measurePull },
  peers: { figures: ["peer-copy", "peer-stripe-sync", "peer-drizzle"], measure: () => measurePeers() },
  fair: { figures: ["fair"], measure: measureFair },
  resweep: { figures: ["resweep"], measure: measureResweep },
  callbacks: { figures: ["callbacks"], measure: measureCallbacks },
  tap: { figures: ["tap", "tap-delay"], measure: measureTap },
  insert: { figures: ["insert-one", "insert-thousand"], measure: measureInsert },
  import: { figures: ["import"], measure: measureImport },
  memory: { figures: ["memory"], measure: measureMemory },
  diff: { figures: ["diff-full", "diff-hour"], measure: (isWanted) => measureDiff(isWanted) },
  history: {
    figures: [
      "history-commit",
      "history-hour",
      "history-overview",
      "history-list",
      "history-status",
      "history-statement",
    ],
    measure: (isWanted) => measureHistory(isWanted),
  },
  "statement-open": {
    figures: ["statement-open", "statement-open-delay", "statement-open-loaded"],
    measure: () => measureStatementOpen(),
  },
  pipeline: { figures: ["pipeline"], measure: () => measurePipeline() },
  retain: { figures: ["retain", "retain-beside"], measure: () => measureRetain() },
  width: { figures: ["width"], measure: () => measureWidth() },
  verify: { figures: ["verify"], measure: measureVerify },
  dashboard: { figures: ["dashboard", "dashboard trends"], measure: () => measureDashboard() },
  idle: { figures: ["idle"], measure: measureIdle },
  workers: { figures: ["workers-2", "workers-4", "workers-budget"], measure: measureWorkers },
};

/** Measured only if named, because they need packages from the registry. */
const ON_DEMAND: ReadonlySet<string> = new Set(["peers"]);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false } },
});
const known = Object.entries(MEASUREMENTS).flatMap(([name, { figures }]) => [name, ...figures]);
const unknown = positionals.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`bench: there is no figure "${unknown}"; there are ${known.join(", ")}`);
  process.exit(2);
}

const measured: Figure[] = [];
for (const [name, { figures, measure }] of Object.entries(MEASUREMENTS)) {
  const wanted =
    (positionals.length === 0 && !ON_DEMAND.has(name)) ||
    positionals.some((one) => one === name || figures.includes(one));
  if (!wanted) continue;
  const found = await measure((figure) => isWanted(figure, name));
  measured.push(...found.filter((figure) => isWanted(figure.name, name)));
}
if (values.json) console.log(JSON.stringify({ figures: measured }, null, 2));
else
  for (const { name, value, bar, holds, detail } of measured) {
    console.log(`${holds ? "holds" : "FAILS"}  ${name.padEnd(16)} ${value} (bar ${bar})  ${detail}`);
  }
process.exitCode = measured.every(({ holds }) => holds) ? 0 : 1;

function isWanted(figure: string, measurement: string): boolean {
  return positionals.length === 0 || positionals.includes(figure) || positionals.includes(measurement);
}
