/** A client that reads a faulty provider to the end (§4.B3): it repeats requests, begins ranges again, and doubts answers. */

import { lengthOf, type TimeRange } from "../../src/window.ts";
import { ask, type Item, parsePage, rangeOf } from "./agent.ts";

const LONGEST_ANSWER_MS = 1_500;
const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const MOST_FAILURES_IN_A_ROW = 20;
const MOST_PAGES = 1_000;

/** Every item of every readable page, valid or not, until the range is read to its end. */
export async function readPatiently(baseUrl: string, productId: string, range: TimeRange): Promise<Item[]> {
  const items: Item[] = [];
  const cursors = new Set<string>();
  let nextId: string | null = null;
  for (let failures = 0, pages = 0; failures < MOST_FAILURES_IN_A_ROW && pages < MOST_PAGES; ) {
    const page = await readPage(baseUrl, {
      ...rangeOf(productId, range),
      ...(nextId === null ? {} : { nextId }),
    });
    if (page === null || (page.nextId !== null && cursors.has(page.nextId))) {
      failures++;
      // A second failure may come from the cursor: from here on the client trusts only the first page.
      if (failures > 1) {
        nextId = null;
        cursors.clear();
      }
      continue;
    }
    failures = 0;
    pages++;
    items.push(...page.items);
    if (page.nextId === null) return items;
    nextId = page.nextId;
    cursors.add(nextId);
  }
  throw new Error(`${productId}: ${lengthOf(range)} ms from ${range.from} could not be read`);
}

/** @returns null if the answer is no page */
async function readPage(
  baseUrl: string,
  parameters: Record<string, string>,
): Promise<{ items: Item[]; nextId: string | null } | null> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), LONGEST_ANSWER_MS);
  try {
    const response = await ask(baseUrl, parameters, { signal: giveUp.signal });
    const text = await readText(response);
    const { code, data } = parsePage(text) as { code: unknown; data: { txns?: unknown; nextId?: unknown } };
    if (response.status !== 200 || code !== "0" || !Array.isArray(data.txns)) return null;
    const { nextId = null } = data;
    return nextId === null || typeof nextId === "string" ? { items: data.txns, nextId } : null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    giveUp.abort();
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER_BYTES) throw new Error("the answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
