import { expect, test } from "vitest";
import type { RequestUrgency } from "../../src/bet.ts";
import { openBudget } from "../../src/provider/budget.ts";
import { SLOT_LEASE_MS } from "../../src/provider/budget-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { inManyOrders, type Orders } from "../support/orders.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;
const SLOTS = 2;
const REQUESTS: readonly RequestUrgency[] = ["live", "live", "verify", "resweep"];

/** Two processes with four requests each, and slots whose leases end under their requests. */
async function play(orders: Orders) {
  await emptyTables(sql);
  let underWay = 0;
  /** requests that may be under way beyond the slots: a lease ended under them */
  let released = 0;
  let mostBeyond = 0;
  const request = (name: string) => async () => {
    underWay += 1;
    mostBeyond = Math.max(mostBeyond, underWay - SLOTS - released);
    await orders.step(`${name} is answered`, async () => {});
    underWay -= 1;
  };
  const processes = ["one", "another"].map((name) => {
    // Time passes, so slots that are kept for the next request of their process are released.
    let now = NOON;
    const clock = orders.clock(() => {
      now += 20;
      return now;
    });
    const own = orders.connect(name, sql);
    const budget = openBudget(own, { concurrency: SLOTS, minIntervalMs: 0 }, 60_000, clock);
    return REQUESTS.map((urgency) =>
      budget.spend(urgency, request(`${name}: ${urgency}`), never, { productId: "P1" }),
    );
  });
  const endLease = () =>
    orders.step("a lease ends", async () => {
      const { count } = await sql`
        update request_slots set held_until = clock_timestamp() - interval '1 second'
        where slot = (select min(slot) from request_slots where held_until > clock_timestamp())`;
      released += count;
    });
  await Promise.all([...processes.flat(), endLease()]);
  return mostBeyond;
}

test("in any order of statements, answers and ending leases no request is beyond the slots, all are sent, and all slots are free", async () => {
  await inManyOrders(play, async (mostBeyond, { tookMs }) => {
    // On a machine that stands still for seconds a lease ends by itself.
    if (tookMs() < SLOT_LEASE_MS) expect(mostBeyond).toBeLessThanOrEqual(0);
    expect(await sql`select slot from request_slots where held_until > clock_timestamp()`).toEqual([]);
    expect(await sql`select waiter from request_waiters`).toEqual([]);
  });
});
