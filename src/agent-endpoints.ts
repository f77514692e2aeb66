/**
 * The table of the agent API's endpoints (§4.B, §4.C) without the bet query: how each is called, and the fields of its
 * request. The client checks requests with it before they are sent. The sandbox takes the paths from it, but reads fields
 * by schemas of its own: with these it could not notice that the client sends a wrong name.
 */

import { z } from "zod";
import { TRANSFER_TYPES } from "./transfer.ts";

/** Longer than any real name. The limit keeps requests small. */
const LONGEST_TEXT = 4096;

const text = z
  .string("must be text")
  .min(1, "must not be empty")
  .max(LONGEST_TEXT, `must not be longer than ${LONGEST_TEXT} characters`)
  .refine((value) => value.isWellFormed() && !value.includes("\0"), "has a character that cannot be sent");

const wholeNumber = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(Number.MAX_SAFE_INTEGER, "is too large");

/** ISO 4217 */
const currency = z.string("must be text").regex(/^[A-Z]{3}$/, 'must be three capital letters such as "THB"');

const ofProduct = z.strictObject({ productId: text });

/** Moves credit between the operator and a product. */
const money = z.strictObject({
  username: text,
  productId: text,
  /** decimal text above 0 with exactly two decimals, such as "10.00" (§8) */
  amount: z
    .string('must be text such as "10.00"')
    .regex(/^\d{1,30}\.\d\d$/, 'must have exactly two digits behind the point, such as "10.00"')
    .refine((value) => /[1-9]/.test(value), "must be above 0"),
  /** unique among all transfers, chosen by the operator */
  transactionRef: text,
});

const logIn = {
  username: text,
  productId: text,
  gameCode: text,
  isMobileLogin: z.boolean("must be true or false"),
  /** the `limit` of an entry of the bet limit list (§2.6) */
  limit: z.number("must be a number").optional(),
  /** default: the provider's "th" */
  language: text.optional(),
  /** the address to which the player returns after quitting the game client */
  callbackUrl: text
    .refine(
      (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
      "must be a URL that begins with http:// or https://",
    )
    .optional(),
};

/** By path; `verify-topup` comes after the product's own segment. A GET answers a list. */
export const AGENT_ENDPOINTS = {
  /** §4.B1 */
  "seamless/logIn": {
    method: "POST",
    request: z.strictObject({
      ...logIn,
      /** chosen by the operator; checkBalance returns it. Use another token if a product refuses a repeated one. */
      sessionToken: text,
      /** default: the agent's currency */
      currency: currency.optional(),
      /** its values depend on the product */
      betLimit: z.array(z.unknown(), "must be a list").readonly().optional(),
    }),
  },
  /** §4.B2 */
  "seamless/games": { method: "GET", request: ofProduct },
  /** §4.B4 */
  "seamless/freeGameList": { method: "GET", request: ofProduct },
  /** §4.B5; `transactionId`: the refId of the adjustBalance callback */
  "verify-topup": { method: "POST", request: z.strictObject({ username: text, transactionId: text }) },
  /** §4.C1; the interface does not show the shape of `betLimit` */
  logIn: {
    method: "POST",
    request: z.strictObject({
      ...logIn,
      betLimit: (
        z.record(z.string(), z.unknown(), "must be an object") as z.ZodType<object, object>
      ).optional(),
    }),
  },
  /** §4.C2 */
  deposit: { method: "POST", request: money },
  /** §4.C3 */
  withdraw: { method: "POST", request: money },
  /** §4.C4 */
  verifyDepositWithdraw: {
    method: "POST",
    request: z.strictObject({
      username: text,
      productId: text,
      transactionRef: text,
      type: z.enum(TRANSFER_TYPES, `must be one of ${TRANSFER_TYPES.join(", ")}`),
    }),
  },
  /** §4.C5 */
  games: { method: "GET", request: ofProduct },
  /** §4.C6 */
  betLimitsV2: { method: "GET", request: z.strictObject({ username: text, productId: text, currency }) },
  /** §4.C7. Grants free games, for which the operator pays. Only one product supports them. */
  "free-game": {
    method: "POST",
    request: z
      .strictObject({
        playerName: text,
        freeGameName: text,
        expiresInHours: wholeNumber,
        /** of each game */
        betAmount: wholeNumber,
        gameCount: wholeNumber,
        /** the game id of the free game */
        gameIds: text,
        productId: text,
      })
      .transform(({ productId, ...named }) => ({
        player_name: named.playerName,
        free_game_name: named.freeGameName,
        expired_date: named.expiresInHours,
        bet_amount: named.betAmount,
        game_count: named.gameCount,
        game_ids: named.gameIds,
        productId,
      })),
  },
} as const;

export type AgentEndpoint = keyof typeof AGENT_ENDPOINTS;
export type AgentRequest<Endpoint extends AgentEndpoint> = Readonly<
  z.input<(typeof AGENT_ENDPOINTS)[Endpoint]["request"]>
>;
export type MoneyRequest = AgentRequest<"deposit">;
export type TransferQuestion = AgentRequest<"verifyDepositWithdraw">;
export type TopUpQuestion = AgentRequest<"verify-topup">;
export type SeamlessLogInRequest = AgentRequest<"seamless/logIn">;
export type TransferLogInRequest = AgentRequest<"logIn">;
export type BetLimitQuestion = AgentRequest<"betLimitsV2">;
export type FreeGameRequest = AgentRequest<"free-game">;
