/**
 * Finds the beginning and end of each HTTP/1.1 message on a connection (RFC 9112), while the bytes pass. A head passes when it
 * is complete, so a path is never passed on before it is read; all other bytes pass at once.
 */

import type { Framing } from "./message-head.ts";

/** How a message ends, and the bytes to pass on for its head. */
export interface ReadHead {
  readonly framing: Framing;
  readonly passed: Buffer;
}

/** Called with the messages of a connection, in order. */
interface MessageListener {
  /**
   * @param bytes from the start line to the empty line
   * @param isWhole false: the head is too long, and these are its first bytes
   * @returns null: neither this message nor any later byte may pass
   */
  head(bytes: Buffer, isWhole: boolean): ReadHead | null;
  /** a part of the body, without chunk framing */
  data(part: Buffer): void;
  end(): void;
  /** The end of this message cannot be found. Further bytes pass as a body that ends with the connection. */
  unreadable(reason: string): void;
}

/** More than most servers accept: Node accepts 16 KiB, nginx 32 KiB, Go 1 MiB. */
const LONGEST_HEAD = 128 * 1024;
/** How much to keep of a line between chunks, in characters. Only an extension follows the size. */
const KEPT_OF_LINE = 64;
/** A size, or its beginning. Some recipients read a single CR as the end of the line. */
const SIZE = /^[0-9a-f]{0,32}[\t ]*(?:;[^\r]*)?\r?$/i;
const [LF, CR] = [0x0a, 0x0d];
const NOTHING: Buffer = Buffer.alloc(0);

type State = "head" | "body" | "chunk" | "size" | "chunk-end" | "trailer" | "until-end" | "stopped";

export class MessageReader {
  readonly #listener: MessageListener;
  #state: State = "head";
  /** the bytes of a head whose end was not received yet */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** the last of these bytes, in which the end may begin */
  #tail: Buffer = NOTHING;
  /** the beginning of a line between chunks whose end was not received yet */
  #line = "";
  /** the number of bytes of the body, or of the chunk, that were not received yet */
  #left = 0;

  constructor(listener: MessageListener) {
    this.#listener = listener;
  }

  /** Whether a message has begun and not ended. */
  get isWithin(): boolean {
    if (this.#state === "head") return this.#heldBytes > 0;
    return this.#state !== "stopped";
  }

  /** Whether the message ends only with its connection. */
  get isUntilEnd(): boolean {
    return this.#state === "until-end";
  }

  /** @returns the bytes to pass on */
  read(bytes: Buffer): Buffer {
    const passed: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length && this.#state !== "stopped") {
      // RFC 9112, 2.2: empty lines before a message are ignored.
      const isBlank = this.#heldBytes === 0 && (bytes[at] === CR || bytes[at] === LF);
      if (this.#state === "head" && !isBlank) {
        passed.push(bytes.subarray(from, at));
        at = this.#readHead(bytes, at, passed);
        from = at;
      } else {
        at = this.#state === "head" ? at + 1 : this.#readOn(bytes, at);
      }
    }
    passed.push(bytes.subarray(from, at));
    const parts = passed.filter(({ length }) => length > 0);
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** The connection ends, and with it a body without a length. @returns the beginning of a head that was not passed on */
  finish(): Buffer {
    if (this.#state === "until-end") this.#endMessage();
    return Buffer.concat(this.#held);
  }

  /** No further byte passes. */
  stop(): void {
    this.#state = "stopped";
  }

  #readHead(bytes: Buffer, at: number, passed: Buffer[]): number {
    const part = bytes.subarray(at);
    const seen = this.#heldBytes === 0 ? part : Buffer.concat([this.#tail, part]);
    const end = endOfHead(seen);
    const used = end === null ? part.length : end - (seen.length - part.length);
    this.#held.push(part.subarray(0, used));
    this.#heldBytes += used;
    this.#tail = seen.subarray(-3);
    if (end === null && this.#heldBytes <= LONGEST_HEAD) return bytes.length;
    const head = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    const read = this.#listener.head(head, end !== null);
    if (read === null) {
      this.stop();
      return bytes.length;
    }
    passed.push(read.passed);
    this.#begin(read.framing);
    return at + used;
  }

  #begin(framing: Framing): void {
    if (typeof framing === "number") {
      this.#state = "body";
      this.#left = framing;
      if (framing === 0) this.#endMessage();
    } else {
      this.#state = framing === "chunked" ? "size" : framing;
    }
  }

  #readOn(bytes: Buffer, at: number): number {
    if (this.#state === "until-end") {
      this.#listener.data(bytes.subarray(at));
      return bytes.length;
    }
    if (this.#state !== "body" && this.#state !== "chunk") return this.#readLine(bytes, at);
    const end = Math.min(bytes.length, at + this.#left);
    this.#listener.data(bytes.subarray(at, end));
    this.#left -= end - at;
    if (this.#left === 0 && this.#state === "chunk") this.#state = "chunk-end";
    else if (this.#left === 0) this.#endMessage();
    return end;
  }

  /** Reads a line of chunk framing. */
  #readLine(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(LF, at);
    const end = lineFeed < 0 ? bytes.length : lineFeed;
    if (this.#line.length < KEPT_OF_LINE)
      this.#line += bytes.toString("latin1", at, Math.min(end, at + KEPT_OF_LINE));
    // An invalid line is noticed before its end arrives, because its end may be within the next message.
    if (this.#state === "size" && !SIZE.test(this.#line)) this.#giveUp("a chunk has no size");
    if (this.#state === "chunk-end" && !/^\r?$/.test(this.#line))
      this.#giveUp("a chunk is longer than its size");
    if (lineFeed < 0 || this.#state === "until-end") return end;
    const line = this.#line.replace(/\r$/, "");
    this.#line = "";
    if (this.#state === "chunk-end") {
      this.#state = "size";
    } else if (this.#state === "size") {
      this.#left = Number.parseInt(line, 16);
      if (!Number.isSafeInteger(this.#left)) this.#giveUp("a chunk has no size");
      else this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (line === "") {
      this.#endMessage();
    }
    return lineFeed + 1;
  }

  #giveUp(reason: string): void {
    this.#state = "until-end";
    this.#listener.unreadable(reason);
  }

  #endMessage(): void {
    this.#state = "head";
    this.#listener.end();
  }
}

/** @returns the index after the empty line, even if lines end with CR only; null: not received yet */
function endOfHead(bytes: Buffer): number | null {
  let end: number | null = null;
  for (let at = bytes.indexOf(LF); at >= 0 && end === null; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) end = at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) end = at + 3;
  }
  const head = end === null ? bytes : bytes.subarray(0, end);
  for (let at = head.indexOf("\r\r"); at >= 0; at = head.indexOf("\r\r", at + 1)) {
    const next = head[at + 2];
    if (next !== undefined && next !== CR && next !== LF) return at + 2;
  }
  return end;
}
