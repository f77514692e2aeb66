import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeError, ERROR_CODES, ReconError } from "../src/errors.ts";

const README = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");

test.each(ERROR_CODES)("the README says what %s means", (code) => {
  expect(README).toContain(`\`${code}\``);
});

test("an error is told by one line, the cause of an error without words by its name", () => {
  expect(describeError(new ReconError("usage", "no such product"))).toBe("no such product");
  expect(describeError(new AggregateError([new Error("refused")], ""))).toBe("refused");
  expect(describeError(new TypeError(""))).toBe("TypeError");
  expect(describeError("text")).toBe("text");
});
