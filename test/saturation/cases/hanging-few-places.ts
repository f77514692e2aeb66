/** A budget of two slots, a product whose questions hang, one that is pulled, and one whose transfers become due later. */

import { atMost, type SaturationCase } from "../case.ts";
import { handOverDueTransfers } from "../due-transfers.ts";
import { whileWorking } from "../standing-still.ts";

const EVERY_SECONDS = 2;
const WATCHED_SECONDS = 60;

export const saturation: SaturationCase = {
  name: "hanging-few-places",
  what: "two places for requests, 1,000 transfers of a product whose verify endpoint hangs for 30 s: live pulling every 2 s beside it, and 20 transfers of another product",
  run: (report) =>
    whileWorking(
      {
        config: {
          products: [
            { productId: "HANGS", walletMode: "transfer" },
            { productId: "A", walletMode: "transfer" },
            { productId: "LIVE" },
          ],
          pull: { concurrency: 2, every: `PT${EVERY_SECONDS}S`, resweepAfter: [] },
        },
        workers: 2,
        inRedis: false,
        transfers: (productId) => (productId === "HANGS" ? "hang" : "answer"),
        prepare: (sql) => handOverDueTransfers(sql, "HANGS", 1_000),
      },
      async ({ sql, secondsUntil, asked, pulledAtMs, nowMs }) => {
        const of = (productId: string) => asked.filter((one) => one.productId === productId).length;
        await secondsUntil(() => of("HANGS") >= 2, 60);
        const from = nowMs();
        await handOverDueTransfers(sql, "A", 20);
        const others = await secondsUntil(() => of("A") >= 20, 300);
        await secondsUntil(() => nowMs() - from >= WATCHED_SECONDS * 1000, 2 * WATCHED_SECONDS);
        const times = [from, ...pulledAtMs.filter((at) => at > from), nowMs()];
        const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? at)) / 1000);
        const longest = Math.round(Math.max(...gaps) * 10) / 10;
        report(
          atMost("the longest time without a live request, in seconds", longest, 10),
          atMost("seconds until the transfers of the other product are asked for", others, 30),
        );
      },
    ),
};
