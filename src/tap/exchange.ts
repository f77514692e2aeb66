/** A request and its answer on one connection, with what is kept of their bodies until both have come whole. */

import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { CallbackName } from "../callback.ts";
import { keptText } from "../callbacks/raw-body.ts";
import type { Instant } from "../clock.ts";

export interface Exchange {
  readonly method: string;
  /** null: no callback that moves money */
  readonly callback: CallbackName | null;
  /** what the log calls a request that names no callback known here, and may move money all the same; null: it is none */
  readonly other: string | null;
  readonly receivedAt: Instant;
  readonly request: Body;
  readonly answer: Body;
  /** of the final answer; 0: it has not come */
  status: number;
  /** The connection must end after this exchange. */
  isLast: boolean;
}

interface Body {
  /** the most to keep of it; 0: its bytes are not needed */
  mostBytes: number;
  parts: Buffer[];
  bytes: number;
  /** the value of Content-Encoding; null: there is none */
  coding: string | null;
  isWhole: boolean;
  isTooLarge: boolean;
  /** Where it ends is not certain. */
  isUnreadable: boolean;
}

/** How many bytes of bodies all connections keep at the moment. */
export interface KeptBytes {
  bytes: number;
}

/** More than any callback or answer has; the callbacks server takes no more either. */
export const MOST_BODY_BYTES = 1024 * 1024;
/** Answers of the interface have some hundred bytes. */
export const MOST_OTHER_BYTES = 16 * 1024;
const MOST_KEPT_BYTES = 128 * 1024 * 1024;

/** @param coding the value of Content-Encoding; null: there is none, or the head has not come */
export function emptyBody(mostBytes: number, coding: string | null = null): Body {
  const state = { isWhole: false, isTooLarge: false, isUnreadable: false };
  return { mostBytes, parts: [], bytes: 0, coding, ...state };
}

/** Keeps the next part of a body. Of one that exceeds its limit, or that of all bodies together, nothing is kept. */
export function keepPart(body: Body, part: Buffer, kept: KeptBytes): void {
  if (body.mostBytes === 0) return;
  if (body.bytes + part.length > body.mostBytes || kept.bytes + part.length > MOST_KEPT_BYTES) {
    body.isTooLarge = true;
    dropBody(body, kept);
    return;
  }
  body.parts.push(part);
  body.bytes += part.length;
  kept.bytes += part.length;
}

export function dropBody(body: Body, kept: KeptBytes): void {
  kept.bytes -= body.bytes;
  body.parts = [];
  body.bytes = 0;
  body.mostBytes = 0;
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

/** What an answer of the interface says. */
export interface Said {
  readonly isSuccess: boolean;
  /** It says that the player's balance changed. */
  readonly isMove: boolean;
}

/** @returns null: this is no answer of the interface, such as "null", or a page of a gateway */
export function readSaid(text: string): Said | null {
  try {
    const said: unknown = JSON.parse(text);
    if (typeof said !== "object" || said === null || !("statusCode" in said)) return null;
    const { statusCode, balanceBefore, balanceAfter } = said as Record<string, unknown>;
    const isSuccess = statusCode === 0;
    return { isSuccess, isMove: isSuccess && balanceBefore !== balanceAfter };
  } catch {
    return null;
  }
}
