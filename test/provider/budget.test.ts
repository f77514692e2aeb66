import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { RequestUrgency } from "../../src/bet.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { openDatabase } from "../../src/db/client.ts";
import { ReconError } from "../../src/errors.ts";
import { Preempted } from "../../src/preempted.ts";
import { openBudget, withinBudget } from "../../src/provider/budget.ts";
import { releaseSlot, renewSlots, SLOT_LEASE_MS, takeSlot } from "../../src/provider/budget-store.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";

const database = useDatabase();
const never = new AbortController().signal;
const TIMEOUT_MS = 5_000;

function budget(
  limits: { concurrency?: number; minIntervalMs?: number } = {},
  sql = database.sql,
  clock: Clock = systemClock,
) {
  return openBudget(sql, { concurrency: 1, minIntervalMs: 0, ...limits }, TIMEOUT_MS, clock);
}

async function countHeld(): Promise<number> {
  return (await database.sql`select from request_slots where held_until > clock_timestamp()`).count;
}

async function databaseTime(): Promise<number> {
  const [row] = await database.sql<{ now: number }[]>`select clock_timestamp() as now`;
  return row?.now ?? Number.NaN;
}

/** A request that ends when the test ends it. */
function heldRequest() {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const run = () => {
    started.resolve();
    return ended.promise;
  };
  return { run, started: started.promise, end: () => ended.resolve() };
}

test("no more requests are under way than the budget has slots, over all processes", async () => {
  const other = openDatabase(database.url, 4);
  const budgets = [budget({ concurrency: 3 }), budget({ concurrency: 3 }, other)];
  let underWay = 0;
  let most = 0;
  const request = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await systemClock.sleep(5);
    underWay -= 1;
  };
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => budgets[index % 2]?.spend("live", request, never)),
  );
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(3);
  await expect.poll(countHeld).toBe(0);
  await other.end();
});

test("of several waiting requests the most urgent one goes first", async () => {
  const one = budget();
  const first = heldRequest();
  const running = one.spend("backfill", first.run, never);
  await first.started;
  await database.sql`update request_slots set owed_verify = 0, owed_rest = 0`;
  const order: string[] = [];
  const ask = (urgency: RequestUrgency) => one.spend(urgency, async () => void order.push(urgency), never);
  const waiting = (["backfill", "resweep", "confirm", "live"] as const).map(ask);
  await expect.poll(async () => (await database.sql`select from request_waiters`).count).toBe(waiting.length);
  first.end();
  await Promise.all([running, ...waiting]);
  expect(order).toEqual(["live", "confirm", "resweep", "backfill"]);
});

describe("under a load of live requests that never ends", () => {
  /** Requests of each urgency follow each other, `atOnce` at the same time, until `most` were sent. @returns their order */
  async function send(asking: Partial<Record<RequestUrgency, number>>, most: number, concurrency = 1) {
    const [one, other] = [budget({ concurrency }), budget({ concurrency })];
    await database.sql`update request_slots set owed_verify = 0, owed_rest = 0`;
    const ending = new AbortController();
    const order: RequestUrgency[] = [];
    const follow = async (urgency: RequestUrgency, own: typeof one) => {
      while (!ending.signal.aborted) {
        const request = async () => {
          order.push(urgency);
          // A provider takes longer to answer than the database to hand out a slot.
          await systemClock.sleep(10);
        };
        await own.spend(urgency, request, ending.signal).catch(() => {});
        if (order.length >= most) ending.abort();
      }
    };
    await Promise.all(
      Object.entries(asking).flatMap(([urgency, atOnce]) =>
        Array.from({ length: atOnce }, (_, index) =>
          follow(urgency as RequestUrgency, index % 2 === 0 ? one : other),
        ),
      ),
    );
    return order.slice(0, most);
  }
  const countOf = (order: readonly RequestUrgency[], ...urgencies: readonly RequestUrgency[]) =>
    order.filter((one) => urgencies.includes(one)).length;

  test("a tenth belongs to confirm fetches, resweeps and backfills, in turns, and a tenth to verification", async () => {
    const order = await send({ live: 4, verify: 2, confirm: 2, resweep: 2, backfill: 2 }, 300);
    expect(countOf(order, "confirm", "resweep", "backfill")).toBeGreaterThanOrEqual(28);
    expect(countOf(order, "live")).toBeGreaterThanOrEqual(230);
    expect(countOf(order, "verify")).toBeGreaterThanOrEqual(25);
    for (const one of ["confirm", "resweep", "backfill"] as const)
      expect(countOf(order, one)).toBeGreaterThanOrEqual(7);
  });

  test.each([1, 4])(
    "a lone resweep gets its tenth, with %d slot(s), from any process",
    async (concurrency) => {
      const order = await send({ live: 2 * concurrency, resweep: 1 }, 200, concurrency);
      expect(countOf(order, "resweep")).toBeGreaterThanOrEqual(16);
      expect(countOf(order, "resweep")).toBeLessThanOrEqual(26);
    },
  );

  test("confirm fetches that never end hold up no resweep and no backfill", async () => {
    const order = await send({ confirm: 4, resweep: 1, backfill: 1 }, 200);
    expect(countOf(order, "resweep")).toBeGreaterThanOrEqual(4);
    expect(countOf(order, "backfill")).toBeGreaterThanOrEqual(4);
    expect(countOf(order, "confirm")).toBeGreaterThanOrEqual(170);
  });

  test("a request that may only use its share gets no idle slot", async () => {
    await budget().spend("live", async () => {}, never);
    // The slot is given back after the answer, and counts the request then.
    await expect.poll(countHeld).toBe(0);
    await database.sql`update request_slots set owed_rest = 0, held_until = 'epoch'`;
    await database.sql`update request_slots set owed_rest = 8 where slot = 1`;
    const choice = { most: 1, fromBelow: false, onlyInTurn: true };
    const limits = { concurrency: 1, minIntervalMs: 0 };
    expect(await takeSlot(database.sql, 3, limits, null, choice)).toBeNull();
    await database.sql`update request_slots set owed_rest = 9 where slot = 1`;
    expect(await takeSlot(database.sql, 3, limits, null, choice)).toMatchObject({ isTurn: true });
    await database.sql`update request_slots set held_until = 'epoch'`;
  });
});

