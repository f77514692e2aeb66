/** Reports that another installation uses the Redis of this one, and that this is over (docs/operations.md#several-workers). */

import { beginCondition, endConditionNamed, keepCondition } from "../../alerts/condition-store.ts";
import { ReconError } from "../../errors.ts";
import { sharedRedis } from "../../health/installation.ts";
import type { FlowContext } from "../context.ts";

const SHARED = { kind: "redis-shared", subject: "Redis" } as const;

/**
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
