import { expect, test } from "vitest";
import { showTurningMarks } from "../../src/ops/http/layout.ts";

test("a mark that would turn the text around it is written out", () => {
  expect(showTurningMarks("<td>round \u202eone</td><td>12.50</td>")).toBe(
    "<td>round \\u202eone</td><td>12.50</td>",
  );
  expect(showTurningMarks("\u2066a<b>\u2069</b>")).toBe("\\u2066a<b>\\u2069</b>");
});

test("what an address or a form holds stays as it is, and so does text in any script", () => {
  const page = '<a href="/x?q=\u202e">سلام ไฮโล</a><input value="a\u202eb">';
  expect(showTurningMarks(page)).toBe(page);
});
