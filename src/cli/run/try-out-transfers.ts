/** The deposits that the operator of a try-out makes at its first start, one of which the provider books too late. */

import type { TransferApi } from "../../agent-api.ts";
import { ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { sendTransfer } from "../../flows/verify/send-transfer.ts";
import type { AnyFault } from "../../sandbox/faults/fault-list.ts";
import { TRY_OUT_WALLET } from "./try-out-config.ts";

export const LATE_DEPOSIT = "late-1003";

const DEPOSITS = [
  { username: "player-004", transactionRef: "deposit-1001", amount: "500.00" },
  { username: "player-011", transactionRef: "deposit-1002", amount: "1200.00" },
  { username: "player-007", transactionRef: LATE_DEPOSIT, amount: "800.00" },
] as const;

/** The provider books the late deposit after its rejection has become final (`tryOutConfig`). */
export const LATE_BOOKING: AnyFault = {
  when: { endpoint: "deposit", ref: `^${LATE_DEPOSIT}$` },
  do: { kind: "late", delay: "PT20S" },
};

/** Sends what no earlier start has sent. An order without an answer is verified by the worker. */
export async function sendTryOutTransfers(
  context: FlowContext,
  provider: TransferApi,
  signal: AbortSignal,
): Promise<void> {
  for (const deposit of DEPOSITS) {
    const order = { ...deposit, productId: TRY_OUT_WALLET, currency: "THB" };
    try {
      await sendTransfer(context, provider, "DEPOSIT", order, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ReconError)) throw error;
      context.log.info({ code: error.code }, `${deposit.transactionRef}: ${error.message}`);
    }
  }
}
