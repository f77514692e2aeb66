import { expect, test } from "vitest";
import type { Alert } from "../../src/alerts/alert.ts";
import { countUndelivered, recordAlert } from "../../src/alerts/store.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const stale: Alert = {
  idempotencyKey: "ledger-stale/P1/2026-11-20T12:00:00.000Z",
  kind: "ledger-stale",
  productId: "P1",
  body: { what: "none of the newest 20 records of P1 has an entry", records: 20, name: '<b> "ไฮโล"' },
  at: NOON,
};

test("an alert is stored as it was given, waits for delivery, and is stored once however often it is given", async () => {
  expect(await countUndelivered(sql)).toBe(0);
  expect(await recordAlert(sql, stale)).toBe(true);
  expect(await recordAlert(sql, { ...stale, body: { what: "said otherwise" } })).toBe(false);
  expect(await recordAlert(sql, { ...stale, idempotencyKey: "another", productId: null })).toBe(true);
  const rows =
    await sql`select kind, product_id as "productId", body, created_at as at from alerts order by id`;
  expect([...rows]).toEqual([
    { kind: "ledger-stale", productId: "P1", body: stale.body, at: NOON },
    { kind: "ledger-stale", productId: null, body: stale.body, at: NOON },
  ]);
  expect(await countUndelivered(sql)).toBe(2);
  await sql`update alerts set delivered_at = ${NOON} where idempotency_key = 'another'`;
  expect(await countUndelivered(sql)).toBe(1);
});

test("an alert with text that the database cannot store is kept all the same", async () => {
  const body = { what: "cut \ud83d", largest: [{ username: "a\0b" }], count: 1 };
  expect(await recordAlert(sql, { ...stale, idempotencyKey: "odd", body })).toBe(true);
  const [row] = await sql`select body from alerts where idempotency_key = 'odd'`;
  expect(row).toEqual({ body: { what: "cut \ufffd", largest: [{ username: "a\ufffdb" }], count: 1 } });
});
