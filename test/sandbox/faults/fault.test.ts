import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkFaults, FAULT_KINDS } from "../../../src/sandbox/faults/fault.ts";
import { readFaultFile } from "../../../src/sandbox/faults/fault-list.ts";

const PRODUCTS = ["TABLE", "SLOT", "SPORT"];
const SOURCE = join(import.meta.dirname, "../../../src/sandbox");

/** The lines of the error about a list, without the first line. */
function problemsOf(faults: unknown): string[] {
  try {
    checkFaults(faults, PRODUCTS);
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: "settings-invalid" });
    return (error as Error).message
      .split("\n")
      .slice(1)
      .map((line) => line.trim());
  }
}

describe("a list of faults", () => {
  it("is read with its times in milliseconds and with defaults for missing fields", () => {
    const faults = [
      { do: { kind: "shift" } },
      {
        when: {
          longerThan: "PT1M30S",
          between: ["1970-01-01T07:00:00+07:00", "1970-01-01T00:00:05Z"],
          requests: { every: 2 },
        },
        do: { kind: "slow", delay: "PT0.5S" },
      },
    ];
    expect(checkFaults(faults, PRODUCTS)).toEqual([
      { when: {}, do: { kind: "shift", records: 1 } },
      {
        when: { longerThan: 90_000, between: [0, 5000], requests: { every: 2, offset: 0 } },
        do: { kind: "slow", delay: 500 },
      },
    ]);
  });

  it.each([
    [{ product: "CHESS" }, '.product: must be one of TABLE, SLOT, SPORT (it is "CHESS")'],
    [{ hoursUtc: [24] }, ".hoursUtc[0]: Too big: expected number to be <=23 (it is 24)"],
    [{ hoursUtc: [] }, ".hoursUtc: Too small: expected array to have >=1 items (it is [])"],
    [
      { longerThan: "20 minutes" },
      '.longerThan: must be an ISO 8601 duration such as "PT20M" (it is "20 minutes")',
    ],
    [{ longerThan: "PT0S" }, '.longerThan: must be an ISO 8601 duration such as "PT20M" (it is "PT0S")'],
    [{ page: 0 }, ".page: Too small: expected number to be >=1 (it is 0)"],
    [
      { between: ["2026-11-20T10:00:00", "2026-11-20T11:00:00Z"] },
      '.between[0]: must be a date-time with an offset such as 2026-11-20T10:00:00Z (it is "2026-11-20T10:00:00")',
    ],
    [
      { between: ["2026-11-20T11:00:00Z", "2026-11-20T10:00:00Z"] },
      '.between: must be two times, the earlier one first (it is ["2026-11-20T11:00:00Z","2026-11-20T10:00:00Z"])',
    ],
    [{ requests: 5 }, '.requests: must be a list of numbers, or { "every": 5, "offset": 2 } (it is 5)'],
    [{ requests: [0] }, ".requests[0]: Too small: expected number to be >=1 (it is 0)"],
    [{ times: 0.5 }, ".times: Invalid input: expected int, received number (it is 0.5)"],
    [{ share: 2 }, ".share: Too big: expected number to be <=1 (it is 2)"],
    [{ pages: 2 }, ': Unrecognized key: "pages" (it is {"pages":2})'],
  ])("says what is wrong with the condition %j", (when, problem) => {
    expect(problemsOf([{ when, do: { kind: "drop" } }])).toEqual([`[0].when${problem}`]);
  });

  it.each([
    [{ kind: "explode" }, `.kind: must be one of ${FAULT_KINDS.join(", ")} (it is "explode")`],
    [{ kind: "status", status: 99 }, ".status: Too small: expected number to be >=200 (it is 99)"],
    [{ kind: "code", code: 0 }, ".code: must not be 0, which is success (it is 0)"],
    [{ kind: "slow" }, ".delay: Invalid input: expected string, received undefined"],
    [{ kind: "hang", delay: "PT1S" }, ': Unrecognized key: "delay" (it is {"kind":"hang","delay":"PT1S"})'],
    [
      { kind: "cursor-loop", variant: "second" },
      '.variant: Invalid option: expected one of "asked"|"first" (it is "second")',
    ],
  ])("says what is wrong with the action %j", (action, problem) => {
    expect(problemsOf([{ do: action }])).toEqual([`[0].do${problem}`]);
  });

  it.each(["cursor-loop", "expired-cursor", "repeat-records", "shift"])(
    "refuses %s for a first page",
    (kind) => {
      const variant = kind === "cursor-loop" ? { variant: "asked" } : {};
      expect(problemsOf([{ when: { page: 1 }, do: { kind, ...variant } }])).toEqual([
        "[0].when.page: can never be 1 for this kind (it is 1)",
      ]);
    },
  );

  it.each([[null], [{}], ["hang"]])("is not %j", (faults) => {
    expect(problemsOf(faults)).toEqual([expect.stringMatching(/^the whole: .*expected array/)]);
  });

  it("has one error with all its problems", () => {
    const faults = [
      { when: { page: 1, share: 3 }, do: { kind: "shift" } },
      {},
      { do: { kind: "drop", after: 1 } },
    ];
    expect(problemsOf(faults).map((problem) => problem.split(":")[0])).toEqual([
      "[0].when.share",
      "[0].when.page",
      "[1].do",
      "[2].do",
    ]);
  });
});

describe("a file of faults", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "faults-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function read(text: string) {
    const path = join(folder, "faults.json");
    writeFileSync(path, text);
    return readFaultFile(path, PRODUCTS);
  }

  it("is named in the error with its problems", () => {
    expect(() => read('[{ "do": { "kind": "status" } }, {}]')).toThrow(
      /faults\.json has 2 problems:\n {2}\[0\]\.do\.status: .*\n {2}\[1\]\.do: /,
    );
  });

  it("is named in the error when it is not JSON, or does not exist", () => {
    expect(() => read("[")).toThrow(/faults\.json is not JSON: /);
    expect(() => readFaultFile(join(folder, "none.json"), PRODUCTS)).toThrow(
      /none\.json cannot be read: ENOENT/,
    );
  });

  it("can look like the example", () => {
    expect(readFaultFile(join(SOURCE, "example-faults.json"), PRODUCTS)).toHaveLength(5);
  });
});

describe("the README of the sandbox", () => {
  it("has a line for each kind of fault, and no other", () => {
    const readme = readFileSync(join(SOURCE, "README.md"), "utf8");
    const table = readme.slice(readme.indexOf("| kind |"), readme.indexOf("## The other endpoints"));
    const kinds = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, kind]) => kind);
    expect(kinds.sort()).toEqual([...FAULT_KINDS].sort());
  });
});
