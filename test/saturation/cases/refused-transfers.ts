/** 10,000 due transfers of a product whose questions are refused, and 100 of two others. */

import { atMost, type SaturationCase } from "../case.ts";
import { handOverDueTransfers, otherProducts } from "../due-transfers.ts";
import { isAlerted, whileWorking } from "../standing-still.ts";

export const saturation: SaturationCase = {
  name: "refused-transfers",
  what: "10,000 transfers of a product whose verify endpoint answers 403, and 100 of others",
  run: (report) =>
    whileWorking(
      {
        config: otherProducts,
        workers: 3,
        inRedis: false,
        transfers: (productId) => (productId === "HANGS" ? "refuse" : "answer"),
        prepare: async (sql) => {
          await handOverDueTransfers(sql, "HANGS", 10_000);
          await handOverDueTransfers(sql, "A", 50);
          await handOverDueTransfers(sql, "B", 50);
        },
      },
      async ({ sql, secondsUntil }) => {
        const isDone = async () => {
          const [row] = await sql<{ count: number }[]>`
            select count(*) as count from transfers where status = 'accepted'`;
          return row?.count === 100;
        };
        report(atMost("seconds until the 100 others are verified", await secondsUntil(isDone, 300), 30));
        const alerted = await secondsUntil(() => isAlerted(sql, "credentials-refused"), 60);
        report(atMost("seconds from there until the refusal is alerted", alerted, 60));
      },
    ),
};
