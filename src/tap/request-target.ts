/** The first line of a request, and what its target names, as lenient servers read it. */

import { type AnsweredName, CALLBACK_AT } from "../callbacks/request.ts";

const NAMES = new Map([...CALLBACK_AT].map(([name, callback]) => [name.toLowerCase(), callback]));
/** The scheme and the authority of a target in absolute form (RFC 9112, 3.2.2). */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

export interface RequestLine {
  readonly method: string;
  readonly target: string;
  /** where in the line the target begins */
  readonly at: number;
}

/**
 * Reads "POST /placeBets HTTP/1.1", with any spaces between the parts (3).
 * @returns null: it is none of HTTP/1. The method of one is a token (RFC 9110, 9.1), which no JSON begins with
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
 * The path of a target: "/placeBets" of "http://wallet.example/placeBets?x=1".
 * @returns where in the target it begins; null: the target has none, such as "*"
 */
export function findPath(target: string): { readonly at: number; readonly path: string } | null {
  const at = AUTHORITY.exec(target)?.[0].length ?? 0;
  if (at === 0 && !target.startsWith("/")) return null;
  return { at, path: target.slice(at).split(/[?#]/, 1)[0] ?? "" };
}

/** Methods that the log names. Any other may be text of a body that is read as a request. */
const SHOWN_METHODS = new Set(["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]);
const LONGEST_SHOWN = 100;

/**
 * A request as the log may show it: "/x", "PUT /x". Only a path of the characters of RFC 3986, cut, without its
 * parameters: what is read as a target may be the body of a request without a length, with a session token in it.
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
 * The callback that the last part of a path names. Like many servers, this ignores the case of letters, a slash at the
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
