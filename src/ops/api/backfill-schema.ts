/** The API's schemas of backfills. */

import type { BackfillDocument, PlanDocument } from "../../flows/pull/backfill.ts";
import { BACKFILL_STATUSES } from "../../sync/backfill.ts";
import { COUNT, documentOf, INSTANT, listOf, NEXT, oneOf, orNull, TEXT } from "./schema.ts";

const BACKFILL = documentOf<BackfillDocument>({
  id: orNull({ ...TEXT, description: "null: a dry run" }),
  productId: TEXT,
  from: INSTANT,
  to: INSTANT,
  status: orNull(oneOf(BACKFILL_STATUSES)),
  windowsTotal: COUNT,
  windowsDone: COUNT,
  records: COUNT,
  created: COUNT,
  changed: COUNT,
  unchanged: COUNT,
  startedAt: orNull(INSTANT),
  endedAt: orNull(INSTANT),
});

export const ONE_BACKFILL = documentOf<{ backfill: unknown }>({ backfill: BACKFILL });

export const BACKFILL_LIST = documentOf<{ backfills: unknown; next: unknown }>({
  backfills: listOf(BACKFILL),
  next: NEXT,
});

export const PLAN = documentOf<PlanDocument>({
  backfill: BACKFILL,
  plan: documentOf<PlanDocument["plan"]>({
    windowSeconds: { type: "number" },
    rangeSeconds: { type: "number" },
    coveredSeconds: { type: "number" },
  }),
});
