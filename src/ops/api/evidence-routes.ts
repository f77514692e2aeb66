/** The evidence files over HTTP. */

import type { FastifyInstance, FastifyReply } from "fastify";
import pLimit from "p-limit";
import { CALLBACKS } from "../../callback.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import type {
  EvidenceBody,
  EvidenceEntry,
  EvidenceRecord,
  MismatchEvidence,
} from "../../flows/read/mismatch-evidence.ts";
import { type Evidence, type EvidenceTarget, readEvidence } from "../../flows/read/read-evidence.ts";
import { MISMATCH_KINDS } from "../../mismatch.ts";
import { TYPE_OF_FORMAT, writeEvidence } from "../evidence/evidence-file.ts";
import { EVIDENCE_QUERY, readEvidenceQuery } from "../input/evidence-query.ts";
import type { Typed } from "../input/fields.ts";
import { DIFFERENCE, FETCH } from "./mismatch-schema.ts";
import { describeOperation } from "./operation.ts";
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

const EVIDENCE = documentOf<Evidence>({
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

/** The most waiting files; the server refuses further ones. */
const MOST_WAITING = 10;

const READ = describeOperation({
  id: "readEvidence",
  summary: "one file for a dispute with the provider: both sides, callbacks and record versions as they came",
  query: EVIDENCE_QUERY,
  answers: { 200: EVIDENCE },
  also: { "text/html": TEXT, "text/csv": TEXT },
});

/** One file at a time, so that files take at most one connection from other work. */
export function addEvidenceRoutes(api: FastifyInstance, context: FlowContext): void {
  const inTurn = pLimit(1);
  api.get<{ Querystring: Typed }>("/evidence", { schema: READ }, async ({ query }, reply) => {
    const { target, format } = readEvidenceQuery(query);
    if (inTurn.pendingCount >= MOST_WAITING) {
      const words = `${MOST_WAITING} evidence files wait already, which is the limit: the server makes one at a time. Try again in a minute; "recon evidence" makes one without waiting.`;
      throw new ReconError("too-many-reports", words, { retryable: true });
    }
    const evidence = await readWhileAwaited(reply, (signal) =>
      inTurn(() => readEvidence(context, target, signal)),
    );
    return await reply
      .type(TYPE_OF_FORMAT[format])
      .header("content-disposition", `attachment; filename="${nameOf(target)}.${format}"`)
      .send(writeEvidence(evidence, format));
  });
}

/** @throws ReconError `report-left` if the caller leaves */
async function readWhileAwaited<Value>(
  { raw }: FastifyReply,
  make: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const left = new AbortController();
  const leave = () => left.abort(new ReconError("report-left", "the caller of the evidence has left"));
  raw.once("close", leave);
  try {
    return await make(left.signal);
  } finally {
    raw.off("close", leave);
  }
}

/** "evidence-7", "evidence-7-and-3-more", "evidence-incident-2": made of digits only. */
function nameOf(target: EvidenceTarget): string {
  if ("incident" in target) {
    const part = target.part === null ? "" : `-part-${target.part}`;
    return `evidence-incident-${target.incident.replace(/\D/g, "")}${part}`;
  }
  const [first = "", ...others] = target.ids;
  return others.length === 0 ? `evidence-${first}` : `evidence-${first}-and-${others.length}-more`;
}
