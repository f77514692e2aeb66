/**
 * Workers of the version before keep running while a new version migrates, and afterwards. So every migration only adds what they do not
 * know, and locks no table for long.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const FOLDER = join(import.meta.dirname, "../../src/db/migrations");
const journal: { entries: { tag: string }[] } = JSON.parse(
  readFileSync(join(FOLDER, "meta/_journal.json"), "utf8"),
);

/** What a migration may do to a table that existed before. */
const HARMLESS: readonly RegExp[] = [
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" (?!.*\b(?:NOT NULL|DEFAULT|GENERATED|REFERENCES|UNIQUE)\b)[^;]+$/,
  // The catalogue keeps a literal; any other default may rewrite every row.
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" (?!.*\b(?:GENERATED|REFERENCES|UNIQUE)\b)[^;]*\bDEFAULT (?:'[^']*'|-?\d+|true|false|now\(\))(?: NOT NULL)?$/,
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" (?:SET DEFAULT .+|DROP NOT NULL)$/,
  // Waits for no reader or writer, and makes none wait.
  /^ALTER TABLE "\w+" SET \((?:autovacuum_\w+ = [\d.]+(?:, )?)+\)$/,
  // Nobody calls a new function yet.
  /^CREATE FUNCTION /,
];
/** These tables stay small, however much is played: their writers can wait until an index is made. */
const SMALL = [
  "adjustments",
  "alerts",
  "audit_log",
  "incidents",
  "mismatches",
  "mismatch_events",
  "rejected_entries",
  "rejected_records",
];
const INDEX_OF_SMALL = new RegExp(`^CREATE INDEX "\\w+" ON "(?:${SMALL.join("|")})" `);
const MAKES_TABLE = /^CREATE TABLE "(\w+)"/;
const ABOUT = /^ALTER TABLE "(\w+)"|^CREATE (?:UNIQUE )?INDEX "\w+" ON "(\w+)"|^INSERT INTO "(\w+)"/;

/** Harmful statements that are allowed, each with the reason why it harms nothing. */
const EXCEPTIONS: readonly { readonly tag: string; readonly statement: RegExp; readonly why: string }[] = [];

/** @returns the statements that could break workers of the version before, or make them wait */
function findHarmful(text: string): string[] {
  const statements = text.split("--> statement-breakpoint").map((one) =>
    one
      .trim()
      .replace(/^(?:(?:--.*)?\n)+/, "")
      .replace(/;$/, ""),
  );
  const own = new Set(statements.flatMap((one) => MAKES_TABLE.exec(one)?.[1] ?? []));
  return statements.filter((one) => {
    const [, altered, indexed, filled] = ABOUT.exec(one) ?? [];
    const isOwn = MAKES_TABLE.test(one) || own.has(altered ?? indexed ?? filled ?? "");
    return one !== "" && !isOwn && ![...HARMLESS, INDEX_OF_SMALL].some((allowed) => allowed.test(one));
  });
}

describe("a migration", () => {
  test.each(journal.entries.slice(1))("$tag only adds, or gives a reason", ({ tag }) => {
    const harmful = findHarmful(readFileSync(join(FOLDER, `${tag}.sql`), "utf8"));
    const excepted = EXCEPTIONS.filter((one) => one.tag === tag);
    const left = harmful.filter((one) => !excepted.some(({ statement }) => statement.test(one)));
    expect(left).toEqual([]);
    for (const { statement, why } of excepted) {
      expect(
        harmful.some((one) => statement.test(one)),
        `nothing needs the exception "${why}"`,
      ).toBe(true);
    }
  });

  test.each([
    [`DROP TABLE "callback_requests"`],
    [`ALTER TABLE "windows" DROP COLUMN "cursor"`],
    [`ALTER TABLE "windows" RENAME COLUMN "cursor" TO "next_id"`],
    [`ALTER TABLE "windows" RENAME TO "ranges"`],
    [`ALTER TABLE "windows" ADD COLUMN "owner" text NOT NULL`],
    [`ALTER TABLE "windows" ADD COLUMN "number" bigint NOT NULL GENERATED ALWAYS AS IDENTITY`],
    [`ALTER TABLE "windows" ADD COLUMN "token" uuid DEFAULT gen_random_uuid() NOT NULL`],
    [`ALTER TABLE "windows" ALTER COLUMN "pages" SET DATA TYPE bigint`],
    [`ALTER TABLE "windows" ALTER COLUMN "cursor" SET NOT NULL`],
    [`ALTER TABLE "windows" ADD CONSTRAINT "one" CHECK (pages > 0)`],
    [`CREATE INDEX "windows_new" ON "windows" USING btree ("pages")`],
    [`CREATE UNIQUE INDEX "windows_one" ON "windows" USING btree ("pages")`],
    [`DROP INDEX "windows_due"`],
    [`UPDATE "windows" SET "pages" = 0`],
    [`INSERT INTO "windows" ("kind") VALUES ('live')`],
  ])("may not do this to a table in use: %s", (statement) => {
    expect(findHarmful(`CREATE TABLE "new" ("id" text);--> statement-breakpoint\n${statement};`)).toEqual([
      statement,
    ]);
  });

  test.each([
    [`CREATE TABLE "new" ("id" text NOT NULL)`],
    [`CREATE UNIQUE INDEX "new_one" ON "new" USING btree ("id")`],
    [`INSERT INTO "new" ("id") SELECT "product_id" FROM "windows"`],
    [`ALTER TABLE "windows" ADD COLUMN "note" text`],
    [`ALTER TABLE "windows" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL`],
    [`ALTER TABLE "windows" ALTER COLUMN "cursor" DROP NOT NULL`],
    [`CREATE INDEX "mismatches_new" ON "mismatches" USING btree ("kind")`],
  ])("may do this: %s", (statement) => {
    expect(findHarmful(`CREATE TABLE "new" ("id" text);--> statement-breakpoint\n${statement};`)).toEqual([]);
  });
});
