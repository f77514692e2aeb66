/** Reads the requests of §4.B and §4.C. The stand-in provider refuses every deviation from the interface. */

import { z } from "zod";
import { parseAmount } from "../../money.ts";
import { TRANSFER_TYPES } from "../../transfer.ts";
import type { AgentEndpoint } from "../faults/agent-fault.ts";
import { CODES, type SandboxRefusal } from "./answer.ts";

const text = z.string().min(1);
/** The interface says text. Some senders use a number, and JSON drops its trailing zeros. */
const numericAmount = z
  .number()
  .transform((number) => (/^\d{1,15}(\.\d\d?)?$/.test(String(number)) ? number.toFixed(2) : String(number)));
const amount = z
  .union([z.string(), numericAmount])
  .pipe(z.string().regex(/^\d{1,30}\.\d\d$/, "must have 2 decimal digits"))
  .refine((digits) => /[1-9]/.test(digits), "must be above 0")
  .transform((digits) => parseAmount(digits, "amount"));

const logIn = {
  username: text,
  productId: text,
  gameCode: text,
  isMobileLogin: z.boolean(),
  limit: z.number().optional(),
  language: z.string().optional(),
  callbackUrl: z.string().optional(),
};
const ofProduct = z.object({ productId: text });
const money = z.object({ username: text, productId: text, amount, transactionRef: text });

const AGENT_REQUESTS = {
  "seamless/logIn": z.object({
    ...logIn,
    sessionToken: text,
    currency: z.string().optional(),
    betLimit: z.array(z.unknown()).optional(),
  }),
  "seamless/games": ofProduct,
  "seamless/freeGameList": ofProduct,
  "verify-topup": z.object({ username: text, transactionId: text }),
  logIn: z.object({ ...logIn, betLimit: z.record(z.string(), z.unknown()).optional() }),
  deposit: money,
  withdraw: money,
  verifyDepositWithdraw: z.object({
    username: text,
    transactionRef: text,
    productId: text,
    type: z.enum(TRANSFER_TYPES),
  }),
  games: ofProduct,
  betLimitsV2: z.object({ username: text, productId: text, currency: text }),
  "free-game": z.object({
    player_name: text,
    free_game_name: text,
    expired_date: z.int(),
    bet_amount: z.int(),
    game_count: z.int(),
    game_ids: text,
    productId: text,
  }),
} satisfies Record<AgentEndpoint, z.ZodType>;

export type AgentRequest<Endpoint extends AgentEndpoint> = z.output<(typeof AGENT_REQUESTS)[Endpoint]>;

/** @returns the checked request, or the reason for refusing it */
export function readAgentRequest<Endpoint extends AgentEndpoint>(
  endpoint: Endpoint,
  value: unknown,
  productIds: readonly string[],
): { readonly request: AgentRequest<Endpoint> } | { readonly refusal: SandboxRefusal } {
  const checked = AGENT_REQUESTS[endpoint].safeParse(value);
  if (!checked.success) {
    const problems = checked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return { refusal: { code: CODES.badRequest, message: problems.join("; ") } };
  }
  const { productId } = checked.data as { productId?: string };
  if (productId !== undefined && !productIds.includes(productId)) {
    return { refusal: { code: CODES.unknownProduct, message: `no product is called ${productId}` } };
  }
  return { request: checked.data as AgentRequest<Endpoint> };
}
