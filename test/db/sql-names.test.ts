/**
 * The database knows every name in the SQL of the program. These tests find a misspelt column, with its file and line, also
 * in a statement that no other test runs. PostgreSQL itself judges whole statements. In statements that are put together
 * from parts, these tests look up the names of each part.
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { findLiterals, type Literal } from "../support/literals.ts";

const ROOT = join(import.meta.dirname, "../..");
const db = useDatabase();

interface SqlText extends Literal {
  /** file and line */
  readonly at: string;
}

const STATEMENT = /^\s*(?:with|select|insert|update|delete)\b/i;
const SNAKE_CASE = /\b[a-z]+(?:_[a-z]+)+\b/;

const texts = globSync(["src/**/{store,*-store}.ts", "src/db/*.ts"], { cwd: ROOT }).flatMap((path) =>
  readSql(path, readFileSync(join(ROOT, path), "utf8")),
);

/** A text is SQL if it has a tag or begins like a statement; in a store also if it has a name like a column. */
function readSql(path: string, source: string): SqlText[] {
  const isSql = ({ tag, chunks }: Literal) =>
    tag !== "" ||
    STATEMENT.test(chunks[0] ?? "") ||
    (path.endsWith("store.ts") && chunks.some((chunk) => SNAKE_CASE.test(chunk)));
  return findLiterals(source)
    .filter(isSql)
    .map((literal) => ({ ...literal, at: `${path}:${source.slice(0, literal.start).split("\n").length}` }));
}

/** Holes for one of two tables with the same columns. */
const TABLES: Readonly<Record<string, string>> = {
  "sql(TABLE_OF[kind])": "transfers",
  "tx(TABLE_OF[kind])": "transfers",
  table: "transfers",
  "sql(ANSWERS_OF[kind])": "transfer_answers",
  answers: "transfer_answers",
};
const TAKES_TABLE = /\b(?:from|join|update|into)\s+$/;
const IS_PART = /\bas \($/;
/** PostgreSQL knows every name, but not the type of a value, because the test left out what stands before it. */
const OF_NO_TYPE = "42P18";
const UNKNOWN_NAME = new Set(["42P01", "42703", "42883", "42704"]);
/** A part of a statement that refers to a row of the whole. */
const OF_ANOTHER_PART = "missing FROM-clause entry";

interface Judgement {
  readonly isTaken: boolean;
  /** what PostgreSQL says of a name that it does not know */
  readonly fault: string | null;
}

/** Lets PostgreSQL prepare a statement, with values in its placeholders, and nothing in those that accept no value. */
async function judge({ chunks, holes, at }: SqlText): Promise<Judgement> {
  const filled = holes.map(
    (hole, index) => (TAKES_TABLE.test(chunks[index] ?? "") ? TABLES[hole] : undefined) ?? `$${index + 1}`,
  );
  for (let tries = 0; tries <= holes.length; tries += 1) {
    const text = chunks.map((chunk, index) => `${chunk}${filled[index] ?? ""}`).join("");
    try {
      await db.sql.unsafe(`prepare judged as ${text}; deallocate judged`);
      return { isTaken: true, fault: null };
    } catch (error) {
      const { code = "", message } = error as Error & { code?: string };
      if (code === OF_NO_TYPE) return { isTaken: true, fault: null };
      const isFault = UNKNOWN_NAME.has(code) && !message.startsWith(OF_ANOTHER_PART);
      if (isFault) return { isTaken: false, fault: `${at}: ${message}` };
      const [, refused] = /^syntax error at or near "\$(\d+)"$/.exec(message) ?? [];
      const place = Number(refused) - 1;
      if (refused === undefined || TAKES_TABLE.test(chunks[place] ?? "")) break;
      filled[place] = IS_PART.test(chunks[place] ?? "") ? "select" : "";
    }
  }
  return { isTaken: false, fault: null };
}

/** Without comments, texts and quoted names; a hole is a "$". */
function withoutTexts({ chunks }: Literal): string {
  return chunks
    .join(" $ ")
    .replace(/--.*$/gm, "")
    .replace(/'[^']*'|"[^"]*"/g, " $ ");
}

/** Names that a statement gives itself: to parts, rows, columns, temporary tables, cursors. */
const GIVEN_NAMES: readonly RegExp[] = [
  /\bas\s+(?:(?:not\s+)?materialized\s+)?([a-z]\w*)/g,
  /\b([a-z]\w*)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/g,
  /\)\s*([a-z]\w*)/g,
  /\b(?:from|join|update|into)\s+(?:[a-z]\w*|\$)\s+(?:as\s+)?([a-z]\w*)/g,
  /\bas\s+[a-z]\w*\s*\(([^)]*)\)/g,
  /\b(?:create temporary table|declare)\s+([a-z]\w*)/g,
];

function givenNames(text: SqlText): string[] {
  const sql = withoutTexts(text);
  return GIVEN_NAMES.flatMap((pattern) =>
    [...sql.matchAll(pattern)].flatMap(([, names = ""]) => names.match(/[a-z]\w*/g) ?? []),
  );
}

