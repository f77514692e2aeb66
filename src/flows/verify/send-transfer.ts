/** Sends a deposit or withdrawal, once, with its record in the database first, so it is verified even after a crash (decision 29). */

import type { MoneyAnswer, TransferApi } from "../../agent-api.ts";
import type { MoneyRequest } from "../../agent-endpoints.ts";
import { ReconError } from "../../errors.ts";
import { parseAmount } from "../../money.ts";
import { checkRequest } from "../../provider/requests.ts";
import type { TransferType } from "../../transfer.ts";
import { addTransfer } from "../../verify/store.ts";
import { type FlowContext, findProduct } from "../context.ts";

/** The request to the provider, with the currency, which only the verification compares. */
export interface TransferOrder extends MoneyRequest {
  /** ISO 4217 */
  readonly currency: string;
}

/**
 * Checks the order, records the transfer as pending, and sends it. A recorded transfer is always verified: after an
 * answer, an error, or the end of the process. An error of the provider leaves the outcome unknown.
 * @param beforeSending called when the transfer is recorded: from then on its outcome is unknown
 * @throws ReconError before anything is sent: `bad-request`, `not-found` for a product the config lacks, `conflict`
 *   for a transactionRef that is known already; afterwards one of `provider-*`
 */
export async function sendTransfer(
  context: Pick<FlowContext, "sql" | "config" | "clock">,
  api: Pick<TransferApi, "deposit" | "withdraw">,
  type: TransferType,
  order: TransferOrder,
  signal?: AbortSignal,
  beforeSending: () => void = () => {},
): Promise<MoneyAnswer> {
  const { currency, ...request } = order;
  checkOrder(order);
  findProduct(context.config, request.productId);
  signal?.throwIfAborted();
  const sentAt = context.clock.now();
  const transfer = { ...request, type, currency, amount: parseAmount(request.amount, "amount"), sentAt };
  const { isNew } = await addTransfer(context.sql, transfer, sentAt, context.config.verify);
  // Two orders within a millisecond are one transfer; the first one is being sent.
  if (!isNew) {
    throw new ReconError(
      "conflict",
      `nothing was sent: transactionRef "${request.transactionRef}" is known already`,
    );
  }
  beforeSending();
  return await (type === "DEPOSIT" ? api.deposit(request, signal) : api.withdraw(request, signal));
}

/** @throws ReconError `bad-request` */
export function checkOrder({ currency, ...request }: TransferOrder): void {
  checkRequest("deposit", request);
  if (/^[A-Z]{3}$/.test(currency)) return;
  throw new ReconError(
    "bad-request",
    `nothing was sent: currency must be three capital letters such as "THB", but is ${JSON.stringify(currency)}`,
  );
}
