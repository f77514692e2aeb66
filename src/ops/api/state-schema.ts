/** The API's schema of the status. */

import { z } from "zod";
import { AMOUNT, COUNT, FLAG, INSTANT, objectOf, TEXT } from "../../answer.ts";
import type { Status } from "../../flows/read/read-status.ts";
import { MISMATCH_STATUSES } from "../../mismatch.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";

const PRODUCT_STATUS = objectOf({
  productId: TEXT,
  head: z.nullable(INSTANT),
  watermark: z.nullable(INSTANT),
  lagSeconds: z.nullable(z.number().meta({ type: "integer" })),
  resweepBehindSeconds: z.nullable(
    COUNT.meta({ description: "how long the oldest resweep that is not done has been due; 0: none is due" }),
  ),
  windowSeconds: z.nullable(z.number()),
  stalled: FLAG,
  gaps: COUNT,
  records: COUNT,
  rejected: COUNT,
  openMismatches: COUNT,
});

export const STATUS = objectOf({
  products: z.array(PRODUCT_STATUS),
  ledger: objectOf({ entries: COUNT, lastReceivedAt: z.nullable(INSTANT) }),
  mismatches: countsOf(MISMATCH_STATUSES),
  transfers: countsOf(TRANSFER_STATUSES),
  alerts: objectOf({ undelivered: COUNT }),
  comparing: objectOf({
    upTo: z.nullable(
      INSTANT.meta({
        description: "everything that had arrived by then has been judged, or waits for its graces",
      }),
    ),
    behindSeconds: z.nullable(COUNT),
    waiting: COUNT.meta({ description: "marked rounds and bets that are due now" }),
    setAside: COUNT.meta({
      description: "rounds and bets that cannot be compared; all others are compared",
    }),
    problem: z.nullable(TEXT.meta({ description: "the problem; null: there is none" })),
  }),
  verifying: objectOf({
    behindSeconds: z.nullable(
      COUNT.meta({
        description:
          "the longest wait of a due question; where nothing waits, the time since the last check; null: no check yet",
      }),
    ),
    due: COUNT.meta({ description: "transfers and top-ups whose question is due now" }),
  }),
  rejected: objectOf({ records: COUNT, entries: COUNT }),
  unknownProducts: z.array(
    objectOf({
      productId: TEXT.meta({
        description: "a product that has entries or records, and is not in the settings",
      }),
      entries: COUNT,
      since: INSTANT,
    }),
  ),
  outside: z.array(
    objectOf({
      productId: TEXT,
      currency: TEXT,
      outside: AMOUNT.meta({
        description:
          "what moved by entries that no comparison looks at, on the days that are not closed, at most the last 7",
      }),
    }),
  ),
}) satisfies z.ZodType<Status>;

function countsOf<Name extends string>(names: readonly Name[]) {
  return objectOf(Object.fromEntries(names.map((name) => [name, COUNT])) as Record<Name, typeof COUNT>);
}