/** Names of SQL besides its key words, and names that are given outside of the statements. */
const OTHER_NAMES = ["excluded", "secs", "epoch", "wallet_recon", "recon_truncated", "extra_text"];

let known: ReadonlySet<string>;
/** by table */
let columns: ReadonlyMap<string, ReadonlySet<string>>;

beforeAll(async () => {
  const [row] = await db.sql<{ names: string[] }[]>`
    select array(
      select word from pg_get_keywords() union select proname from pg_proc union select typname from pg_type
      union select relname from pg_class union select attname from pg_attribute union select nspname from pg_namespace
      union select name from pg_settings
    )::text[] as names`;
  known = new Set([...(row?.names ?? []), ...texts.flatMap(givenNames), ...OTHER_NAMES]);
  const tables = await db.sql<{ table: string; names: string[] }[]>`
    select relname::text as table, array_agg(attname::text) as names
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind = 'r' group by 1`;
  columns = new Map(tables.map(({ table, names }) => [table, new Set(names)]));
});

/** A table or another source of rows, and the name that the statement gives its rows. */
const NAMED_ROW = /\b(?:from|join|update|into)\s+([a-z]\w*|\$|\()\s*(?:as\s+)?([a-z]\w*)?/g;

/** @returns a line for each name that nothing has, and each column that the table of its row does not have */
function unknownNames(text: SqlText): string[] {
  const sql = withoutTexts(text);
  const names = new Set(sql.match(/(?<![\w$])[a-z]\w*/gi));
  const tables = new Map<string, Set<string>>();
  for (const [, table = "", row = ""] of sql.matchAll(NAMED_ROW)) {
    for (const name of [row, table]) tables.set(name, (tables.get(name) ?? new Set()).add(table));
  }
  for (const [, row = ""] of sql.matchAll(/\)\s*(?:as\s+)?([a-z]\w*)/g)) tables.delete(row);
  const ofRows = [...sql.matchAll(/(?<![\w$.])([a-z]\w*)\.([a-z]\w*)/g)].flatMap(
    ([pair, row = "", column = ""]) => {
      const [table = "", ...others] = tables.get(row) ?? [];
      const has = columns.get(table);
      return others.length > 0 || has === undefined || has.has(column) ? [] : [`${pair} of ${table}`];
    },
  );
  const unknown = [...names].filter((name) => !known.has(name.toLowerCase()));
  return [...unknown, ...ofRows].map((name) => `${text.at}: ${name} is unknown`);
}

const isWhole = ({ tag, chunks }: SqlText) => tag !== "" && STATEMENT.test(chunks[0] ?? "");

describe("the SQL of the program", () => {
  test("has only names that PostgreSQL knows, if the statement is one literal", async () => {
    const judgements: Judgement[] = [];
    for (const text of texts.filter(isWhole)) judgements.push(await judge(text));
    expect(judgements.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    // The others have a part in the middle that a statement does not make sense without.
    expect(judgements.filter(({ isTaken }) => isTaken).length).toBeGreaterThan(0.88 * judgements.length);
  });

  test("has only names of the schema, of SQL, and its own, if the statement is built from parts", () => {
    expect(texts.flatMap(unknownNames)).toEqual([]);
  });
});

describe("what is found", () => {
  const find = async (source: string) => {
    const found = readSql("src/example-store.ts", source);
    const judgements = await Promise.all(found.filter(isWhole).map(judge));
    return [...judgements.flatMap(({ fault }) => fault ?? []), ...found.flatMap(unknownNames)];
  };

  test.each([
    ["a column that no table has", `tx\`select usrname from windows where id = \${id}\``, "usrname"],
    ["a column of another table", `tx\`select username from windows where id = \${id}\``, "username"],
    ["a table that is not there", `sql<Row[]>\`select id from window_ranges\``, "window_ranges"],
    [
      "a column behind a part that may be left out",
      `tx\`select id from windows \${lock} where kindd = 'live'\``,
      "kindd",
    ],
    ["a column in a part", `const OLD = \`w.started_att is not null\`;`, "started_att"],
    [
      "a column of a named row in a part",
      `\`join windows w on w.product_id = k.product_id and w.username = k.username where \${rule}\``,
      "w.username",
    ],
    ["a column in a list", `\`insert into windows (product_id, kinds_of) values \${rows}\``, "kinds_of"],
  ])("%s", async (_, source, name) => {
    expect(await find(source)).toEqual(expect.arrayContaining([expect.stringContaining(name)]));
  });

  test("nothing in a statement that is right, and in a message", async () => {
    expect(
      await find(
        `sql\`select w.kind as "kind" from windows w where w.id = \${id} \${narrowed(sql\`and true\`)}\``,
      ),
    ).toEqual([]);
    expect(await find(`\`window \${window.id} was taken over by another worker\``)).toEqual([]);
  });
});
