/** The API's schemas of mismatches. */

import type { ActionResult } from "../../flows/mismatches/act-on-mismatches.ts";
import type { MismatchStory } from "../../flows/read/read-mismatch.ts";
import {
  type LedgerSide,
  MISMATCH_KINDS,
  MISMATCH_STATUSES,
  type Mismatch,
  type ProviderSide,
  type TransferSide,
} from "../../mismatch.ts";
import { MISMATCH_ACTIONS, type MismatchAction } from "../../mismatches/act.ts";
import type { StoredAdjustment } from "../../mismatches/action-store.ts";
import type { MismatchEvent } from "../../mismatches/store.ts";
import { WINDOW_KINDS } from "../../sync/window-store.ts";
import { type ActionField, fieldsOf, LONGEST_NOTE, LONGEST_REF, MOST_IDS } from "../input/mismatch-action.ts";
import type { ChoiceQuery } from "../input/mismatch-query.ts";
import { NEXT, PAGE_FIELDS } from "./page-schema.ts";
import {
  AMOUNT,
  COUNT,
  documentOf,
  FLAG,
  formOf,
  INSTANT,
  listOf,
  type ObjectSchema,
  oneOf,
  orNull,
  type Schema,
  TEXT,
} from "./schema.ts";

const STATUS = oneOf(MISMATCH_STATUSES);

const CHOICE_FIELDS: Readonly<Record<keyof ChoiceQuery, Schema>> = {
  status: {
    type: "string",
    pattern: `^(${MISMATCH_STATUSES.join("|")})(,(${MISMATCH_STATUSES.join("|")}))*$`,
    description: "several separated by commas; default: open and acknowledged",
  },
  kind: oneOf(MISMATCH_KINDS),
  product: TEXT,
  username: TEXT,
  from: { ...INSTANT, description: "first seen at this time or later" },
  to: { ...INSTANT, description: "first seen before this time" },
  minAmount: { ...AMOUNT, description: "the least amount at risk" },
};

/** The choice of mismatches. */
const CHOICE = formOf({}, CHOICE_FIELDS);
export const LIST_QUERY = formOf({}, { ...CHOICE_FIELDS, ...PAGE_FIELDS });

const SAID: Readonly<Record<ActionField, Schema>> = {
  note: { type: "string", minLength: 1, maxLength: LONGEST_NOTE, pattern: String.raw`\S` },
  from: { ...STATUS, description: "the status that you saw: 409 where it has changed since" },
  adjustment: { ...AMOUNT, description: "a manual correction, signed; positive: the player received it" },
  ref: { type: "string", minLength: 1, maxLength: LONGEST_REF, pattern: String.raw`\S` },
};

/** The body of an action on one mismatch. */
export function actionForm(action: MismatchAction): ObjectSchema {
  const { note = TEXT, ...optional } = pick(SAID, fieldsOf(action));
  return formOf({ note }, optional);
}

/** The body of an action on many. */
export function bulkForm(action: MismatchAction): ObjectSchema {
  const ids = { type: "array", items: TEXT, minItems: 1, maxItems: MOST_IDS };
  const dryRun = { ...FLAG, description: "only count them" };
  const filter = { ...CHOICE, minProperties: 1 };
  const form = formOf({}, { ids, filter, dryRun, ...actionForm(action).properties });
  return { ...form, oneOf: [{ required: ["ids"] }, { required: ["filter"] }] };
}

const PROVIDER_SIDE = documentOf<ProviderSide>({
  id: orNull(TEXT),
  betId: orNull(TEXT),
  status: orNull(TEXT),
  stake: AMOUNT,
  payout: AMOUNT,
  currency: TEXT,
  username: TEXT,
  updatedDate: orNull(INSTANT),
  accountingDate: orNull(INSTANT),
});

const LEDGER_SIDE = documentOf<LedgerSide>({
  txnId: orNull(TEXT),
  status: orNull(TEXT),
  stake: AMOUNT,
  payout: AMOUNT,
  moved: AMOUNT,
  currency: TEXT,
  username: TEXT,
  firstEntryAt: INSTANT,
  lastEntryAt: INSTANT,
});

