import { expect, test } from "vitest";
import { ensureChainIndex } from "../../src/db/chain-index.ts";
import { useDatabase } from "../support/database.ts";

const { sql, url } = useDatabase();
const readIndex = async () =>
  (
    await sql`select i.indisvalid as valid from pg_index i where i.indexrelid = to_regclass('callback_entries_player')`
  ).map(({ valid }) => valid);

test("the index of chains is built once, by several starts at the same time, and what an interrupted build left is replaced", async () => {
  expect(await readIndex()).toEqual([]);
  await Promise.all([ensureChainIndex(url), ensureChainIndex(url)]);
  expect(await readIndex()).toEqual([true]);
  await sql`update pg_index set indisvalid = false where indexrelid = 'callback_entries_player'::regclass`;
  await ensureChainIndex(url);
  expect(await readIndex()).toEqual([true]);
});
