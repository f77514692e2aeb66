/** Watches what an installation cannot change by itself: its clock, and who else uses its Redis. */

import { hostname } from "node:os";
import { pid } from "node:process";
import { beginCondition, endConditionNamed, keepCondition } from "../../alerts/condition-store.ts";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import { sharedRedis, wrongClock } from "../../health/installation.ts";
import type { FlowContext } from "../context.ts";

/** The clock may be changed at any time, so it is measured at this interval. */
export const MEASURE_EVERY_MS = 5_000;

/** The process with the clock, and the consequence of a wrong one: "plans, compares and verifies nothing". */
export interface ClockUser {
  readonly name: "worker" | "callbacks server" | "tap";
  readonly consequence: string;
}

/**
 * @returns a function that measures whether this machine's clock is right. A change of the result writes a log line
 * and an alert. The function never rejects: while the database does not answer, the last result counts.
 */
export function openClockWatch(
  { sql, log }: Pick<FlowContext, "sql" | "log">,
  clock: DatabaseClock,
  user: ClockUser,
): () => Promise<boolean> {
  const subject = `${user.name} ${pid} on ${hostname()}`;
  let isReported = false;
  const report = async () => {
    const isRight = clock.isRight();
    if (!isRight && !isReported) {
      const { consequence } = user;
      const condition = wrongClock(subject, { aheadMs: clock.aheadMs() ?? 0, consequence });
      log.error({ aheadMs: clock.aheadMs() }, `${condition.what}. ${condition.remedy}`);
      await beginCondition(sql, condition, clock.now());
      isReported = true;
    } else if (!isRight) {
      await keepCondition(sql, { kind: "clock-wrong", subject }, clock.now());
    } else if (isReported) {
      log.info({ aheadMs: clock.aheadMs() }, `the clock of the ${subject} is right again: work resumes`);
      await endConditionNamed(sql, { kind: "clock-wrong", subject }, clock.now());
      isReported = false;
    }
  };
  return async () => {
    try {
      await clock.measure();
      await report();
    } catch (error) {
      log.warn({ error: describeError(error) }, "the clock cannot be compared with the database's");
    }
    return clock.isRight();
  };
}

const SHARED = { kind: "redis-shared", subject: "Redis" } as const;

/**
 * Reports that another installation uses the Redis of this one, and that this is over (docs/operations.md#several-workers).
 * @param check rejects with `redis-shared` while another installation uses it, and with other errors if that is unknown
 * @returns a function that checks once, to be called at least every two minutes. A change writes a log line and an alert.
 */
export function openSharingWatch(
  { sql, log, clock }: Pick<FlowContext, "sql" | "log" | "clock">,
  check: () => Promise<void>,
): () => Promise<void> {
  let isReported = false;
  return async () => {
    const failure = await check().then(
      () => null,
      (error: unknown) => error,
    );
    if (failure instanceof ReconError && failure.code === SHARED.kind) {
      if (isReported) return await keepCondition(sql, SHARED, clock.now());
      log.error({ code: failure.code }, failure.message);
      await beginCondition(sql, sharedRedis(failure.message), clock.now());
      isReported = true;
    } else if (failure === null && isReported) {
      log.info("no other installation uses this Redis any more");
      await endConditionNamed(sql, SHARED, clock.now());
      isReported = false;
    }
  };
}
