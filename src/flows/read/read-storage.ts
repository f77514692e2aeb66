/** Reads how much space the database takes, as a worker measured it. */

import { readStorageFacts } from "../../db/storage-store.ts";
import { judgeStorage, type Storage } from "../../storage.ts";
import type { FlowContext } from "../context.ts";

/** @returns null: no worker has measured yet */
export async function readStorage({ sql }: Pick<FlowContext, "sql">): Promise<Storage | null> {
  const facts = await readStorageFacts(sql);
  return facts === null ? null : judgeStorage(facts);
}
