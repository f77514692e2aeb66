/** 10,000 due transfers of a product whose questions are refused, and 100 of two others. */

import type { Check, SaturationCase } from "../case.ts";
import { bookTransfers, otherProducts } from "../due-transfers.ts";
import { inTime, isAlerted, whileWorking } from "../standing-still.ts";

export const saturation: SaturationCase = {
  name: "refused-transfers",
  what: "10,000 transfers of a product whose verify endpoint answers 403, and 100 of others",
  run: () =>
    whileWorking(
      {
        config: otherProducts,
        workers: 3,
        inRedis: false,
        transfers: (productId) => (productId === "HANGS" ? "refuse" : "answer"),
        prepare: async (sql) => {
          await bookTransfers(sql, "HANGS", 10_000);
          await bookTransfers(sql, "A", 50);
          await bookTransfers(sql, "B", 50);
        },
      },
      async ({ sql, secondsUntil }): Promise<Check[]> => {
        const isDone = async () => {
          const [row] = await sql<{ count: number }[]>`
            select count(*) as count from transfers where status = 'accepted'`;
          return row?.count === 100;
        };
        const done = await secondsUntil(isDone, 300);
        const alerted = await secondsUntil(() => isAlerted(sql, "credentials-refused"), 60);
        return [
          {
            what: "seconds until the 100 others are verified",
            value: done,
            bar: "≤ 30",
            holds: inTime(done, 30),
          },
          {
            what: "seconds from there until the refusal is alerted",
            value: alerted,
            bar: "≤ 60",
            holds: inTime(alerted, 60),
          },
        ];
      },
    ),
};
