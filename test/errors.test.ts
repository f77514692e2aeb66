import { expect, test } from "vitest";
import { describeError, ReconError } from "../src/errors.ts";

test("an error is described in one line, a cause without a message by its name", () => {
  expect(describeError(new ReconError("usage", "no such product"))).toBe("no such product");
  expect(describeError(new AggregateError([new Error("refused")], ""))).toBe("refused");
  expect(describeError(new TypeError(""))).toBe("TypeError");
  expect(describeError("text")).toBe("text");
});
