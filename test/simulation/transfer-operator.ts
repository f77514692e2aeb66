/** The operator of a run with transfers: sends them, hands them over, keeps the ledger, and closes what stays unknown. */

import { Readable } from "node:stream";
import type { CallbackEntry } from "../../src/callback.ts";
import { readTransferLines } from "../../src/cli/commands/transfers.ts";
import { formatInstant } from "../../src/clock.ts";
import { ReconError } from "../../src/errors.ts";
import { closeTransfer, handOverTransfers } from "../../src/flows/verify/operate-transfers.ts";
import { sendTransfer } from "../../src/flows/verify/send-transfer.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { formatMoney, parseAmount } from "../../src/money.ts";
import type { AgentBooks } from "../../src/sandbox/server/agent-endpoints.ts";
import type { TopUp, Transfer } from "../../src/transfer.ts";
import type { PlannedMove } from "./transfer-plan.ts";
import type { VerifyWorker } from "./transfer-worker.ts";

/** How much less the operator's record says than was really moved. */
const SLIP = parseAmount("1.50", "amount");
const FUNDS = parseAmount("1000000.00", "amount");
export const CLOSED_BY = "ops";

/** Gives every player of a run except the poor one money at every product. */
export function fundPlayers(books: AgentBooks, moves: readonly PlannedMove[]): void {
  for (const { sent, fate } of moves) {
    if (fate.of === "top-up" || fate.isBeyondBalance) continue;
    const { productId, username } = reallyMoved({ sent, fate }) as Transfer;
    const transactionRef = `funds of ${username} at ${productId}`;
    books.book({ transactionRef, productId, username, type: "DEPOSIT", amount: FUNDS }, 0);
  }
}

/** What the operator really moved, even if its record differs. */
function reallyMoved({ sent, fate }: Pick<PlannedMove, "sent" | "fate">): Transfer | TopUp {
  switch (fate.slip) {
    case "amount":
      return { ...sent, amount: sent.amount.plus(SLIP) };
    case "player":
      return { ...sent, username: "somebody" };
    default:
      return sent;
  }
}

/** Sends a transfer: recorded first, or by the operator alone if it is handed over later. @returns what is wrong */
export async function send(move: PlannedMove, { context, provider }: VerifyWorker): Promise<string[]> {
  const { type, currency, transactionRef, username, productId, amount } = reallyMoved(move) as Transfer;
  const request = { transactionRef, username, productId, amount: amount.toFixed(2) };
  if (move.isHandedOver) {
    await unlessProviderFails(type === "DEPOSIT" ? provider.deposit(request) : provider.withdraw(request));
    return [];
  }
  const order = { ...request, currency };
  await unlessProviderFails(sendTransfer(context, provider, type, order));
  return await mustConflict(`${transactionRef} was sent again`, sendTransfer(context, provider, type, order));
}

/**
 * Does what `recon transfers add` does: the same transfer again has no effect, and the same ref with another amount is
 * refused.
 */
export async function handOver({ sent }: PlannedMove, { context }: VerifyWorker): Promise<string[]> {
  const { transactionRef: ref, amount } = sent;
  const add = async (given: Transfer | TopUp) => {
    const line = JSON.stringify({
      ...given,
      amount: given.amount.toFixed(2),
      sentAt: formatInstant(given.sentAt),
    });
    const products = context.config.products.map(({ productId }) => productId);
    const transfers = await readTransferLines(Readable.from([line]), { products, now: context.clock.now() });
    return await handOverTransfers(context, transfers);
  };
  const first = await add(sent);
  const again = await add(sent);
  const isRight = first.added === 1 && again.added === 0 && again.known === 1;
  return [
    ...(isRight ? [] : [`${ref} handed over twice: ${JSON.stringify([first, again])}`]),
    ...(await mustConflict(
      `${ref} was handed over with another amount than ${formatMoney(amount, sent.currency)}`,
      add({ ...sent, amount: amount.plus(SLIP) }),
    )),
  ];
}

/** Writes the callback's entry into the ledger, twice if it was repeated: one refId is one top-up. */
export async function keepEntry(move: PlannedMove, { context }: VerifyWorker): Promise<void> {
  const entry = entryOf(move.sent as TopUp);
  const repeated = { ...entry, entryId: `${entry.entryId} again`, receivedAt: entry.receivedAt + 1 };
  await appendEntries(context.sql, [entry, repeated]);
}

/** Books the top-up at the provider, as it really was. */
export function bookTopUp(move: PlannedMove, books: AgentBooks): void {
  books.topUps.add([entryOf(reallyMoved(move) as TopUp)]);
}

function entryOf({
  transactionRef,
  productId,
  username,
  currency,
  amount,
  type,
  sentAt,
}: TopUp): CallbackEntry {
  return {
    entryId: transactionRef,
    callback: "adjustBalance",
    requestId: `request of ${transactionRef}`,
    productId,
    username,
    currency,
    txnId: transactionRef,
    roundId: null,
    status: type,
    betAmount: type === "DEBIT" ? amount : null,
    payoutAmount: type === "CREDIT" ? amount : null,
    transactionType: null,
    singleState: null,
    endRound: null,
    skipBalanceUpdate: false,
    moved: type === "DEBIT" ? amount.neg() : amount,
    balanceBefore: null,
    balanceAfter: null,
    occurredAt: sentAt,
    receivedAt: sentAt,
  };
}

/** Closes the transfers that ops would close by now. */
export async function closeUnknown(moves: readonly PlannedMove[], { context }: VerifyWorker): Promise<void> {
  const refs = moves.filter(({ fate }) => fate.isClosed).map(({ sent }) => sent.transactionRef);
  const rows = await context.sql<{ ref: string }[]>`
    select ref from (
      select transaction_ref as ref, status, closed_by from transfers
      union all select transaction_ref, status, closed_by from top_ups
    ) moves
    where ref = any(${refs}) and status = 'inconclusive' and closed_by is null`;
  for (const { ref } of rows) {
    const choice = { ref, kind: null, productId: null, username: null };
    await closeTransfer(context, choice, { by: CLOSED_BY, note: "found in their statement" });
  }
}

async function unlessProviderFails(sending: Promise<unknown>): Promise<void> {
  await sending.catch((error: unknown) => {
    if (!(error instanceof ReconError && error.code.startsWith("provider-"))) throw error;
  });
}

async function mustConflict(what: string, work: Promise<unknown>): Promise<string[]> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ReconError && error.code === "conflict") return [];
    throw error;
  }
  return [`${what}, and nobody refused it`];
}
