/** `parseUsual` returns what the exact parser returns, digit for digit, or leaves the text to the exact parser. */

import fc from "fast-check";
import { isLosslessNumber, parse } from "lossless-json";
import { describe, expect, test } from "vitest";
import { parseInstant } from "../../src/clock.ts";
import { formatAmount, parseAmount } from "../../src/money.ts";
import { parseUsual, SURE_TIME } from "../../src/provider/read-bet-record.ts";

const AMOUNTS = new Set(["stake", "payout"]);

/** Mostly the first, because many texts must be usual. */
const mostly = <Value>(usual: fc.Arbitrary<Value>, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: other });

const space = mostly(fc.constantFrom("", " ", "\n\t"), fc.constant("\u00a0"));
const name = mostly(
  fc.constantFrom("id", "1", "0", ":", ",", "é", "", "stakes", "rest"),
  fc.constantFrom("__proto__", "sta\\u006be"),
);
const numeral = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9]\d{0,9})(\.\d{1,8})?$/),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.stringMatching(/^-?(0|[1-9]\d{0,17})(\.\d{1,18})?([eE][+-]?\d{1,2})?$/),
  fc.constantFrom(
    "-0",
    "-0.0",
    "0.10",
    "1.0",
    "01",
    ".5",
    "+1",
    "0.0000001",
    "999999999999999",
    "9007199254740993",
  ),
);
const quoted = mostly(
  fc.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7eéก]*$/).map((text) => `"${text}"`),
  fc.constantFrom('"a"b"', '":"', '", "', '"\\ud800"', '"\u0001"', '":-1"', '",1e5"', '"\\n"'),
);
const value = mostly(
  fc.oneof(quoted, fc.constantFrom("null", "true")),
  fc.oneof(numeral, fc.constantFrom("[1]", "{}", "")),
);
const fieldOf = (named: fc.Arbitrary<string>, held: fc.Arbitrary<string>) =>
  fc.tuple(named, space, space, held, space).map((parts) => {
    const [title, before, after, content, end] = parts;
    return `"${title}"${before}:${after}${content}${end}`;
  });
const field = fc.oneof(
  fieldOf(fc.constantFrom("stake", "payout"), mostly(numeral, value)),
  fieldOf(name, value),
);
const item = fc.tuple(
  space,
  fc.array(field, { maxLength: 4 }),
  space,
  mostly(fc.constant("}"), fc.constantFrom("", "},")),
);
const anyText = mostly(
  item.map(([before, fields, after, end]) => `${before}{${after}${fields.join(",")}${end}`),
  fc.oneof(fc.json(), fc.string()),
);

describe("of any text", () => {
  test("each value is the exact parser's, and each number has the same digits", () => {
    let usual = 0;
    fc.assert(
      fc.property(anyText, (text) => {
        const read = parseUsual(text, AMOUNTS);
        if (read === null) return;
        usual += 1;
        const exact = parse(text) as Record<string, unknown>;
        expect(Object.keys(read)).toEqual(Object.keys(exact));
        for (const [key, held] of Object.entries(read)) {
          const expected = exact[key];
          if (typeof held !== "number") expect(held).toBe(expected);
          else if (!isLosslessNumber(expected)) expect.fail(`${text} has no number ${key}`);
          else
            expect(formatAmount(parseAmount(String(held), key))).toBe(
              formatAmount(parseAmount(expected.toString(), key)),
            );
        }
      }),
      { numRuns: 20_000 },
    );
    expect(usual).toBeGreaterThan(1_000);
  });
});

test.each([
  ['{"stake":10.25,"payout":0,"id":"a","extra":null}', "a flat item"],
  ['{ "stake" : 10.50 , "id" : "1234567890123456789" }', "spaces, and long digits in a text"],
])("%s is usual: %s", (text) => {
  expect(parseUsual(text, AMOUNTS)).not.toBe(null);
});

test.each([
  ['{"stake":1,"stake":2}', "a repeated name"],
  ['{"stake":1234567890.123456}', "more digits than a double holds"],
  ['{"stake":1e2}', "an exponent"],
  ['{"stake":-0}', "a negative zero"],
  ['{"id":1}', "a number that is no amount"],
  ['{"id":"\\u0061"}', "an escape"],
  ['{"extra":{"a":"b"}}', "a nested object"],
  ['{"__proto__":"a"}', "a name with a meaning"],
  ['{"id":"a"', "no JSON"],
  ["[]", "no object"],
])("%s needs the exact parser: %s", (text) => {
  expect(parseUsual(text, AMOUNTS)).toBe(null);
});

test("a time that is stored without being read exists", () => {
  const part = fc.integer({ min: 0, max: 99 }).map((number) => String(number).padStart(2, "0"));
  const year = fc.integer({ min: 0, max: 9999 }).map((number) => String(number).padStart(4, "0"));
  const zone = fc.oneof(
    fc.constant("Z"),
    fc.tuple(fc.constantFrom("+", "-"), part, fc.constantFrom("", ":"), part).map((parts) => parts.join("")),
  );
  const time = fc
    .tuple(year, part, part, part, part, part, fc.constantFrom("", ".5", ".123456"), zone)
    .map(([y, mo, d, h, mi, s, fraction, offset]) => `${y}-${mo}-${d}T${h}:${mi}:${s}${fraction}${offset}`);
  const likely = fc
    .tuple(
      fc.date({ min: new Date("0999-01-01"), max: new Date("9998-12-31"), noInvalidDate: true }),
      fc.constantFrom("Z", "+07:00", "-0330", "+14:59", "+15:00"),
    )
    .map(([date, offset]) => `${date.toISOString().slice(-24, -1)}${offset}`);
  let sure = 0;
  fc.assert(
    fc.property(fc.oneof(time, likely), (text) => {
      if (!SURE_TIME.test(text)) return;
      sure += 1;
      expect(() => parseInstant(text, "time")).not.toThrow();
    }),
    { numRuns: 5_000 },
  );
  expect(sure).toBeGreaterThan(500);
});
