/** memory: the peak memory of a worker that backfills 2 M records, compared with one that backfills 200 k. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { withDatabase } from "./support/database.ts";
import type { Figure } from "./support/figure.ts";
import { startPageProvider } from "./support/page-provider.ts";
import { countRecords, type Volume } from "./support/pages.ts";

const SMALL: Volume = { products: ["P1"], hours: 20, pagesPerHour: 10, pageSize: 1000 };
const LARGE: Volume = { ...SMALL, hours: 200 };
/** The options with which the worker is started. A page lives some tens of milliseconds; by default V8 lets garbage double the memory first. */
const NODE_OPTIONS = ["--max-semi-space-size=8", "--heap-growing-percent=40"];
const BAR = 1.15;
const BAR_MB = 300;

export async function measureMemory(): Promise<Figure[]> {
  const small = await peakMegabytes(SMALL);
  const large = await peakMegabytes(LARGE);
  const value = Math.round((large / small) * 1000) / 1000;
  return [
    {
      name: "memory",
      value,
      bar: `≤ ${BAR} and < ${BAR_MB} MB`,
      holds: value <= BAR && large < BAR_MB,
      detail: `${Math.round(large)} MB for ${countRecords(LARGE)} records, ${Math.round(small)} MB for ${countRecords(SMALL)}`,
    },
  ];
}

async function peakMegabytes(volume: Volume): Promise<number> {
  return await withDatabase(async (_sql, databaseUrl) => {
    const server = await startPageProvider(volume);
    const program = join(import.meta.dirname, "support/backfill-process.ts");
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [
      ...NODE_OPTIONS,
      program,
      databaseUrl,
      server.url,
      JSON.stringify(volume),
    ]);
    server.stop();
    return Number(stdout);
  });
}
