/** The repeating job that looks at what was touched of one product. */

import type { FlowContext } from "../src/flows/context.ts";
import { diffProduct } from "../src/flows/diff-product.ts";
import { type NoteProgress, noting } from "../src/flows/note-work.ts";
import type { JobQueue, ProductJob } from "./backend.ts";

/** @param pullQueue gets a job where a confirm fetch was planned, so that it need not wait for the next tick */
export async function runDiffJob(
  context: FlowContext,
  data: ProductJob,
  pullQueue: JobQueue,
  signal: AbortSignal,
  onProgress: NoteProgress,
): Promise<void> {
  const name = { work: "comparing", subject: data.productId } as const;
  const onStep = () => onProgress(name);
  const { wantsFetch } = await noting(
    context,
    name,
    signal,
    () => diffProduct(context, data.productId, signal, { onStep }),
    // Whoever is at it says how far it has got.
    { upToOf: ({ isBusy, upTo }) => (isBusy ? "unknown" : upTo) },
  );
  if (!wantsFetch) return;
  const deduplication = { id: `confirm ${encodeURIComponent(data.productId)}` };
  await pullQueue.add("confirm", data, { deduplication });
}
