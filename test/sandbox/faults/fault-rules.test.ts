import { describe, expect, it } from "vitest";
import { parseInstant } from "../../../src/clock.ts";
import {
  checkFaults,
  couldStrike,
  createFaultRules,
  type Fault,
  type FaultRequest,
  strikesNumber,
} from "../../../src/sandbox/faults/fault.ts";

const PRODUCTS = ["P1", "P2"];

type When = NonNullable<Fault["when"]>;

function checked(...faults: Fault[]) {
  return checkFaults(faults, PRODUCTS);
}

function conditionOf(when: When) {
  const [fault] = checked({ when, do: { kind: "drop" } });
  if (fault === undefined) throw new Error("one fault went in");
  return fault;
}

function at(text: string): number {
  return parseInstant(text, "time");
}

/** Page 2 of P1, from 10:15 to 10:45 UTC, requested at 12:00. */
function requestOf(changes: Partial<FaultRequest> = {}): FaultRequest {
  return {
    productId: "P1",
    range: { from: at("2026-11-20T10:15:00Z"), to: at("2026-11-20T10:45:00Z") },
    page: 2,
    now: at("2026-11-20T12:00:00Z"),
    ...changes,
  };
}

describe("a fault strikes a request", () => {
  const NOON = "2026-11-20T12:00:00Z";
  const ONE = "2026-11-20T13:00:00Z";
  it.each<[When, boolean]>([
    [{}, true],
    [{ product: "P1" }, true],
    [{ product: "P2" }, false],
    [{ hoursUtc: [10] }, true],
    [{ hoursUtc: [9, 10] }, true],
    [{ hoursUtc: [9, 11] }, false],
    [{ longerThan: "PT29M59.999S" }, true],
    [{ longerThan: "PT30M" }, false],
    [{ touches: ["2026-11-20T10:20:00Z", "2026-11-20T11:00:00Z"] }, true],
    [{ touches: ["2026-11-20T10:45:00Z", "2026-11-20T11:00:00Z"] }, false],
    [{ touches: ["2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z"] }, false],
    [{ page: 2 }, true],
    [{ page: 1 }, false],
    [{ between: [NOON, ONE] }, true],
    [{ between: ["2026-11-20T11:00:00Z", NOON] }, false],
    [{ between: ["2026-11-20T18:59:00+07:00", "2026-11-20T19:01:00+07:00"] }, true],
    [{ product: "P1", hoursUtc: [10], longerThan: "PT5M", page: 2, between: [NOON, ONE] }, true],
    [{ product: "P1", hoursUtc: [10], longerThan: "PT5M", page: 3, between: [NOON, ONE] }, false],
    [{ product: "P2", hoursUtc: [10], longerThan: "PT5M", page: 2, between: [NOON, ONE] }, false],
  ])("when %j: %s", (when, strikes) => {
    expect(couldStrike(conditionOf(when), requestOf())).toBe(strikes);
  });

  it.each([
    ["10:00", "11:00", [10], true],
    ["10:00", "11:00", [11], false],
    ["10:59", "11:01", [11], true],
    ["10:59", "11:01", [9, 12], false],
  ])("whose range is %s to %s, when the fault has the hours %j: %s", (from, to, hoursUtc, strikes) => {
    const range = { from: at(`2026-11-20T${from}:00Z`), to: at(`2026-11-20T${to}:00Z`) };
    expect(couldStrike(conditionOf({ hoursUtc }), requestOf({ range }))).toBe(strikes);
  });

  it.each<[Fault["do"], boolean]>([
    [{ kind: "drop" }, true],
    [{ kind: "endless-cursor", variant: "empty" }, true],
    [{ kind: "cursor-loop", variant: "asked" }, false],
    [{ kind: "expired-cursor" }, false],
    [{ kind: "repeat-records" }, false],
    [{ kind: "shift" }, false],
  ])("for a first page, with %j: %s", (action, strikes) => {
    const [fault] = checked({ do: action });
    expect(fault && couldStrike(fault, requestOf({ page: 1 }))).toBe(strikes);
    expect(fault && couldStrike(fault, requestOf({ page: 2 }))).toBe(true);
  });
});

