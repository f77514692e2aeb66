/**
 * Every function of the migrated database. Some run as the owner of the tables whenever a role that may only insert writes a
 * row, so none may depend on what that role, or any other, can make: functions, tables, operators, triggers, settings.
 */

import { expect, test } from "vitest";
import { CALLBACKS, spell } from "../../src/callback.ts";
import { useDatabase } from "../support/database.ts";

const { sql } = useDatabase();

interface DatabaseFunction {
  readonly name: string;
  readonly settings: readonly string[];
  readonly source: string;
  readonly isTrigger: boolean;
  readonly isDefiner: boolean;
  /** other roles than the owner that may call it, such as "public" */
  readonly callers: readonly string[];
}

const readFunctions = () => sql<DatabaseFunction[]>`
  select proname as name, coalesce(proconfig, '{}') as settings, prosrc as source, prosecdef as "isDefiner",
    prorettype = 'trigger'::regtype as "isTrigger",
    array(
      select case grantee when 0 then 'public' else grantee::regrole::text end
      from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee <> proowner) as callers
  from pg_proc where pronamespace = 'public'::regnamespace order by proname`;

/** Tables, views, sequences, types and functions that a name could mean. */
const readNames = async () =>
  (
    await sql<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace
      union select proname from pg_proc where pronamespace = 'public'::regnamespace`
  ).map(({ name }) => name);

/** Without comments and texts. */
function codeOf(source: string): string {
  return source.replaceAll(/--.*$/gm, "").replaceAll(/'(?:[^']|'')*'/g, "''");
}

test("every function searches pg_catalog alone, and temporary tables last", async () => {
  const found = await readFunctions();
  expect(found.length).toBeGreaterThan(10);
  for (const { name, settings } of found) expect(settings, name).toContain("search_path=pg_catalog, pg_temp");
});

test("no function can be called, or made a trigger, by another role than the owner", async () => {
  for (const { name, callers } of await readFunctions()) expect(callers, name).toEqual([]);
});

test("every function names tables and functions of this schema with the schema", async () => {
  const names = await readNames();
  expect(names).toContain("callback_entries");
  const used = new Set<string>();
  for (const { name, source } of await readFunctions()) {
    const code = codeOf(source);
    for (const one of names) {
      const places = [...code.matchAll(new RegExp(`(\\w+\\.)?\\b${one}\\b`, "g"))].map(([place]) => place);
      if (places.length > 0) used.add(one);
      expect(
        places.filter((place) => place !== `public.${one}`),
        `${name} names ${one}`,
      ).toEqual([]);
    }
  }
  expect([...used]).toEqual(expect.arrayContaining(["callback_entries", "diff_marks", "recon_content"]));
});

test("every trigger function refuses another table than its own, and is the trigger of that table only", async () => {
  const tables = await sql<{ name: string; of: string[] }[]>`
    select p.proname as name, array_agg(distinct tgrelid::regclass::text) as of
    from pg_trigger t join pg_proc p on p.oid = tgfoid where not tgisinternal group by 1`;
  const triggers = (await readFunctions()).filter(({ isTrigger }) => isTrigger);
  expect(triggers.map(({ name }) => name)).toEqual(tables.map(({ name }) => name).toSorted());
  for (const { name, source } of triggers) {
    const [own] = tables.find((one) => one.name === name)?.of ?? [];
    expect(tables.find((one) => one.name === name)?.of, name).toHaveLength(1);
    expect(source.replaceAll(/\s+/g, " "), name).toContain(
      `begin if tg_relid <> 'public.${own}'::regclass then raise exception`,
    );
  }
});

test("no function, trigger or default reads a setting but the owner's switch", async () => {
  const texts = [
    ...(await readFunctions()).map(({ source }) => codeOf(source)),
    ...(
      await sql<{ text: string }[]>`
        select pg_get_triggerdef(oid) as text from pg_trigger where not tgisinternal
        union all select pg_get_expr(adbin, adrelid) from pg_attrdef`
    ).map(({ text }) => text),
  ];
  const reading = texts
    .filter((text) => /current_setting|session_user|application_name/.test(text))
    // Only a superuser can set it.
    .filter(
      (text) =>
        !text.includes("WHEN ((current_setting('session_replication_role'::text) = 'replica'::text))"),
    );
  expect(reading).toHaveLength(2);
  for (const text of reading)
    expect(text).toMatch(
      /COALESCE\(current_setting\('wallet_recon\.entries'.*OR \(NOT has_table_privilege\(\('callback_entries'::regclass\)::oid, 'TRIGGER WITH GRANT OPTION'::text\)\)/,
    );
});

test("the trigger of inserts judges rows by the words of recon_entry_fault", async () => {
  const found = await readFunctions();
  const sourceOf = (wanted: string) =>
    found.find(({ name }) => name === wanted)?.source.replaceAll(/\s+/g, " ") ?? "";
  const [rules = ""] = /case when .* end(?=;)/.exec(sourceOf("recon_entry_fault")) ?? [];
  expect(rules).toContain("then 'occurred_at ahead'");
  expect(sourceOf("recon_take_inserted")).toContain(`count(${rules})`);
});

test("the database and the program know the same words in any case of letters", async () => {
  const words = [...CALLBACKS, "BY_TRANSACTION", "BY_BET", "BY_ROUND", "BY_PLAYER", ""].flatMap((word) => [
    word,
    word.toLowerCase(),
    word.toUpperCase(),
  ]);
  const spelled = await sql<{ word: string }[]>`
    select recon_spelling(word) as word from unnest(${words}::text[]) with ordinality as w (word, place) order by place`;
  expect(spelled.map(({ word }) => word)).toEqual(words.map(spell));
});

test("only functions that writers wake run as the owner", async () => {
  const definers = (await readFunctions()).filter(({ isDefiner }) => isDefiner).map(({ name }) => name);
  expect(definers).toEqual(["recon_take_change", "recon_take_inserted", "recon_take_replicated"]);
});