const TRANSFER_SIDE = documentOf<TransferSide>({
  status: orNull(TEXT),
  amount: orNull(AMOUNT),
  currency: orNull(TEXT),
  username: TEXT,
  productId: TEXT,
  at: INSTANT,
});

const ONE_SIDE: Readonly<Record<"provider" | "ledger", Schema>> = {
  provider: { anyOf: [PROVIDER_SIDE, TRANSFER_SIDE, { type: "null" }] },
  ledger: { anyOf: [LEDGER_SIDE, TRANSFER_SIDE, { type: "null" }] },
};

const MISMATCH = documentOf<Mismatch>({
  id: TEXT,
  kind: oneOf(MISMATCH_KINDS),
  status: STATUS,
  productId: TEXT,
  username: TEXT,
  currency: orNull(TEXT),
  betId: orNull(TEXT),
  transactionId: orNull(TEXT),
  roundId: orNull(TEXT),
  transactionRef: orNull(TEXT),
  amountAtRisk: AMOUNT,
  reason: TEXT,
  ...ONE_SIDE,
  occurredAt: INSTANT,
  firstSeenAt: INSTANT,
  lastSeenAt: INSTANT,
  resolvedAt: orNull(INSTANT),
  resolvedBy: orNull(TEXT),
  note: orNull(TEXT),
});

const TIMELINE_ITEM = documentOf<MismatchStory["timeline"][number]>({
  at: INSTANT,
  seenAt: INSTANT,
  side: oneOf(["provider", "ledger"]),
  what: TEXT,
  id: TEXT,
  betId: orNull(TEXT),
  roundId: orNull(TEXT),
  username: TEXT,
  currency: TEXT,
  stake: orNull(AMOUNT),
  payout: orNull(AMOUNT),
  moved: orNull(AMOUNT),
  requestId: orNull(TEXT),
  balanceBefore: orNull(AMOUNT),
  balanceAfter: orNull(AMOUNT),
  replacedAt: orNull(INSTANT),
});

const FETCH = documentOf<MismatchStory["fetches"][number]>({
  kind: oneOf(WINDOW_KINDS),
  from: INSTANT,
  to: INSTANT,
  startedAt: INSTANT,
  fetchedAt: INSTANT,
  records: COUNT,
  isLateEnough: FLAG,
});

const ADJUSTMENT = documentOf<StoredAdjustment>({
  ref: TEXT,
  amount: AMOUNT,
  currency: TEXT,
  at: INSTANT,
  by: TEXT,
  note: TEXT,
});

const EVENT = documentOf<MismatchEvent>({
  at: INSTANT,
  fromStatus: orNull(STATUS),
  toStatus: STATUS,
  by: TEXT,
  note: orNull(TEXT),
  reason: TEXT,
  amountAtRisk: AMOUNT,
  ...ONE_SIDE,
});

export const MISMATCH_LIST = documentOf<{ mismatches: unknown; next: unknown }>({
  mismatches: listOf(MISMATCH),
  next: NEXT,
});

export const STORY = documentOf<MismatchStory>({
  ...(MISMATCH.properties as Readonly<Record<keyof Mismatch, Schema>>),
  timeline: listOf(TIMELINE_ITEM),
  fetches: listOf(FETCH),
  adjustments: listOf(ADJUSTMENT),
  history: listOf(EVENT),
});

const SUM = documentOf<ActionResult["amounts"][number]>({
  currency: orNull(TEXT),
  amount: AMOUNT,
  count: COUNT,
});

export const BULK_RESULT = documentOf<ActionResult & { action: unknown; dryRun: unknown }>({
  action: oneOf(MISMATCH_ACTIONS),
  dryRun: FLAG,
  ids: listOf(TEXT),
  count: COUNT,
  amounts: listOf(SUM),
});

function pick(fields: Readonly<Record<string, Schema>>, names: readonly string[]): Record<string, Schema> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}