describe("a renewal", () => {
  const limits = { concurrency: 1, minIntervalMs: 0 };
  const takeOnlySlot = async () => {
    await budget().spend("live", async () => {}, never);
    await expect.poll(countHeld).toBe(0);
    const slot = await takeSlot(database.sql, 0, limits, null);
    if (slot === null) throw new Error("the only slot is not free");
    return slot;
  };

  test("that comes after the release of a slot leaves the slot free", async () => {
    const slot = await takeOnlySlot();
    await releaseSlot(database.sql, slot, 0, 1);
    await renewSlots(database.sql, [slot.holder]);
    expect(await countHeld()).toBe(0);
  });

  test("that comes after the end of a lease keeps a slot that no other request took", async () => {
    const slot = await takeOnlySlot();
    await database.sql`update request_slots set held_until = clock_timestamp() - interval '1 second'`;
    await renewSlots(database.sql, [slot.holder]);
    expect(await countHeld()).toBe(1);
    await releaseSlot(database.sql, slot, 0, 1);
  });
});

test("a 429 pauses all requests for as long as the provider asks", async () => {
  const [one, another] = [budget({ concurrency: 4 }), budget({ concurrency: 4 })];
  const throttled = new ReconError("provider-throttled", "too many requests", { retryAfterMs: 400 });
  const begunAt = await databaseTime();
  await expect(one.spend("live", () => Promise.reject(throttled), never)).rejects.toBe(throttled);
  const [then] = await database.sql<{ until: number }[]>`select paused_until as until from request_budget`;
  expect(then?.until).toBeGreaterThanOrEqual(begunAt + 400);
  await another.spend("live", async () => {}, never);
  expect(await databaseTime()).toBeGreaterThanOrEqual(then?.until ?? Number.POSITIVE_INFINITY);
});

test("requests keep the minimal interval, whichever process sends them", async () => {
  const budgets = [
    budget({ concurrency: 4, minIntervalMs: 40 }),
    budget({ concurrency: 4, minIntervalMs: 40 }),
  ];
  const begunAt = await databaseTime();
  await Promise.all(
    Array.from({ length: 6 }, (_, index) => budgets[index % 2]?.spend("live", async () => {}, never)),
  );
  expect((await databaseTime()) - begunAt).toBeGreaterThanOrEqual(5 * 40);
});

