import { describe, expect, test } from "vitest";
import {
  addUp,
  explainDifference,
  isUnexplained,
  NO_SUMS,
  NOTHING_COUNTED,
  type Totals,
  toRows,
} from "../src/report.ts";
import { amount } from "./support/examples.ts";

interface Standing {
  readonly atRisk?: string | null;
  readonly effect?: string;
  readonly resolved?: boolean;
  readonly adjustments?: string;
}
const standing = (fields: Standing = {}) => ({
  amountAtRisk: fields.atRisk === null ? null : amount(fields.atRisk ?? "20"),
  effect: fields.effect === undefined ? null : amount(fields.effect),
  resolved: fields.resolved ?? false,
  adjustments: fields.adjustments === undefined ? null : amount(fields.adjustments),
});
const explain = (difference: string, mismatch: ReturnType<typeof standing> | null, waits = false) => {
  const compared = { allowance: amount("0"), agrees: false };
  const { mismatches, adjustments, pending } = explainDifference(
    amount(difference),
    mismatch,
    waits,
    compared,
  );
  return [mismatches.toFixed(), adjustments.toFixed(), pending.toFixed()];
};

describe("a difference of the day is explained", () => {
  test.each([
    ["by its mismatch", "20", standing(), false, ["20", "0", "0"]],
    ["by its mismatch, also where the ledger has more", "-20", standing(), false, ["-20", "0", "0"]],
    ["by the graces that are not over yet", "20", null, true, ["0", "0", "20"]],
    ["by nothing where no mismatch and no mark exists", "20", null, false, ["0", "0", "0"]],
    ["by no mismatch where the money agrees", "0", standing(), false, ["0", "0", "0"]],
    ["by an adjustment", "20", standing({ resolved: true, adjustments: "20" }), false, ["0", "20", "0"]],
    [
      "only as far as the adjustment goes",
      "20",
      standing({ resolved: true, adjustments: "15" }),
      false,
      ["0", "15", "0"],
    ],
    [
      "by adjustment and mismatch where the mismatch has opened again",
      "30",
      standing({ atRisk: "30", adjustments: "20" }),
      false,
      ["10", "20", "0"],
    ],
    ["by a mismatch that is compared again", "25", standing(), true, ["20", "0", "5"]],
    ["by its mismatch, whose sign it keeps", "5", standing({ effect: "20" }), true, ["-20", "0", "25"]],
    ["by a mismatch that is about to end", "0", standing({ effect: "20" }), true, ["-20", "0", "20"]],
    ["not by a mismatch of another amount", "25", standing(), false, ["20", "0", "0"]],
    ["in parts by one mismatch about two players", "-7", standing({ atRisk: null }), false, ["-7", "0", "0"]],
    [
      "not at all where an adjustment was made although the callback came",
      "0",
      standing({ resolved: true, adjustments: "20" }),
      false,
      ["0", "20", "0"],
    ],
  ])("%s", (_, difference, mismatch, waits, expected) => {
    expect(explain(difference, mismatch, waits)).toEqual(expected);
  });
});

describe("a difference of amounts that count as equal", () => {
  const within = (difference: string, mismatch: ReturnType<typeof standing> | null, agrees: boolean) => {
    const compared = { allowance: amount("0.01"), agrees };
    const { mismatches, adjustments, pending, rounding } = explainDifference(
      amount(difference),
      mismatch,
      false,
      compared,
    );
    return [mismatches, adjustments, pending, rounding].map((one) => one.toFixed());
  };

  test.each([
    ["counts as rounding, with its sign", "-0.01", null, true, ["0", "0", "0", "-0.01"]],
    ["does not count as rounding where it is larger", "0.011", null, true, ["0", "0", "0", "0"]],
    [
      "does not count as rounding where no comparison found the sides equal",
      "0.01",
      null,
      false,
      ["0", "0", "0", "0"],
    ],
    [
      "belongs to the mismatch where one exists",
      "0.01",
      standing({ atRisk: "0.01" }),
      false,
      ["0.01", "0", "0", "0"],
    ],
    [
      "is what an adjustment could not correct",
      "20.004",
      standing({ resolved: true, adjustments: "20" }),
      false,
      ["0", "20", "0", "0.004"],
    ],
  ])("%s", (_, difference, mismatch, agrees, expected) => {
    expect(within(difference, mismatch, agrees)).toEqual(expected);
  });
});

describe("a row", () => {
  const side = (net: string) => ({ ...NO_SUMS, bets: 1, net: amount(net) });
  const contribution = (currency: string, provider: string, ledger: string, mismatches = "0") => ({
    ...NOTHING_COUNTED,
    currency,
    provider: side(provider),
    ledger: side(ledger),
    mismatches: amount(mismatches),
  });
  const rowsOf = (...contributions: ReturnType<typeof contribution>[]) => {
    const totals: Totals = new Map();
    for (const one of contributions) addUp(totals, one);
    return toRows("P1", totals, true);
  };

  test("adds up each currency on its own, with every digit", () => {
    const rows = rowsOf(
      contribution("THB", "0.1", "0.1"),
      contribution("THB", "0.2", "0.2"),
      contribution("JPY", "100000000000000000000000.00000001", "0", "100000000000000000000000.00000001"),
    );
    expect(rows.map((row) => [row.currency, row.provider.net, row.ledger.bets, row.rest])).toEqual([
      ["JPY", "100000000000000000000000.00000001", 1, "0"],
      ["THB", "0.3", 2, "0"],
    ]);
  });

  test("with unexplained money is an error, but only on a complete day", () => {
    const [row] = rowsOf(contribution("THB", "20", "10"));
    expect(row?.difference).toBe("10");
    expect(row?.rest).toBe("10");
    expect(row && isUnexplained(row)).toBe(true);
    expect(row && isUnexplained({ ...row, complete: false })).toBe(false);
    const [explained] = rowsOf(contribution("THB", "20", "10", "10"));
    expect(explained && isUnexplained(explained)).toBe(false);
  });
});
