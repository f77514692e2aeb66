/** The path after signing in: always a path of this server. */

const LONGEST_PATH = 2_000;
/** The base for parsing a path. A different origin in the result shows a path to another server. */
const HERE = "http://here.invalid";

/**
 * Reads the path that the visitor wanted to open.
 * @param to the text in the address or the form, perhaps written by an attacker
 * @returns the path; "/" if the text names another host in any spelling ("//host", "/\host", "/.//host"), is not a
 * path, or is too long
 */
export function readOwnPath(to: unknown): string {
  if (typeof to !== "string" || to.length > LONGEST_PATH || !to.startsWith("/") || !URL.canParse(to, HERE))
    return "/";
  const { origin, pathname, search } = new URL(to, HERE);
  return origin === HERE && !pathname.startsWith("//") ? pathname + search : "/";
}
