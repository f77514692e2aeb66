/** The repeating job that verifies what is due, transfers and top-ups of all products. */

import type { VerifyContext } from "../src/flows/ask-outcome.ts";
import { tellingRefusals } from "../src/flows/tell-refusals.ts";
import { openVerifyRunner } from "../src/flows/verify-due.ts";
import type { TickJob } from "./schedules.ts";

export function openVerifyJob(context: VerifyContext): TickJob {
  const { every, concurrency } = context.config.verify;
  const verify = openVerifyRunner({ ...context, ask: tellingRefusals(context, context.ask) });
  return {
    queue: "verify",
    everyMs: every,
    // One more than there are lanes, so that a tick sees what became due while all of them wait for slow answers.
    concurrency: concurrency + 1,
    run: async (signal, log) => {
      const { refused } = await verify(signal, log);
      if (refused !== null) throw refused;
    },
  };
}
