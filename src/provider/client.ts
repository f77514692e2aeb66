/** The agent API (§4.B, §4.C), typed: asks, and hands back words or a ReconError. */

import type { MoneyAnswer, MoneyRequest, TransferApi } from "../agent-api.ts";
import type { BetPage, BetPageRequest } from "../bet.ts";
import { type Clock, formatInstant } from "../clock.ts";
import type { ProviderSettings } from "../config.ts";
import type {
  BetLimitGroup,
  BetLimitQuestion,
  FreeGame,
  FreeGameRequest,
  Game,
  SeamlessLogIn,
  SeamlessLogInRequest,
  TransferLogIn,
  TransferLogInRequest,
} from "../lobby.ts";
import { type Answered, readData } from "./envelope.ts";
import { openHttp, type ProviderHttp, type ProviderLimits } from "./http.ts";
import {
  readBetLimits,
  readFreeGame,
  readGames,
  readSeamlessLogIn,
  readTransferLogIn,
} from "./lobby-answers.ts";
import { readMoneyAnswer, readTopUpAnswer, readTransferAnswer } from "./money-answers.ts";
import {
  checkBetLimitQuestion,
  checkDate,
  checkFreeGame,
  checkMoneyRequest,
  checkProductId,
  checkSeamlessLogIn,
  checkTopUpPath,
  checkTopUpQuestion,
  checkTransferLogIn,
  checkTransferQuestion,
} from "./requests.ts";
import { readBetPage } from "./wire.ts";

/** An answer beyond this is no page of bet records, and no list of games. */
const LARGEST_LIST_BYTES = 64 * 1024 * 1024;
/** An answer about one thing. */
const LARGEST_ANSWER_BYTES = 1024 * 1024;

/** What to ask `betTransactionsV2` for by day (§4.B3): the provider decides in which zone the day is. */
export interface BetDayRequest {
  readonly productId: string;
  /** yyyy-MM-dd */
  readonly date: string;
  readonly nextId: string | null;
}

/**
 * Every endpoint of the agent API. All reject as `TransferApi` says; nothing is ever sent a second time, and
 * credentials, session tokens and game addresses stand in no error.
 */
export interface ProviderClient extends TransferApi {
  /** POST /seamless/logIn (§4.B1). */
  logInSeamless(request: SeamlessLogInRequest, signal?: AbortSignal): Promise<SeamlessLogIn>;
  /** GET /seamless/games (§4.B2). */
  listSeamlessGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** GET /seamless/betTransactionsV2 by range (§4.B3), one chunk. */
  fetchBetPage(request: BetPageRequest, signal: AbortSignal): Promise<BetPage>;
  /** The same by day. It often times out, so only people ask so. */
  fetchBetDay(request: BetDayRequest, signal?: AbortSignal): Promise<BetPage>;
  /** GET /seamless/freeGameList (§4.B4). */
  listFreeGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** POST /logIn (§4.C1). */
  logInTransfer(request: TransferLogInRequest, signal?: AbortSignal): Promise<TransferLogIn>;
  /** GET /games (§4.C5). */
  listTransferGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** GET /betLimitsV2 (§4.C6). */
  listBetLimits(question: BetLimitQuestion, signal?: AbortSignal): Promise<BetLimitGroup[]>;
  /** POST /free-game (§4.C7). Asked twice it may grant twice. Code 1 is `provider-rejected`: it was not granted. */
  grantFreeGame(request: FreeGameRequest, signal?: AbortSignal): Promise<FreeGame>;
  close(): void;
}

export interface ProviderOptions extends ProviderLimits {
  /** sees the text of every answer with HTTP 200, before it is read; it may hold tokens */
  readonly onAnswer?: (text: string) => void;
}

/**
 * Opens a client; nothing is sent yet.
 * @throws ReconError `settings-invalid` for plain http to another machine in production
 */
export function openProvider(
  settings: ProviderSettings,
  options: ProviderOptions,
  clock: Clock,
): ProviderClient {
  const http = hearing(openHttp(settings, options, clock), options.onAnswer);
  return {
    ...openLobby(http),
    ...openMoney(http),
    fetchBetPage: (request, signal) => {
      const { productId, from, to, nextId } = request;
      const what = `betTransactionsV2 of ${productId} from ${formatInstant(from)} to ${formatInstant(to)}`;
      const range = { startTime: formatInstant(from), endTime: formatInstant(to) };
      return fetchBets(http, clock, { productId, nextId, what, by: range }, signal);
    },
    fetchBetDay: async ({ productId, date, nextId }, signal) => {
      checkProductId(productId);
      const what = `betTransactionsV2 of ${productId} on ${checkDate(date)}`;
      return await fetchBets(http, clock, { productId, nextId, what, by: { date } }, signal);
    },
    close: () => http.close(),
  };
}

