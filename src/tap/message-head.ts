/** The head of a message and what it says about the message's end, read as far as RFC 9112 lets a recipient read it. */

/** The first line and the header fields of a message. */
export interface MessageHead {
  /** "POST /placeBets HTTP/1.1" or "HTTP/1.1 200 OK", as latin1 */
  readonly startLine: string;
  /** names in lower case; a field that comes twice is there twice */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** why other recipients may read the fields in another way; null: they may not */
  readonly doubt: string | null;
}

/** How a body ends: after so many bytes, with its last chunk, or with the connection. */
export type Framing = number | "chunked" | "until-end";

export interface Ending {
  readonly framing: Framing;
  /** why the framing is only a guess; null: it is certain */
  readonly doubt: string | null;
  /** The connection must end after this message. */
  readonly isLast: boolean;
}

/** Longer than a content-length that a server repeats. */
const LONGEST_LENGTH = 200;

type Side = "request" | "answer";
/** A name that is no token (RFC 9110, 5.6.2), and that other recipients may read as one of these: "Content-Length\0". */
const LOOKS_LIKE_FRAMING = /(?=.*[^\w!#$%&'*+\-.^`|~])(?:content-length|transfer-encoding)/i;

/**
 * @param text latin1, from the start line to the empty line. No expression here may be slow for a long run of spaces: a
 * head of 128 KiB would stop all connections.
 */
export function parseHead(text: string, of: Side): MessageHead {
  let end = text.length;
  while (text[end - 1] === "\n" || text[end - 1] === "\r") end -= 1;
  // A CR without LF may be read as a space, and some recipients read it as the end of the line (2.2).
  const plain = text.slice(0, end).replaceAll(/\r(?!\n)/g, " ");
  // A folded line belongs to the value before it (5.2); behind the start line it may be ignored (2.2).
  const [first = "", ...lines] = plain.split(/\r?\n(?![ \t])/);
  const startLine = first.split(/\r?\n/, 1)[0] ?? "";
  const isFolded = startLine.length < first.length;
  const fields: [name: string, value: string][] = [];
  const hasBareCr = plain !== text.slice(0, end) || !text.endsWith("\n");
  let doubt = hasBareCr ? "a line has a CR without a line feed" : null;
  if (isFolded && of === "request") doubt = "a folded line follows the first line of a request";
  for (const line of lines) {
    const [before, name = "", space = ""] = /^([^\s:]+)([ \t]*):/.exec(line) ?? [];
    // In an answer the space may be removed, a request must be refused (5.1).
    if (space !== "" && of === "request") doubt = "a space follows the name of a header field";
    if (before === undefined) doubt = "a header line has no name";
    else {
      if (LOOKS_LIKE_FRAMING.test(name)) doubt = "a header field is named almost as the length";
      const value = line.slice(before.length).replaceAll(/\r?\n[ \t]+/g, " ");
      fields.push([name.toLowerCase(), withoutSpaces(value)]);
    }
  }
  return { startLine, fields, doubt };
}

/** Without spaces and tabs around it. `trim` removes more, and a value with more is another one to other recipients. */
function withoutSpaces(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === " " || text[from] === "\t") from += 1;
  while (to > from && (text[to - 1] === " " || text[to - 1] === "\t")) to -= 1;
  return text.slice(from, to);
}

/** The value of a field, or its values joined by commas; null: the field is missing. */
export function fieldOf({ fields }: MessageHead, name: string): string | null {
  const values = fields.filter(([one]) => one === name).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}

/** How a request ends (6.3). */
export function endingOfRequest(head: MessageHead): Ending {
  return declaredEnding(head, "request") ?? endWith(0, head.doubt);
}

/** How an answer ends; `method` is the request's. */
export function endingOfAnswer(head: MessageHead, method: string, status: number): Ending {
  if (status === 101) return endWith("until-end", "an answer switches to another protocol");
  // These end with their head, whatever the fields say.
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return endWith(0, null);
  return declaredEnding(head, "answer") ?? endWith("until-end", head.doubt);
}

function endWith(framing: Framing, doubt: string | null, isLast = false): Ending {
  return { framing, doubt, isLast: isLast || doubt !== null };
}

/** @returns null: the head says nothing */
function declaredEnding(head: MessageHead, of: Side): Ending | null {
  const coding = fieldOf(head, "transfer-encoding");
  const length = readLength(fieldOf(head, "content-length"));
  if (coding === null) {
    return length === null ? null : endWith(length.bytes ?? "until-end", length.doubt ?? head.doubt);
  }
  // The coding overrides a length. A request with both must be the last of its connection, and so must a message of
  // HTTP/1.0 that has a coding (6.1).
  const isLast = (of === "request" && length !== null) || /\bHTTP\/1\.0\b/.test(head.startLine);
  if (/(?:^|,)[ \t]*chunked$/i.test(coding)) return endWith("chunked", head.doubt, isLast);
  // An answer with another coding ends with its connection (6.3), but lenient callers go by its length or its chunks.
  return endWith(
    length?.bytes ?? "until-end",
    `the transfer coding of ${of === "answer" ? "an answer" : "a request"} is not known`,
  );
}

/** @returns null: there is none. With a doubt, `bytes` is what lenient recipients read: 291 for "+291"; null: they differ */
function readLength(text: string | null): { bytes: number | null; doubt: string | null } | null {
  if (text === null) return null;
  const [first = "", ...others] = text.length > LONGEST_LENGTH ? [] : text.split(",").map(withoutSpaces);
  const isOne = others.every((one) => one === first);
  const [, sign, digits] = (isOne ? /^(\+?)(\d{1,15})$/.exec(first) : null) ?? [];
  return {
    bytes: digits === undefined ? null : Number(digits),
    doubt: sign === "" ? null : "a content-length is not one number",
  };
}

const H2C = /^upgrade[ \t]*:[^\n]*\bh2c\b[^\n]*\n/gim;

/**
 * A request's head without the offer to go on in HTTP/2, which the tap cannot read. Without the field the exchange stays
 * in HTTP/1.1 (RFC 9110, 7.8).
 */
export function withoutHttp2(text: string): string {
  return text.replaceAll(H2C, "");
}
