/** Lists rejected records and entries, and reads one of them with what to do about it. */

import { z } from "zod";
import { type AnswerOf, COUNT, INSTANT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import { countRejectedRows, listRejectedRows, readRejectedRows } from "../../db/rejected-rows.ts";
import { countByProduct } from "../../db/row-counts.ts";
import { readRecordAgain } from "../../provider/wire.ts";
import {
  formatRejectedId,
  parseRejectedId,
  REJECTED_KINDS,
  REJECTED_SIDES,
  type RejectedChoice,
  type RejectedRef,
  type RejectedWhole,
} from "../../rejected.ts";
import type { FlowContext } from "../context.ts";
import { problemOfProduct } from "./retry-records.ts";
import { notRejected, REJECTED_REF, TABLES } from "./retry-rejected.ts";

const REJECTED = objectOf({
  id: REJECTED_REF,
  side: z.enum(REJECTED_SIDES),
  kind: z.enum(REJECTED_KINDS),
  /** of a record: the product that was asked for; null: an entry that names none */
  productId: z.nullable(TEXT),
  /** null: of a record, or of a text that names none */
  entryId: z.nullable(TEXT),
  reason: TEXT,
  firstSeenAt: INSTANT,
});

export const REJECTED_LIST = objectOf({
  /** `excerpt`: the first 200 characters of the text */
  rejected: listOf(REJECTED.extend({ excerpt: TEXT })),
  next: NEXT,
  /** how many match, on whichever side and page they are */
  counts: objectOf({ records: COUNT, entries: COUNT }),
});
export type RejectedList = AnswerOf<typeof REJECTED_LIST>;

/** One of them: the whole text as it came, and one sentence about what to do. */
export const REJECTED_STORY = REJECTED.extend({ raw: TEXT, toDo: TEXT });
export type RejectedStory = AnswerOf<typeof REJECTED_STORY>;

/** A page: records before entries, each the newest first. @param after the `next` of the page before */
export async function listRejected(
  context: FlowContext,
  choice: RejectedChoice,
  { after, limit }: { readonly after: RejectedRef | null; readonly limit: number },
): Promise<RejectedList> {
  const found: RejectedList["rejected"][number][] = [];
  for (const side of REJECTED_SIDES) {
    const isPassed = side === "record" && after?.side === "entry";
    if (isPassed || (choice.side !== null && choice.side !== side) || found.length > limit) continue;
    const before = after?.side === side ? after.row : null;
    const rows = await listRejectedRows(context.sql, TABLES[side], choice, before, limit + 1 - found.length);
    found.push(
      ...rows.map(({ row, firstSeenAt, ...rest }) => ({
        id: formatRejectedId({ side, row }),
        side,
        ...rest,
        firstSeenAt: formatInstant(firstSeenAt),
      })),
    );
  }
  const rejected = found.slice(0, limit);
  const next = found.length > limit ? (rejected.at(-1)?.id ?? null) : null;
  return { rejected, next, counts: await countMatching(context, choice) };
}

async function countMatching({ sql }: FlowContext, choice: RejectedChoice): Promise<RejectedList["counts"]> {
  const [records, entries] = await Promise.all([
    countRecords(sql, choice),
    countRejectedRows(sql, TABLES.entry, choice),
  ]);
  return { records, entries };
}

/** How many records there are of a product is kept, and need not be counted. */
async function countRecords(sql: FlowContext["sql"], choice: RejectedChoice): Promise<number> {
  const { kind, productId, reason, since } = choice;
  if (kind === "changed") return 0;
  if (reason !== null || since !== null) return await countRejectedRows(sql, TABLES.record, choice);
  const counts = await countByProduct(sql, TABLES.record);
  if (productId !== null) return counts.get(productId) ?? 0;
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** @throws ReconError `not-found` that names the id */
export async function readRejected({ sql, config }: FlowContext, id: string): Promise<RejectedStory> {
  const ref = parseRejectedId(id);
  const [found] = ref === null ? [] : await readRejectedRows(sql, TABLES[ref.side], [ref.row]);
  if (ref === null || found === undefined) throw notRejected(id);
  const { row: _, firstSeenAt, ...rest } = found;
  const toDo = ref.side === "record" ? toDoWithRecord(found, config) : toDoWithEntry(found, config);
  return {
    id: formatRejectedId(ref),
    side: ref.side,
    ...rest,
    firstSeenAt: formatInstant(firstSeenAt),
    toDo,
  };
}

function toDoWithRecord({ raw, productId }: RejectedWhole, { products }: Config): string {
  const own = ownProductOf(raw);
  if (own === null)
    return "Ask the provider to correct it: the worker fetches a corrected record by itself; retry this one only after an upgrade of wallet-recon.";
  if (problemOfProduct(own, products) === null) return `It can be read now as a record of ${own}: retry it.`;
  return products.some((one) => one.productId === own)
    ? `It belongs to ${own}, whose walletMode is "transfer", so it is not compared: ask the provider why ${productId} lists it.`
    : `It belongs to ${own}: if that is a product of yours, add it to the products of the config, restart the worker, and retry it; otherwise ask the provider why ${productId} lists it.`;
}

/** @returns null: the record cannot be read whichever product it is of */
function ownProductOf(raw: string): string | null {
  try {
    return readRecordAgain(raw)?.productId ?? null;
  } catch {
    return null;
  }
}

function toDoWithEntry({ kind, entryId }: RejectedWhole, { ledger }: Config): string {
  if (kind === "changed") {
    return ledger.rowsChange === "never"
      ? 'Find out who changes the ledger; if its rows may change, set ledger.rowsChange to "replace", restart the worker, and retry it.'
      : "Retry it if this content is right; otherwise correct the row where it is written.";
  }
  return entryId === null
    ? "Write it again, corrected; this text stays here, because it names no entry_id."
    : `Write it again, corrected, with the same entry_id: it leaves this list by itself within a minute.`;
}
