/** Chooses the fault for a request of the bet query: the first in the list whose conditions all hold. */

import type { Instant } from "../../clock.ts";
import { lengthOf, type TimeRange } from "../../window.ts";
import { hashText } from "../world/random.ts";
import { type CheckedFault, type FaultAction, type FaultCondition, needsPageBefore } from "./fault.ts";

/** The values of a request that faults can depend on. */
export interface FaultRequest {
  readonly productId: string;
  readonly range: TimeRange;
  /** the number of the page in its query, from 1 */
  readonly page: number;
  readonly now: Instant;
}

const HOUR_MS = 3_600_000;

export interface FaultRules {
  /** @returns the effect on the request; null: no fault strikes. Every call counts as one request. */
  strike(request: FaultRequest): FaultAction | null;
}

/**
 * Each fault counts the requests that it could strike, without those that an earlier fault of the list struck.
 * @param seed decides the shares, with the fault's place in the list and this count
 */
export function createFaultRules(faults: readonly CheckedFault[], seed: number): FaultRules {
  const rules = faults.map((fault, index) => ({ fault, luck: `${seed}|fault|${index}`, seen: 0, struck: 0 }));
  return {
    strike(request) {
      for (const rule of rules) {
        const { when } = rule.fault;
        if (!couldStrike(rule.fault, request)) continue;
        rule.seen++;
        if (when.times !== undefined && rule.struck >= when.times) continue;
        if (!strikesNumber(when, rule.seen, rule.luck)) continue;
        rule.struck++;
        return rule.fault.do;
      }
      return null;
    },
  };
}

/** Whether the conditions hold that depend only on the request. */
export function couldStrike({ when, do: { kind } }: CheckedFault, request: FaultRequest): boolean {
  const { productId, range, page, now } = request;
  if (needsPageBefore(kind) && page === 1) return false;
  if (when.product !== undefined && when.product !== productId) return false;
  if (when.page !== undefined && when.page !== page) return false;
  if (when.longerThan !== undefined && lengthOf(range) <= when.longerThan) return false;
  if (when.between !== undefined && (now < when.between[0] || now >= when.between[1])) return false;
  if (when.touches !== undefined && (range.to <= when.touches[0] || range.from >= when.touches[1]))
    return false;
  return when.hoursUtc === undefined || touchesHour(range, when.hoursUtc);
}

/**
 * Whether the fault strikes the n-th request that it could strike.
 * @param luck the same text, number and share always give the same result
 */
export function strikesNumber({ requests, share }: FaultCondition, number: number, luck: string): boolean {
  if (Array.isArray(requests) && !requests.includes(number)) return false;
  if (requests !== undefined && !Array.isArray(requests)) {
    const { every, offset } = requests;
    if (number <= offset || (number - offset) % every !== 0) return false;
  }
  return share === undefined || hashText(`${luck}|${number}`) < share * 2 ** 32;
}

function touchesHour(range: TimeRange, hoursUtc: readonly number[]): boolean {
  const [first, last] = [Math.floor(range.from / HOUR_MS), Math.ceil(range.to / HOUR_MS) - 1];
  return hoursUtc.some((hour) => first + ((((hour - first) % 24) + 24) % 24) <= last);
}
