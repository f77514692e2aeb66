/** One harmless question to the provider, which checks connection, credentials and clock. */

import { DateTime } from "luxon";
import type { Clock } from "../../clock.ts";
import type { ProviderSettings } from "../../config.ts";
import type { Config } from "../../config-file.ts";
import { ReconError } from "../../errors.ts";
import { openProvider } from "../../provider/client.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface ProviderVisit {
  /** the question: "betTransactionsV2 of P1, one minute of an hour ago" */
  readonly asked: string;
  readonly tookMs: number;
  /** null: the answer was right */
  readonly error: ReconError | null;
  /** null: the answer has no Date header */
  readonly skew: ClockSkew | null;
}

/** How far this machine's clock is ahead of the provider's. */
export interface ClockSkew {
  /** negative: this machine is behind */
  readonly aheadMs: number;
  /** the uncertainty: the header has whole seconds, and the answer took some time */
  readonly uncertainMs: number;
}

/** Asks a question that changes nothing, outside the request budget. Throws unexpected errors only. */
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

/** Assumes that the provider read its clock halfway between question and answer. */
function measureSkew(date: string | null, askedAt: number, answeredAt: number): ClockSkew | null {
  const reported = date === null ? null : DateTime.fromHTTP(date);
  if (reported === null || !reported.isValid) return null;
  const middle = (askedAt + answeredAt) / 2;
  return {
    aheadMs: Math.round(middle - (reported.toMillis() + 500)),
    uncertainMs: Math.ceil((answeredAt - askedAt) / 2) + 500,
  };
}
