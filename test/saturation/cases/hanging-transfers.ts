/** 10,000 due transfers of a product whose questions hang, and 100 of two others. */

import { atMost, type SaturationCase } from "../case.ts";
import { handOverDueTransfers, otherProducts } from "../due-transfers.ts";
import { isAlerted, whileWorking } from "../standing-still.ts";

export const saturation: SaturationCase = {
  name: "hanging-transfers",
  what: "10,000 transfers of a product whose verify endpoint hangs, 100 of others; then 100 more of others while it hangs",
  run: (report) =>
    whileWorking(
      {
        config: otherProducts,
        workers: 1,
        inRedis: false,
        transfers: (productId) => (productId === "HANGS" ? "hang" : "answer"),
        prepare: async (sql) => {
          await handOverDueTransfers(sql, "HANGS", 10_000);
          await handOverDueTransfers(sql, "A", 50);
          await handOverDueTransfers(sql, "B", 50);
        },
      },
      async ({ sql, secondsUntil, asked }) => {
        const others = () => asked.filter(({ productId }) => productId !== "HANGS").length;
        const first = await secondsUntil(() => others() >= 100, 300);
        report(atMost("seconds until the 100 others are asked for", first, 30));
        await handOverDueTransfers(sql, "A", 50, "later");
        await handOverDueTransfers(sql, "B", 50, "later");
        const later = await secondsUntil(() => others() >= 200, 300);
        report(atMost("seconds until 100 more are, that come due while it hangs", later, 30));
        const alerted = await secondsUntil(() => isAlerted(sql, "verifying-stalled"), 300);
        report(atMost("seconds from there until the product is alerted", alerted, 240));
      },
    ),
};
