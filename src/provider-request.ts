/** A request to the provider as metrics and traces see it. */

import type { ErrorCode } from "./errors.ts";
import type { TimeRange } from "./window.ts";

/** A request that is about to be sent. */
export interface BegunRequest {
  /** the path without the segment of a product: "seamless/betTransactionsV2", "verify-topup" */
  readonly endpoint: string;
  readonly method: "GET" | "POST";
  /** null: the request names none */
  readonly productId: string | null;
  /** of a request by range */
  readonly window: TimeRange | null;
}

/**
 * How it ended: with an answer that could be read and says success (or, of a top-up, that it failed), given up by us
 * (`aborted`), or with an error; one that is not the provider's is `failed`.
 */
export type RequestOutcome = "ok" | "aborted" | "failed" | ErrorCode;

interface EndedRequest {
  readonly outcome: RequestOutcome;
  /** of HTTP; null: there was no answer */
  readonly status: number | null;
}

/** Called when a request begins; the returned function is called at its end. Must not throw. */
export type WatchRequest = (begun: BegunRequest) => (ended: EndedRequest) => void;
