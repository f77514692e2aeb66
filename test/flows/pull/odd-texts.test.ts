/** Texts and records as providers really send them: no page stands still because of one of them, and no name is changed. */

import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MINUTE_MS, NOON } from "../../support/examples.ts";
import { betItem, page, pageBody, type Respond } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { usePullWorld } from "../../support/pull-world.ts";

const { sql, provider, worker } = usePullWorld();

/** Pulls half an hour. @returns what is stored */
async function pull(answer: Respond) {
  provider.answer(() => answer);
  const context = worker(NOON - 30 * MINUTE_MS, { attempts: 1, windowMin: "PT30M" });
  const result = await pullProduct(context, "P1", new AbortController().signal);
  const stored = await sql<{ username: string; game: string }[]>`
    select username, game_name as game from bet_records order by bet_id`;
  const rejected = await sql<
    { raw: string; reason: string }[]
  >`select raw, reason from rejected_records order by id`;
  const gaps = await sql<{ code: string; message: string }[]>`
    select error_code as code, error_message as message from windows where status = 'gap'`;
  return { ...result, stored: [...stored], rejected: [...rejected], gaps: [...gaps] };
}

const bet = (number: number, fields: Record<string, string> = {}) =>
  betItem({ id: `"rec-${number}"`, betId: `"bet-${number}"`, ...fields });
const answered =
  (bytes: Buffer, contentType: string): Respond =>
  (response) =>
    response.writeHead(200, { "content-type": contentType }).end(bytes);
describe("an answer in the charset of its Content-Type", () => {
  test.each([
    // The second byte of each of the first two letters is a backslash, of the third a brace.
    ["Shift_JIS", "835c955c816f837e8f5c945c", "ソ表\uff5bミ十能"],
    ["gbk", "815c9c5cd55c", "乗淺誠"],
    ["GB18030", "815c9c5cd55c", "乗淺誠"],
    ["Big5", "a55cb35cbb5c", "功許蓋"],
    ["windows-874", "cac1aad2c2", "สมชาย"],
    ["TIS-620", "cac1aad2c2", "สมชาย"],
    ['"ISO-8859-1"', "5a6feb204dfc6c6c6572", "Zoë Müller"],
    ["euc-kr", "b1e8c3b6bcf6", "김철수"],
    ["UTF-8", Buffer.from("สมชาย\u{1f3b0}").toString("hex"), "สมชาย\u{1f3b0}"],
  ])("%s keeps every name", async (charset, bytes, text) => {
    const named = pageBody([bet(1, { username: '"NAME"', gameName: '"NAME"' }), bet(2)]);
    const body = Buffer.from(
      named.replaceAll("NAME", Buffer.from(bytes, "hex").toString("latin1")),
      "latin1",
    );
    const { stored, rejected } = await pull(answered(body, `application/json; charset=${charset}`));
    expect(rejected).toEqual([]);
    expect(stored).toEqual([
      { username: text, game: text },
      { username: "anna", game: "Game One" },
    ]);
  });

  test("utf-16le keeps every name", async () => {
    const body = Buffer.from(pageBody([bet(1, { username: '"สมชาย\u{1f3b0}"' })]), "utf16le");
    const { stored } = await pull(answered(body, "application/json; charset=utf-16le"));
    expect(stored).toEqual([{ username: "สมชาย\u{1f3b0}", game: "Game One" }]);
  });

  test("an unknown charset is a bad page that names it", async () => {
    const { stored, gaps } = await pull(
      answered(Buffer.from(pageBody([bet(1)])), "application/json; charset=utf-7"),
    );
    expect(stored).toEqual([]);
    expect(gaps).toEqual([
      {
        code: "provider-not-json",
        message: expect.stringContaining(`the answer's charset "utf-7" is unknown`),
      },
    ]);
  });

  test.each([
    ["UTF-8", "application/json", "\xe3\x81", "\\xe3\\x81"],
    ["Shift_JIS", "application/json; charset=Shift_JIS", "\xa0", "\\xff"],
  ])(
    "a record with bytes that are not %s is rejected alone, and two names never become one",
    async (_, type, bytes, shown) => {
      const bad = (number: number, byte: string) =>
        Buffer.from(bet(number, { username: '"an?na"' }).replace("?", byte), "latin1");
      const parts = pageBody(["A", "B", bet(3)]).split(/[AB](?=[,\]])/);
      const [before = "", between = "", after = ""] = [
        parts[0],
        ",",
        parts.slice(1).join("").replace(/^,/, ","),
      ];
      const body = Buffer.concat([
        Buffer.from(before),
        bad(1, bytes),
        Buffer.from(between),
        bad(2, bytes),
        Buffer.from(after.slice(after.indexOf(",", 1))),
      ]);
      const { stored, rejected, gaps } = await pull(answered(body, type));
      expect(gaps).toEqual([]);
      expect(stored).toEqual([{ username: "anna", game: "Game One" }]);
      expect(rejected).toHaveLength(2);
      for (const { raw, reason } of rejected) {
        expect(reason).toBe("the record has a text that is not in the charset of the answer");
        expect(raw).toContain(`an${shown}na`);
        expect(raw).not.toContain("\ufffd");
      }
    },
  );

  test("an envelope that is not in its charset is a bad page", async () => {
    const body = Buffer.from(pageBody([bet(1)]).replace("success", "succ\xe3ess"), "latin1");
    const { stored, gaps } = await pull(answered(body, "application/json"));
    expect(stored).toEqual([]);
    expect(gaps).toMatchObject([{ code: "provider-not-json" }]);
  });
});

