/** What a newcomer may look at first, in the terminal and on the overview. */

import { formatInstant } from "../../clock.ts";
import type { GuideStep } from "../../ops/dashboard/overview/guide.ts";
import type { TimeRange } from "../../window.ts";
import { LATE_DEPOSIT } from "./try-out-transfers.ts";

const AROUND_MS = 3_600_000;

/** The first three are shown in the terminal. @param stalled the time that cannot be fetched for a while */
export function tryOutGuide(productId: string, stalled: TimeRange): readonly GuideStep[] {
  const hours = new URLSearchParams({
    product: productId,
    from: formatInstant(stalled.from - AROUND_MS),
    to: formatInstant(stalled.to + AROUND_MS),
  });
  return [
    { what: "What is wrong now: a fault of each kind, what it means and what to do", path: "/incidents" },
    {
      what: "A deposit that the provider rejected and booked afterwards",
      path: `/transfers/${LATE_DEPOSIT}`,
    },
    { what: "Yesterday's statement: both sides, and what explains their difference", path: "/report" },
    {
      what: `Some time of ${productId} that the provider does not report, with the reason`,
      path: `/coverage?${hours}`,
    },
    { what: "Two days in lines: money at risk, callbacks, records, delays", path: "/trends" },
  ];
}
