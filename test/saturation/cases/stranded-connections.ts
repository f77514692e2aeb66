import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import type { SaturationCase } from "../case.ts";
import { auditAnswers, planPlacements, sendAgain, withCasino } from "../placements.ts";

const ANSWERED_BEFORE = 100;
const PLACEMENTS = 400;
const PLAYERS = 100;
/** By then the server has ended the transactions of the stranded connections. */
const SETTLED_AFTER_MS = 15_000;

export const saturation: SaturationCase = {
  name: "stranded-connections",
  what: "the database fails over under 400 placements, and its open connections are never closed",
  run: (report) =>
    withCasino(PLAYERS, async ({ sql, databaseUrl, serve }) => {
      const proxy = await startTcpProxy(databaseUrl);
      try {
        const served = await serve(proxy.url);
        const answers = await served.placeAll(planPlacements(PLACEMENTS, PLAYERS), (answered) => {
          if (answered === ANSWERED_BEFORE) proxy.strand();
        });
        await sleep(SETTLED_AFTER_MS);
        report(...(await auditAnswers(sql, answers)));
        report(await sendAgain(served, answers));
      } finally {
        await proxy.close();
      }
    }),
};
