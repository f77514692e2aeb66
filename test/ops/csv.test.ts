import { describe, expect, test } from "vitest";
import { toCsv } from "../../src/ops/csv/csv.ts";

/** What readers of CSV begin a cell with: LibreOffice splits at commas, semicolons and tabs by default. */
const SPLIT = /[,;|\t\n\v\f\r\u0085\u2028\u2029]/;
const BEGINS = /^[\s"\p{Cc}\p{Cf}]*[=+\-@＝＋－＠﹦﹢﹣﹫]/u;

/** The pieces of a text that some reader would evaluate. */
function formulasIn(csv: string): string[] {
  return csv
    .split(SPLIT)
    .filter((cell) => BEGINS.test(cell) && !/^[\s"\p{Cc}]*-\d+(\.\d+)?[\s"\p{Cc}]*$/u.test(cell));
}

describe("CSV for spreadsheets", () => {
  test.each([
    ["=2+2", "'=2+2"],
    ["1;=2+2", `"1;'=2+2"`],
    ["1,=2+2", `"1,'=2+2"`],
    ["1\t=2+2", `"1\t'=2+2"`],
    ["1|=2+2", "1|'=2+2"],
    ["\n=2+2", `"\n'=2+2"`],
    ["1\n=2+2", `"1\n'=2+2"`],
    ["1\r\n=2+2", `"1\r\n'=2+2"`],
    ["1;  =2+2", `"1;  '=2+2"`],
    ["   =2+2", "   '=2+2"],
    ['1;"=2+2"', `"1;""'=2+2"""`],
    ["1;\u200b=2+2", `"1;\u200b'=2+2"`],
    ["1;\u0001=2+2", `"1;\u0001'=2+2"`],
    ["1\u2028=2+2", "1\u2028'=2+2"],
    ["＝2+2", "'＝2+2"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["+2", "'+2"],
    ["-2+3", "'-2+3"],
    ["1;-2+3", `"1;'-2+3"`],
    ["=1;=2;=3", `"'=1;'=2;'=3"`],
  ])("has %j as %j", (text, written) => {
    expect(toCsv([[text]])).toBe(`${written}\n`);
  });

  test.each(["-5.00", "player-014", "a=b", "1-2", "stake 10.00, payout 5.00", "me@example", "10.00 THB"])(
    "leaves %j as it is, apart from quotes",
    (text) => {
      expect(
        toCsv([[text]])
          .trim()
          .replace(/^"|"$/g, ""),
      ).toBe(text);
    },
  );

  test("leaves negative numbers that stand after a separator", () => {
    expect(toCsv([["10.00;-5.00"]])).toBe('"10.00;-5.00"\n');
  });

  test("evaluates nothing, however the parts of a text are put together", () => {
    const parts = [
      "=",
      "+",
      "-",
      "@",
      "1",
      "x",
      " ",
      '"',
      "'",
      ",",
      ";",
      "\t",
      "\n",
      "\r",
      "\u2028",
      "\u0001",
    ];
    const more = (texts: readonly string[]) => texts.flatMap((text) => parts.map((part) => text + part));
    const texts = more(more(more(parts)));
    const evaluated = texts.filter((text) => formulasIn(toCsv([["x", text, "y"]])).length > 0);
    expect([texts.length, evaluated]).toEqual([65_536, []]);
  });

  test("takes no longer for a megabyte of line breaks than its length asks for", () => {
    const text = "\n ".repeat(500_000);
    expect(toCsv([[text]])).toBe(`"${text}"\n`);
  });
});