describe("of the requests that match a fault", () => {
  const struck = (condition: When, count = 12) => {
    const { when } = conditionOf(condition);
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    return numbers.filter((number) => strikesNumber(when, number, "luck"));
  };

  it.each<[When, number[]]>([
    [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{ requests: [1] }, [1]],
    [{ requests: [5, 2, 40] }, [2, 5]],
    [{ requests: { every: 5 } }, [5, 10]],
    [{ requests: { every: 5, offset: 2 } }, [7, 12]],
    [{ requests: { every: 1, offset: 9 } }, [10, 11, 12]],
    [{ share: 0 }, []],
    [{ share: 1 }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{ share: 1, requests: [3] }, [3]],
    [{ share: 0, requests: [3] }, []],
  ])("%j strikes the numbers %j", (when, numbers) => {
    expect(struck(when)).toEqual(numbers);
  });

  it.each([0.01, 0.1, 0.5, 0.9])("a share of %s strikes about that share", (share) => {
    const count = struck({ share }, 20_000).length / 20_000;
    expect(Math.abs(count - share)).toBeLessThan(0.02);
  });
});

/** What happens to each request, by its number; "-" is a normal answer. */
function play(faults: Fault[], requests: readonly FaultRequest[], seed = 1): string[] {
  const rules = createFaultRules(checked(...faults), seed);
  return requests.map((request) => rules.strike(request)?.kind ?? "-");
}

const times = (count: number, changes: Partial<FaultRequest> = {}) =>
  Array.from({ length: count }, () => requestOf(changes));

describe("a list of faults", () => {
  it("strikes with its first matching fault", () => {
    const faults: Fault[] = [
      { when: { product: "P2" }, do: { kind: "hang" } },
      { when: { page: 2 }, do: { kind: "drop" } },
      { do: { kind: "html" } },
    ];
    const requests = [requestOf({ productId: "P2" }), requestOf(), requestOf({ page: 3 })];
    expect(play(faults, requests)).toEqual(["hang", "drop", "html"]);
  });

  it("strikes at most the given number of times", () => {
    const faults: Fault[] = [{ when: { times: 2 }, do: { kind: "drop" } }];
    expect(play(faults, times(4))).toEqual(["drop", "drop", "-", "-"]);
  });

  it("leaves a request to the next fault once the fault before has struck often enough", () => {
    const faults: Fault[] = [
      { when: { times: 1 }, do: { kind: "hang" } },
      { when: { times: 1 }, do: { kind: "drop" } },
    ];
    expect(play(faults, times(3))).toEqual(["hang", "drop", "-"]);
  });

  it("counts, for each fault, only the requests that match it", () => {
    const faults: Fault[] = [{ when: { product: "P2", requests: [2] }, do: { kind: "drop" } }];
    const [one, other] = [requestOf(), requestOf({ productId: "P2" })];
    expect(play(faults, [one, other, one, one, other, other])).toEqual(["-", "-", "-", "-", "drop", "-"]);
  });

  it("does not count, for a fault, the requests that an earlier fault strikes", () => {
    const faults: Fault[] = [
      { when: { requests: [1] }, do: { kind: "hang" } },
      { when: { requests: [1] }, do: { kind: "drop" } },
    ];
    expect(play(faults, times(3))).toEqual(["hang", "drop", "-"]);
  });

  it("does not count first pages for a kind that never strikes them", () => {
    const faults: Fault[] = [{ when: { requests: [2] }, do: { kind: "expired-cursor" } }];
    const pages = [1, 2, 3, 1, 2].map((page) => requestOf({ page }));
    expect(play(faults, pages)).toEqual(["-", "-", "expired-cursor", "-", "-"]);
  });

  it("has no effect when it is empty", () => {
    expect(play([], times(2))).toEqual(["-", "-"]);
  });
});

describe("the share of a fault", () => {
  const faults: Fault[] = [
    { when: { share: 0.2 }, do: { kind: "drop" } },
    { when: { share: 0.2 }, do: { kind: "html" } },
  ];

  it("falls on the same requests in every run with the same seed", () => {
    expect(play(faults, times(200), 7)).toEqual(play(faults, times(200), 7));
  });

  it("falls on other requests with another seed", () => {
    expect(play(faults, times(200), 7)).not.toEqual(play(faults, times(200), 8));
  });

  it("depends only on the number of earlier requests", () => {
    const mixed = times(200).map((request, index) => ({
      ...request,
      page: index,
      productId: PRODUCTS[index % 2] ?? "",
    }));
    expect(play(faults, mixed, 7)).toEqual(play(faults, times(200), 7));
  });

  it("does not fall on the same requests for two faults", () => {
    const kinds = new Set(play(faults, times(200), 7));
    expect(kinds).toEqual(new Set(["-", "drop", "html"]));
  });
});
