import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { MismatchStatus } from "../../src/mismatch.ts";
import {
  listInOrder,
  MISMATCH_SORTS,
  type MismatchOrder,
  type OrderedPage,
  sumChosen,
} from "../../src/mismatches/order-store.ts";
import type { MismatchChoice } from "../../src/mismatches/store.ts";
import { writeTransitions } from "../../src/mismatches/transition-store.ts";
import { useDatabase } from "../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { exampleFinding } from "../support/findings.ts";

const { sql } = useDatabase();
const MANY = 10_000;

/** In each order many mismatches have equal values, or values that text would sort otherwise ("9" after "10"). */
beforeAll(async () => {
  await writeTransitions(sql, [{ change: "open", content: exampleFinding() }], NOON);
  await sql`
    insert into mismatches (product_id, username, subject, kind, status, currency, amount_at_risk, reason, occurred_at,
      first_seen_at, last_seen_at, remind_at)
    select case when g % 3 = 0 then 'P2' else 'P1' end, 'player-' || g % 7, 'bet:' || g, 'stake-differs',
      case when g % 10 = 0 then 'acknowledged' when g % 101 = 0 then 'ignored' else 'open' end,
      case when g % 5 = 0 then 'USD' when g % 5 < 4 then 'THB' end,
      g * 7919 % 97 * 0.25, 'differs', ${NOON}::timestamptz - g * 31 % 300 * interval '1 minute',
      ${NOON}::timestamptz + g / 50 * interval '1 second', ${NOON},
      case when g % 4 > 0 then ${NOON}::timestamptz + g * 17 % 200 * interval '1 minute' end
    from generate_series(2, ${MANY}) g`;
  await sql`analyze mismatches`;
});

const ALL: MismatchChoice = { statuses: [], kind: null, productId: null, username: null };
const ORDERS = MISMATCH_SORTS.flatMap((by) =>
  [true, false].map((descending): MismatchOrder => ({ by, descending })),
);

/** Every page, one after another. */
async function pages(choice: MismatchChoice, order: MismatchOrder, limit: number): Promise<string[][]> {
  const read: string[][] = [];
  for (let from: OrderedPage["from"] = null; ; ) {
    const page = await listInOrder(sql, choice, order, { limit, from });
    read.push(page.mismatches.map(({ id }) => id));
    if (page.after === null) return read;
    from = { place: page.after, direction: "after" };
  }
}

const KEYS = {
  firstSeenAt: "first_seen_at",
  occurredAt: "occurred_at",
  amountAtRisk: "amount_at_risk",
  remindAt: "remind_at",
} as const;

async function expectedIds(
  { by, descending }: MismatchOrder,
  statuses: MismatchStatus[] = ["open", "acknowledged"],
) {
  const direction = descending ? "desc" : "asc";
  const rows = await sql.unsafe<{ id: number }[]>(
    `select id from mismatches where status = any($1) and ${KEYS[by]} is not null order by ${KEYS[by]} ${direction}, id ${direction}`,
    [statuses],
  );
  return rows.map(({ id }) => String(id));
}

