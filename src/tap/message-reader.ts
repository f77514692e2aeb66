/**
 * Finds where the HTTP/1.1 messages of a connection begin and end (RFC 9112), while their bytes pass. It changes
 * nothing: caller and target speak HTTP with each other.
 */

/** The first line and the header fields of a message. */
export interface MessageHead {
  /** "POST /placeBets HTTP/1.1" or "HTTP/1.1 200 OK", as latin1 */
  readonly startLine: string;
  /** names in lower case; a field that comes twice is there twice */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** How a body ends: after so many bytes, with its last chunk, or with the connection; "tunnel": no message follows. */
export type Framing = number | "chunked" | "until-end" | "tunnel";

/** Is called with a connection's messages, in their order. */
export interface MessageListener {
  /** @throws UnreadableMessage where the head does not say how the body ends */
  head(head: MessageHead): Framing;
  /** a part of the body, without the framing of chunks */
  data(part: Buffer): void;
  end(): void;
}

/** The end of a message is not known, so that nothing behind it can be read. */
export class UnreadableMessage extends Error {}

const LONGEST_HEAD = 64 * 1024;
const LONGEST_LINE = 16 * 1024;
const [LF, CR, SPACE, SLASH] = [0x0a, 0x0d, 0x20, 0x2f];
const NOTHING: Buffer = Buffer.alloc(0);

type State = "head" | "body" | "chunk" | "size" | "chunk-end" | "trailer" | "until-end" | "tunnel";

export class MessageReader {
  readonly #listener: MessageListener;
  #state: State = "head";
  /** of a head or a line whose end has not come yet */
  #begun: Buffer = NOTHING;
  /** bytes of the body, or of the chunk, that have not come yet */
  #left = 0;
  /** where in the start line the reader is: a request's target begins behind the first space */
  #startLine: "before" | "first word" | "target" | "done" = "before";

  constructor(listener: MessageListener) {
    this.#listener = listener;
  }

  /** Whether a message has begun and not ended. */
  get isWithin(): boolean {
    return this.#state !== "tunnel" && (this.#state !== "head" || this.#begun.length > 0);
  }

