/** The API's schema of the evidence. */

import { CALLBACKS } from "../../callback.ts";
import type {
  EvidenceBody,
  EvidenceEntry,
  EvidenceRecord,
  MismatchEvidence,
} from "../../flows/read/mismatch-evidence.ts";
import type { Evidence } from "../../flows/read/read-evidence.ts";
import { MISMATCH_KINDS } from "../../mismatch.ts";
import { DIFFERENCE, FETCH } from "./mismatch-schema.ts";
import {
  AMOUNT,
  COUNT,
  documentOf,
  FLAG,
  INSTANT,
  listOf,
  oneOf,
  orNull,
  type Schema,
  TEXT,
} from "./schema.ts";
import { STORY as TRANSFER } from "./transfer-schema.ts";

const ENTRY = documentOf<EvidenceEntry>({
  entryId: TEXT,
  callback: oneOf(CALLBACKS),
  requestId: TEXT,
  productId: TEXT,
  username: TEXT,
  currency: TEXT,
  txnId: TEXT,
  roundId: orNull(TEXT),
  status: TEXT,
  betAmount: orNull(AMOUNT),
  payoutAmount: orNull(AMOUNT),
  transactionType: orNull(TEXT),
  singleState: orNull(FLAG),
  endRound: orNull(FLAG),
  skipBalanceUpdate: FLAG,
  moved: orNull(AMOUNT),
  balanceBefore: orNull(AMOUNT),
  balanceAfter: orNull(AMOUNT),
  occurredAt: INSTANT,
  receivedAt: INSTANT,
  bodyId: orNull(TEXT),
  body: oneOf(["kept", "deleted", "never-kept"]),
});

const BODY = documentOf<EvidenceBody>({
  id: TEXT,
  callback: TEXT,
  requestId: orNull(TEXT),
  statusCode: { type: "integer" },
  body: TEXT,
  receivedAt: INSTANT,
});

const RECORD = documentOf<EvidenceRecord>({
  record: { type: "object", additionalProperties: orNull(TEXT), description: "the fields of §2.4" },
  extra: orNull(TEXT),
  isExtraLeftOut: FLAG,
  firstSeenAt: INSTANT,
  requestedAt: INSTANT,
  replacedAt: orNull(INSTANT),
});

const SIDE = documentOf<MismatchEvidence["sides"][number]>({
  name: TEXT,
  provider: orNull(TEXT),
  ledger: orNull(TEXT),
  differs: orNull(FLAG),
  as: oneOf(["text", "amount", "time"]),
});

const { closedBy, note, mismatchKind, nextVerifyAt, ...transferFields } = TRANSFER.properties;
const TRANSFER_EVIDENCE: Schema = {
  ...TRANSFER,
  properties: transferFields,
  required: Object.keys(transferFields),
};

const MISMATCH_EVIDENCE = documentOf<MismatchEvidence>({
  id: TEXT,
  kind: oneOf(MISMATCH_KINDS),
  ...DIFFERENCE,
  sides: listOf(SIDE),
  entries: listOf(ENTRY),
  bodies: listOf(BODY),
  records: listOf(RECORD),
  fetches: listOf(FETCH),
  transfer: orNull(TRANSFER_EVIDENCE),
  missing: listOf(TEXT),
});

export const EVIDENCE = documentOf<Evidence>({
  madeAt: INSTANT,
  ledger: TEXT,
  incident: orNull(
    documentOf<NonNullable<Evidence["incident"]>>({
      id: TEXT,
      kind: oneOf(MISMATCH_KINDS),
      productId: TEXT,
      beganAt: INSTANT,
      endedAt: orNull(INSTANT),
      total: COUNT,
      part: documentOf<NonNullable<Evidence["incident"]>["part"]>({ number: COUNT, of: COUNT }),
    }),
  ),
  mismatches: listOf(MISMATCH_EVIDENCE),
});
