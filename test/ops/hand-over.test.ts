import { expect, test } from "vitest";
import { formatAmount } from "../../src/money.ts";
import { readTransfer } from "../../src/ops/input/transfer-query.ts";
import { NOON } from "../support/examples.ts";

const KNOWN = { products: ["P1", "P2"], now: NOON };
const GIVEN = {
  username: "anna",
  productId: "P1",
  currency: "THB",
  transactionRef: "ref-1",
  type: "DEPOSIT",
  amount: "10.00",
  sentAt: "2026-11-20T19:00:00+07:00",
};

test("a transfer is read field by field", () => {
  const { amount, ...rest } = readTransfer(GIVEN, KNOWN);
  const { amount: _, ...same } = GIVEN;
  expect(rest).toEqual({ ...same, sentAt: NOON });
  expect(formatAmount(amount)).toBe("10");
});

test.each(["transactionRef", "username"])("a %s may have every visible character", (field) => {
  const text = "päuli/12 %:?#[🎲]";
  expect(readTransfer({ ...GIVEN, [field]: text }, KNOWN)).toMatchObject({ [field]: text });
});

test.each<[field: string, value: unknown, message: string]>([
  ["username", undefined, "username is missing"],
  ["username", 5, "username must be text, but is 5"],
  ["username", "", 'but is ""'],
  [
    "username",
    " anna",
    'username must be text without control characters or surrounding spaces, but is " anna"',
  ],
  ["username", "an\u0000na", "username must be text without control characters"],
  ["username", "\ud800", "username must be text without control characters"],
  ["username", "x".repeat(201), "username is longer than 200 characters"],
  ["transactionRef", "a\nb", "transactionRef must be text without control characters"],
  ["transactionRef", "x".repeat(201), "transactionRef is longer than 200 characters"],
  ["productId", "P3", 'there is no productId "P3"; it is one of P1, P2'],
  ["currency", "thb", 'currency must be three capital letters such as "THB", but is "thb"'],
  ["type", "deposit", 'type must be DEPOSIT or WITHDRAW, but is "deposit"'],
  ["amount", 10, 'amount must be text with two decimals, above zero, such as "10.00", but is the number 10'],
  ["amount", "10", 'amount must be text with two decimals, above zero, such as "10.00", but is "10"'],
  ["amount", "10.001", 'but is "10.001"'],
  ["amount", "-10.00", 'but is "-10.00"'],
  ["amount", "0.00", 'but is "0.00"'],
  ["amount", `${"9".repeat(41)}.00`, "amount must be text with two decimals"],
  ["sentAt", "2026-11-20T12:00:00", "sentAt must be a date-time with an offset"],
  [
    "sentAt",
    "2026-11-20T13:00:01Z",
    'sentAt "2026-11-20T13:00:01Z" is in the future: the time is 2026-11-20T12:00:00.000Z',
  ],
  ["sentat", "x", 'there is no field "sentat"; a transfer has username, productId'],
])("%s %j is refused, and the error names field and value", (field, value, message) => {
  expect(() => readTransfer({ ...GIVEN, [field]: value }, KNOWN)).toThrow(message);
});

test.each([[[]], [null], ["text"], [5]])("%j is no transfer", (value) => {
  expect(() => readTransfer(value, KNOWN)).toThrow(
    "a transfer must be a JSON object with username, productId",
  );
});
