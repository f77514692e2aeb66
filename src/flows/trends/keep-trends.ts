/** Keeps trends that were just read: a page is read again at each change, by every visitor. */

import type { Instant } from "../../clock.ts";
import type { FlowContext } from "../context.ts";
import { readTrends, type Span, type Trends } from "./read-trends.ts";

const KEEP_MS = 10_000;
const MOST_KEPT = 50;

/** Opens a reader for repeated use. */
export function openTrends(context: FlowContext): (productId: string | null, span: Span) => Promise<Trends> {
  const kept = new Map<string, { readonly at: Instant; readonly trends: Promise<Trends> }>();
  return (productId, span) => {
    const key = JSON.stringify([productId, span]);
    const now = context.clock.now();
    const found = kept.get(key);
    if (found !== undefined && now >= found.at && now - found.at < KEEP_MS) return found.trends;
    const trends = readTrends(context, productId, span);
    kept.delete(key);
    for (const oldest of kept.keys()) if (kept.size >= MOST_KEPT) kept.delete(oldest);
    kept.set(key, { at: now, trends });
    trends.catch(() => kept.delete(key));
    return trends;
  };
}