test("a record with a name twice and two values is rejected with its whole text, and its page is kept", async () => {
  const doubled = bet(1).replace(/}$/, ',"stake":99.00}');
  const same = bet(2).replace(/}$/, ',"stake":10.00}');
  const { stored, rejected, gaps } = await pull(page([doubled, same, bet(3)]));
  expect(gaps).toEqual([]);
  expect(stored).toHaveLength(2);
  expect(rejected).toEqual([
    { raw: doubled, reason: 'the record has the name "stake" twice, with two values' },
  ]);
});

describe("a page that PostgreSQL refuses because of its data", () => {
  beforeEach(async () => {
    await sql`create index if not exists for_our_report on bet_records (game_name)`;
  });
  afterEach(async () => {
    await sql`drop index if exists for_our_report`;
  });

  test("is committed without the records that it refuses, which are rejected", async () => {
    // No index entry holds it, and it cannot be compressed.
    const long = () => JSON.stringify(randomBytes(6_000).toString("base64"));
    const bets = Array.from({ length: 200 }, (_, number) =>
      bet(number, number === 7 || number === 150 ? { gameName: long(), more: '{"a":1.10}' } : {}),
    );
    const { stored, rejected, gaps } = await pull(page(bets));
    expect(gaps).toEqual([]);
    expect(stored).toHaveLength(198);
    expect(rejected).toHaveLength(2);
    for (const { raw, reason } of rejected) {
      expect(reason).toMatch(/^PostgreSQL refuses the record: index row size \d+ exceeds/);
      expect(JSON.parse(raw)).toMatchObject({ username: "anna", stake: 10, more: { a: 1.1 } });
    }
    const alerts = await sql`select kind from alerts`;
    expect(alerts).toContainEqual({ kind: "rejected-records" });
  });

  /** What an operator's own trigger makes of a name that it did not expect. */
  test.each([
    ["22003", "new.game_name::numeric(4, 2)", "12345", /numeric field overflow/],
    ["22008", "new.game_name::timestamptz", "294277-01-01", /out of range/],
    ["22P02", "new.game_name::jsonb", "{", /invalid input syntax for type json/],
    ["22012", "1 / length(new.game_name)", "", /division by zero/],
    ["22021", "convert_from(decode(new.game_name, 'hex'), 'UTF8')", "00", /invalid byte sequence/],
    ["54000", "repeat(new.game_name, 1073741820)", "ab", /requested length too large/],
    ["54000", "chr(length(new.game_name))", "", /null character not permitted/],
  ])("with SQLSTATE %s by %s is committed without the record", async (_, expression, gameName, says) => {
    await sql.unsafe(`create function read_game() returns trigger language plpgsql as $$ begin
      if new.bet_id = 'bet-2' then perform ${expression}; end if; return new; end $$;
      create trigger read_game before insert on bet_records for each row execute function read_game();`);
    try {
      const name = JSON.stringify(gameName);
      const { stored, rejected, gaps } = await pull(page([bet(1), bet(2, { gameName: name }), bet(3)]));
      expect(gaps).toEqual([]);
      expect(stored).toHaveLength(2);
      expect(rejected).toMatchObject([
        { reason: expect.stringMatching(`^PostgreSQL refuses the record: .*${says.source}`) },
      ]);
    } finally {
      await sql`drop function read_game cascade`;
    }
  });
});

test.each([
  ["an amount of 10^999", { stake: "1e999" }],
  ["NUL in a name", { username: '"an\\u0000na"' }],
  ["NUL in a field that we do not know", { more: '"\\u0000"' }],
  ["half a letter", { gameName: '"\\ud83c"' }],
  ["a date beyond PostgreSQL's", { updatedDate: '"294277-01-01T00:00:00Z"' }],
  ["7,000 levels", { more: `${"[".repeat(7_000)}${"]".repeat(7_000)}` }],
  ["a number that no numeric holds", { more: "1e400000" }],
])("%s rejects its record alone", async (_, fields) => {
  const { stored, rejected, gaps } = await pull(page([bet(1), bet(2, fields), bet(3)]));
  expect(gaps).toEqual([]);
  expect(stored).toHaveLength(2);
  expect(rejected).toHaveLength(1);
});