describe("a 429 of one product", () => {
  const throttled = new ReconError("provider-throttled", "too many requests", { retryAfterMs: 600_000 });
  const refuse = (productId: string | null) =>
    budget({ concurrency: 4 })
      .spend("live", () => Promise.reject(throttled), never, { productId })
      .catch(() => {});
  /** Whether a request for the product gets a slot now, in any process. */
  const mayAsk = async (productId: string) => {
    const place = await takeSlot(database.sql, 0, { concurrency: 4, minIntervalMs: 0 }, productId);
    if (place !== null) await releaseSlot(database.sql, place, 0, 1);
    return place !== null;
  };
  beforeEach(async () => {
    await database.sql`delete from request_pauses`;
    await database.sql`update request_budget set paused_until = 'epoch'`;
    // A slot that the test before has kept is free again only after its lease. A turn that it left to confirm fetches would make
    // the refused live request wait for the confirm fetch, which waits for it.
    await database.sql`update request_slots set held_until = 'epoch', owed_verify = 0, owed_rest = 0`;
  });
  afterAll(async () => {
    await database.sql`delete from request_pauses`;
    await database.sql`update request_budget set paused_until = 'epoch'`;
  });

  test("pauses that product in all processes, and no other product", async () => {
    await refuse("P1");
    expect(await mayAsk("P1")).toBe(false);
    expect(await mayAsk("P2")).toBe(true);
  });

  test("also holds if a request about another product has just left its slot to the process", async () => {
    await refuse("P1");
    const one = budget({ concurrency: 4 }, database.sql, { ...systemClock, now: () => NOON });
    await one.spend("live", async () => {}, never, { productId: "P2" });
    const about = { productId: "P1", leavesWhilePaused: true };
    await expect(one.spend("live", async () => "asked", never, about)).rejects.toMatchObject({
      code: "provider-throttled",
    });
  });

  test("lets no fetcher of the product wait for a slot meanwhile", async () => {
    const one = budget();
    const held = heldRequest();
    const running = one.spend("live", held.run, never, { productId: "P1" });
    await held.started;
    const fetchPage = () => Promise.reject(new Error("it was sent"));
    const asked = { productId: "P1", from: 0, to: 1, nextId: null };
    const waiting = withinBudget(fetchPage, one)(asked, never, "confirm");
    const left = expect(waiting).rejects.toMatchObject({
      code: "provider-throttled",
      retryAfterMs: expect.toSatisfy((ms: number) => ms > 500_000),
    });
    await refuse("P1");
    await left;
    held.end();
    await running;
  });

  test("pauses all requests if another product is paused already: the provider limits the whole account", async () => {
    await refuse("P1");
    await refuse("P2");
    expect(await mayAsk("P3")).toBe(false);
  });

  test("pauses only that product, however often the provider answers 429", async () => {
    await refuse("P1");
    await database.sql`update request_pauses set paused_until = 'epoch'`;
    await refuse("P1");
    expect(await mayAsk("P2")).toBe(true);
  });

  test("pauses all requests if the request concerned no single product", async () => {
    await refuse(null);
    expect(await mayAsk("P1")).toBe(false);
  });
});

describe("a slot", () => {
  const heldFor = async () => {
    const [row] = await database.sql<{ ms: number }[]>`
      select (extract(epoch from held_until - clock_timestamp()) * 1000)::float8 as ms from request_slots
      where held_until > clock_timestamp()`;
    return row?.ms ?? 0;
  };

  test("is leased for seconds, and renewed while its request is under way, however long that takes", async () => {
    const one = openBudget(database.sql, { concurrency: 1, minIntervalMs: 0 }, 3_600_000, systemClock);
    const held = heldRequest();
    const running = one.spend("live", held.run, never);
    await held.started;
    expect(await heldFor()).toBeLessThanOrEqual(SLOT_LEASE_MS);
    await database.sql`
      update request_slots set held_until = clock_timestamp() + interval '3 seconds'
      where held_until > clock_timestamp()`;
    await expect.poll(heldFor).toBeGreaterThan(3_000);
    held.end();
    await running;
    await expect.poll(countHeld).toBe(0);
  });
});

test("a slot of a dead process becomes free by itself", async () => {
  await database.sql`delete from request_slots`;
  await database.sql`
    insert into request_slots (slot, holder, held_until)
    values (1, gen_random_uuid(), clock_timestamp() + interval '300 milliseconds')`;
  await expect(budget().spend("live", async () => "answered", never)).resolves.toBe("answered");
});

