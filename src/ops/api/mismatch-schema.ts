/** The API's schemas of mismatches. */

import type { ActionResult } from "../../flows/mismatches/act-on-mismatches.ts";
import type { MismatchStory } from "../../flows/read/read-mismatch.ts";
import {
  type LedgerSide,
  MISMATCH_KINDS,
  MISMATCH_STATUSES,
  type Mismatch,
  type OtherCurrency,
  type ProviderSide,
  type TransferSide,
} from "../../mismatch.ts";
import { MISMATCH_ACTIONS } from "../../mismatches/act.ts";
import type { StoredAdjustment } from "../../mismatches/action-store.ts";
import type { MismatchEvent } from "../../mismatches/store.ts";
import { WINDOW_KINDS } from "../../sync/window-store.ts";
import { COMMENT } from "./comment-schema.ts";
import {
  AMOUNT,
  COUNT,
  DATE,
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

export const STATUS = oneOf(MISMATCH_STATUSES);

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

const OTHER_CURRENCY = documentOf<OtherCurrency>({ currency: TEXT, amountAtRisk: AMOUNT, effect: AMOUNT });

/** The difference and both sides, without decisions. */
export const DIFFERENCE = {
  productId: TEXT,
  username: TEXT,
  currency: orNull(TEXT),
  betId: orNull(TEXT),
  transactionId: orNull(TEXT),
  roundId: orNull(TEXT),
  transactionRef: orNull(TEXT),
  amountAtRisk: AMOUNT,
  effect: orNull({
    ...AMOUNT,
    description: "above 0 the player has too much, below 0 too little; null if unknown",
  }),
  otherCurrencies: listOf(OTHER_CURRENCY),
  reason: TEXT,
  ...ONE_SIDE,
  occurredAt: INSTANT,
  firstSeenAt: INSTANT,
  lastSeenAt: INSTANT,
};

export const MISMATCH = documentOf<Mismatch>({
  id: TEXT,
  kind: oneOf(MISMATCH_KINDS),
  status: STATUS,
  ...DIFFERENCE,
  effect: orNull({
    ...AMOUNT,
    description:
      "above 0 the player has too much, below 0 too little, after corrections made by hand; null if unknown",
  }),
  countsOn: orNull({ ...DATE, description: "the day in whose statement it counts; null: in none" }),
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

export const FETCH = documentOf<MismatchStory["fetches"][number]>({
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
  comments: listOf(COMMENT),
  incidentId: orNull(TEXT),
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
