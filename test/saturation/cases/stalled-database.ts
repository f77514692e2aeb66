import { setTimeout as sleep } from "node:timers/promises";
import type { SaturationCase } from "../case.ts";
import { auditAnswers, planPlacements, sendAgain, withCasino } from "../placements.ts";

/** The database stands still in the middle of the work, during commits. */
const ANSWERED_BEFORE = 100;
const PLACEMENTS = 300 + ANSWERED_BEFORE;
const PLAYERS = 100;
const STALL_MS = 13_000;

export const saturation: SaturationCase = {
  name: "stalled-database",
  what: "PostgreSQL stands still for 13 s under 300 placements",
  run: (report) =>
    withCasino(PLAYERS, async ({ postgres, sql, databaseUrl, serve }) => {
      const served = await serve(databaseUrl);
      const stalled = Promise.withResolvers<void>();
      const answering = served.placeAll(planPlacements(PLACEMENTS, PLAYERS), (answered) => {
        if (answered !== ANSWERED_BEFORE) return;
        postgres.freeze();
        stalled.resolve();
      });
      await stalled.promise;
      await sleep(STALL_MS);
      postgres.thaw();
      const answers = await answering;
      // All work under way has ended by then.
      await sleep(STALL_MS);
      report(...(await auditAnswers(sql, answers)));
      report(await sendAgain(served, answers));
    }),
};
