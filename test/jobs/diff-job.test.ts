/** A product with more to compare than one turn takes lets the others have their turns. */

import { expect, test } from "vitest";
import { type JobQueue, openBackend } from "../../jobs/backend.ts";
import { runDiffJob, runPullJob } from "../../jobs/product-jobs.ts";
import { parseConfig } from "../../src/config-file.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { exampleEntry, HOUR_MS, NOON } from "../support/examples.ts";

const { sql, url } = useDatabase();

interface Added {
  readonly name: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

function queueOf(added: Added[]): JobQueue {
  const add = async (name: string, data: unknown, options?: { deduplication?: { id: string } }) => {
    added.push({ name, data, id: options?.deduplication?.id });
  };
  return { add, getDeduplicationJobId: async () => null } as unknown as JobQueue;
}

/** Each reading of the time is 15 seconds later than the reading before. */
function hurryingClock() {
  let now = NOON;
  return { now: () => (now += 15_000), sleep: async () => {} };
}

test("the product's next turn comes behind those of all others, and each turn has a job name of its own", async () => {
  const entries = Array.from({ length: 2_600 }, (_, bet) =>
    exampleEntry({ entryId: `e${bet}`, requestId: `q${bet}`, txnId: `t${bet}`, roundId: `r${bet}` }),
  );
  await appendEntries(sql, entries);
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context = { sql, config, clock: hurryingClock(), log: silentLog };
  const added: Added[] = [];
  const queues = { pull: queueOf([]), diff: queueOf(added) };
  const countDue = async () => {
    const [row] = await sql<{ due: number }[]>`
      select coalesce(sum(cardinality(usernames)), 0)::bigint as due from diff_marks where due_at <= ${NOON + HOUR_MS}`;
    return row?.due ?? 0;
  };
  const before = await countDue();
  await runDiffJob(context, { productId: "P1" }, queues, new AbortController().signal, () => {});
  const after = await countDue();
  expect(before).toBe(2_600);
  expect(after).toBeLessThan(before);
  expect(after).toBeGreaterThan(0);
  expect(added).toEqual([{ name: "turn", data: { productId: "P1", turn: 1 }, id: "turn 1 P1" }]);
  for (let turns = 0; turns < 10 && added.length > turns; turns += 1) {
    const { data } = added[turns] as { data: { productId: string; turn: number } };
    await runDiffJob(context, data, queues, new AbortController().signal, () => {});
  }
  expect(await countDue()).toBe(0);
  expect(new Set(added.slice(0, 2).map(({ id }) => id))).toEqual(new Set(["turn 1 P1", "turn 2 P1"]));
});

test("a tick adds no second turn if one waits", async () => {
  await sql`delete from diff_marks`;
  await appendEntries(sql, [
    exampleEntry({ entryId: "tick", requestId: "tick", txnId: "tick", roundId: "tick" }),
  ]);
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const clock = { now: () => NOON, sleep: async () => {} };
  const context = { sql, config, clock, log: silentLog };
  const isCompared = async () => (await sql`select from diff_marks where due_at <= ${NOON}`).length === 0;
  const backend = openBackend(null, url, silentLog);
  const diff = backend.openQueue("diff");
  try {
    const tick = () =>
      runDiffJob(
        context,
        { productId: "P1" },
        { pull: queueOf([]), diff },
        new AbortController().signal,
        () => {},
      );
    const turn = await diff.add("turn", { productId: "P1", turn: 2 }, { deduplication: { id: "turn 2 P1" } });
    await tick();
    expect(await isCompared()).toBe(false);
    await turn.remove();
    await tick();
    expect(await isCompared()).toBe(true);
  } finally {
    await diff.close();
    await backend.close();
  }
});

test("a job of a product that has left the settings does nothing, and is no failure of the product", async () => {
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const clock = { now: () => NOON, sleep: async () => {} };
  const fetchPage = () => Promise.reject(new Error("nothing is fetched"));
  const context = { sql, config, clock, log: silentLog, fetchPage };
  const { signal } = new AbortController();
  await runDiffJob(context, { productId: "P4" }, { pull: queueOf([]), diff: queueOf([]) }, signal, () => {});
  await runPullJob(context, { productId: "P4" }, async () => {}, signal);
  expect(await sql`select work, error from work_states where subject = 'P4'`).toEqual([]);
});
