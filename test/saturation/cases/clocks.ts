/** Workers whose machines have wrong clocks, alone and beside a right one. */

import { type ClockPlan, runClock } from "../../simulation/clock-run.ts";
import { openScratchDatabases } from "../../simulation/scratch-databases.ts";
import type { Check, SaturationCase } from "../case.ts";

const AHEAD_MS = 7 * 3_600_000;
const BEHIND_MS = -600_000;
/** Of ticks a second. */
const LONGEST_PAUSE_MS = 5_000;
/** A tick that a jump has put hours ahead is found when the schedules are checked. */
const LONGEST_AFTER_JUMP_MS = 25_000;

const PLANS: readonly [name: string, plan: ClockPlan][] = [
  ["7 hours ahead, alone", { aheadMs: AHEAD_MS, beside: false, jumps: false }],
  ["7 hours ahead, beside a right worker", { aheadMs: AHEAD_MS, beside: true, jumps: false }],
  ["10 minutes behind, alone", { aheadMs: BEHIND_MS, beside: false, jumps: false }],
  ["10 minutes behind, beside a right worker", { aheadMs: BEHIND_MS, beside: true, jumps: false }],
  ["jumping 7 hours ahead at work, alone", { aheadMs: AHEAD_MS, beside: false, jumps: true }],
  ["jumping 7 hours ahead at work, beside a right worker", { aheadMs: AHEAD_MS, beside: true, jumps: true }],
  ["jumping 10 minutes back at work, alone", { aheadMs: BEHIND_MS, beside: false, jumps: true }],
];

export const saturation: SaturationCase = {
  name: "clocks",
  what: "a worker's clock 7 hours ahead and 10 minutes behind: it plans nothing, judges nothing, reports, and goes on once right",
  run: async () => {
    const databases = await openScratchDatabases();
    const checks: Check[] = [];
    try {
      for (const [name, plan] of PLANS) {
        const result = await databases.use(1, (url) => runClock(url, plan));
        const { asked, aheadOfTime, mismatches, alerts, aheadSeconds, isLogged, longestPauseMs } = result;
        const check = (what: string, value: number | string, bar: string, holds: boolean) =>
          checks.push({ what: `${name}: ${what}`, value, bar, holds });
        check("requests meanwhile", asked, "0", asked === 0);
        check("windows ahead of the database's time", aheadOfTime, "0", aheadOfTime === 0);
        check("mismatches", mismatches, "0", mismatches === 0);
        const expected = "clock-wrong, clock-wrong-over";
        check("alerts", alerts.join(", "), expected, alerts.join(", ") === expected);
        check("a log line", isLogged ? "yes" : "no", "yes", isLogged);
        const bySeconds = plan.aheadMs / 1000;
        check(
          "its metric, in seconds",
          aheadSeconds ?? "none",
          String(bySeconds),
          aheadSeconds === bySeconds,
        );
        check(
          "milliseconds until it goes on",
          result.goesOnAfterMs,
          "≤ 15000",
          result.goesOnAfterMs <= 15_000,
        );
        if (longestPauseMs === null) continue;
        const most = plan.jumps ? LONGEST_AFTER_JUMP_MS : LONGEST_PAUSE_MS;
        check("the other's longest pause in ms", longestPauseMs, `≤ ${most}`, longestPauseMs <= most);
      }
    } finally {
      await databases.close();
    }
    return checks;
  },
};
