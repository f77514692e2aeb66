/** The API's schemas of transfers and top-ups. */

import type { TransferDocument, TransferStory } from "../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES, TRANSFER_TYPES } from "../../transfer.ts";
import { type HandOverField, LONGEST_TEXT } from "../../verify/hand-over.ts";
import { VERIFY_KINDS } from "../../verify/row-store.ts";
import { LONGEST_NOTE, type TransferQuery } from "../input/transfer-query.ts";
import { NEXT, PAGE_FIELDS } from "./page-schema.ts";
import {
  AMOUNT,
  COUNT,
  documentOf,
  FLAG,
  formOf,
  INSTANT,
  listOf,
  oneOf,
  orNull,
  type Schema,
  TEXT,
} from "./schema.ts";

const STATUS = oneOf(TRANSFER_STATUSES);
const NAME = { type: "string", minLength: 1, maxLength: LONGEST_TEXT };

const CHOICE_FIELDS: Readonly<Record<"kind" | "product" | "username", Schema>> = {
  kind: oneOf(VERIFY_KINDS),
  product: TEXT,
  username: TEXT,
};

/** The fields that distinguish several top-ups of one ref. */
export const CHOICE = formOf({}, CHOICE_FIELDS);

const LIST_FIELDS: Readonly<Record<keyof TransferQuery, Schema>> = {
  status: {
    type: "string",
    pattern: `^(${TRANSFER_STATUSES.join("|")})(,(${TRANSFER_STATUSES.join("|")}))*$`,
    description: "several separated by commas",
  },
  ...CHOICE_FIELDS,
  ...PAGE_FIELDS,
};
export const LIST_QUERY = formOf({}, LIST_FIELDS);

/** The body that hands over a transfer. */
const HANDED_OVER: Readonly<Record<HandOverField, Schema>> = {
  username: NAME,
  productId: TEXT,
  currency: { type: "string", pattern: "^[A-Z]{3}$" },
  transactionRef: NAME,
  type: oneOf(TRANSFER_TYPES),
  amount: { type: "string", pattern: String.raw`^\d{1,40}\.\d{2}$` },
  sentAt: INSTANT,
};
export const HAND_OVER_FORM = formOf(HANDED_OVER);

/** The path of a route about one of them. */
export const ONE_REF = formOf({ ref: TEXT });

/** A person's decision on an inconclusive one. */
export const CLOSE_FORM = formOf({
  note: { type: "string", minLength: 1, maxLength: LONGEST_NOTE, pattern: String.raw`\S` },
});

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
