/** The API's schemas of incidents. */

import type { IncidentDocument, IncidentStoryDocument } from "../../flows/read/incident-document.ts";
import { MISMATCH_KINDS } from "../../mismatch.ts";
import { COMMENT } from "./comment-schema.ts";
import { MISMATCH, STATUS } from "./mismatch-schema.ts";
import { AMOUNT, COUNT, documentOf, INSTANT, listOf, NEXT, oneOf, orNull, TEXT } from "./schema.ts";

const FIELDS = {
  id: TEXT,
  productId: TEXT,
  kind: oneOf(MISMATCH_KINDS),
  backfillId: orNull(TEXT),
  beganAt: INSTANT,
  lastAt: INSTANT,
  endedAt: orNull(INSTANT),
  total: COUNT,
  open: COUNT,
  amounts: listOf(
    documentOf<IncidentDocument["amounts"][number]>({ currency: orNull(TEXT), amount: AMOUNT }),
  ),
};

export const INCIDENT_LIST = documentOf<{ incidents: unknown; next: unknown }>({
  incidents: listOf(documentOf<IncidentDocument>(FIELDS)),
  next: NEXT,
});

export const INCIDENT_STORY = documentOf<IncidentStoryDocument>({
  ...FIELDS,
  sums: listOf(
    documentOf<IncidentStoryDocument["sums"][number]>({
      status: STATUS,
      currency: orNull(TEXT),
      count: COUNT,
      amount: AMOUNT,
    }),
  ),
  mismatches: listOf(MISMATCH),
  next: NEXT,
  trend: documentOf<IncidentStoryDocument["trend"]>({ from: INSTANT, to: INSTANT, counts: listOf(COUNT) }),
  notifications: listOf(
    documentOf<IncidentStoryDocument["notifications"][number]>({
      alertId: TEXT,
      kind: TEXT,
      what: TEXT,
      at: INSTANT,
      channel: orNull(TEXT),
      attempts: COUNT,
      deliveredAt: orNull(INSTANT),
      lastError: orNull(TEXT),
    }),
  ),
  comments: listOf(COMMENT),
});
