/** A request and its answer on one connection, with their bodies until both are complete. */

import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { CallbackName } from "../callback.ts";
import { keptText } from "../callbacks/raw-body.ts";
import type { Instant } from "../clock.ts";

export interface Exchange {
  readonly method: string;
  /** null: not a callback that moves money */
  readonly callback: CallbackName | null;
  /** the text for the log if the request names no known callback but may move money; null: it is not such a request */
  readonly other: string | null;
  readonly receivedAt: Instant;
  readonly request: Body;
  readonly answer: Body;
  /** of the final answer; 0: not received yet */
  status: number;
  /** The connection must end after this exchange. */
  isLast: boolean;
}

interface Body {
  /** the most bytes to keep; 0: the body is not needed */
  mostBytes: number;
  parts: Buffer[];
  bytes: number;
  /** the value of Content-Encoding; null: none */
  coding: string | null;
  isWhole: boolean;
  isTooLarge: boolean;
  /** Its end is uncertain. */
  isUnreadable: boolean;
}

/** The bytes of bodies that all connections keep now. */
export interface KeptBytes {
  bytes: number;
}

/** Larger than any callback or answer; the callbacks server has the same limit. */
export const MOST_BODY_BYTES = 1024 * 1024;
/** Answers of the interface have a few hundred bytes. */
export const MOST_OTHER_BYTES = 16 * 1024;
const MOST_KEPT_BYTES = 128 * 1024 * 1024;

/** @param coding the value of Content-Encoding; null: none, or the head was not received yet */
export function emptyBody(mostBytes: number, coding: string | null = null): Body {
  const state = { isWhole: false, isTooLarge: false, isUnreadable: false };
  return { mostBytes, parts: [], bytes: 0, coding, ...state };
}

/** Keeps the next part of a body. If the body exceeds its limit, or all bodies exceed theirs, the whole body is dropped. */
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

/** The body as text, without session tokens. A body that cannot be unpacked stays packed, and is rejected when it is stored. */
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

/** The content of an answer of the interface. */
interface Said {
  readonly isSuccess: boolean;
  /** it says that the player's balance changed */
  readonly isMove: boolean;
}

/** @returns null: the text is not an answer of the interface, for example "null" or a gateway's page */
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
