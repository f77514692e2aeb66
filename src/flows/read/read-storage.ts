/** Reads how much space the database takes, as a worker measured it. */

import type { Query } from "../../db/client.ts";
import { readStorageFacts } from "../../db/storage-store.ts";
import { judgeStorage, type Storage } from "../../storage.ts";

/** @returns null: no worker has measured yet */
export async function readStorage({ sql }: { readonly sql: Query }): Promise<Storage | null> {
  const facts = await readStorageFacts(sql);
  return facts === null ? null : judgeStorage(facts);
}
