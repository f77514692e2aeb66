/** A worker whose machine clock was set back and then corrected. Queues in PostgreSQL wait by that clock. */

import { onTestFinished, test, vi } from "vitest";
import { LONGEST_WAIT_SECONDS, openBackend } from "../../jobs/backend.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";

const database = useDatabase();
const TEN_MINUTES_MS = 600_000;
/** The longest allowed wait, or the wait by the wrong clock. */
const isWait = (ms = 0) => ms === LONGEST_WAIT_SECONDS * 1000 || ms > TEN_MINUTES_MS - 10_000;

test("a worker that waits by a clock that was set back takes a job soon after the clock is right", {
  timeout: 60_000,
}, async () => {
  const backend = openBackend(null, database.url, silentLog);
  const queue = backend.openQueue("pull");
  // The job becomes due only when somebody waits: the database decides that by its own clock.
  await queue.add("due", { productId: "P1" }, { delay: 3_000 });
  const { now } = Date;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() - TEN_MINUTES_MS);
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => {
    clock.mockRestore();
    timers.mockRestore();
  });
  let isDone = false;
  const run = async () => {
    isDone = true;
  };
  const worker = backend.openWorker("pull", run, 1);
  try {
    // BullMQ begins to wait, asks when the next job is due, and begins to wait again.
    const waits = () => timers.mock.calls.filter(([, ms]) => isWait(ms)).length;
    await eventually("it waits for the job", () => waits() >= 2);
    clock.mockRestore();
    await eventually("it takes the job", () => isDone, 30_000);
  } finally {
    await worker.close();
    await queue.close();
    await backend.close();
  }
});
