import { atMost, type SaturationCase } from "../case.ts";
import { handOverDueTransfers, otherProducts } from "../due-transfers.ts";
import { countByProduct, unfairness } from "../pulling.ts";
import { whileWorking } from "../standing-still.ts";

const MANY = 10_000;
const FEW = 200;
const [{ productId: BUSY = "" } = {}, ...OTHERS] = otherProducts.products;

export const saturation: SaturationCase = {
  name: "fair-verifying",
  what: `${MANY} due transfers of one product and ${FEW} of each of ${OTHERS.length} others, all of which are answered`,
  run: (report) =>
    whileWorking(
      {
        config: otherProducts,
        workers: 1,
        inRedis: false,
        prepare: async (sql) => {
          await handOverDueTransfers(sql, BUSY, MANY);
          for (const { productId } of OTHERS) await handOverDueTransfers(sql, productId, FEW);
        },
      },
      async ({ secondsUntil, asked }) => {
        const others = OTHERS.map(({ productId }) => productId);
        const left = () => {
          const counts = countByProduct(others, asked);
          return others.filter((productId) => (counts.get(productId) ?? 0) < FEW);
        };
        await secondsUntil(() => left().length < others.length, 300);
        // Until one of the others has no more questions, all of them wait for their turns.
        const counts = new Map<string, number>();
        const whileAllWait = asked.findIndex(({ productId }) => {
          counts.set(productId, (counts.get(productId) ?? 0) + 1);
          return productId !== BUSY && counts.get(productId) === FEW;
        });
        const seen = asked.slice(0, whileAllWait + 1);
        const ratio = Math.round(unfairness([BUSY, ...others], seen) * 100) / 100;
        report(
          atMost(
            `questions of the product asked most against the one asked least, of ${seen.length}`,
            ratio,
            2,
          ),
        );
        const all = await secondsUntil(() => left().length === 0, 60);
        report(atMost("seconds from there until all of the others' are asked", all, 15));
      },
    ),
};
