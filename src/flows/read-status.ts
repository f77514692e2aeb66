/** The state of everything in one document (the JSON of `recon status` and `/api/status`). */

import { countUndelivered } from "../alerts/store.ts";
import { formatInstant, type Instant } from "../clock.ts";
import { readLedgerExtent } from "../ledger/store.ts";
import { countByStatus, countOpenByProduct, type StatusCounts } from "../mismatches/store.ts";
import { countRecords } from "../sync/record-store.ts";
import { isStalled, readPullProgress, watermarkOf } from "../sync/store.ts";
import type { TransferStatus } from "../transfer.ts";
import { countTransfers } from "../verify/store.ts";
import type { FlowContext } from "./context.ts";

interface ProductStatus {
  readonly productId: string;
  /** how far pulling has got */
  readonly head: string | null;
  /** everything before it has been fetched; differs from head while there are gaps */
  readonly watermark: string | null;
  /** since the watermark, or its `since` where it was never pulled; null: nothing is pulled of it, or no worker has begun */
  readonly lagSeconds: number | null;
  readonly windowSeconds: number | null;
  readonly stalled: boolean;
  readonly gaps: number;
  readonly records: number;
  readonly rejected: number;
  readonly openMismatches: number;
}

export interface Status {
  readonly products: ProductStatus[];
  readonly ledger: { readonly entries: number; readonly lastReceivedAt: string | null };
  readonly mismatches: StatusCounts;
  readonly transfers: Record<TransferStatus, number>;
  readonly alerts: { readonly undelivered: number };
}

export async function readStatus(context: FlowContext): Promise<Status> {
  const { sql, config, clock } = context;
  const [progress, records, open, ledger, mismatches, transfers, undelivered] = await Promise.all([
    readPullProgress(sql),
    countRecords(sql),
    countOpenByProduct(sql),
    readLedgerExtent(sql),
    countByStatus(sql),
    countTransfers(sql),
    countUndelivered(sql),
  ]);
  const now = clock.now();
  const products = config.products.map(({ productId, walletMode, since }): ProductStatus => {
    const state = progress.find((one) => one.productId === productId);
    const watermark = state === undefined ? null : watermarkOf(state);
    // Nothing before its beginning is missed; without a worker's first start nobody knows where that is.
    const lagsSince = walletMode === "transfer" ? null : (watermark ?? since);
    return {
      productId,
      head: showTime(state?.head ?? null),
      watermark: showTime(watermark),
      lagSeconds: lagsSince === null ? null : Math.max(0, Math.round((now - lagsSince) / 1000)),
      windowSeconds: state === undefined ? null : state.windowMs / 1000,
      stalled: state !== undefined && isStalled(state),
      gaps: state?.gaps ?? 0,
      records: records.get(productId)?.records ?? 0,
      rejected: records.get(productId)?.rejected ?? 0,
      openMismatches: open.get(productId) ?? 0,
    };
  });
  return {
    products,
    ledger: { entries: ledger.entries, lastReceivedAt: showTime(ledger.lastReceivedAt) },
    mismatches,
    transfers,
    alerts: { undelivered },
  };
}

function showTime(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant);
}
