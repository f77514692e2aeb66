/** Workers on machines with wrong clocks, alone and beside a correct one. */

import { type ClockPlan, runClock } from "../../simulation/clock-run.ts";
import { startOwnRedis } from "../../simulation/own-redis.ts";
import { withScratchDatabase } from "../../simulation/scratch-databases.ts";
import { atMost, none, type Report, type SaturationCase, same } from "../case.ts";
import { QUEUE_PLACES, type QueuePlace } from "../support/own-workers.ts";

const AHEAD_MS = 7 * 3_600_000;
const BEHIND_MS = -600_000;
/** Ticks come every second. */
const LONGEST_PAUSE_MS = 5_000;
/** A tick that a jump has put hours ahead is found when the schedules are checked. */
const LONGEST_AFTER_JUMP_MS = 25_000;
const LONGEST_TO_GO_ON_MS = 15_000;

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
  run: async (report) => {
    for (const queues of QUEUE_PLACES) {
      for (const [name, plan] of PLANS) await measure(`queues in ${queues}: ${name}`, queues, plan, report);
    }
  },
};

async function measure(name: string, queues: QueuePlace, plan: ClockPlan, report: Report): Promise<void> {
  const redis = queues === "Redis" ? await startOwnRedis() : null;
  try {
    const result = await withScratchDatabase((url) => runClock(url, redis?.url ?? null, plan));
    const { aheadSeconds, longestPauseMs } = result;
    report(
      none(`${name}: requests meanwhile`, result.asked),
      none(`${name}: windows ahead of the database's time`, result.aheadOfTime),
      none(`${name}: mismatches`, result.mismatches),
      same(`${name}: alerts`, result.alerts.join(", "), "clock-wrong, clock-wrong-over"),
      same(`${name}: a log line`, result.isLogged ? "yes" : "no", "yes"),
      same(`${name}: its metric, in seconds`, String(aheadSeconds ?? "none"), String(plan.aheadMs / 1000)),
      atMost(`${name}: milliseconds until it goes on`, result.goesOnAfterMs, LONGEST_TO_GO_ON_MS),
    );
    if (longestPauseMs === null) return;
    const most = plan.jumps ? LONGEST_AFTER_JUMP_MS : LONGEST_PAUSE_MS;
    report(atMost(`${name}: the other's longest pause in ms`, longestPauseMs, most));
  } finally {
    await redis?.stop();
  }
}
