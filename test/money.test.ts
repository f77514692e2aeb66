import fc from "fast-check";
import { expect, test } from "vitest";
import { ReconError } from "../src/errors.ts";
import {
  formatAmount,
  formatMoney,
  groupThousands,
  largerAmount,
  parseAmount,
  roundAmount,
  sayAmount,
  sayAmountsWithin,
  shareOf,
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

test.each([
  "",
  "abc",
  "1,5",
  "0x10",
  "NaN",
  "Infinity",
  "1e999",
  ".5",
  "5.",
  " 5",
  "5 ",
  "--5",
  "1e1000",
  "1e",
])('the text "%s" is no amount, and the error names the field and the text', (text) => {
  expect(() => parseAmount(text, "stake")).toThrow(ReconError);
  expect(() => parseAmount(text, "stake")).toThrow(`stake must be a decimal number, but is "${text}"`);
});

test.each(["1e61", "-1e61", `${"9".repeat(61)}.5`, `0.${"1".repeat(60)}`, "1E+3", "12e-60"])(
  "%s is within the limits of the database, and is read",
  (text) => {
    expect(parseAmount(text, "stake").eq(text)).toBe(true);
  },
);

test.each(["1.1e61", "-1.1e61", `1${"0".repeat(60)}1.5e1`, "1e62", `0.${"1".repeat(61)}`, "1e-61"])(
  "%s is beyond them, and refused",
  (text) => {
    expect(() => parseAmount(text, "stake")).toThrow("stake must be a decimal number");
  },
);

test("an error shows at most 80 characters of the text", () => {
  expect(() => parseAmount("x".repeat(80), "stake")).toThrow(`"${"x".repeat(80)}"`);
  expect(() => parseAmount("x".repeat(81), "stake")).toThrow(`"${"x".repeat(80)}…"`);
});

test("0.1 and 0.2 are exactly 0.3", () => {
  expect(formatAmount(sumAmounts([parseAmount("0.1", "a"), parseAmount("0.2", "b")]))).toBe("0.3");
});

test("the larger of two amounts", () => {
  const [one, two] = [parseAmount("1", "a"), parseAmount("2", "b")];
  expect([largerAmount(one, two), largerAmount(two, one), largerAmount(one, one)]).toEqual([two, two, one]);
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

test("an amount may stand without its currency, and only amounts before a currency are changed within a sentence", () => {
  expect(sayAmount("1234.5", null)).toBe("1\u202f234.50");
  expect(sayAmountsWithin("round 1000 of e-1000 THB v1.1000 USDT, 1000 TH, 1000 THBTHB, -5 USDT")).toBe(
    "round 1000 of e-1000 THB v1.1000 USDT, 1000 TH, 1000 THBTHB, -5.00 USDT",
  );
  expect(["1", "12", "123", "1234", "123456", "1234567"].map(groupThousands)).toEqual([
    "1",
    "12",
    "123",
    "1\u202f234",
    "123\u202f456",
    "1\u202f234\u202f567",
  ]);
});

/** The text as a whole number of 10^-60. */
function scaled(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  return whole + fraction.padEnd(60, "0");
}

test.each([
  ["0.125", 2, "0.13"],
  ["-0.125", 2, "-0.13"],
  ["0.1249", 2, "0.12"],
  ["7.5", 0, "8"],
  ["7", 2, "7"],
])("%s rounded half up to %i decimals is %s", (text, decimals, expected) => {
  expect(formatAmount(roundAmount(parseAmount(text, "fee"), decimals))).toBe(expected);
});

test.each([
  ["1", "4", "0.25"],
  ["2", "3", "0.666666"],
  ["2999999.99", "3000000", "0.999999"],
  ["3", "3", "1"],
  ["0", "3", "0"],
  ["0", "0", null],
])("the share of %s in %s is %s: cut, so that only the whole is 1", (part, whole, expected) => {
  expect(shareOf(parseAmount(part, "part"), parseAmount(whole, "whole"))).toBe(expected);
});
