/** The fast and the exact parser of a JSON line give the same content, and the same reason to reject the line. */

import { describe, expect, test } from "vitest";
import { readJsonEntry } from "../../src/ledger/read-entry.ts";

const FIELDS = {
  entry_id: '"e1"',
  callback: '"placeBets"',
  request_id: '"r1"',
  product_id: '"P1"',
  username: '"anna"',
  currency: '"THB"',
  txn_id: '"t1"',
  bet_amount: "10.5",
  moved: "-10.5",
  occurred_at: '"2026-03-01T12:00:00Z"',
};

const lineOf = (fields: Readonly<Record<string, string>>, more = "") =>
  `{${Object.entries(fields)
    .map(([name, value]) => `"${name}":${value}`)
    .join(",")}${more}}`;

/** Forces the exact parser: the escape spells the same name. */
const inFull = (line: string) => line.replace('"txn_id"', '"txn\\u005fid"');

test.each([
  ["a usual line", lineOf(FIELDS)],
  ["the same value twice", lineOf(FIELDS, ',"currency":"THB"')],
  ["two values of a column", lineOf(FIELDS, ',"moved":-11')],
  [
    "two values of a column, the first with many digits",
    lineOf({ ...FIELDS, moved: "-10.50000000000000001" }, ',"moved":-11'),
  ],
  ["a column that is unknown", lineOf(FIELDS, ',"colour":"red"')],
  ["an object in a column", lineOf({ ...FIELDS, username: '{"name":"anna"}' })],
  ["a list", `[${lineOf(FIELDS)}]`],
  ["half a line", lineOf(FIELDS).slice(0, -4)],
])("%s is read alike in both ways", (_, line) => {
  expect(inFull(line)).not.toBe(line);
  expect(readJsonEntry(inFull(line))).toEqual(readJsonEntry(line));
});

describe("a line with two values of one column is rejected", () => {
  const reason = 'the column "moved" appears twice, with different values';

  test.each([
    ["whose numbers are short", lineOf(FIELDS, ',"moved":-11')],
    ["whose first number is long", lineOf({ ...FIELDS, moved: "-10.50000000000000001" }, ',"moved":-11')],
    ["whose name is written with an escape", lineOf(FIELDS, ',"mov\\u0065d":-11')],
  ])("%s", (_, line) => {
    expect(readJsonEntry(line)).toMatchObject({ kind: "rejected", reason });
  });
});
