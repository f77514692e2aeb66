/** One question to the agent API: sends it, reads the answer, and informs the watchers. */

import { ReconError } from "../errors.ts";
import type { BegunRequest, RequestOutcome, WatchRequest } from "../provider-request.ts";
import type { TimeRange } from "../window.ts";
import type { ReceivedAnswer } from "./envelope.ts";
import type { ProviderHttp, ProviderRequest } from "./http.ts";

export interface ProviderQuestion extends ProviderRequest {
  /** null: the question names no product */
  readonly productId: string | null;
  /** the range of a question by range */
  readonly window?: TimeRange;
}

/** Sends the question once and reads the answer. Rejects with the error of `ProviderHttp.send` or of `read`. */
export type Ask = <Result>(
  question: ProviderQuestion,
  read: (answered: ReceivedAnswer) => Result,
  signal: AbortSignal | undefined,
) => Promise<Result>;

export interface Listeners {
  /** called with the text of every answer with HTTP 200 before it is parsed; the text may contain tokens */
  readonly onAnswer?: (text: string) => void;
  /** called at the beginning and the end of every request, without its content */
  readonly watch?: WatchRequest;
}

export function openAsk(http: ProviderHttp, { onAnswer, watch }: Listeners): Ask {
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

function describeRequest({ path, method, productId, window }: ProviderQuestion): BegunRequest {
  // The only path that differs from product to product (§4.B5).
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
