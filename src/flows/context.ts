/** The context of every flow. */

import type { FetchBetPage } from "../bet.ts";
import type { Clock } from "../clock.ts";
import type { Config, ProductConfig } from "../config-file.ts";
import type { Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PageCounts } from "../sync/leased-window-store.ts";

export interface FlowContext {
  readonly sql: Sql;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PullContext extends FlowContext {
  /** one page of bet records, within the request budget (`openWorkerRequests`) */
  readonly fetchPage: FetchBetPage;
  /** called for each committed page; must not throw */
  readonly onPage?: (page: CommittedPage) => void;
}

export interface CommittedPage extends Pick<PageCounts, "created" | "changed" | "unchanged" | "rejected"> {
  readonly productId: string;
}

/** The products whose bets are pulled. */
export function pulledProducts(config: Config): string[] {
  return config.products
    .filter(({ walletMode }) => walletMode === "seamless")
    .map(({ productId }) => productId);
}

/** A queue may hold work of a product that has left the settings, or that only another worker's settings have. */
export function hasProduct(config: Config, productId: string): boolean {
  return config.products.some((one) => one.productId === productId);
}

/** @throws ReconError `not-found` that names the configured products */
export function findProduct(config: Config, productId: string): ProductConfig {
  const product = config.products.find((one) => one.productId === productId);
  if (product !== undefined) return product;
  const known = config.products.map((one) => one.productId).join(", ");
  throw new ReconError("not-found", `there is no product "${productId}"; the config has ${known}`);
}
