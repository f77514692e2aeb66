/** One harmless question to the provider: whether it answers, accepts the credentials, and has the same time. */

import { DateTime } from "luxon";
import type { Clock } from "../clock.ts";
import type { ProviderSettings } from "../config.ts";
import type { Config } from "../config-file.ts";
import { ReconError } from "../errors.ts";
import { openProvider } from "../provider/client.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface ProviderVisit {
  /** what was asked: "betTransactionsV2 of P1, one minute of an hour ago" */
  readonly asked: string;
  readonly tookMs: number;
  /** null: it answered as it should */
  readonly error: ReconError | null;
  /** null: it does not tell its time */
  readonly skew: ClockSkew | null;
}

/** How far this machine's clock is ahead of the provider's. */
export interface ClockSkew {
  /** negative: behind */
  readonly aheadMs: number;
  /** the header has whole seconds, and the answer took its time */
  readonly uncertainMs: number;
}

/** Asks for what moves and changes nothing, outside the request budget; throws only what nobody has thought of. */
export async function askProviderOnce(
  provider: ProviderSettings,
  config: Config,
  production: boolean,
  clock: Clock,
): Promise<ProviderVisit> {
  let date: string | null = null;
  let answeredAt = clock.now();
  const { requestTimeout } = config.pull;
  const onDate = (header: string | null) => {
    date = header;
    answeredAt = clock.now();
  };
  const client = openProvider(
    provider,
    { requestTimeoutMs: requestTimeout, connections: 1, production, onDate },
    clock,
  );
  const askedAt = clock.now();
  const seamless = config.products.find(({ walletMode }) => walletMode === "seamless");
  const productId = (seamless ?? config.products[0])?.productId ?? "";
  const asked =
    seamless === undefined
      ? `games of ${productId}`
      : `betTransactionsV2 of ${productId}, one minute of an hour ago`;
  let error: ReconError | null = null;
  try {
    if (seamless === undefined) await client.listTransferGames(productId);
    else {
      const from = askedAt - HOUR_MS;
      const range = { from, to: from + MINUTE_MS };
      await client.fetchBetPage(
        { productId, ...range, nextId: null },
        AbortSignal.timeout(2 * requestTimeout),
      );
    }
  } catch (thrown) {
    if (!(thrown instanceof ReconError)) throw thrown;
    error = thrown;
  } finally {
    client.close();
  }
  return { asked, tookMs: clock.now() - askedAt, error, skew: measureSkew(date, askedAt, answeredAt) };
}

/** The provider read its clock somewhere between the question and the answer. */
function measureSkew(date: string | null, askedAt: number, answeredAt: number): ClockSkew | null {
  const reported = date === null ? null : DateTime.fromHTTP(date);
  if (reported === null || !reported.isValid) return null;
  const middle = (askedAt + answeredAt) / 2;
  return {
    aheadMs: Math.round(middle - (reported.toMillis() + 500)),
    uncertainMs: Math.ceil((answeredAt - askedAt) / 2) + 500,
  };
}
