/** The independent auditor of transfers: compares each decision with the provider's books, and with the transfer's history. */

import type { Sql } from "../../src/db/client.ts";
import { type Amount, formatAmount, parseAmount } from "../../src/money.ts";
import type { AgentBooks } from "../../src/sandbox/server/agent-endpoints.ts";
import { isTopUp } from "../../src/transfer.ts";
import type { SeedRun } from "./simulation.ts";
import { findBrokenHistories } from "./transfer-history.ts";
import { CLOSED_BY } from "./transfer-operator.ts";
import type { PlannedMove, TransferPlan } from "./transfer-plan.ts";

type TransferAudit = Pick<SeedRun, "planted" | "found" | "precision" | "recall" | "kinds" | "problems">;

/** A mismatch, required or found. */
interface TransferOutcome {
  readonly ref: string;
  readonly kind: string;
  readonly amount: string;
  readonly status: string;
  readonly by: string | null;
}

/** @param sendings how often a deposit or withdrawal of each ref was sent, counted on the wire */
export async function auditTransfers(
  sql: Sql,
  plan: TransferPlan,
  books: AgentBooks,
  sendings: ReadonlyMap<string, number>,
): Promise<TransferAudit> {
  const truths = plan.moves.map((move) => expectedOutcome(move, books));
  const statuses = new Map((await readStatuses(sql)).map(({ ref, status }) => [ref, status]));
  const planted = truths.flatMap(({ mismatches }) => mismatches);
  const opened = await readMismatches(sql);
  const missed = planted.filter((one) => !opened.some((other) => isSame(one, other)));
  const wrong = opened.filter((one) => !planted.some((other) => isSame(one, other)));
  const kinds: Record<string, number> = {};
  for (const { kind } of planted) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const twice = opened.length - new Set(opened.map((one) => `${one.kind} ${one.ref}`)).size;
  return {
    planted: planted.length,
    found: planted.length - missed.length,
    precision: opened.length === 0 ? 1 : (opened.length - wrong.length) / opened.length,
    recall: planted.length === 0 ? 1 : (planted.length - missed.length) / planted.length,
    kinds,
    problems: [
      ...truths.flatMap(({ ref, status }) => {
        const found = statuses.get(ref) ?? "not there";
        return found === status ? [] : [`${ref} is ${found}, and must be ${status}`];
      }),
      ...missed.map((one) => `missed ${JSON.stringify(one)}`),
      ...wrong.map((one) => `not planted ${JSON.stringify(one)}`),
      ...(twice === 0 ? [] : [`${twice} mismatches were opened twice`]),
      ...(statuses.size === plan.moves.length
        ? []
        : [`${statuses.size} are on record of ${plan.moves.length}`]),
      ...plan.moves.flatMap((move) => auditSendings(move, sendings)),
      ...(await findBrokenHistories(sql, plan)),
    ],
  };
}

/** A transfer may reach the provider once at most. */
function auditSendings({ sent, fate }: PlannedMove, sendings: ReadonlyMap<string, number>): string[] {
  const count = sendings.get(sent.transactionRef) ?? 0;
  const expected = isTopUp(sent) || fate.isUnsent ? 0 : 1;
  return count === expected ? [] : [`${sent.transactionRef} was sent ${count} times`];
}

/** What must have become of a transfer, by the books and by what the answers could show. */
function expectedOutcome(move: PlannedMove, books: AgentBooks) {
  const { fate, sent } = move;
  const ref = sent.transactionRef;
  const mismatch = (
    kind: string,
    amount: Amount,
    status = "open",
    by: string | null = null,
  ): TransferOutcome => ({
    ref,
    kind,
    amount: formatAmount(amount),
    status,
    by,
  });
  const passed =
    fate.passing === null
      ? []
      : [mismatch(fate.passing.kind, atRiskOf(move, fate.passing.wrong), "resolved", "recon")];
  const end = (status: string, ...mismatches: TransferOutcome[]) => ({
    ref,
    status,
    mismatches: [...passed, ...mismatches],
  });

  if (fate.answers === "nothing") {
    const [status, by] = fate.isClosed ? ["resolved", CLOSED_BY] : ["open", null];
    return end("inconclusive", mismatch(`${fate.of}-inconclusive`, sent.amount, status, by));
  }
  const booked = findBooked(move, books);
  if (booked === null) {
    return end("rejected", ...(isTopUp(sent) ? [mismatch("top-up-rejected", sent.amount)] : []));
  }
  if (fate.answers !== "truth") {
    return end("inconclusive", mismatch(`${fate.of}-differs`, atRiskOf(move, fate.answers.wrong)));
  }
  const difference = booked.amount.minus(sent.amount).abs();
  if (!difference.eq("0")) return end("inconclusive", mismatch(`${fate.of}-differs`, difference));
  if (booked.currency !== sent.currency)
    return end("inconclusive", mismatch(`${fate.of}-differs`, sent.amount));
  return end("accepted", ...(fate.isLateSuccess ? [mismatch(`${fate.of}-late-success`, sent.amount)] : []));
}

/** A wrong amount is one more than the correct one. */
function atRiskOf({ sent }: PlannedMove, wrongField: string | null): Amount {
  return wrongField === "amount" ? parseAmount("1", "amount") : sent.amount;
}

/** The provider's booking for this player and ref; it knows no other player's. */
function findBooked({ sent }: PlannedMove, books: AgentBooks): { amount: Amount; currency: string } | null {
  if (isTopUp(sent)) {
    const entry = books.topUps.find(sent.productId, sent.transactionRef);
    const amount = entry?.betAmount ?? entry?.payoutAmount ?? null;
    return entry === null || amount === null ? null : { amount, currency: entry.currency };
  }
  const booked = books.transfers().find(({ transactionRef }) => transactionRef === sent.transactionRef);
  return booked === undefined || booked.username !== sent.username ? null : booked;
}

function isSame(one: TransferOutcome, other: TransferOutcome): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function readStatuses(sql: Sql): Promise<{ ref: string; status: string }[]> {
  return await sql`
    select transaction_ref as ref, status from transfers union all select transaction_ref, status from top_ups`;
}

async function readMismatches(sql: Sql): Promise<TransferOutcome[]> {
  const rows = await sql<TransferOutcome[]>`
    select transaction_ref as ref, kind, amount_at_risk as amount, status, resolved_by as by from mismatches order by id`;
  return rows.map(({ ref, kind, amount, status, by }) => ({
    ref,
    kind,
    amount: formatAmount(parseAmount(amount, "amount")),
    status,
    by,
  }));
}
