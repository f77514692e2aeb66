import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatAmount,
  formatMoney,
  parseAmount,
  sayAmount,
  sayAmountsWithin,
  sumAmounts,
} from "../src/money.ts";

test("every digit of an amount survives reading and writing", () => {
  const digits = (most: number) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: most });
  fc.assert(
    fc.property(digits(50), digits(50), fc.boolean(), (whole, fraction, negative) => {
      const text = `${negative ? "-" : ""}${whole.join("")}.${fraction.join("")}`;
      const back = formatAmount(parseAmount(text, "stake"));
      expect(BigInt(scaled(back)) === BigInt(scaled(text))).toBe(true);
    }),
  );
});

test.each([
  ["10", "10"],
  ["10.50", "10.5"],
  ["0.1", "0.1"],
  ["1e3", "1000"],
  ["0.0000001", "0.0000001"],
  ["-12.3400", "-12.34"],
  ["9007199254740993.01", "9007199254740993.01"],
])("%s is the amount %s", (text, expected) => {
  expect(formatAmount(parseAmount(text, "stake"))).toBe(expected);
});

test.each(["", "abc", "1,5", "0x10", "NaN", "Infinity", "1e999", ".5", "5.", " 5", "1".repeat(62)])(
  'the text "%s" is no amount, and the error names the field and the text',
  (text) => {
    expect(() => parseAmount(text, "stake")).toThrow(/stake must be a decimal number, but is "/);
  },
);

test("0.1 and 0.2 are exactly 0.3", () => {
  expect(formatAmount(sumAmounts([parseAmount("0.1", "a"), parseAmount("0.2", "b")]))).toBe("0.3");
});

test("users see at least two decimals, and every digit of the amount", () => {
  expect(formatMoney(parseAmount("20", "a"), "THB")).toBe("20.00 THB");
  expect(formatMoney(parseAmount("0.12345", "a"), "THB")).toBe("0.12345 THB");
  expect(formatMoney(parseAmount("1000000", "a"), "VND")).toBe("1000000.00 VND");
});

test.each([
  ["123446639.1000", "123\u202f446\u202f639.10"],
  ["1000", "1\u202f000.00"],
  ["-1000.125", "-1\u202f000.125"],
  ["100.000", "100.00"],
  ["0", "0.00"],
])("pages show %s in one format, however many zeros it came with", (text, expected) => {
  expect(sayAmount(text, "THB")).toBe(`${expected} THB`);
  expect(sayAmountsWithin(`paid out ${text} THB, in round 1000`)).toBe(
    `paid out ${expected} THB, in round 1000`,
  );
});

/** The text as a whole number of 10^-60. */
function scaled(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  return whole + fraction.padEnd(60, "0");
}
