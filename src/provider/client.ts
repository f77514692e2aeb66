/**
 * The agent API (§4.B, §4.C), typed: returns domain types, or rejects with a ReconError. Each request is observed here, so its outcome is
 * the code that the caller gets and the wait for a slot does not count.
 */

import type { TransferApi } from "../agent-api.ts";
import {
  AGENT_ENDPOINTS,
  type AgentEndpoint,
  type AgentRequest,
  type BetLimitQuestion,
  type FreeGameRequest,
  type SeamlessLogInRequest,
  type TransferLogInRequest,
} from "../agent-endpoints.ts";
import type { BetPage, BetPageRequest } from "../bet.ts";
import { type Clock, formatInstant } from "../clock.ts";
import type { ProviderSettings } from "../config.ts";
import { ReconError } from "../errors.ts";
import type { BetLimitGroup, FreeGame, Game, SeamlessLogIn, TransferLogIn } from "../lobby.ts";
import type { BegunRequest, RequestOutcome, WatchRequest } from "../provider-request.ts";
import type { TimeRange } from "../window.ts";
import type { ReceivedAnswer } from "./envelope.ts";
import { openHttp, type ProviderHttp, type ProviderLimits, type ProviderRequest } from "./http.ts";
import {
  readBetLimits,
  readFreeGame,
  readGames,
  readSeamlessLogIn,
  readTransferLogIn,
} from "./lobby-answers.ts";
import { readMoneyAnswer, readTopUpAnswer, readTransferAnswer } from "./money-answers.ts";
import { checkDate, checkRequest, checkTopUpPath } from "./requests.ts";
import { LARGEST_PAGE_BYTES, openBetPage } from "./wire.ts";

/** Enough for some thousand games. Not more, because parsing the list blocks the process. */
const LARGEST_LIST_BYTES = 4 * 1024 * 1024;
/** The largest answer that is not a list. */
const LARGEST_ANSWER_BYTES = 256 * 1024;

/** A request to `betTransactionsV2` by day (§4.B3). The provider decides the time zone of the day. */
export interface BetDayRequest {
  readonly productId: string;
  /** yyyy-MM-dd */
  readonly date: string;
  readonly nextId: string | null;
}

/**
 * Every endpoint of the agent API. All methods reject as `TransferApi` says. No request is ever sent twice. Errors
 * contain no credentials, session tokens or game addresses.
 */
export interface ProviderClient extends TransferApi {
  /** POST /seamless/logIn (§4.B1). */
  logInSeamless(request: SeamlessLogInRequest, signal?: AbortSignal): Promise<SeamlessLogIn>;
  /** GET /seamless/games (§4.B2). */
  listSeamlessGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** GET /seamless/betTransactionsV2 by range (§4.B3): one page. */
  fetchBetPage(request: BetPageRequest, signal: AbortSignal): Promise<BetPage>;
  /** The same by day. Such requests often time out, so no job sends them: only `recon provider` and your own service do. */
  fetchBetDay(request: BetDayRequest, signal?: AbortSignal): Promise<BetPage>;
  /** GET /seamless/freeGameList (§4.B4). */
  listFreeGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** POST /logIn (§4.C1). */
  logInTransfer(request: TransferLogInRequest, signal?: AbortSignal): Promise<TransferLogIn>;
  /** GET /games (§4.C5). */
  listTransferGames(productId: string, signal?: AbortSignal): Promise<Game[]>;
  /** GET /betLimitsV2 (§4.C6). */
  listBetLimits(question: BetLimitQuestion, signal?: AbortSignal): Promise<BetLimitGroup[]>;
  /**
   * POST /free-game (§4.C7). A second request may grant the game a second time. Code 1 is `provider-rejected`: no
   * grant.
   */
  grantFreeGame(request: FreeGameRequest, signal?: AbortSignal): Promise<FreeGame>;
  close(): void;
}

interface ProviderOptions extends ProviderLimits, Listeners {}

/**
 * Opens a client without sending anything.
 * @throws ReconError `settings-invalid` for plain http to another machine in production
 */
export function openProvider(
  settings: ProviderSettings,
  options: ProviderOptions,
  clock: Clock,
): ProviderClient {
  const http = openHttp(settings, options, clock);
  const call = openCall(http, options);
  return {
    ...openEndpoints(call),
    fetchBetPage: (request, signal) => {
      const { productId, from, to, nextId } = request;
      const what = `betTransactionsV2 of ${productId} from ${formatInstant(from)} to ${formatInstant(to)}`;
      const by = { startTime: formatInstant(from), endTime: formatInstant(to) };
      return fetchBets(call, clock, { productId, nextId, what, by, window: { from, to } }, signal);
    },
    fetchBetDay: async ({ productId, date, nextId }, signal) => {
      checkRequest("games", { productId });
      const what = `betTransactionsV2 of ${productId} on ${checkDate(date)}`;
      return await fetchBets(call, clock, { productId, nextId, what, by: { date } }, signal);
    },
    close: () => http.close(),
  };
}

interface BetQuestion {
  readonly productId: string;
  readonly nextId: string | null;
  readonly by: Readonly<Record<string, string>>;
  readonly what: string;
  readonly window?: TimeRange;
}

async function fetchBets(
  call: Call,
  clock: Clock,
  { nextId, by, ...named }: BetQuestion,
  signal: AbortSignal | undefined,
): Promise<BetPage> {
  const { productId, what } = named;
  const query = { productId, ...by, ...(nextId === null ? {} : { nextId }) };
  const path = "seamless/betTransactionsV2";
  const requestedAt = clock.now();
  const list = openBetPage(productId, what);
  const read = (answered: ReceivedAnswer) => {
    const tookMs = clock.now() - requestedAt;
    return { ...list.finish(answered), requestedAt, tookMs };
  };
  const question: ProviderCall = {
    method: "GET",
    path,
    query,
    ...named,
    largestBytes: LARGEST_PAGE_BYTES,
    list,
  };
  return await call(question, read, signal);
}