describe("a request that follows another one of its process at once", () => {
  const holder = async () =>
    (await database.sql`select holder from request_slots where slot = 1`)[0]?.["holder"];

  test("takes over the slot, and frees it if no other request follows", async () => {
    // A process may reuse a slot only soon after it took the slot: here the time does not matter.
    const one = budget({}, database.sql, { ...systemClock, now: () => NOON });
    const first = await one.spend("backfill", holder, never);
    expect(await one.spend("live", holder, never)).toBe(first);
    await expect.poll(countHeld).toBe(0);
  });

  test.each<[what: string, first: RequestUrgency, limits: { minIntervalMs?: number }]>([
    ["it is less urgent", "live", {}],
    ["requests have to keep an interval", "backfill", { minIntervalMs: 1 }],
  ])("must ask for a slot if %s", async (_, urgency, limits) => {
    const one = budget(limits);
    const first = await one.spend(urgency, holder, never);
    expect(await one.spend("backfill", holder, never)).not.toBe(first);
  });

  test("must ask for a slot after a 429, and waits", async () => {
    const one = budget({ concurrency: 2 });
    const held = heldRequest();
    const running = one.spend("live", held.run, never);
    await held.started;
    const throttled = new ReconError("provider-throttled", "too many requests", { retryAfterMs: 300 });
    await one.spend("live", () => Promise.reject(throttled), never).catch(() => {});
    const [then] = await database.sql<{ until: number }[]>`select paused_until as until from request_budget`;
    held.end();
    await running;
    await one.spend("live", async () => {}, never);
    expect(await databaseTime()).toBeGreaterThanOrEqual(then?.until ?? Number.POSITIVE_INFINITY);
  });
});

test("a request that gives up waiting is removed, and delays no other", async () => {
  const one = budget();
  const held = heldRequest();
  const running = one.spend("live", held.run, never);
  await held.started;
  const given = new AbortController();
  const waiting = one.spend("live", async () => {}, given.signal);
  given.abort();
  await expect(waiting).rejects.toThrow(/abort/);
  expect((await database.sql`select from request_waiters`).count).toBe(0);
  held.end();
  await running;
});

test("a request whose caller gives up while it is given its slot is not sent, and the slot is free", async () => {
  const given = new AbortController();
  const sent: string[] = [];
  let looks = 0;
  // The clock is asked once the slot is taken.
  const now = () => {
    looks += 1;
    given.abort();
    return NOON;
  };
  const one = budget({}, database.sql, { ...systemClock, now });
  await expect(one.spend("live", async () => void sent.push("live"), given.signal)).rejects.toThrow(/abort/);
  expect([looks, sent]).toEqual([1, []]);
  expect(await countHeld()).toBe(0);
});

describe("requests that hang", () => {
  /** Ends when it must free its slot, or when the test ends it. */
  const hang = (started: string[], name: string, ending: AbortSignal) => (room: AbortSignal | null) => {
    started.push(name);
    const signals = room === null ? [ending] : [ending, room];
    return new Promise<void>((_, reject) => {
      for (const one of signals) one.addEventListener("abort", () => reject(one.reason));
    });
  };

  test("in the upper half of the slots free one slot each for the next request that is as urgent", async () => {
    const ending = new AbortController();
    const started: string[] = [];
    const gone: string[] = [];
    const one = budget({ concurrency: 4 });
    const hanging = ["a", "b", "c", "d"].map((name) =>
      one
        .spend("verify", hang(started, name, ending.signal), never, { pace: "may-hang" })
        .catch((error: unknown) => gone.push(error instanceof Preempted ? name : "ended")),
    );
    await expect.poll(() => started).toHaveLength(4);
    // Another process waits, which the database shows.
    const other = budget({ concurrency: 4 });
    expect(await other.spend("live", async () => "fetched", never)).toBe("fetched");
    expect(gone).toHaveLength(1);
    expect(await countHeld()).toBeGreaterThanOrEqual(3);
    ending.abort();
    await Promise.all(hanging);
    expect(gone.filter((name) => name === "ended")).toHaveLength(3);
  }, 30_000);

  test("and are known to hang keep to the lower half, and no other request waits for them", async () => {
    const ending = new AbortController();
    const started: string[] = [];
    const one = budget({ concurrency: 4 });
    const hanging = Array.from({ length: 4 }, (_, index) =>
      one
        .spend("verify", hang(started, `${index}`, ending.signal), ending.signal, { pace: "hangs" })
        .catch(() => {}),
    );
    await expect.poll(() => started).toHaveLength(2);
    expect(await one.spend("backfill", async () => "fetched", never)).toBe("fetched");
    expect(started).toHaveLength(2);
    ending.abort();
    await Promise.all(hanging);
  });
});