  /**
   * @param paths receives the index of the path (of its slash) of each request that begins in these bytes
   * @throws UnreadableMessage: then call `becomeTunnel`, or read nothing more
   */
  read(bytes: Buffer, paths: number[] = []): void {
    let at = 0;
    while (at < bytes.length && this.#state !== "tunnel") {
      if (this.#state === "head") {
        this.#findPath(bytes, at, paths);
        at = this.#readHead(bytes, at);
      } else if (this.#state === "body" || this.#state === "chunk") {
        const end = Math.min(bytes.length, at + this.#left);
        this.#listener.data(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0 && this.#state === "chunk") this.#state = "chunk-end";
        else if (this.#left === 0) this.#endMessage();
      } else if (this.#state === "until-end") {
        this.#listener.data(bytes.subarray(at));
        return;
      } else {
        at = this.#readLine(bytes, at);
      }
    }
  }

  /** The connection ends, and with it a body without a length. */
  finish(): void {
    if (this.#state === "until-end") this.#endMessage();
  }

  /** No messages follow. */
  becomeTunnel(): void {
    this.#state = "tunnel";
    this.#begun = NOTHING;
  }

  #readHead(bytes: Buffer, at: number): number {
    const known = this.#begun.length;
    const head = known === 0 ? bytes.subarray(at) : Buffer.concat([this.#begun, bytes.subarray(at)]);
    // RFC 9112, 2.2: empty lines before a message are ignored.
    let start = 0;
    while (head[start] === CR || head[start] === LF) start += 1;
    const end = endOfHead(head, Math.max(start, known - 3));
    if (end === null) {
      if (head.length > LONGEST_HEAD) throw new UnreadableMessage("a head is longer than 64 KiB");
      this.#begun = start === head.length ? NOTHING : head;
      return bytes.length;
    }
    this.#begun = NOTHING;
    const framing = this.#listener.head(parseHead(head.toString("latin1", start, end)));
    if (typeof framing === "number") {
      this.#state = "body";
      this.#left = framing;
      if (framing === 0) this.#endMessage();
    } else {
      this.#state = framing === "chunked" ? "size" : framing;
    }
    return at + end - known;
  }

  /** A line of the framing of chunks. */
  #readLine(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(LF, at);
    const part = bytes.subarray(at, lineFeed < 0 ? bytes.length : lineFeed);
    const all = this.#begun.length === 0 ? part : Buffer.concat([this.#begun, part]);
    if (all.length > LONGEST_LINE) throw new UnreadableMessage("a line between chunks is longer than 16 KiB");
    if (lineFeed < 0) {
      this.#begun = all;
      return bytes.length;
    }
    this.#begun = NOTHING;
    const line = all.toString("latin1").replace(/\r$/, "");
    if (this.#state === "size") {
      const size = /^([0-9a-f]{1,12})[\t ]*(?:;|$)/i.exec(line)?.[1];
      if (size === undefined) throw new UnreadableMessage("a chunk has no size");
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (this.#state === "chunk-end") {
      if (line !== "") throw new UnreadableMessage("a chunk is longer than its size");
      this.#state = "size";
    } else if (line === "") {
      this.#endMessage();
    }
    return lineFeed + 1;
  }

  #endMessage(): void {
    this.#state = "head";
    this.#startLine = "before";
    this.#listener.end();
  }

  #findPath(bytes: Buffer, from: number, paths: number[]): void {
    for (let at = from; at < bytes.length && this.#startLine !== "done"; at += 1) {
      const byte = bytes[at];
      if (this.#startLine === "target") {
        if (byte === SLASH) paths.push(at);
        this.#startLine = "done";
      } else if (byte === SPACE && this.#startLine === "first word") {
        this.#startLine = "target";
      } else if (byte === LF || byte === CR) {
        if (this.#startLine === "first word") this.#startLine = "done";
      } else {
        this.#startLine = "first word";
      }
    }
  }
}

/** @returns the index behind the empty line; null: it has not come */
function endOfHead(head: Buffer, from: number): number | null {
  for (let at = head.indexOf(LF, from); at >= 0; at = head.indexOf(LF, at + 1)) {
    if (head[at + 1] === LF) return at + 2;
    if (head[at + 1] === CR && head[at + 2] === LF) return at + 3;
  }
  return null;
}

function parseHead(text: string): MessageHead {
  const [startLine = "", ...lines] = text.trimEnd().split(/\r?\n/);
  const fields = lines.map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1 || /\s/.test(line.slice(0, colon)))
      throw new UnreadableMessage("a header line has no name");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { startLine, fields };
}

/** The value of a field, or its values joined by commas; null: the field is missing. */
export function fieldOf({ fields }: MessageHead, name: string): string | null {
  const values = fields.filter(([one]) => one === name).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}

/** How the body of a request ends (RFC 9112, 6.3). */
export function framingOfRequest(head: MessageHead): Framing {
  if (head.startLine.startsWith("CONNECT ")) return "tunnel";
  return declaredFraming(head, "request") ?? 0;
}

/** The same of a final answer; `method` is the request's. */
export function framingOfAnswer(head: MessageHead, method: string, status: number): Framing {
  if (status === 101 || (method === "CONNECT" && status >= 200 && status < 300)) return "tunnel";
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return 0;
  return declaredFraming(head, "answer") ?? "until-end";
}

/** @returns null: the head says nothing */
function declaredFraming(head: MessageHead, of: "request" | "answer"): Framing | null {
  const coding = fieldOf(head, "transfer-encoding");
  const length = fieldOf(head, "content-length");
  if (coding !== null) {
    // Receivers disagree on where such a message ends.
    if (length !== null) throw new UnreadableMessage("a message has both a length and a transfer coding");
    if (/(?:^|,)\s*chunked$/i.test(coding)) return "chunked";
    if (of === "answer") return "until-end";
    throw new UnreadableMessage("the transfer coding of a request is not known");
  }
  if (length === null) return null;
  const [first = "", ...others] = length.split(/\s*,\s*/);
  if (!/^\d{1,15}$/.test(first) || others.some((one) => one !== first)) {
    throw new UnreadableMessage("a content-length is not one number");
  }
  return Number(first);
}