function openEndpoints(call: Call): Omit<ProviderClient, "fetchBetPage" | "fetchBetDay" | "close"> {
  const list = (endpoint: "seamless/games" | "seamless/freeGameList" | "games") => {
    const ask = asking(
      call,
      endpoint,
      ({ productId }) => `of ${productId}`,
      (answered) => readGames(answered, endpoint === "games"),
    );
    return (productId: string, signal?: AbortSignal) => ask({ productId }, signal);
  };
  const toGame = ({ username, productId }: TransferLogInRequest) => `of ${username} to ${productId}`;
  const move = (endpoint: "deposit" | "withdraw") =>
    asking(
      call,
      endpoint,
      ({ transactionRef, username, productId }) => `${transactionRef} of ${username} at ${productId}`,
      (answered, { transactionRef }) => readMoneyAnswer(answered, transactionRef),
    );
  return {
    logInSeamless: asking(call, "seamless/logIn", toGame, readSeamlessLogIn),
    logInTransfer: asking(call, "logIn", toGame, readTransferLogIn),
    listSeamlessGames: list("seamless/games"),
    listFreeGames: list("seamless/freeGameList"),
    listTransferGames: list("games"),
    listBetLimits: asking(
      call,
      "betLimitsV2",
      ({ username, productId }) => `of ${username} at ${productId}`,
      readBetLimits,
    ),
    grantFreeGame: asking(
      call,
      "free-game",
      ({ freeGameName, playerName }) => `${freeGameName} for ${playerName}`,
      readFreeGame,
    ),
    deposit: move("deposit"),
    withdraw: move("withdraw"),
    verifyDepositWithdraw: asking(
      call,
      "verifyDepositWithdraw",
      ({ transactionRef, productId }) => `of ${transactionRef} at ${productId}`,
      (answered, { transactionRef }) => readTransferAnswer(answered, transactionRef),
    ),
    verifyTopUp: async (topUpPath, question, signal) => {
      const path = `${checkTopUpPath(topUpPath)}/verify-topup`;
      const name = ({ transactionId }: { transactionId: string }) => `of ${transactionId}`;
      return await asking(call, "verify-topup", name, readTopUpAnswer, path)(question, signal);
    },
  };
}

/**
 * Makes the method of an endpoint, which checks a request, sends it once and reads the answer.
 * @param nameOf names the request after its path in messages: "R1 of anna at P1"
 */
function asking<Endpoint extends AgentEndpoint, Answer>(
  call: Call,
  endpoint: Endpoint,
  nameOf: (request: AgentRequest<Endpoint>) => string,
  read: (answered: ReceivedAnswer, request: AgentRequest<Endpoint>) => Answer,
  path: string = endpoint,
): (request: AgentRequest<Endpoint>, signal?: AbortSignal) => Promise<Answer> {
  const { method } = AGENT_ENDPOINTS[endpoint];
  const largestBytes = method === "GET" ? LARGEST_LIST_BYTES : LARGEST_ANSWER_BYTES;
  // The answer to a log-in holds a token.
  const secrets = endpoint.endsWith("logIn") ? { secrets: "all" as const } : {};
  return async (request, signal) => {
    const fields = checkRequest(endpoint, request);
    const { productId = null } = fields as { readonly productId?: string };
    const what = `${path} ${nameOf(request)}`;
    const sent = method === "GET" ? { query: fields as Record<string, string> } : { body: fields };
    const question = { method, path, ...sent, what, productId, largestBytes, ...secrets };
    return await call(question, (answered) => read(answered, request), signal);
  };
}

interface ProviderCall extends ProviderRequest {
  /** null: the request names no product */
  readonly productId: string | null;
  /** of a request by range */
  readonly window?: TimeRange;
}

/** Sends the request once and reads the answer. Rejects with the error of `ProviderHttp.send` or of `read`. */
type Call = <Result>(
  question: ProviderCall,
  read: (answered: ReceivedAnswer) => Result,
  signal: AbortSignal | undefined,
) => Promise<Result>;

interface Listeners {
  /** called with the text of every answer with HTTP 200 before it is parsed; the text may contain tokens */
  readonly onAnswer?: (text: string) => void;
  /** called at the beginning and the end of every request, without its content */
  readonly watch?: WatchRequest;
}

function openCall(http: ProviderHttp, { onAnswer, watch }: Listeners): Call {
  return async (question, read, signal) => {
    const end = watch?.(describeRequest(question));
    let status: number | null = null;
    try {
      const whole = onAnswer === undefined ? {} : { keepsText: true };
      const answered = await http.send({ ...question, ...whole }, signal);
      status = answered.status;
      onAnswer?.(answered.text);
      const words = read(answered);
      end?.({ outcome: "ok", status });
      return words;
    } catch (error) {
      end?.({ outcome: outcomeOf(error, signal), status: status ?? statusOf(error) });
      throw error;
    }
  };
}

function describeRequest({ path, method, productId, window }: ProviderCall): BegunRequest {
  // This path alone differs from product to product (§4.B5).
  const endpoint = path.endsWith("/verify-topup") ? "verify-topup" : path;
  return { endpoint, method, productId, window: window ?? null };
}

function outcomeOf(error: unknown, signal: AbortSignal | undefined): RequestOutcome {
  if (error instanceof ReconError) return error.code;
  return signal?.aborted ? "aborted" : "failed";
}

function statusOf(error: unknown): number | null {
  return error instanceof ReconError ? (error.answer?.status ?? null) : null;
}
