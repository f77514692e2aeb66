import { expect, test } from "vitest";
import { describeError, ReconError } from "../src/errors.ts";

test("an error is told by one line, the cause of an error without words by its name", () => {
  expect(describeError(new ReconError("usage", "no such product"))).toBe("no such product");
  expect(describeError(new AggregateError([new Error("refused")], ""))).toBe("refused");
  expect(describeError(new TypeError(""))).toBe("TypeError");
  expect(describeError("text")).toBe("text");
});
