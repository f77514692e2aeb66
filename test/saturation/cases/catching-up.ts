/** What comparing does after an outage: callbacks of hours wait, and their records arrive the newest first. */

import { runSeed } from "../../simulation/run-seed.ts";
import { withScratchDatabase } from "../../simulation/scratch-databases.ts";
import { planSeed, withOutage } from "../../simulation/seed-plan.ts";
import { none, type SaturationCase } from "../case.ts";

const SEEDS = [1, 2, 3];

export const saturation: SaturationCase = {
  name: "catching-up",
  what: "three and a half hours of an outage, ours or the provider's, in the middle of play: nothing is judged before its time is fetched",
  run: async (report) => {
    for (const whose of ["ours", "the provider's"] as const) {
      let [planted, unexplained, falseAlarms, unnoticed] = [0, 0, 0, 0];
      for (const seed of SEEDS) {
        const plan = withOutage(planSeed(seed), whose);
        const run = await withScratchDatabase((url) => runSeed(seed, url, "own", plan));
        // A mismatch that opened and ended unseen shows as another kind of the same bet.
        const isOf = (a: NamedBet) => (b: NamedBet) => nameOf(a) === nameOf(b);
        planted += run.planted;
        // The oracle knows a record that was listed only during the outage, and calls the mismatch vanished-at-provider.
        const renamed = run.wrong.filter((one) => run.missed.some(isOf(one)));
        const isRenamed = (line: string) => renamed.some((one) => line.includes(idOf(one)));
        unexplained += run.unexplained.filter((line) => !isRenamed(line)).length;
        falseAlarms += run.wrong.filter((one) => !run.missed.some(isOf(one))).length;
        unnoticed += run.missed.filter((one) => !run.wrong.some(isOf(one))).length;
      }
      report(
        none(`an outage of ${whose}: false alarms, with ${planted} planted differences`, falseAlarms),
        none(`an outage of ${whose}: planted differences that were not noticed`, unnoticed),
        none(`an outage of ${whose}: lines of the days' reports that do not add up`, unexplained),
      );
    }
  },
};

interface NamedBet {
  readonly productId: string;
  readonly username: string;
  readonly roundId: string | null;
  readonly transactionId: string | null;
  readonly betId: string | null;
}

function nameOf(bet: NamedBet): string {
  return [bet.productId, bet.username, idOf(bet)].join(" ");
}

function idOf({ roundId, transactionId, betId }: NamedBet): string {
  return roundId ?? transactionId ?? betId ?? "no id";
}
