/** The API's schemas of rejected records and entries. */

import type { RejectedDocument, RejectedList, RejectedStory } from "../../flows/rejected/read-rejected.ts";
import type { RetryCounts, RetryResult } from "../../flows/rejected/retry-rejected.ts";
import { REJECTED_ID, REJECTED_KINDS, REJECTED_SIDES } from "../../rejected.ts";
import { COUNT, documentOf, INSTANT, listOf, NEXT, oneOf, orNull, type Schema, TEXT } from "./schema.ts";

const ID: Schema = { type: "string", pattern: REJECTED_ID.source };

const FIELDS: Readonly<Record<Exclude<keyof RejectedDocument, "excerpt">, Schema>> = {
  id: ID,
  side: oneOf(REJECTED_SIDES),
  kind: oneOf(REJECTED_KINDS),
  productId: orNull(TEXT),
  entryId: orNull(TEXT),
  reason: TEXT,
  firstSeenAt: INSTANT,
};

export const REJECTED_LIST = documentOf<RejectedList>({
  rejected: listOf(documentOf<RejectedDocument>({ ...FIELDS, excerpt: TEXT })),
  next: NEXT,
  counts: documentOf<RejectedList["counts"]>({ records: COUNT, entries: COUNT }),
});

export const REJECTED_STORY = documentOf<RejectedStory>({ ...FIELDS, raw: TEXT, toDo: TEXT });

const COUNTS = documentOf<RetryCounts>({ accepted: COUNT, known: COUNT, stillRejected: COUNT });

export const RETRY_RESULT = documentOf<RetryResult>({
  records: COUNTS,
  entries: COUNTS,
  stayed: listOf(documentOf<RetryResult["stayed"][number]>({ id: ID, reason: TEXT })),
  next: NEXT,
});
