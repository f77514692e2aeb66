/** A request and its answer on one connection, with what is kept of their bodies until both have come whole. */

import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { keptText } from "../callbacks/raw-body.ts";
import type { Instant } from "../clock.ts";
import { fieldOf, type MessageHead } from "./message-reader.ts";

export interface Exchange {
  readonly method: string;
  /** null: this is no callback that moves money, and nothing of it is kept */
  readonly callback: string | null;
  readonly receivedAt: Instant;
  readonly request: Body;
  readonly answer: Body;
  /** of the final answer; 0: it has not come */
  status: number;
}

interface Body {
  parts: Buffer[];
  bytes: number;
  /** the value of Content-Encoding; null: there is none */
  coding: string | null;
  isWhole: boolean;
  isTooLarge: boolean;
}

/** How many bytes of bodies all connections keep at the moment. */
export interface KeptBytes {
  bytes: number;
}

/** More than any callback or answer has; the callbacks server takes no more either. */
const MOST_BODY_BYTES = 1024 * 1024;
const MOST_KEPT_BYTES = 128 * 1024 * 1024;

/** @param head null: it has not come */
export function emptyBody(head: MessageHead | null): Body {
  const coding = head === null ? null : fieldOf(head, "content-encoding");
  return { parts: [], bytes: 0, coding, isWhole: false, isTooLarge: false };
}

/** Keeps the next part of a callback's body, up to the limits of this body and of all bodies together. */
export function keepPart(
  exchange: Exchange,
  side: "request" | "answer",
  part: Buffer,
  kept: KeptBytes,
): void {
  const body = exchange[side];
  if (exchange.callback === null || body.isTooLarge) return;
  if (body.bytes + part.length > MOST_BODY_BYTES || kept.bytes + part.length > MOST_KEPT_BYTES) {
    body.isTooLarge = true;
    return;
  }
  body.parts.push(part);
  body.bytes += part.length;
  kept.bytes += part.length;
}

export function dropBodies({ request, answer }: Exchange, kept: KeptBytes): void {
  for (const body of [request, answer]) {
    kept.bytes -= body.bytes;
    body.parts = [];
    body.bytes = 0;
  }
}

/** The body as text, without session tokens. A body that cannot be unpacked stays packed; who reads it rejects it. */
export function textOf({ parts, coding }: Body): string {
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  return keptText(unpack(bytes, coding?.trim().toLowerCase() ?? ""));
}

function unpack(bytes: Buffer, coding: string): Buffer {
  const limit = { maxOutputLength: MOST_BODY_BYTES };
  try {
    if (coding === "gzip" || coding === "x-gzip") return gunzipSync(bytes, limit);
    if (coding === "deflate") return inflateSync(bytes, limit);
    if (coding === "br") return brotliDecompressSync(bytes, limit);
  } catch {
    // The body stays packed.
  }
  return bytes;
}
