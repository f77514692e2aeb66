/** The API's schemas of status, coverage and the audit log. */

import type { AuditedRequest } from "../../access/audit-store.ts";
import type { Coverage } from "../../flows/read/read-coverage.ts";
import type { Status } from "../../flows/read/read-status.ts";
import { MISMATCH_STATUSES } from "../../mismatch.ts";
import { WINDOW_KINDS } from "../../sync/window-store.ts";
import { TRANSFER_STATUSES } from "../../transfer.ts";
import {
  AMOUNT,
  COUNT,
  documentOf,
  FLAG,
  INSTANT,
  listOf,
  NEXT,
  oneOf,
  orNull,
  type Schema,
  TEXT,
} from "./schema.ts";

const PRODUCT_STATUS = documentOf<Status["products"][number]>({
  productId: TEXT,
  head: orNull(INSTANT),
  watermark: orNull(INSTANT),
  lagSeconds: orNull({ type: "integer" }),
  resweepBehindSeconds: orNull({
    ...COUNT,
    description: "how long the oldest resweep that is not done has been due; 0: none is due",
  }),
  windowSeconds: orNull({ type: "number" }),
  stalled: FLAG,
  gaps: COUNT,
  records: COUNT,
  rejected: COUNT,
  openMismatches: COUNT,
});

export const STATUS = documentOf<Status>({
  products: listOf(PRODUCT_STATUS),
  ledger: documentOf<Status["ledger"]>({ entries: COUNT, lastReceivedAt: orNull(INSTANT) }),
  mismatches: countsOf(MISMATCH_STATUSES),
  transfers: countsOf(TRANSFER_STATUSES),
  alerts: documentOf<Status["alerts"]>({ undelivered: COUNT }),
  comparing: documentOf<Status["comparing"]>({
    upTo: orNull({
      ...INSTANT,
      description: "everything that had arrived by then has been judged, or waits for its graces",
    }),
    behindSeconds: orNull(COUNT),
    waiting: { ...COUNT, description: "marked rounds and bets that are due now" },
    setAside: { ...COUNT, description: "rounds and bets that cannot be compared; all others are compared" },
    problem: orNull({ ...TEXT, description: "the problem; null: there is none" }),
  }),
  verifying: documentOf<Status["verifying"]>({
    behindSeconds: orNull({
      ...COUNT,
      description:
        "the longest wait of a due question; where nothing waits, the time since the last check; null: no check yet",
    }),
    due: { ...COUNT, description: "transfers and top-ups whose question is due now" },
  }),
  rejected: documentOf<Status["rejected"]>({ records: COUNT, entries: COUNT }),
  unknownProducts: listOf(
    documentOf<Status["unknownProducts"][number]>({
      productId: {
        ...TEXT,
        description: "a product that has entries or records, and is not in the settings",
      },
      entries: COUNT,
      since: INSTANT,
    }),
  ),
  outside: listOf(
    documentOf<Status["outside"][number]>({
      productId: TEXT,
      currency: TEXT,
      outside: {
        ...AMOUNT,
        description:
          "what moved by entries that no comparison looks at, on the days that are not closed, at most the last 7",
      },
    }),
  ),
});

export const COVERAGE = documentOf<Coverage>({
  productId: TEXT,
  from: INSTANT,
  to: INSTANT,
  complete: FLAG,
  gaps: listOf(
    documentOf<Coverage["gaps"][number]>({
      from: INSTANT,
      to: INSTANT,
      reason: { ...TEXT, description: "`not-fetched`, or the code of an error" },
    }),
  ),
  windows: listOf(
    documentOf<Coverage["windows"][number]>({
      from: INSTANT,
      to: INSTANT,
      kind: oneOf(WINDOW_KINDS),
      records: COUNT,
      pages: COUNT,
      fetchedAt: INSTANT,
    }),
  ),
});

export const AUDIT = documentOf<{ audit: unknown; next: unknown }>({
  audit: listOf(
    documentOf<AuditedRequest & { id: unknown }>({
      id: TEXT,
      at: INSTANT,
      who: {
        ...TEXT,
        description: "the name of the token; of a command, the account; local: without tokens",
      },
      role: oneOf(["read", "write"]),
      by: oneOf(["token", "session", "loopback", "command"]),
      address: TEXT,
      method: TEXT,
      route: TEXT,
      target: { type: "object", additionalProperties: TEXT },
      details: { description: "the sent body without secrets; null: no body, or an unread one" },
      status: orNull({
        ...COUNT,
        description: "of the answer, or a command's exit code; null: there was no answer",
      }),
    }),
  ),
  next: NEXT,
});

function countsOf(names: readonly string[]): Schema {
  return documentOf<Record<string, unknown>>(Object.fromEntries(names.map((name) => [name, COUNT])));
}
