/** The repeating job that pulls one product. */

import type { PullContext } from "../src/flows/context.ts";
import { type NoteProgress, noting } from "../src/flows/note-work.ts";
import { pullProduct } from "../src/flows/pull-product.ts";
import type { ProductJob } from "./backend.ts";

export async function runPullJob(
  context: PullContext,
  { productId }: ProductJob,
  signal: AbortSignal,
  onProgress: NoteProgress,
): Promise<void> {
  const name = { work: "pulling", subject: productId } as const;
  const onPage: PullContext["onPage"] = (page) => {
    onProgress(name);
    context.onPage?.(page);
  };
  await noting(context, name, signal, () => pullProduct({ ...context, onPage }, productId, signal));
}
