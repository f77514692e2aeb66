/**
 * The endpoints of §4.B and §4.C without the bet query: their effects, their answers, and the faults between them.
 */

import Big from "big.js";
import { z } from "zod";
import type { AgentEndpoint } from "../../agent-endpoints.ts";
import type { Clock } from "../../clock.ts";
import { type Amount, formatAmount, parseAmount } from "../../money.ts";
import { TRANSFER_TYPES } from "../../transfer.ts";
import { type AgentFault, checkAgentFaults, createAgentRules } from "../faults/agent-fault.ts";
import { hashText } from "../world/random.ts";
import type { World } from "../world/world.ts";
import { CODES, type SandboxAnswer, type SandboxRefusal, writeBare, writeEnvelope } from "./answer.ts";
import { type AgentOutcome, spoilAgentAnswer } from "./spoil-answer.ts";
import {
  amountOf,
  type BookedTransfer,
  createTopUpBooks,
  createTransferBooks,
  type TopUpBooks,
  type TransferBooks,
} from "./transfer-books.ts";

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

type AgentRequest<Endpoint extends AgentEndpoint> = z.output<(typeof AGENT_REQUESTS)[Endpoint]>;

/** @returns the checked request, or the reason for refusing it */
function readAgentRequest<Endpoint extends AgentEndpoint>(
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

const GAMES_OF_A_PRODUCT = 5;

/** A game of a list (§2.5). Seamless lists may lack its name, and the free-game list has no locale. */
function gamesOf(productId: string, list: "seamless" | "free" | "transfer"): object[] {
  const all = Array.from({ length: GAMES_OF_A_PRODUCT }, (_, index) => {
    const number = index + 1;
    const name = `${productId} ${number}`;
    const isNamed = list === "transfer" || number < GAMES_OF_A_PRODUCT;
    return {
      ...(isNamed ? { name } : {}),
      category: "GAME",
      type: "SANDBOX",
      code: `${productId}-${number}`,
      img: `https://games.invalid/${encodeURIComponent(productId)}/${number}.png`,
      rank: number,
      ...(number === 1 ? { providerCode: `p-${number}` } : {}),
      ...(list === "free" ? {} : { locale: { en: name, th: `เกม ${number}` } }),
    };
  });
  return list === "free" ? all.slice(0, 2) : all;
}

/** §2.6 */
function betLimitsOf(productId: string): object[] {
  const limits = [1, 2, 3].map((limit) => ({
    limit,
    Max: new Big(String(1000 * limit)),
    Min: new Big(String(10 * limit)),
  }));
  return [{ productId, BetLimit: limits }];
}

/** A game's address. Everybody with the address plays as the player, so no log may contain it. */
function addressOf(username: string, productId: string, gameCode: string, seed: number): string {
  const token = hashText(`${seed}|${username}|${productId}|${gameCode}`).toString(16).padStart(8, "0");
  const query = new URLSearchParams({ productId, gameCode, token });
  return `https://play.invalid/start?${query}`;
}

export interface AgentEndpointOptions {
  readonly world: World;
  readonly clock: Clock;
  /** the first fault that strikes a request counts; without faults, the provider always works */
  readonly agentFaults?: readonly AgentFault[];
  /** ISO 4217, the currency of all balances of transfer mode; default: THB */
  readonly currency?: string;
}

/** The true state of money and free games, for tests that audit the client. */
export interface AgentBooks extends TransferBooks {
  readonly topUps: TopUpBooks;
  /** the number of granted free games */
  freeGames(): number;
}

export interface AgentEndpoints {
  /** @param path the product's segment before verify-topup; other endpoints have none */
  answer(endpoint: AgentEndpoint, request: unknown, path?: string): SandboxAnswer;
  readonly books: AgentBooks;
}

/** verify-topup and free-game fail with this code (§7.2). */
const FAILED = 1;
/** The product's segment in the path of verify-topup (§4.B5). */
const TOP_UP_SUFFIX = "_seamless";

/** @throws ReconError `settings-invalid` for wrong faults */
export function createAgentEndpoints(options: AgentEndpointOptions): AgentEndpoints {
  const { world, clock, agentFaults = [], currency = "THB" } = options;
  const productIds = world.products.map(({ productId }) => productId);
  const rules = createAgentRules(checkAgentFaults(agentFaults, productIds), world.seed);
  const transfers = createTransferBooks(currency);
  const topUps = createTopUpBooks(world, clock);
  let freeGames = 0;

  const handlers: Handlers = {
    "seamless/logIn": ({ username, productId, gameCode }) =>
      success({ url: addressOf(username, productId, gameCode, world.seed) }),
    "seamless/games": ({ productId }) => success({ games: gamesOf(productId, "seamless") }),
    "seamless/freeGameList": ({ productId }) => success({ games: gamesOf(productId, "free") }),
    "verify-topup": ({ username, transactionId }, { path, denied }) => {
      const productId = path.slice(0, -TOP_UP_SUFFIX.length);
      const entry = denied ? null : topUps.find(productId, transactionId);
      if (entry === null || entry.username !== username) {
        return failure({ code: FAILED, message: "no such transaction" });
      }
      const type = entry.status === "CREDIT" ? "Withdraw" : "TopUp";
      const time = new Date(entry.occurredAt).toISOString();
      return success([{ id: transactionId, time, amount: amountOf(entry), type, username }]);
    },
    logIn: ({ username, productId, gameCode }) =>
      success({ username, url: addressOf(username, productId, gameCode, world.seed) }),
    deposit: (request, { delayMs }) => move("DEPOSIT", request, delayMs),
    withdraw: (request, { delayMs }) => move("WITHDRAW", request, delayMs),
    verifyDepositWithdraw: (request, { denied }) => {
      const found = denied ? null : transfers.find(request.transactionRef, clock.now());
      const isIt =
        found !== null &&
        found.username === request.username &&
        found.productId === request.productId &&
        found.type === request.type;
      return success(isIt ? describeBooked(found) : describeUnknown(request, currency));
    },
    games: ({ productId }) => success({ games: gamesOf(productId, "transfer") }),
    betLimitsV2: ({ productId }) => success(betLimitsOf(productId)),
    "free-game": () => {
      freeGames += 1;
      return success({ freeGameId: freeGames });
    },
  };

  const move = (type: "DEPOSIT" | "WITHDRAW", request: AgentRequest<"deposit">, delayMs: number) => {
    const result = transfers.book({ ...request, type }, clock.now() + delayMs);
    if ("refusal" in result) return failure(result.refusal);
    return success(describeMove(result.booked));
  };

  const answer = <Endpoint extends AgentEndpoint>(
    endpoint: Endpoint,
    value: unknown,
    path: string,
  ): SandboxAnswer => {
    const read = readAgentRequest(endpoint, value, productIds);
    if ("refusal" in read) return write(endpoint, failure(asCodeOf(endpoint, read.refusal)));
    const now = clock.now();
    const subject = describeSubject(read.request, path);
    const booked = subject.ref === null ? null : transfers.find(subject.ref, now);
    const struck = rules.strike({ endpoint, ...subject, now, bookedAt: booked?.bookedAt ?? null });
    const run = () =>
      handlers[endpoint](read.request, {
        path,
        denied: struck?.kind === "denied",
        delayMs: struck?.kind === "late" ? struck.delay : 0,
      });
    if (struck === null) return write(endpoint, run());
    const outcome = "done" in struck && !struck.done ? NOT_DONE : run();
    const body = (spoilt: AgentOutcome) => write(endpoint, spoilt).body;
    return { fault: struck.kind, delivery: spoilAgentAnswer(struck, outcome, body, now) };
  };

  return {
    answer: (endpoint, request, path = "") => answer(endpoint, request, path),
    books: { ...transfers, topUps, freeGames: () => freeGames },
  };
}

/** Whether the segment is the one of a product before verify-topup (§4.B5). */
export function isTopUpPath(path: string, world: World): boolean {
  return world.products.some(({ productId }) => path === `${productId}${TOP_UP_SUFFIX}`);
}

interface CallCircumstances {
  readonly path: string;
  /** the answer always reports a failure */
  readonly denied: boolean;
  /** the time from the request to the booking */
  readonly delayMs: number;
}

type Handlers = {
  readonly [Endpoint in AgentEndpoint]: (
    request: AgentRequest<Endpoint>,
    circumstances: CallCircumstances,
  ) => AgentOutcome;
};

function success(data: object): AgentOutcome {
  return { code: CODES.success, message: "success", data };
}

function failure({ code, message }: SandboxRefusal): AgentOutcome {
  return { code, message, data: null };
}

const NOT_DONE = failure({ code: CODES.internal, message: "a fault of the sandbox: nothing was done" });

function asCodeOf(endpoint: AgentEndpoint, { code, message }: SandboxRefusal): SandboxRefusal {
  const failsWithOne = endpoint === "verify-topup" || endpoint === "free-game";
  return { code: failsWithOne ? FAILED : code, message };
}

function write(endpoint: AgentEndpoint, outcome: AgentOutcome): { body: string; refused: boolean } {
  // §4.B5 has no reqId.
  const body = endpoint === "verify-topup" ? writeBare(outcome) : writeEnvelope(outcome);
  return { body, refused: outcome.code !== CODES.success };
}

function describeSubject(request: object, path: string) {
  const named = request as Readonly<Record<string, string | undefined>>;
  return {
    productId: named["productId"] ?? (path === "" ? null : path.slice(0, -TOP_UP_SUFFIX.length)),
    username: named["username"] ?? named["player_name"] ?? null,
    ref: named["transactionRef"] ?? named["transactionId"] ?? null,
  };
}

function twoDigits(amount: Amount): string {
  return amount.toFixed(2);
}

/** Balances have no padding zeros: by §4.C2, amounts need not have any. */
function describeMove({
  username,
  amount,
  beforeBalance,
  afterBalance,
  transactionRef,
}: BookedTransfer): object {
  return {
    username,
    amount: twoDigits(amount),
    beforeBalance: formatAmount(beforeBalance),
    balance: formatAmount(afterBalance),
    txId: transactionRef,
    status: "SUCCESS",
  };
}

function describeBooked(booked: BookedTransfer): object {
  const { username, productId, currency, transactionRef, amount, beforeBalance, afterBalance } = booked;
  return {
    success: true,
    username,
    productId,
    currency,
    transactionRef,
    amount: twoDigits(amount),
    beforeBalance: formatAmount(beforeBalance),
    afterBalance: formatAmount(afterBalance),
  };
}

/** An unknown top-up has no amounts. */
function describeUnknown(request: AgentRequest<"verifyDepositWithdraw">, currency: string): object {
  const { username, productId, transactionRef } = request;
  return {
    success: false,
    username,
    productId,
    currency,
    transactionRef,
    amount: "0",
    beforeBalance: "0",
    afterBalance: "0",
  };
}
