import { RESTARTS } from "../../simulation/own-postgres.ts";
import type { SaturationCase } from "../case.ts";
import { auditAnswers, planPlacements, sendAgain, withCasino } from "../placements.ts";

const ANSWERED_BEFORE = 100;
const PLACEMENTS = 400;
const PLAYERS = 100;

export const saturation: SaturationCase = {
  name: "restarting-database",
  what: "PostgreSQL restarts, in good order and by a crash, under 400 placements each time",
  run: (report) =>
    withCasino(PLAYERS, async ({ postgres, sql, databaseUrl, serve }) => {
      const served = await serve(databaseUrl);
      const all = [];
      for (const how of RESTARTS) {
        let restarting = Promise.resolve();
        const answers = await served.placeAll(planPlacements(PLACEMENTS, PLAYERS, how), (answered) => {
          if (answered === ANSWERED_BEFORE) restarting = postgres.restart(how);
        });
        await restarting;
        all.push(...answers);
      }
      report(...(await auditAnswers(sql, all)));
      report(await sendAgain(served, all));
    }),
};
