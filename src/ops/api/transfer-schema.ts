/** The API's schemas of transfers and top-ups. */

import type { TransferDocument, TransferStory } from "../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES, TRANSFER_TYPES } from "../../transfer.ts";
import { VERIFY_KINDS } from "../../verify/row-store.ts";
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

const STATUS = oneOf(TRANSFER_STATUSES);
const TRANSFER_FIELDS: Readonly<Record<keyof TransferDocument, Schema>> = {
  transactionRef: TEXT,
  productId: TEXT,
  username: TEXT,
  type: oneOf([...TRANSFER_TYPES, "DEBIT", "CREDIT"]),
  amount: AMOUNT,
  currency: TEXT,
  status: STATUS,
  attempts: COUNT,
  sentAt: INSTANT,
  nextVerifyAt: orNull(INSTANT),
  decidedAt: orNull(INSTANT),
};
const TRANSFER = documentOf<TransferDocument>(TRANSFER_FIELDS);

export const ONE_TRANSFER = documentOf<{ transfer: unknown }>({ transfer: TRANSFER });

export const TRANSFER_LIST = documentOf<{ transfers: unknown; next: unknown }>({
  transfers: listOf(TRANSFER),
  next: NEXT,
});

const ANSWER = documentOf<TransferStory["answers"][number]>({
  attempt: COUNT,
  askedAt: INSTANT,
  tookMs: COUNT,
  says: oneOf(["booked", "failed", "nothing"]),
  code: orNull(TEXT),
  message: orNull(TEXT),
  raw: orNull(TEXT),
  status: STATUS,
  isDecisive: FLAG,
  nextVerifyAt: orNull(INSTANT),
});

export const STORY = documentOf<TransferStory>({
  ...TRANSFER_FIELDS,
  kind: oneOf(VERIFY_KINDS),
  handedAt: INSTANT,
  rejectedAt: orNull(INSTANT),
  mismatchKind: orNull(TEXT),
  closedBy: orNull(TEXT),
  note: orNull(TEXT),
  answers: listOf(ANSWER),
});
