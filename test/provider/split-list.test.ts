import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitList } from "../../src/provider/split-list.ts";

const LIMITS = { itemBytes: 100, restBytes: 200 };

function split(text: string, sizes: readonly number[] = [text.length], limits = LIMITS) {
  const items: { text: string; isCut: boolean }[] = [];
  const splitter = splitList(["data", "txns"], limits, (item) => items.push(item));
  const bytes = Buffer.from(text);
  let at = 0;
  for (let index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    splitter.take(bytes.subarray(at, at + size));
    at += size;
  }
  return { items: items.map(({ text: item }) => item), cut: items.map(({ isCut }) => isCut), splitter };
}

test("items and rest together are the text, for any form of the text and any chunks", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 });
  const space = fc.constantFrom("", " ", "\n ");
  const other = fc.dictionary(fc.constantFrom("data", "txns", "x", "[", "}", '"', "ü"), fc.jsonValue());
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), other, other, sizes, space, (txns, before, within, cuts, gap) => {
      const { txns: _, ...beside } = within;
      const { data: __, ...around } = before;
      const whole = {
        ...around,
        data: { ...beside, txns, last: [1, { txns: [2] }] },
        end: { data: { txns: [3] } },
      };
      const text = JSON.stringify(whole, null, gap);
      const { items, splitter } = split(text, cuts, { itemBytes: 1e6, restBytes: 1e6 });
      expect(splitter.problem).toBe(null);
      expect(items.map((item) => JSON.parse(item))).toEqual(JSON.parse(JSON.stringify(txns)));
      expect(JSON.parse(splitter.rest())).toEqual(
        JSON.parse(JSON.stringify({ ...whole, data: { ...whole.data, txns: [] } })),
      );
    }),
  );
});

describe("a list", () => {
  test.each([
    ["nothing between two commas", '{"data":{"txns":[1,,2]}}', ["1", "", "2"]],
    ["nothing after the last comma", '{"data":{"txns":[1,]}}', ["1", ""]],
    ["no comma between two items", '{"data":{"txns":[1 2]}}', ["1 2"]],
    ["brackets of two kinds", '{"data":{"txns":[{]}}', ["{]"]],
  ])("is left to the parser if it is malformed: %s", (_, text, items) => {
    expect(split(text).items).toEqual(items);
  });

  test.each([
    ["is no list", '{"data":{"txns":{"a":[1]}}}'],
    ["lies elsewhere", '{"txns":[1],"data":[{"txns":[1]}]}'],
    ["has a name that only begins with the list's name", '{"data":{"txnsx":[1],"x":{"txns":[1]}}}'],
    ["is part of a text", '{"a":"\\"data\\":{\\"txns\\":[1]"}'],
  ])("stays in the rest if it %s", (_, text) => {
    const { items, splitter } = split(text);
    expect([items, splitter.rest()]).toEqual([[], text]);
  });

  test("is found if its name is written with escapes", () => {
    expect(split('{"d\\u0061ta":{"\\u0074xns":[1]}}').items).toEqual(["1"]);
  });
});

describe("beyond a limit", () => {
  test("an item keeps only its beginning, and the next item is read", () => {
    const { items, cut } = split(`{"data":{"txns":["${"x".repeat(1_000)}",2]}}`, [7]);
    expect(items).toEqual([`"${"x".repeat(99)}`, "2"]);
    expect(cut).toEqual([true, false]);
  });

  test("text beside the items is reported", () => {
    expect(split(`{"a":"${"x".repeat(1_000)}"}`, [7]).splitter.problem).toBe("rest-too-long");
  });

  test("a second list is reported", () => {
    expect(split('{"data":{"txns":[1],"txns":[2]}}').splitter.problem).toBe("second-list");
  });
});
