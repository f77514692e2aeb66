/** The lines of an import as they come over HTTP, and how many imports may be under way at once (docs/ledger.md#hand-over-entries). */

import type { IncomingMessage } from "node:http";
import { setInterval } from "node:timers";
import type { FastifyReply } from "fastify";
import type { ImportShape } from "../../flows/ledger/read-import.ts";
import { refuseLate } from "./refusals.ts";

export const MOST_BYTES = 16 * 1024 * 1024;
export const MOST_LINES = 10_000;
/** Each holds its whole body in memory. */
export const MOST_AT_ONCE = 4;
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The audit log shows how many lines there were, and not what they say. */
export class SentLines {
  readonly bytes: Buffer;
  /** null: the first lines say it */
  readonly shape: ImportShape | null;
  readonly count: number;

  constructor(bytes: Buffer, shape: ImportShape | null) {
    this.bytes = bytes;
    this.shape = shape;
    this.count = countLines(bytes);
  }

  toJSON() {
    return { lines: this.count, bytes: this.bytes.length };
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const { bytes } = this;
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
      yield bytes.subarray(from, from + CHUNK_BYTES);
    }
  }
}

/** Limits concurrent imports, of the API and the pages together. */
export interface ImportSeats {
  /** Takes a seat until the answer is sent. @returns false if none is free */
  take(reply: FastifyReply): boolean;
}

/** A body that sends nothing for this long, or up to twice as long, loses its seat. */
export const LONGEST_STILL_MS = 20_000;

export function openImportSeats(longestStillMs: number): ImportSeats {
  let underWay = 0;
  return {
    take: ({ raw, request }) => {
      if (underWay >= MOST_AT_ONCE) return false;
      underWay += 1;
      const unwatch = refuseStill(request.raw, longestStillMs);
      raw.once("close", () => {
        unwatch();
        underWay -= 1;
      });
      return true;
    },
  };
}

/** @returns what ends the watch */
function refuseStill(request: IncomingMessage, longestMs: number): () => void {
  const { socket } = request;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    if (request.complete) return clearInterval(timer);
    if (socket.bytesRead === before) refuseLate(socket);
    before = socket.bytesRead;
  }, longestMs);
  return () => clearInterval(timer);
}

/** @returns how many lines are not empty */
function countLines(bytes: Buffer): number {
  let count = 0;
  for (let from = 0; from < bytes.length; ) {
    const next = bytes.indexOf(NEWLINE, from);
    const end = next < 0 ? bytes.length : next;
    if (end > from) count += 1;
    from = end + 1;
  }
  return count;
}
