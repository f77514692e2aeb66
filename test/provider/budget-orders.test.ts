import { expect, test } from "vitest";
import type { RequestUrgency } from "../../src/bet.ts";
import { openBudget } from "../../src/provider/budget.ts";
import { SLOT_LEASE_MS } from "../../src/provider/budget-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { inManyOrders, type Orders } from "../support/orders.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;
const SLOTS = 3;
/** Each process sends these, one after the other in each row. */
const ROWS: readonly (readonly RequestUrgency[])[] = [
  ["live", "live", "resweep"],
  ["verify", "live", "live"],
];

/** Two processes, and slots whose leases end under their requests. */
async function play(orders: Orders) {
  await emptyTables(sql);
  const underWay = new Set<string>();
  /** requests whose lease has ended: they may be under way beyond the slots */
  const expired = new Set<string>();
  /** slots whose lease ended before their request had begun */
  let early = 0;
  let passedMs = 0;
  let mostBeyond = 0;
  const request = (name: string) => async () => {
    underWay.add(name);
    mostBeyond = Math.max(mostBeyond, underWay.size - SLOTS - expired.size - early);
    await orders.step(`${name} is answered`, async () => {});
    underWay.delete(name);
    expired.delete(name);
  };
  const processes = ["one", "another"].map((name) => {
    // Time passes, so slots that are kept for the next request of their process are released.
    let now = NOON;
    const clock = orders.clock(() => {
      now += 20;
      return now + passedMs;
    });
    const own = orders.connect(name, sql);
    const budget = openBudget(own, { concurrency: SLOTS, minIntervalMs: 0 }, 60_000, clock);
    return ROWS.map(async (row, number) => {
      for (const [place, urgency] of row.entries()) {
        const send = request(`${name}: ${urgency} ${number} ${place}`);
        await budget.spend(urgency, send, never, { productId: "P1" });
      }
    });
  });
  const endLeases = () =>
    orders.step("leases end", async () => {
      passedMs += SLOT_LEASE_MS;
      const { count } = await sql`
        update request_slots set held_until = clock_timestamp() - interval '1 second'
        where held_until > clock_timestamp()`;
      const others = [...underWay].filter((name) => !expired.has(name));
      early += Math.max(0, count - others.length);
      for (const name of others) expired.add(name);
    });
  await Promise.all([...processes.flat(), endLeases()]);
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
