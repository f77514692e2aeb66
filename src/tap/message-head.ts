/**
 * Reads the head of a message: the request's target, the fields, and how the message ends. It accepts what RFC 9112 allows a
 * lenient recipient to accept, and notes a doubt if another recipient may read the head differently.
 */

import { type AnsweredName, CALLBACK_AT } from "../callbacks/request.ts";

/** The first line and the header fields of a message. */
interface MessageHead {
  /** "POST /placeBets HTTP/1.1" or "HTTP/1.1 200 OK", as latin1 */
  readonly startLine: string;
  /** names in lower case; a field that comes twice is there twice */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** why other recipients may read the fields differently; null: they read them in the same way */
  readonly doubt: string | null;
}

/** How a body ends: after a number of bytes, with its last chunk, or with the connection. */
export type Framing = number | "chunked" | "until-end";

export interface Ending {
  readonly framing: Framing;
  /** why the framing is only a guess; null: it is certain */
  readonly doubt: string | null;
  /** The connection must end after this message. */
  readonly isLast: boolean;
}

/** Longer than any content-length, even if a server repeats it. */
const LONGEST_LENGTH = 200;

type Side = "request" | "answer";
/** A name that is not a token (RFC 9110, 5.6.2), but that other recipients may read as one of these: "Content-Length\0". */
const LOOKS_LIKE_FRAMING = /(?=.*[^\w!#$%&'*+\-.^`|~])(?:content-length|transfer-encoding)/i;

/**
 * No regular expression here may be slow for a long run of spaces: a head of 128 KiB would block all connections.
 * @param text latin1, from the start line to the empty line
 */
export function parseHead(text: string, of: Side): MessageHead {
  let end = text.length;
  while (text[end - 1] === "\n" || text[end - 1] === "\r") end -= 1;
  // A CR without LF may be read as a space, but some recipients read it as the end of the line (2.2).
  const plain = text.slice(0, end).replaceAll(/\r(?!\n)/g, " ");
  // A folded line belongs to the value before it (5.2); after the start line it may be ignored (2.2).
  const [first = "", ...lines] = plain.split(/\r?\n(?![ \t])/);
  const startLine = first.split(/\r?\n/, 1)[0] ?? "";
  const isFolded = startLine.length < first.length;
  const fields: [name: string, value: string][] = [];
  const hasBareCr = plain !== text.slice(0, end) || !text.endsWith("\n");
  let doubt = hasBareCr ? "a line has a CR without a line feed" : null;
  if (isFolded && of === "request") doubt = "a folded line follows the first line of a request";
  for (const line of lines) {
    const [before, name = "", space = ""] = /^([^\s:]+)([ \t]*):/.exec(line) ?? [];
    // In an answer the space may be removed; a request must be refused (5.1).
    if (space !== "" && of === "request") doubt = "a space follows the name of a header field";
    if (before === undefined) doubt = "a header line has no name";
    else {
      if (LOOKS_LIKE_FRAMING.test(name))
        doubt = "the name of a header field resembles Content-Length or Transfer-Encoding";
      const value = line.slice(before.length).replaceAll(/\r?\n[ \t]+/g, " ");
      fields.push([name.toLowerCase(), withoutSpaces(value)]);
    }
  }
  return { startLine, fields, doubt };
}

/** Removes spaces and tabs around a text. `trim` removes more characters, which other recipients treat as part of the value. */
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
  // These end with their head, regardless of their fields.
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return endWith(0, null);
  return declaredEnding(head, "answer") ?? endWith("until-end", head.doubt);
}

function endWith(framing: Framing, doubt: string | null, isLast = false): Ending {
  return { framing, doubt, isLast: isLast || doubt !== null };
}

/** @returns null: the head does not declare an end */
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
    `the transfer coding of ${of === "answer" ? "an answer" : "a request"} is unknown`,
  );
}

/**
 * @returns null: there is no length. With a doubt, `bytes` is the number that lenient recipients read: 291 for "+291"; null:
 * they read different numbers
 */
