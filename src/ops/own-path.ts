/** Where to go after signing in: only ever a path of this server. */

const LONGEST_PATH = 2_000;
/** Only there to read the path with; it stays behind where the path leads elsewhere. */
const HERE = "http://here.invalid";

/**
 * Reads the path that somebody wanted to see.
 * @param to as the address or the form has it: whoever made the link wrote it
 * @returns the overview where it is no path of this server: another host in any of its spellings ("//host", "/\host",
 *   "/.//host"), a text that is no path, or one that is too long
 */
export function readOwnPath(to: unknown): string {
  if (typeof to !== "string" || to.length > LONGEST_PATH || !to.startsWith("/") || !URL.canParse(to, HERE))
    return "/";
  const { origin, pathname, search } = new URL(to, HERE);
  return origin === HERE && !pathname.startsWith("//") ? pathname + search : "/";
}
