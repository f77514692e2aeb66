import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type SaturationCase } from "../case.ts";
import { type AnsweredPlacement, auditAnswers, planPlacements, withCasino } from "../placements.ts";

const PLACEMENTS = 200;
const PLAYERS = 100;
const OF_THE_LOCKED = 50;
const LOCKED_MS = 5_000;

export const saturation: SaturationCase = {
  name: "locked-wallet",
  what: "one player's wallet is locked for 5 s while 50 placements of that player and 200 of others arrive",
  run: (report) =>
    withCasino(PLAYERS, async ({ sql, databaseUrl, serve }) => {
      const served = await serve(databaseUrl);
      await served.placeAll(planPlacements(PLAYERS, PLAYERS, "warm"));
      const locked = planPlacements(OF_THE_LOCKED, 1, "locked");
      const ofOthers = (prefix: string) =>
        planPlacements(PLACEMENTS, PLAYERS, prefix).filter(({ player }) => player !== "player-0");
      const alone = await served.placeAll(ofOthers("alone"));
      const { waiting, answered } = await sql.begin(async (tx) => {
        await tx`select from wallets where username = 'player-0' for update`;
        const waiting = served.placeAll(locked);
        const [answered] = await Promise.all([served.placeAll(ofOthers("beside")), sleep(LOCKED_MS)]);
        return { waiting, answered };
      });
      const all = [...alone, ...answered, ...(await waiting)];
      const slowestAlone = slowestOf(alone);
      report(
        ...(await auditAnswers(sql, all)),
        atMost(
          `slowest answer to another player, in ms (${slowestAlone} while nothing is locked)`,
          slowestOf(answered),
          Math.max(LOCKED_MS / 2, 2 * slowestAlone),
        ),
      );
    }),
};

function slowestOf(answers: readonly AnsweredPlacement[]): number {
  return Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)));
}
