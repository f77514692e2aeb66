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

/** Reads "POST /placeBets HTTP/1.1", with any spaces between the parts (3). @returns null: it is none of HTTP/1 */
export function parseRequestLine(line: string): RequestLine | null {
  const method = /^[^ \t]+/.exec(line)?.[0] ?? "";
  const isSpace = (at: number) => line[at] === " " || line[at] === "\t";
  let at = method.length;
  while (isSpace(at)) at += 1;
  let end = /[ \t]HTTP\/1\.\d[ \t]*$/.exec(line)?.index ?? 0;
  while (isSpace(end - 1)) end -= 1;
  return at < end ? { method, target: line.slice(at, end), at } : null;
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
