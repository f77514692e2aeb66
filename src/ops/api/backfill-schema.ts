/** The API's schemas of backfills. */

import type { BackfillDocument, PlanDocument } from "../../flows/pull/backfill.ts";
import { BACKFILL_STATUSES } from "../../sync/backfill.ts";
import { NEXT, PAGE_FIELDS } from "./page-schema.ts";
import { COUNT, documentOf, FLAG, formOf, INSTANT, listOf, oneOf, orNull, TEXT } from "./schema.ts";

export const LIST_QUERY = formOf({}, PAGE_FIELDS);

export const REQUEST_FORM = formOf(
  { productId: TEXT, from: INSTANT, to: { ...INSTANT, description: "not included" } },
  { dryRun: { ...FLAG, description: "only report the effect of the backfill" } },
);

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
