/** The texts of a source file: what is quoted, and templates with what stands in their holes. */

/** A literal of a source file. */
export interface Literal {
  /** "sql", "tx"…; empty: the literal has no tag */
  readonly tag: string;
  /** one more than holes */
  readonly chunks: readonly string[];
  /** the expressions between the chunks, as they stand in the source */
  readonly holes: readonly string[];
  readonly start: number;
}

const TAG = /\b(sql|tx|client)(?:<[^`]*>)?$/;
/** A slash behind one of these begins a regular expression; behind anything else it divides. */
const BEFORE_REGEX = /(?:[(,=:[!&|?{};\n]|\breturn)\s*$/;

/** The literals of a source, also those that stand in the holes of others. */
export function findLiterals(source: string): Literal[] {
  const found: Literal[] = [];
  skipCode(source, 0, (literal) => found.push(literal));
  return found;
}

/** Reads code to its end, or to the brace that closes it. @returns where that is */
function skipCode(source: string, from: number, found: (literal: Literal) => void): number {
  let depth = 0;
  for (let at = from; at < source.length; at += 1) {
    const char = source[at];
    if (char === "{") depth += 1;
    else if (char === "}" && depth-- === 0) return at;
    else if (source.startsWith("//", at)) at = endOf(source, "\n", at);
    else if (source.startsWith("/*", at)) at = endOf(source, "*/", at);
    else if (char === '"' || char === "'") {
      const end = skipQuoted(source, at);
      found({ tag: "", chunks: [source.slice(at + 1, end)], holes: [], start: at });
      at = end;
    } else if (char === "/" && BEFORE_REGEX.test(source.slice(Math.max(0, at - 40), at)))
      at = skipRegex(source, at);
    else if (char === "`") at = readTemplate(source, at, found);
  }
  return source.length;
}

function skipQuoted(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source[at] !== source[start]) at += source[at] === "\\" ? 2 : 1;
  return at;
}

function skipRegex(source: string, start: number): number {
  let inClass = false;
  let at = start + 1;
  for (; at < source.length && (inClass || source[at] !== "/"); at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === "[") inClass = true;
    else if (source[at] === "]") inClass = false;
  }
  return at;
}

function readTemplate(source: string, start: number, found: (literal: Literal) => void): number {
  const chunks: string[] = [];
  const holes: string[] = [];
  let from = start + 1;
  let at = from;
  for (; at < source.length && source[at] !== "`"; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source.startsWith("${", at)) {
      const end = skipCode(source, at + 2, found);
      chunks.push(source.slice(from, at));
      holes.push(source.slice(at + 2, end));
      from = end + 1;
      at = end;
    }
  }
  chunks.push(source.slice(from, at));
  const [, tag = ""] = TAG.exec(source.slice(Math.max(0, start - 200), start)) ?? [];
  found({ tag, chunks, holes, start });
  return at;
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  return at === -1 ? source.length : at + mark.length - 1;
}
