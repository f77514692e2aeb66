/** The description of a request to the provider for metrics and traces. */

import type { ErrorCode } from "./errors.ts";
import type { TimeRange } from "./window.ts";

/** A request that is about to be sent. */
export interface BegunRequest {
  /** the path without the segment of a product: "seamless/betTransactionsV2", "verify-topup" */
  readonly endpoint: string;
  readonly method: "GET" | "POST";
  /** null: the request names no product */
  readonly productId: string | null;
  /** the range of a request by range; null: another request */
  readonly window: TimeRange | null;
}

/**
 * The end of a request. `ok`: a readable success (for a top-up also a readable failure). `aborted`: this program gave
 * it up. `failed`: an error that is not the provider's. Otherwise the code of the error.
 */
export type RequestOutcome = "ok" | "aborted" | "failed" | ErrorCode;

interface EndedRequest {
  readonly outcome: RequestOutcome;
  /** the HTTP status; null: there was no answer */
  readonly status: number | null;
}

/** Called when a request begins; the returned function is called at its end. Must not throw. */
export type WatchRequest = (begun: BegunRequest) => (ended: EndedRequest) => void;
