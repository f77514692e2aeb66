/** The forms of the evidence, by the ending of the file's name. */

import type { MismatchEvidence } from "../../flows/read/mismatch-evidence.ts";
import type { Evidence } from "../../flows/read/read-evidence.ts";
import { toCsv } from "../csv/csv.ts";
import type { EvidenceFormat } from "../input/evidence-query.ts";
import { evidenceAsHtml } from "./evidence-html.ts";

const FACTS = [
  "id",
  "kind",
  "productId",
  "username",
  "currency",
  "betId",
  "transactionId",
  "roundId",
  "transactionRef",
  "amountAtRisk",
  "effect",
  "ticket",
  "withProvider",
] as const satisfies readonly (keyof MismatchEvidence)[];

/** What one line says besides the facts of its mismatch. */
interface Line {
  /** difference, callback, record, fetch, answer, body, missing */
  readonly row: string;
  readonly side?: string;
  readonly at?: string;
  readonly seenAt?: string;
  readonly replacedAt?: string | null;
  readonly requestId?: string | null;
  readonly refId?: string | null;
  readonly status?: string | null;
  readonly stake?: string | null;
  readonly payout?: string | null;
  readonly moved?: string | null;
  readonly balanceBefore?: string | null;
  readonly balanceAfter?: string | null;
  readonly provider?: string | null;
  readonly ledger?: string | null;
  readonly text?: string | null;
}

const LINE = [
  "row",
  "side",
  "at",
  "seenAt",
  "replacedAt",
  "requestId",
  "refId",
  "status",
  "stake",
  "payout",
  "moved",
  "balanceBefore",
  "balanceAfter",
  "provider",
  "ledger",
  "text",
] as const satisfies readonly (keyof Line)[];

const HEAD = [...FACTS.map((name) => (name === "id" ? "mismatch" : name)), ...LINE];

function evidenceAsCsv({ mismatches }: Evidence): string {
  const rows = mismatches.flatMap((one) => {
    const facts = FACTS.map((name) => one[name]);
    return linesOf(one).map((line) => [...facts, ...LINE.map((name) => line[name] ?? null)]);
  });
  return toCsv([HEAD, ...rows]);
}

function linesOf(one: MismatchEvidence): Line[] {
  return [
    { row: "mismatch", at: one.occurredAt, seenAt: one.firstSeenAt, text: one.reason },
    ...one.sides
      .filter(({ differs }) => differs === true)
      .map(({ name, provider, ledger }) => ({ row: "difference", text: name, provider, ledger })),
    ...one.missing.map((text) => ({ row: "missing", text })),
    ...(one.transfer?.answers ?? []).map((answer) => ({
      row: "answer",
      side: "provider",
      at: answer.askedAt,
      status: answer.status,
      refId: one.transactionRef,
      text:
        answer.raw ?? [answer.says, answer.code, answer.message].filter((part) => part !== null).join(" "),
    })),
    ...one.entries.map((entry) => ({
      row: "callback",
      side: "ledger",
      at: entry.occurredAt,
      seenAt: entry.receivedAt,
      requestId: entry.requestId,
      refId: entry.txnId,
      status: `${entry.callback} ${entry.status}`,
      stake: entry.betAmount,
      payout: entry.payoutAmount,
      moved: entry.moved,
      balanceBefore: entry.balanceBefore,
      balanceAfter: entry.balanceAfter,
    })),
    ...one.records.map(({ record, extra, firstSeenAt, replacedAt }) => ({
      row: "record",
      side: "provider",
      at: record["updatedDate"] ?? "",
      seenAt: firstSeenAt,
      replacedAt,
      refId: record["id"] ?? null,
      status: `${record["betStatus"]} ${record["payoutStatus"]}`,
      stake: record["stake"] ?? null,
      payout: record["payout"] ?? null,
      text: JSON.stringify(extra === null ? record : { ...record, extra }),
    })),
    ...one.fetches.map(({ from, to, startedAt, fetchedAt, records }) => ({
      row: "fetch",
      side: "provider",
      at: startedAt,
      seenAt: fetchedAt,
      text: `${from} to ${to}: ${records} records`,
    })),
    ...one.bodies.map(({ callback, requestId, statusCode, body, receivedAt }) => ({
      row: "body",
      side: "ledger",
      at: receivedAt,
      requestId,
      status: `${callback} answered with ${statusCode}`,
      text: body,
    })),
  ];
}

const WRITERS: Readonly<Record<EvidenceFormat, (evidence: Evidence) => string>> = {
  html: evidenceAsHtml,
  json: (evidence) => `${JSON.stringify(evidence, null, 2)}\n`,
  csv: evidenceAsCsv,
};

export const TYPE_OF_FORMAT: Readonly<Record<EvidenceFormat, string>> = {
  html: "text/html; charset=utf-8",
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8",
};

export function writeEvidence(evidence: Evidence, format: EvidenceFormat): string {
  return WRITERS[format](evidence);
}
