/**
 * The package's entry for an operator's own service: the agent API, with every transfer recorded before it is sent.
 */

import type { MoneyAnswer } from "../agent-api.ts";
import { systemClock } from "../clock.ts";
import type { ProviderSettings } from "../config.ts";
import { type Config, parseConfig } from "../config-file.ts";
import { openDatabase, type Sql } from "../db/client.ts";
import { sendTransfer, type TransferOrder } from "../flows/verify/send-transfer.ts";
import { openProvider, type ProviderClient } from "../provider/client.ts";

export type { MoneyAnswer, TopUpAnswer, TopUpItem, TransferAnswer } from "../agent-api.ts";
export type {
  BetLimitQuestion,
  FreeGameRequest,
  SeamlessLogInRequest,
  TopUpQuestion,
  TransferLogInRequest,
  TransferQuestion,
} from "../agent-endpoints.ts";
export type { BetPage, BetPageRequest, BetRecord } from "../bet.ts";
export type { ErrorCode, ProviderAnswer, ReconError } from "../errors.ts";
export type { TransferOrder } from "../flows/verify/send-transfer.ts";
export type { BetLimitGroup, FreeGame, Game, SeamlessLogIn, TransferLogIn } from "../lobby.ts";
export type { Amount } from "../money.ts";
export type { BetDayRequest } from "../provider/client.ts";

export interface AgentOptions extends ProviderSettings {
  /** the PostgreSQL of the worker, which verifies the transfers */
  readonly databaseUrl: string;
  /** the content of the worker's recon.config.json */
  readonly config: unknown;
  /** requires https, except for loopback addresses; default true */
  readonly production?: boolean;
}

/**
 * Every endpoint of the agent API (§4.B, §4.C). Calls reject with a ReconError; decide by its `code`. No request is
 * ever sent twice. These calls do not wait for the worker's request budget, because players wait for them (decision
 * 29).
 */
export interface Agent extends Omit<ProviderClient, "deposit" | "withdraw" | "close"> {
  /**
   * POST /deposit (§4.C2), recorded first. `bad-request`, `not-found`, `conflict` and errors of the database: nothing
   * was sent. `provider-*`: the outcome is unknown. The worker finds the outcome; do not send the transfer again.
   */
  deposit(order: TransferOrder, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** POST /withdraw (§4.C3); otherwise as `deposit`. */
  withdraw(order: TransferOrder, signal?: AbortSignal): Promise<MoneyAnswer>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the agent API without sending anything. Connects to the database at the first transfer.
 * @throws ReconError `settings-invalid` for a wrong config, or plain http to another machine
 */
export function openAgent(options: AgentOptions): Agent {
  const config = parseConfig(options.config);
  const provider = openProvider(options, limitsOf(config, options), systemClock);
  const sql: Sql = openDatabase(options.databaseUrl);
  const context = { sql, config, clock: systemClock };
  return {
    ...provider,
    deposit: (order, signal) => sendTransfer(context, provider, "DEPOSIT", order, signal),
    withdraw: (order, signal) => sendTransfer(context, provider, "WITHDRAW", order, signal),
    close: async () => {
      provider.close();
      await sql.end({ timeout: 1 });
    },
  };
}

function limitsOf(config: Config, { production = true }: AgentOptions) {
  const { requestTimeout, concurrency } = config.pull;
  return { requestTimeoutMs: requestTimeout, connections: concurrency, production };
}
