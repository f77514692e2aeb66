/** Mismatches as CSV: every field, both sides beside each other, safe to open in a spreadsheet. */

import type { FlowContext } from "../../flows/context.ts";
import { listMismatches, type MismatchFilter } from "../../flows/read/list-mismatches.ts";
import type { Mismatch } from "../../mismatch.ts";
import { toCsv } from "./csv.ts";

const FIELDS = [
  "id",
  "kind",
  "status",
  "productId",
  "username",
  "currency",
  "betId",
  "transactionId",
  "roundId",
  "transactionRef",
  "amountAtRisk",
  "effect",
  "reason",
  "occurredAt",
  "firstSeenAt",
  "lastSeenAt",
  "resolvedAt",
  "resolvedBy",
  "note",
  "countsOn",
] as const satisfies readonly (keyof Mismatch)[];

/** The fields of bets and rounds, and of transfers and top-ups. */
const PROVIDER_FIELDS = [
  "id",
  "betId",
  "status",
  "stake",
  "payout",
  "amount",
  "currency",
  "username",
  "productId",
  "updatedDate",
  "accountingDate",
  "at",
];
const LEDGER_FIELDS = [
  "txnId",
  "status",
  "stake",
  "payout",
  "moved",
  "amount",
  "currency",
  "username",
  "productId",
  "firstEntryAt",
  "lastEntryAt",
  "at",
];

const HEAD = [
  ...FIELDS,
  ...PROVIDER_FIELDS.map((field) => `provider.${field}`),
  ...LEDGER_FIELDS.map((field) => `ledger.${field}`),
];

const PAGE = 1000;

/**
 * The list in pieces of text, the first with the names of the columns.
 * @param isWhole true: every page from the filter's page on; false: only that page
 */
export async function* listAsCsv(
  context: FlowContext,
  filter: MismatchFilter,
  isWhole: boolean,
): AsyncGenerator<string> {
  yield toCsv([HEAD]);
  let page = isWhole ? { ...filter, limit: PAGE } : filter;
  for (;;) {
    const { mismatches, next } = await listMismatches(context, page);
    if (mismatches.length > 0) yield toCsv(mismatches.map(toCells));
    if (next === null || !isWhole) return;
    page = { ...page, after: next };
  }
}

function toCells(mismatch: Mismatch): (string | null)[] {
  return [
    ...FIELDS.map((field) => mismatch[field]),
    ...PROVIDER_FIELDS.map((field) => cellOf(mismatch.provider, field)),
    ...LEDGER_FIELDS.map((field) => cellOf(mismatch.ledger, field)),
  ];
}

function cellOf(side: object | null, field: string): string | null {
  return (side as Readonly<Record<string, string | null>> | null)?.[field] ?? null;
}
