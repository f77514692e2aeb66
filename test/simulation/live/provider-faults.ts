/** How the provider of a run in real time stalls and fails, never for long. */

import { formatInstant, type Instant } from "../../../src/clock.ts";
import type { AnyFault } from "../../../src/sandbox/faults/fault-list.ts";
import { DENIED } from "./live-oddities.ts";

const SECOND_MS = 1_000;
/** Each minute one of these lasts for some seconds, in turn. */
const STALLS: readonly { readonly forMs: number; readonly fault: AnyFault }[] = [
  { forMs: 8_000, fault: { do: { kind: "status", status: 504 } } },
  { forMs: 10_000, fault: { do: { kind: "slow", delay: "PT1.5S" } } },
  { forMs: 6_000, fault: { do: { kind: "status", status: 429, retryAfter: 2 } } },
  { forMs: 6_000, fault: { do: { kind: "hang" } } },
  { forMs: 8_000, fault: { when: { longerThan: "PT10S" }, do: { kind: "status", status: 408 } } },
  { forMs: 6_000, fault: { do: { kind: "status", status: 503 } } },
];
const STALL_EVERY_MS = 60 * SECOND_MS;
const FIRST_STALL_MS = 25 * SECOND_MS;

const NOW_AND_THEN: readonly AnyFault[] = [
  { when: { share: 0.01 }, do: { kind: "half-json" } },
  { when: { share: 0.01 }, do: { kind: "cut-short" } },
  { when: { share: 0.01 }, do: { kind: "drop" } },
  { when: { share: 0.01 }, do: { kind: "status", status: 500 } },
  { when: { share: 0.005 }, do: { kind: "status", status: 429, retryAfter: 1 } },
  { when: { share: 0.01 }, do: { kind: "code", code: 1 } },
  { when: { share: 0.02 }, do: { kind: "slow", delay: "PT1S" } },
  { when: { share: 0.01 }, do: { kind: "malformed-record", variant: "amount-no-number" } },
  { when: { share: 0.03, page: 2 }, do: { kind: "expired-cursor" } },
  { when: { share: 0.03, page: 2 }, do: { kind: "repeat-records" } },
  { when: { endpoint: "verify-topup", ref: `${DENIED}$` }, do: { kind: "denied" } },
  { when: { endpoint: "verify-topup", share: 0.1 }, do: { kind: "status", status: 500 } },
];

/** @param playedMs stalls begin only during play, so that the end is quiet */
export function planProviderFaults(startsAt: Instant, playedMs: number): AnyFault[] {
  const stalls: AnyFault[] = [];
  for (let at = FIRST_STALL_MS; at < playedMs; at += STALL_EVERY_MS) {
    const { forMs, fault } = STALLS[stalls.length % STALLS.length] as (typeof STALLS)[number];
    const between = [formatInstant(startsAt + at), formatInstant(startsAt + at + forMs)];
    stalls.push({ ...fault, when: { ...fault.when, between } } as AnyFault);
  }
  return [...stalls, ...NOW_AND_THEN];
}
