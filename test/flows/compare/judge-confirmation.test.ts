import { describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { NOTHING_DELETED } from "../../../src/db/retention-store.ts";
import { assessPairs, type PendingDifference } from "../../../src/diff/assess.ts";
import { type Pass, requiredConditionsOf } from "../../../src/diff/required-conditions.ts";
import type { StaleKind } from "../../../src/diff/stale-store.ts";
import type { JudgeContext } from "../../../src/flows/compare/comparison-context.ts";
import {
  type ConfirmationFacts,
  judgeConfirmation,
  sidesToCheck,
} from "../../../src/flows/compare/judge-confirmation.ts";
import { bet, record, SETTINGS } from "../../diff/sides.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";

const { products } = parseConfig({ products: [{ productId: "P1" }] });

/** @param hours how long after noon; the records and entries of a bet were known by noon */
function contextAt(hours: number): JudgeContext {
  const [product] = products;
  if (product === undefined) throw new Error("the config has no product");
  return {
    product,
    now: NOON + hours * HOUR_MS,
    settings: SETTINGS,
    deleted: NOTHING_DELETED,
    graces: {
      callbackGraceMs: 15 * MINUTE_MS,
      providerGraceMs: HOUR_MS,
      settleDelayMs: 2 * MINUTE_MS,
      overlapMs: 5 * MINUTE_MS,
      roundPatienceMs: 24 * HOUR_MS,
      earliestFetch: NOON - 72 * HOUR_MS,
    },
    everyMs: MINUTE_MS,
    sessionQuietMs: 15 * MINUTE_MS,
  };
}

function onlyVerdict(...[records, bets]: Parameters<typeof assessPairs>): PendingDifference {
  const [pending] = assessPairs(records, bets, SETTINGS).flatMap((one) => one.pending ?? []);
  if (pending === undefined) throw new Error("both sides agree");
  return pending;
}

const NO_RECORD = onlyVerdict([], [bet()], SETTINGS);
const NO_BET = onlyVerdict([record()], [], SETTINGS);
const OTHER_STAKE = onlyVerdict([record({ stake: "11" })], [bet()], SETTINGS);
const FRESH: ReadonlySet<StaleKind> = new Set();

/** The whole day was fetched after `hours`. */
const fetchedAfter = (hours: number): Pass => {
  const startedAt = NOON + hours * HOUR_MS;
  return { from: NOON - 24 * HOUR_MS, to: startedAt, startedAt, fetchedAt: startedAt };
};
const known = (changes: Partial<ConfirmationFacts> = {}): ConfirmationFacts => ({
  passes: [],
  unfetched: [],
  unusable: new Set(),
  ofDeleted: new Set(),
  ...changes,
});

function judge(pending: PendingDifference, hours: number, facts: ConfirmationFacts, stale = FRESH) {
  const context = contextAt(hours);
  const checks = [{ pending, conditions: requiredConditionsOf(pending, context.graces, context.now) }];
  return {
    wait: judgeConfirmation(checks, facts, stale, context).get(pending) ?? "confirmed",
    checked: [...sidesToCheck(checks, facts, context)],
  };
}

describe("a pending difference", () => {
  test("waits for its grace", () => {
    expect(judge(NO_BET, 0.1, known()).wait).toEqual({ until: NOON + 15 * MINUTE_MS });
  });

  test("is confirmed when its graces are over and its time was fetched again", () => {
    expect(judge(NO_RECORD, 3, known()).wait).toEqual({ fetch: [expect.anything()] });
    expect(judge(NO_RECORD, 3, known({ passes: [fetchedAfter(2.5)] })).wait).toBe("confirmed");
  });

  test("about a rejected record or entry waits for a correction, regardless of what was fetched", () => {
    const facts = known({ passes: [fetchedAfter(2.5)], unusable: new Set([NO_RECORD]) });
    expect(judge(NO_RECORD, 3, facts).wait).toEqual({ until: null });
  });

  test("that another record could change waits while the time of the bet is not fetched", () => {
    const unfetched = [{ from: NOON - HOUR_MS, to: NOON }];
    const facts = known({ passes: [fetchedAfter(2.5)] });
    expect(judge(OTHER_STAKE, 3, facts).wait).toBe("confirmed");
    expect(judge(OTHER_STAKE, 3, { ...facts, unfetched }).wait).toEqual({
      until: NOON + 3 * HOUR_MS + MINUTE_MS,
    });
  });
});

describe("a side is checked for staleness", () => {
  test("only if a difference that is confirmed otherwise lacks that side, and for the provider's grace at most", () => {
    expect(judge(NO_BET, 0.1, known()).checked).toEqual([]);
    expect(judge(NO_BET, 0.5, known()).checked).toEqual(["ledger-stale"]);
    expect(judge(NO_BET, 2, known()).checked).toEqual([]);
    expect(judge(OTHER_STAKE, 0.5, known({ passes: [fetchedAfter(0.4)] })).checked).toEqual([]);
  });

  test("and leaves the difference unconfirmed if it is stale, until the next comparison", () => {
    const stale = new Set<StaleKind>(["ledger-stale"]);
    const fiveMinutesLater = NOON + 0.5 * HOUR_MS + 5 * MINUTE_MS;
    expect(judge(NO_BET, 0.5, known()).wait).toBe("confirmed");
    expect(judge(NO_BET, 0.5, known(), stale).wait).toEqual({ until: fiveMinutesLater });
    expect(judge(NO_BET, 0.5, known(), new Set<StaleKind>(["provider-stale"])).wait).toBe("confirmed");
    expect(judge(NO_BET, 2, known(), stale).wait).toBe("confirmed");
  });
});
