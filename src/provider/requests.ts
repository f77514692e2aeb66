/** Checks requests before they are sent, and builds their bodies (§4.B, §4.C). */

import { z } from "zod";
import type { MoneyRequest, TopUpQuestion, TransferQuestion } from "../agent-api.ts";
import { TOP_UP_PATH } from "../config-file.ts";
import { ReconError } from "../errors.ts";
import type {
  BetLimitQuestion,
  FreeGameRequest,
  SeamlessLogInRequest,
  TransferLogInRequest,
} from "../lobby.ts";
import { TRANSFER_TYPES } from "../transfer.ts";

/** Longer than any real name. The limit keeps requests small. */
const LONGEST_TEXT = 4096;

const text = z
  .string("must be text")
  .min(1, "must not be empty")
  .max(LONGEST_TEXT, `must not be longer than ${LONGEST_TEXT} characters`)
  .refine((value) => value.isWellFormed() && !value.includes("\0"), "has a character that cannot be sent");

const amount = z
  .string('must be text such as "10.00"')
  .regex(/^\d{1,30}\.\d\d$/, 'must have exactly two digits behind the point, such as "10.00"')
  .refine((value) => /[1-9]/.test(value), "must be above 0");

const wholeNumber = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(Number.MAX_SAFE_INTEGER, "is too large");

const currency = z.string("must be text").regex(/^[A-Z]{3}$/, 'must be three capital letters such as "THB"');

const callbackUrl = text.refine(
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  "must be a URL that begins with http:// or https://",
);

const money = z.strictObject({ username: text, productId: text, amount, transactionRef: text });

const transferQuestion = z.strictObject({
  username: text,
  productId: text,
  transactionRef: text,
  type: z.enum(TRANSFER_TYPES, `must be one of ${TRANSFER_TYPES.join(", ")}`),
});

const logIn = {
  username: text,
  productId: text,
  gameCode: text,
  isMobileLogin: z.boolean("must be true or false"),
  limit: z.number("must be a number").optional(),
  language: text.optional(),
  callbackUrl: callbackUrl.optional(),
};

const seamlessLogIn = z.strictObject({
  ...logIn,
  sessionToken: text,
  currency: currency.optional(),
  betLimit: z.array(z.unknown(), "must be a list").optional(),
});

const transferLogIn = z.strictObject({
  ...logIn,
  betLimit: z.record(z.string(), z.unknown(), "must be an object").optional(),
});

const freeGame = z.strictObject({
  playerName: text,
  freeGameName: text,
  expiresInHours: wholeNumber,
  betAmount: wholeNumber,
  gameCount: wholeNumber,
  gameIds: text,
  productId: text,
});

/** @throws ReconError `bad-request` that names every wrong field; so do all functions here */
export function checkMoneyRequest(request: MoneyRequest): MoneyRequest {
  return check(money, request);
}

export function checkTransferQuestion(question: TransferQuestion): TransferQuestion {
  return check(transferQuestion, question);
}

export function checkTopUpQuestion(question: TopUpQuestion): TopUpQuestion {
  return check(z.strictObject({ username: text, transactionId: text }), question);
}

export function checkSeamlessLogIn(request: SeamlessLogInRequest): object {
  return check(seamlessLogIn, request);
}

export function checkTransferLogIn(request: TransferLogInRequest): object {
  return check(transferLogIn, request);
}

export function checkBetLimitQuestion(question: BetLimitQuestion): Record<keyof BetLimitQuestion, string> {
  return check(z.strictObject({ username: text, productId: text, currency }), question);
}

export function checkProductId(productId: string): { productId: string } {
  return check(z.strictObject({ productId: text }), { productId });
}

/** @returns the body with the field names of §4.C7 */
export function checkFreeGame(request: FreeGameRequest): object {
  const { playerName, freeGameName, expiresInHours, betAmount, gameCount, gameIds, productId } = check(
    freeGame,
    request,
  );
  return {
    player_name: playerName,
    free_game_name: freeGameName,
    expired_date: expiresInHours,
    bet_amount: betAmount,
    game_count: gameCount,
    game_ids: gameIds,
    productId,
  };
}

/** One segment of a path, so the request cannot reach another endpoint (§4.B5). */
export function checkTopUpPath(topUpPath: string): string {
  if (TOP_UP_PATH.test(topUpPath)) return topUpPath;
  throw badRequest(`topUpPath must be one segment of a path such as "P1_seamless", but is "${topUpPath}"`);
}

/** `date` of §4.B3, as yyyy-MM-dd. */
export function checkDate(date: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(date) && new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date);
  if (isDay) return date;
  throw badRequest(`date must be a day such as 2026-11-20, but is "${date.slice(0, 40)}"`);
}

function check<Output>(schema: z.ZodType<Output>, request: unknown): Output {
  const checked = schema.safeParse(request);
  if (checked.success) return checked.data;
  throw badRequest(checked.error.issues.map((issue) => describeProblem(issue, request)).join("; "));
}

function describeProblem({ path, message }: z.core.$ZodIssue, request: unknown): string {
  const [field] = path;
  if (field === undefined) return message;
  const value = (request as Record<PropertyKey, unknown> | null)?.[field];
  const isSecret = field === "sessionToken" || field === "callbackUrl";
  const shown = JSON.stringify(value)?.slice(0, 80);
  if (value === undefined) return `${String(field)} is missing; it ${message}`;
  return `${String(field)} ${message}${isSecret ? "" : `, but is ${shown}`}`;
}

function badRequest(problem: string): ReconError {
  return new ReconError("bad-request", `nothing was sent: ${problem}`);
}