function hearing(http: ProviderHttp, onAnswer: ProviderOptions["onAnswer"]): ProviderHttp {
  if (onAnswer === undefined) return http;
  return {
    ...http,
    send: async (request, signal) => {
      const answered = await http.send(request, signal);
      onAnswer(answered.text);
      return answered;
    },
  };
}

interface BetQuestion {
  readonly productId: string;
  readonly nextId: string | null;
  readonly by: Readonly<Record<string, string>>;
  readonly what: string;
}

async function fetchBets(
  http: ProviderHttp,
  clock: Clock,
  { productId, nextId, by, what }: BetQuestion,
  signal: AbortSignal | undefined,
): Promise<BetPage> {
  const query = { productId, ...by, ...(nextId === null ? {} : { nextId }) };
  const path = "seamless/betTransactionsV2";
  const requestedAt = clock.now();
  const answered = await http.send(
    { method: "GET", path, query, what, largestBytes: LARGEST_LIST_BYTES },
    signal,
  );
  const tookMs = clock.now() - requestedAt;
  return { ...readBetPage(readData(answered), productId, what), requestedAt, tookMs };
}

type Lobby = Omit<ProviderClient, keyof TransferApi | "fetchBetPage" | "fetchBetDay" | "close">;

function openLobby(http: ProviderHttp): Lobby {
  const list = async (path: string, productId: string, signal?: AbortSignal) => {
    const query = checkProductId(productId);
    const what = `${path} of ${productId}`;
    return await http.send({ method: "GET", path, query, what, largestBytes: LARGEST_LIST_BYTES }, signal);
  };
  const logIn = async (
    path: string,
    { username, productId }: { username: string; productId: string },
    body: object,
    signal?: AbortSignal,
  ) => {
    const what = `${path} of ${username} to ${productId}`;
    return await http.send(
      { method: "POST", path, body, what, largestBytes: LARGEST_ANSWER_BYTES, secrets: "all" },
      signal,
    );
  };
  return {
    logInSeamless: async (request, signal) =>
      readSeamlessLogIn(await logIn("seamless/logIn", request, checkSeamlessLogIn(request), signal)),
    logInTransfer: async (request, signal) =>
      readTransferLogIn(await logIn("logIn", request, checkTransferLogIn(request), signal)),
    listSeamlessGames: async (productId, signal) =>
      readGames(await list("seamless/games", productId, signal), false),
    listFreeGames: async (productId, signal) =>
      readGames(await list("seamless/freeGameList", productId, signal), false),
    listTransferGames: async (productId, signal) => readGames(await list("games", productId, signal), true),
    listBetLimits: async (question, signal) => {
      const query = checkBetLimitQuestion(question);
      const what = `betLimitsV2 of ${question.username} at ${question.productId}`;
      return readBetLimits(
        await http.send(
          { method: "GET", path: "betLimitsV2", query, what, largestBytes: LARGEST_LIST_BYTES },
          signal,
        ),
      );
    },
    grantFreeGame: async (request, signal) => {
      const body = checkFreeGame(request);
      const what = `free-game ${request.freeGameName} for ${request.playerName}`;
      return readFreeGame(await post(http, "free-game", body, what, signal));
    },
  };
}

function openMoney(http: ProviderHttp): TransferApi {
  const move = async (path: "deposit" | "withdraw", request: MoneyRequest, signal?: AbortSignal) => {
    const body = checkMoneyRequest(request);
    const { transactionRef, productId, username } = request;
    const what = `${path} ${transactionRef} of ${username} at ${productId}`;
    const answered = await post(http, path, body, what, signal);
    return readMoneyAnswer(answered, transactionRef) satisfies MoneyAnswer;
  };
  return {
    deposit: (request, signal) => move("deposit", request, signal),
    withdraw: (request, signal) => move("withdraw", request, signal),
    verifyDepositWithdraw: async (question, signal) => {
      const body = checkTransferQuestion(question);
      const { transactionRef, productId } = question;
      const what = `verifyDepositWithdraw of ${transactionRef} at ${productId}`;
      return readTransferAnswer(
        await post(http, "verifyDepositWithdraw", body, what, signal),
        transactionRef,
      );
    },
    verifyTopUp: async (topUpPath, question, signal) => {
      const path = `${checkTopUpPath(topUpPath)}/verify-topup`;
      const body = checkTopUpQuestion(question);
      const what = `${path} of ${question.transactionId}`;
      return readTopUpAnswer(await post(http, path, body, what, signal), question.transactionId);
    },
  };
}

function post(
  http: ProviderHttp,
  path: string,
  body: object,
  what: string,
  signal: AbortSignal | undefined,
): Promise<Answered> {
  return http.send({ method: "POST", path, body, what, largestBytes: LARGEST_ANSWER_BYTES }, signal);
}
