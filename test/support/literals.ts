/** The texts of a source file: quoted ones, and templates with the expressions in their holes. */

import { parseSync, Visitor } from "oxc-parser";

/** A literal of a source file. */
export interface Literal {
  /** "sql", "tx"…; empty: the literal has no tag */
  readonly tag: string;
  /** one more than holes, as they stand in the source */
  readonly chunks: readonly string[];
  /** the expressions between the chunks, as they stand in the source */
  readonly holes: readonly string[];
  readonly start: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const TAGS: ReadonlySet<string> = new Set(["sql", "tx", "client"]);

/** The literals of a source, also those in the holes of others. */
export function findLiterals(source: string): Literal[] {
  const textOf = ({ start, end }: Span) => source.slice(start, end);
  const tags = new Map<number, string>();
  const found: Literal[] = [];
  new Visitor({
    TaggedTemplateExpression: ({ tag, quasi }) => {
      const name = textOf(tag);
      if (TAGS.has(name)) tags.set(quasi.start, name);
    },
    TemplateLiteral: ({ start, quasis, expressions }) => {
      found.push({
        tag: tags.get(start) ?? "",
        chunks: quasis.map(({ value }) => value.raw),
        holes: expressions.map(textOf),
        start,
      });
    },
    Literal: ({ value, start, end }) => {
      if (typeof value === "string")
        found.push({ tag: "", chunks: [source.slice(start + 1, end - 1)], holes: [], start });
    },
  }).visit(parseSync("source.ts", source).program);
  return found;
}
