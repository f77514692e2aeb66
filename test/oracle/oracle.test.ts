/** The oracle is a second opinion only while it shares nothing with the program, and only if it can disagree. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { disagree, type Held } from "../simulation/oracle-audit.ts";
import { factsOf, NOW } from "./examples.ts";
import { type LedgerRow, type ListedRecord, units } from "./facts.ts";
import { judge } from "./judge.ts";

test("the oracle imports nothing but itself", () => {
  const paths = globSync("*.ts", { cwd: import.meta.dirname }).filter((path) => !path.endsWith(".test.ts"));
  expect(paths.length).toBeGreaterThan(3);
  for (const path of paths) {
    const text = readFileSync(join(import.meta.dirname, path), "utf8");
    expect(foreignImports(text), path).toEqual([]);
  }
  expect(foreignImports('import { fold } from "../../src/ledger/fold.ts";')).toEqual([
    "../../src/ledger/fold.ts",
  ]);
  expect(foreignImports('const { Big } = await import("big.js");')).toEqual(["big.js"]);
  expect(foreignImports('export { judge } from "../simulation/audit.ts";')).toEqual([
    "../simulation/audit.ts",
  ]);
});

function foreignImports(text: string): string[] {
  const named = [...text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*"([^"]+)"/g)];
  return named.map(([, from = ""]) => from).filter((from) => !/^\.\/[\w-]+\.ts$/.test(from));
}

describe("the oracle", () => {
  const placed = { callback: "placeBets", bet_amount: "100", moved: "-100" };
  const settled = { callback: "settleBets", payout_amount: "200", moved: "200", bet_amount: null };
  const record = { stake: "100", payout: "200", betStatus: "SETTLED" };

  test.each<[string, Partial<LedgerRow>[], Partial<ListedRecord>[], [string, string, string][]]>([
    ["a bet that is equal on both sides", [placed, settled], [record], []],
    ["a record without entries", [], [record], [["missing-in-ledger", "100", "-100"]]],
    ["a bet without a record", [placed, settled], [], [["missing-at-provider", "100", "100"]]],
    ["a settlement that was lost", [placed], [record], [["missing-settlement", "200", "-200"]]],
    [
      "a stake that was taken twice",
      [placed, { ...placed, request_id: "q" }, settled],
      [record],
      [["net-differs", "100", "-100"]],
    ],
    [
      "a win in another currency",
      [placed, { ...settled, currency: "USD" }],
      [record],
      [["currency-differs", "200", "-200"]],
    ],
    [
      "a record that is void",
      [placed, settled],
      [{ ...record, betStatus: "VOID" }],
      [["status-differs", "100", "100"]],
    ],
    [
      "a bet that runs on",
      [placed, { ...settled, end_round: false }],
      [{ ...record, betStatus: "OPEN" }],
      [],
    ],
    [
      "a bet that nothing is heard of",
      [{ ...placed, occurred_at: NOW - 200_000_000 }],
      [],
      [["stuck-open", "100", "-100"]],
    ],
  ])("says what must be open of %s", (_, rows, records, expected) => {
    const { claims, undecided } = judge(factsOf(rows, records));
    const found = claims.flatMap(({ readings: [reading = []] }) =>
      reading.map(({ kind, atRisk, effects }) => [kind, atRisk?.[0], effects?.[0]]),
    );
    expect(undecided).toEqual([]);
    expect(found).toEqual(expected.map(([kind, atRisk, effect]) => [kind, units(atRisk), units(effect)]));
  });

  test("names what the program misses, what it invents, and an amount that is wrong", () => {
    const judgement = judge(factsOf([placed], [record]));
    const held: Held = {
      kind: "missing-settlement",
      productId: "P",
      username: "anna",
      currency: "THB",
      betId: "b1",
      transactionId: "b1",
      roundId: "r1",
      amountAtRisk: "200",
      effect: "-200",
    };
    expect(disagree(judgement, [held]).problems).toEqual([]);
    expect(disagree(judgement, [])).toMatchObject({
      problems: [expect.stringMatching(/must be open.*missing-settlement/)],
    });
    expect(disagree(judgement, [held, { ...held, kind: "stuck-open" }]).problems).toHaveLength(1);
    expect(disagree(judgement, [{ ...held, amountAtRisk: "199.99" }]).problems).toHaveLength(2);
    expect(disagree(judgement, [{ ...held, effect: "200" }]).problems).toHaveLength(2);
  });
});
