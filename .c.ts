import { runClock } from "./test/simulation/clock-run.ts";
import { openScratchDatabases } from "./test/simulation/scratch-databases.ts";

const dbs = await openScratchDatabases();
try {
  for (const [aheadMs, beside, jumps] of [
    [7 * 3600e3, false, true],
    [7 * 3600e3, true, true],
    [-600e3, false, true],
  ] as const)
    console.log(aheadMs, beside, jumps, await dbs.use(1, (url) => runClock(url, { aheadMs, beside, jumps })));
} finally {
  await dbs.close();
}
