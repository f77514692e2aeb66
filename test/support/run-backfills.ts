/** Runs backfills as a worker's ticks do. */

import type { PullContext } from "../../src/flows/context.ts";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import type { TestClock } from "./clock.ts";

/** Runs until nothing is due and no request waits to be repeated. Moves the clock to each of these attempts. */
export async function runBackfills(context: PullContext, clock: TestClock): Promise<void> {
  const { sql } = context;
  const run = openBackfillRunner(context);
  for (;;) {
    await run(new AbortController().signal);
    const [next] = await sql<{ at: number | null }[]>`
      select min(next_attempt_at) as at from windows
      where kind = 'backfill' and status in ('planned', 'gap') and failures + restarts > 0
        and next_attempt_at > ${clock.now()}`;
    if (next?.at == null) return;
    clock.set(next.at);
  }
}
