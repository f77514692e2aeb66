/** The next version's change of the database: one more migration, of the allowed kind. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../src/db/migrations");
const STATEMENTS = [
  `ALTER TABLE "bet_records" ADD COLUMN "newer" text;`,
  `ALTER TABLE "windows" ADD COLUMN "newer" integer DEFAULT 0 NOT NULL;`,
  `ALTER TABLE "pull_states" ADD COLUMN "newer" text;`,
  `CREATE TABLE "newer" ("id" bigint PRIMARY KEY NOT NULL);`,
];

/** @returns a folder with the migrations of this version and of the next one; the caller removes it */
export function writeNewerMigrations(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "recon-newer-"));
  cpSync(FOLDER, folder, { recursive: true });
  const path = join(folder, "meta/_journal.json");
  const journal = JSON.parse(readFileSync(path, "utf8")) as { entries: { idx: number; when: number }[] };
  const last = journal.entries.at(-1);
  if (last === undefined) throw new Error("there are no migrations");
  const next = { ...last, idx: last.idx + 1, when: last.when + 1, tag: "9999_newer" };
  writeFileSync(path, JSON.stringify({ ...journal, entries: [...journal.entries, next] }));
  writeFileSync(join(folder, "9999_newer.sql"), STATEMENTS.join("--> statement-breakpoint\n"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