function readLength(text: string | null): { bytes: number | null; doubt: string | null } | null {
  if (text === null) return null;
  const [first = "", ...others] = text.length > LONGEST_LENGTH ? [] : text.split(",").map(withoutSpaces);
  const isOne = others.every((one) => one === first);
  const [, sign, digits] = (isOne ? /^(\+?)(\d{1,15})$/.exec(first) : null) ?? [];
  return {
    bytes: digits === undefined ? null : Number(digits),
    doubt: sign === "" ? null : "a content-length is not a single number",
  };
}

const H2C = /^upgrade[ \t]*:[^\n]*\bh2c\b[^\n]*\n/gim;

/**
 * Removes the offer to switch to HTTP/2 (`Upgrade: h2c`), the only field that the tap removes. Java's HTTP client sends it
 * with its first request; after a 101 all later callbacks would be HTTP/2, which the tap cannot read. Without the field the
 * connection stays HTTP/1.1 (RFC 9110, 7.8), and RFC 9113 has dropped this upgrade.
 */
export function withoutHttp2(text: string): string {
  return text.replaceAll(H2C, "");
}

const NAMES = new Map([...CALLBACK_AT].map(([name, callback]) => [name.toLowerCase(), callback]));
/** The scheme and the authority of a target in absolute form (RFC 9112, 3.2.2). */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

export interface RequestLine {
  readonly method: string;
  readonly target: string;
  /** the index in the line at which the target begins */
  readonly at: number;
}

/**
 * Reads "POST /placeBets HTTP/1.1", with any number of spaces between the parts (3).
 * @returns null: not a request line of HTTP/1. A method is a token (RFC 9110, 9.1), and no JSON text begins with a token
 */
export function parseRequestLine(line: string): RequestLine | null {
  const method = /^[\w!#$%&'*+\-.^`|~]+(?=[ \t])/.exec(line)?.[0] ?? "";
  const isSpace = (at: number) => line[at] === " " || line[at] === "\t";
  let at = method.length;
  while (isSpace(at)) at += 1;
  let end = /[ \t]HTTP\/1\.\d[ \t]*$/.exec(line)?.index ?? 0;
  while (isSpace(end - 1)) end -= 1;
  return method !== "" && at < end ? { method, target: line.slice(at, end), at } : null;
}

/**
 * The path in a target: "/placeBets" in "http://wallet.example/placeBets?x=1".
 * @returns the path and its index in the target; null: the target has no path, for example "*"
 */
export function findPath(target: string): { readonly at: number; readonly path: string } | null {
  const at = AUTHORITY.exec(target)?.[0].length ?? 0;
  if (at === 0 && !target.startsWith("/")) return null;
  return { at, path: target.slice(at).split(/[?#]/, 1)[0] ?? "" };
}

/** Methods that the log shows. Another one may be part of a body that was read as a request. */
const SHOWN_METHODS = new Set(["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]);
const LONGEST_SHOWN = 100;

/**
 * A request as the log may show it: "/x", "PUT /x". Shows only a path with characters of RFC 3986, shortened and without
 * parameters: the text may come from a body without a length that was read as a request, and contain a session token.
 */
export function showTarget(method: string, target: string): string {
  const path = findPath(target)
    ?.path.replaceAll(/;[^/]*/g, "")
    .slice(0, LONGEST_SHOWN);
  const isReadable = path !== undefined && /^[\w\-.~%!$&'()*+,=:@/]*$/.test(path) && !/token/i.test(path);
  const name = method.toUpperCase();
  const shown = isReadable ? path || "/" : "(a path that is not shown)";
  if (name === "POST") return shown;
  return `${SHOWN_METHODS.has(name) ? name : "(another method)"} ${shown}`;
}

/**
 * The callback that the last part of a path names. Like many servers, this ignores upper and lower case, a slash at the
 * end, and parameters (`/placebets;v=1/`), and decodes `%42`.
 */
export function callbackAt(path: string): AnsweredName | null {
  const last = path
    .replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .split(/[/\\]/)
    .map((part) => part.split(";", 1)[0]?.trim() ?? "")
    .findLast((part) => part !== "" && part !== ".");
  return NAMES.get(last?.toLowerCase() ?? "") ?? null;
}
