/** The repeating job that pulls one product. */

import type { PullContext } from "../src/flows/context.ts";
import { pullProduct } from "../src/flows/pull-product.ts";
import type { ProductJob } from "./backend.ts";

export async function runPullJob(context: PullContext, data: ProductJob, signal: AbortSignal): Promise<void> {
  await pullProduct(context, data.productId, signal);
}
