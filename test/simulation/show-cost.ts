/** Shows what an hour of play costs in requests, with the default settings. */

import { playAt, USUAL } from "./confirm-cost.ts";
import { openScratchDatabases } from "./scratch-databases.ts";

export async function showCost(): Promise<void> {
  const databases = await openScratchDatabases();
  try {
    const played = await databases.use(1, (url) => playAt(url, 1, USUAL));
    const hours = USUAL.lengthMs / 3_600_000;
    console.log(`${hours} hours of two products, ${played.bets} records, ${played.opened} mismatches`);
    for (const { kind, windows, pages } of played.costs)
      console.log(
        `  ${kind}: ${windows} windows, ${pages} pages; ${(windows / hours / 2).toFixed(1)} windows an hour of each product`,
      );
  } finally {
    await databases.close();
  }
}