describe.each(ORDERS)("by $by, descending: $descending", (order) => {
  test("the pages of a long list show each mismatch once, in this order", async () => {
    const read = await pages(ALL, order, 1_000);
    expect(read.flat()).toEqual(await expectedIds(order));
    expect(read.map(({ length }) => length).slice(0, -1)).toEqual(Array(read.length - 1).fill(1_000));
  });

  test("the pages backwards are the pages forwards in reverse", async () => {
    const there = { ...ALL, username: "player-3" };
    const forwards = (await pages(there, order, 100)).flat();
    const last = await listInOrder(sql, there, order, { limit: forwards.length - 1, from: null });
    if (last.after === null) throw new Error("one more page must follow");
    const back: string[][] = [];
    for (let place: typeof last.after | null = last.after; place !== null; ) {
      const page = await listInOrder(sql, there, order, { limit: 100, from: { place, direction: "before" } });
      back.unshift(page.mismatches.map(({ id }) => id));
      place = page.before;
      expect(page.after).not.toBeNull();
    }
    expect(back.flat()).toEqual(forwards.slice(0, -2));
  });

  test("a page is read from an index, without a sort of the whole list", async () => {
    const plan = await explainPage(order);
    // What is sorted is one page for each status, after the index.
    expect(plan.match(/\bSort\b(?! Key)/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(plan.match(/Index Scan.* using mismatches_/g)).toHaveLength(2);
  });
});

/** The plan of a page far from the beginning. */
async function explainPage(order: MismatchOrder): Promise<string> {
  const { after } = await listInOrder(sql, ALL, order, { limit: 5_000, from: null });
  if (after === null) throw new Error("there is no such page");
  let [text, parameters]: [string, unknown[]] = ["", []];
  sql.options.debug = (_connection: number, query: string, values: unknown[]) => {
    [text, parameters] = [query, values];
  };
  await listInOrder(sql, ALL, order, { limit: 100, from: { place: after, direction: "after" } });
  sql.options.debug = false;
  const rows = await sql.unsafe<{ "QUERY PLAN": string }[]>(`explain ${text}`, parameters as string[]);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

test("filters and several statuses keep the order", async () => {
  const order: MismatchOrder = { by: "amountAtRisk", descending: true };
  const statuses = ["ignored", "open", "open"] as const;
  const read = (await pages({ ...ALL, statuses }, order, 700)).flat();
  expect(read).toEqual(await expectedIds(order, ["open", "ignored"]));
  const narrow = {
    ...ALL,
    productId: "P2",
    minAmount: "20",
    from: NOON + MINUTE_MS,
    to: NOON + 2 * MINUTE_MS,
  };
  const { mismatches, after, before } = await listInOrder(sql, narrow, order, { limit: 1_000, from: null });
  expect({ after, before }).toEqual({ after: null, before: null });
  expect(mismatches.length).toBeGreaterThan(20);
  for (const { productId, amountAtRisk, firstSeenAt } of mismatches) {
    expect([productId, amount(amountAtRisk).gte("20")]).toEqual(["P2", true]);
    expect(Date.parse(firstSeenAt)).toBeGreaterThanOrEqual(NOON + MINUTE_MS);
    expect(Date.parse(firstSeenAt)).toBeLessThan(NOON + 2 * MINUTE_MS);
  }
});

describe("a page, after the list has changed,", () => {
  beforeEach(() => sql`delete from mismatches where product_id = 'NEW'`);

  test("continues behind its last row, even if that row is gone", async () => {
    const order: MismatchOrder = { by: "amountAtRisk", descending: true };
    const first = await listInOrder(sql, ALL, order, { limit: 50, from: null });
    const last = first.mismatches.at(-1);
    if (first.after === null || last === undefined) throw new Error("there must be more");
    const second = () =>
      listInOrder(sql, ALL, order, { limit: 50, from: { place: first.after as never, direction: "after" } });
    const expected = (await second()).mismatches.map(({ id }) => id);
    await sql`update mismatches set amount_at_risk = 0.01 where id = ${Number(last.id)}`;
    await sql`insert into mismatches (product_id, username, subject, kind, status, amount_at_risk, reason, occurred_at, first_seen_at,
      last_seen_at) values ('NEW', 'anna', 'bet:new', 'stake-differs', 'open', 1000, 'new', ${NOON}, ${NOON}, ${NOON})`;
    const now = (await second()).mismatches.map(({ id }) => id);
    await sql`update mismatches set amount_at_risk = ${last.amountAtRisk} where id = ${Number(last.id)}`;
    expect(now).toEqual(expected);
  });
});

test("the sum of all matching mismatches is exact, by currency", async () => {
  const rows = await sql<{ currency: string | null; amount: string }[]>`
    select currency, amount_at_risk as amount from mismatches where status in ('open', 'acknowledged') and product_id = 'P1'`;
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  const expected = ["THB", "USD", null].map((currency) => {
    const own = byCurrency.get(currency) ?? [];
    return {
      currency,
      count: own.length,
      amount: own.reduce((sum, one) => sum.plus(one.amount), amount("0")),
    };
  });
  const sums = await sumChosen(sql, { ...ALL, productId: "P1" });
  expect(sums.map((one) => ({ ...one, amount: amount(one.amount).toFixed() }))).toEqual(
    expected.map((one) => ({ ...one, amount: one.amount.toFixed() })),
  );
});
