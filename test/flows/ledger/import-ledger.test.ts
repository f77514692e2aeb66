/** Imports of entries and of recorded callbacks: which lines are added, known, changed and rejected. */

import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { type ImportOptions, importLedger } from "../../../src/flows/ledger/import-ledger.ts";
import { addCounts, type ImportCounts, NO_COUNTS } from "../../../src/ledger/import-lines.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";

const { sql } = useDatabase();
beforeEach(() => emptyTables(sql));

type Options = Partial<Omit<ImportOptions, "onImported">> & { readonly rowsChange?: "never" | "replace" };

/** @param text cut into small chunks, so chunks end within lines and characters */
async function run(
  text: string | Uint8Array,
  { rowsChange = "never", ...options }: Options = {},
): Promise<ImportCounts> {
  const config = parseConfig({ products: [{ productId: "P1" }], ledger: { rowsChange } });
  let taken = NO_COUNTS;
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
  }
  await importLedger({ sql, config }, chunks(), {
    format: "entries",
    shape: null,
    ...options,
    onImported: (part) => {
      taken = addCounts(taken, part);
    },
  });
  return taken;
}
const counts = (taken: Partial<ImportCounts>) => ({ ...NO_COUNTS, ...taken });

function entry(entryId: string, fields: Readonly<Record<string, unknown>> = {}) {
  return {
    entry_id: entryId,
    callback: "placeBets",
    request_id: `request-${entryId}`,
    product_id: "P1",
    username: "anna",
    currency: "THB",
    txn_id: "bet-1",
    round_id: "round-1",
    status: "OPEN",
    bet_amount: "10.00",
    skip_balance_update: false,
    moved: -10,
    occurred_at: "2026-11-20T10:00:00.123456Z",
    received_at: "2026-11-20T17:00:00+07:00",
    ...fields,
  };
}
const lines = (...values: unknown[]) =>
  values.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n");
const stored = () => sql<Record<string, unknown>[]>`
  select entry_id, bet_amount, moved, occurred_at::text, received_at::text from callback_entries order by entry_id`;
const rejected = () => sql<{ kind: string; entryId: string | null; raw: string; reason: string }[]>`
  select kind, entry_id as "entryId", raw, reason from rejected_entries order by id`;

describe("entries", () => {
  test("become rows with every digit of their amounts and times", async () => {
    const text = `${JSON.stringify(entry("e1")).replace("-10", "-10.000000000000000000001")}\n${JSON.stringify(entry("e2"))}`;
    expect(await run(text)).toEqual(counts({ added: 2 }));
    expect(await stored()).toEqual([
      {
        entry_id: "e1",
        bet_amount: "10.00",
        moved: "-10.000000000000000000001",
        occurred_at: "2026-11-20 10:00:00.123456+00",
        received_at: "2026-11-20 10:00:00+00",
      },
      expect.objectContaining({ entry_id: "e2", moved: "-10" }),
    ]);
  });

  test("that are imported again are known, and nothing is written", async () => {
    const text = lines(entry("e1"), entry("e2"), entry("e1", { bet_amount: 10 }));
    expect(await run(text)).toEqual(counts({ added: 2, known: 1 }));
    const written = () => sql`select entry_id, xmin from callback_entries order by entry_id`;
    const before = await written();
    expect(await run(text)).toEqual(counts({ known: 3 }));
    expect(await written()).toEqual(before);
  });

  test("with other content count as changed; the first content stays, and the change is kept as rejected", async () => {
    await run(lines(entry("e1")));
    expect(await run(lines(entry("e1", { bet_amount: "12" })))).toEqual(counts({ changed: 1 }));
    expect(await stored()).toEqual([expect.objectContaining({ bet_amount: "10.00" })]);
    expect(await rejected()).toEqual([
      expect.objectContaining({
        kind: "changed",
        entryId: "e1",
        reason: expect.stringContaining("bet_amount from 10.00 to 12"),
      }),
    ]);
  });

  test('with other content replace the first if ledger.rowsChange is "replace"', async () => {
    await run(lines(entry("e1")));
    expect(await run(lines(entry("e1", { bet_amount: "12" })), { rowsChange: "replace" })).toEqual(
      counts({ changed: 1 }),
    );
    expect(await stored()).toEqual([expect.objectContaining({ bet_amount: "12" })]);
  });

  test("that appear twice in one part, with different content, are changed", async () => {
    expect(await run(lines(entry("e1"), entry("e1"), entry("e1", { bet_amount: "12" })))).toEqual(
      counts({ added: 1, known: 1, changed: 1 }),
    );
  });

  test.each([
    ["no JSON", "oh no", "the line is not JSON"],
    ["no object", "[1]", "the line must be a JSON object with the columns of the ledger"],
    ["a column that is none", entry("e2", { bet_ammount: 1 }), 'unknown column "bet_ammount"'],
    [
      "columns that are written otherwise, others that are none, and missing ones",
      '{"entryId":"e2","Request-Id":"r","colour":1,"product_id":"P1","currency":"THB","txn_id":"t","status":"OPEN","skip_balance_update":false,"occurred_at":"2026-11-20T10:00:00Z"}',
      'unknown column "entryId" (did you mean entry_id?); unknown column "Request-Id" (did you mean request_id?); unknown column "colour"; callback, username and received_at are missing',
    ],
    ["a missing column", entry("e2", { username: undefined }), "username is missing"],
    ["an empty column", entry("e2", { username: null }), "username is empty"],
    ["a number for a text", entry("e2", { txn_id: 17 }), "txn_id must be text, but is 17"],
    [
      "a character that cannot be stored",
      entry("e2", { txn_id: "a\0" }),
      /^txn_id has a character that cannot be stored/,
    ],
    ["a word for an amount", entry("e2", { moved: "ten" }), 'moved must be a decimal number, but is "ten"'],
    ["an amount of 70 digits", entry("e2", { moved: "1".repeat(70) }), /^moved must be a decimal number/],
    [
      "a word for a flag",
      entry("e2", { skip_balance_update: "no" }),
      'skip_balance_update must be true or false, but is "no"',
    ],
    [
      "a time without zone",
      entry("e2", { received_at: "2026-11-20 10:00:00" }),
      /^received_at must be a date-time with an offset/,
    ],
    [
      "a day that is none",
      entry("e2", { received_at: "2026-02-30T10:00:00Z" }),
      /^received_at must be a date-time with an offset/,
    ],
    [
      "an unknown callback",
      entry("e2", { callback: "play" }),
      /^callback is "play", which is none of placeBets/,
    ],
    [
      "seconds for milliseconds",
      entry("e2", { occurred_at: "1970-01-21T00:00:00Z" }),
      /^occurred_at is .* which lies before 2010/,
    ],
    [
      "a year before all calendars",
      entry("e2", { occurred_at: "0000-01-01T00:00:00Z" }),
      /which lies before 2010/,
    ],
    [
      "a far offset",
      entry("e2", { occurred_at: "2026-11-20T10:00:00+17:30", received_at: "2026-11-18T10:00:00Z" }),
      /more than a day after received_at/,
    ],
    ["an id that is too long", entry("e2", { txn_id: "x".repeat(601) }), /^txn_id is longer than 600 bytes/],
  ])(
    "with %s are rejected with line and reason, kept with their text, and the others are taken",
    async (_what, bad, reason) => {
      const text = lines(entry("e1"), bad, entry("e3"));
      const answer = { line: 2, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) };
      expect(await run(text)).toEqual(counts({ added: 2, rejected: [answer] }));
      const kept = { kind: "unusable", raw: lines(bad), reason: answer.reason };
      expect(await rejected()).toEqual([expect.objectContaining(kept)]);
      expect(await run(text)).toEqual(counts({ known: 2, rejected: [answer] }));
      expect(await rejected()).toHaveLength(1);
    },
  );

  test("of a dry run are counted, but not written", async () => {
    await run(lines(entry("e1"), entry("e2")));
    const text = lines(
      entry("e1"),
      entry("e2", { moved: -11 }),
      entry("e3"),
      entry("e4", { callback: "play" }),
      "oh no",
    );
    const answer = counts({
      added: 1,
      known: 1,
      changed: 1,
      rejected: [expect.objectContaining({ line: 4 }), expect.objectContaining({ line: 5 })],
    });
    expect(await run(text, { dryRun: true })).toEqual(answer);
    expect([await stored(), await rejected()]).toEqual([expect.objectContaining({ length: 2 }), []]);
  });
});

function recorded(
  fields: Readonly<Record<string, unknown>> = {},
  item: Readonly<Record<string, unknown>> = {},
) {
  return {
    callback: "placeBets",
    receivedAt: "2026-11-20T10:00:01Z",
    request: {
      id: "request-1",
      timestampMillis: 1_795_168_800_000,
      productId: "P1",
      currency: "THB",
      username: "anna",
      sessionToken: "secret",
      token: "secret",
      "auth-token": "secret",
      txns: [{ id: "bet-1", status: "OPEN", roundId: "round-1", betAmount: 10.5, gameCode: "g", ...item }],
    },
    response: { id: "request-1", statusCode: 0, balanceBefore: 100, balanceAfter: 89.5 },
    ...fields,
  };
}
const { request, response } = recorded();
const callbacks = (text: string, options: Options = {}) => run(text, { format: "callbacks", ...options });
const entries = () => sql<Record<string, unknown>[]>`
  select callback, request_id, txn_id, bet_amount, moved, balance_before, balance_after, occurred_at::text,
    received_at::text from callback_entries order by txn_id, entry_id`;

describe("MongoDB's Extended JSON", () => {
  test("of entries gives ids, times and exact numbers", async () => {
    const received = Date.parse("2026-11-20T10:00:00.5Z");
    const { entry_id: _, ...fields } = entry("e1");
    const line = {
      _id: { $oid: "65a0c0ffee00000000000001" },
      ...fields,
      bet_amount: { $numberDecimal: "0.100000000000000000001" },
      moved: { $numberLong: "-9007199254740993" },
      occurred_at: { $date: "2026-11-20T10:00:00Z" },
      received_at: { $date: { $numberLong: String(received) } },
    };
    expect(await run(lines(line, { ...entry("e2"), _id: { $oid: "65a0c0ffee00000000000002" } }))).toEqual(
      counts({ added: 2 }),
    );
    expect(await stored()).toMatchObject([
      {
        entry_id: "65a0c0ffee00000000000001",
        bet_amount: "0.100000000000000000001",
        moved: "-9007199254740993",
        occurred_at: "2026-11-20 10:00:00+00",
        received_at: "2026-11-20 10:00:00.5+00",
      },
      { entry_id: "e2" },
    ]);
  });

  test.each([
    [
      { bet_amount: { $numberDecimal: "NaN" } },
      'bet_amount must be a number or decimal text, but is {"$numberDecimal":"NaN"}',
    ],
    [{ received_at: { $timestamp: { t: 1, i: 1 } } }, /^received_at must be a date-time/],
  ])("of another type is rejected: %j", async (fields, reason) => {
    const { rejected: left } = await run(lines(entry("e1", fields)));
    expect(left).toEqual([
      { line: 1, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) },
    ]);
  });

  test("of recorded callbacks is read at any depth", async () => {
    const line = JSON.stringify(recorded({ receivedAt: { $date: "2026-11-20T10:00:01Z" } }))
      .replace('"betAmount":10.5', '"betAmount":{"$numberDecimal":"10.5"}')
      .replace(/"timestampMillis":(\d+)/, '"timestampMillis":{"$numberLong":"$1"}');
    expect(line).toContain("numberLong");
    expect(await callbacks(line)).toEqual(counts({ added: 1 }));
    expect(await callbacks(lines(recorded()))).toEqual(counts({ known: 1 }));
  });
});

describe("recorded callbacks", () => {
  test("become the entries of their items", async () => {
    expect(await callbacks(lines(recorded()))).toEqual(counts({ added: 1 }));
    expect(await entries()).toEqual([
      {
        callback: "placeBets",
        request_id: "request-1",
        txn_id: "bet-1",
        bet_amount: "10.5",
        moved: "-10.5",
        balance_before: "100",
        balance_after: "89.5",
        occurred_at: "2026-11-20 10:00:00+00",
        received_at: "2026-11-20 10:00:01+00",
      },
    ]);
  });

  test("may have their bodies as text, alternative callback names, and no answer", async () => {
    const settled = {
      ...request,
      txns: [{ id: "bet-1", status: "SETTLED", roundId: "r", betAmount: 1, payoutAmount: 2 }],
    };
    const text = lines(
      recorded({ request: JSON.stringify(request), response: JSON.stringify(response) }),
      recorded({ callback: "unsettleBets", request: settled, response: null }),
    );
    expect(await callbacks(text)).toEqual(counts({ added: 2 }));
    expect((await entries()).map(({ callback, moved }) => [callback, moved]).toSorted()).toEqual([
      ["placeBets", "-10.5"],
      ["rollback", null],
    ]);
  });

  test("with several items do not say how much each item moved", async () => {
    const [item] = request.txns;
    const several = {
      ...request,
      txns: [item, { ...item, id: "bet-2" }, { ...item, id: "bet-2", betAmount: 3 }],
    };
    expect(await callbacks(lines(recorded({ request: several })))).toEqual(counts({ added: 3 }));
    expect((await entries()).map(({ moved, balance_after }) => [moved, balance_after])).toEqual([
      [null, "89.5"],
      [null, "89.5"],
      [null, "89.5"],
    ]);
  });

  test("that the operator refused, and checkBalance, are skipped", async () => {
    const text = lines(
      recorded({ response: { statusCode: 20001 } }),
      recorded({ request: "broken", response: { statusCode: 30001 } }),
      recorded({ callback: "checkBalance", request: { id: "x" }, response: { statusCode: 0, balance: 1 } }),
    );
    expect(await callbacks(text)).toEqual(counts({ skipped: 3 }));
  });

  test("that were sent again are known, even much later, if the second answer moved nothing", async () => {
    await callbacks(lines(recorded()));
    const again = {
      receivedAt: "2026-11-20T10:05:00Z",
      request: { ...request, timestampMillis: 1_795_168_860_000 },
    };
    const text = lines(
      recorded(again),
      recorded({ ...again, response: { statusCode: 0, balanceBefore: 50, balanceAfter: 50 } }),
      recorded({ ...again, response: null }),
    );
    expect(await callbacks(text)).toEqual(counts({ known: 3 }));
    expect(await rejected()).toEqual([]);
  });

  test("that were sent again and moved money again are entries of their own, each once", async () => {
    const twice = lines(
      recorded(),
      recorded({ response: { statusCode: 0, balanceBefore: 89.5, balanceAfter: 79 } }),
    );
    expect(await callbacks(twice)).toEqual(counts({ added: 2 }));
    expect(await callbacks(twice)).toEqual(counts({ known: 2 }));
    expect((await entries()).map(({ moved }) => moved)).toEqual(["-10.5", "-10.5"]);
  });

  test("that reuse a request id with other content are entries of their own, each once", async () => {
    const first = recorded();
    const other = recorded({}, { betAmount: 11 });
    expect(await callbacks(lines(first))).toEqual(counts({ added: 1 }));
    expect(await callbacks(lines(other))).toEqual(counts({ added: 1 }));
    expect(await callbacks(lines(other, first, recorded({}, { betAmount: 12 })))).toEqual(
      counts({ added: 1, known: 2 }),
    );
    expect((await entries()).map(({ bet_amount }) => bet_amount).toSorted()).toEqual(["10.5", "11", "12"]);
    expect(await rejected()).toEqual([]);
  });

  test.each([
    ["currency", "USD", '"THB"'],
    ["username", "bob", '"anna"'],
  ])("with an answer of another %s are rejected with both values", async (field, answered, asked) => {
    const line = recorded({ response: { ...response, [field]: answered } });
    const reason = `response.${field} must be that of the request, ${asked}, but is "${answered}"`;
    expect(await callbacks(lines(line))).toEqual(counts({ rejected: [{ line: 1, reason }] }));
    expect(await entries()).toEqual([]);
    expect(await rejected()).toHaveLength(1);
  });

  test("of two products with the same ids are two entries", async () => {
    expect(
      await callbacks(lines(recorded(), recorded({ request: { ...request, productId: "P2" } }))),
    ).toEqual(counts({ added: 2 }));
  });

  test.each([
    ["no JSON", "{", "the line is not JSON"],
    [
      "no callback's name",
      recorded({ callback: "play" }),
      /^callback must be one of placeBets, .* but is "play"$/,
    ],
    [
      "no time",
      recorded({ receivedAt: 1_795_168_800_000 }),
      /^receivedAt must be a date-time .* but is 1795168800000$/,
    ],
    [
      "no request",
      recorded({ request: "hello" }),
      'request must be the body of the callback, an object or its JSON text, but is "hello"',
    ],
    [
      "a text of a request that holds a token",
      recorded({ request: "sessionToken=secret" }),
      /^request must be .* but is "\(not JSON, 19 bytes; not stored, because it may hold a sess/,
    ],
    [
      "a callback's name that holds a token",
      recorded({ callback: "placeBets?sessionToken=secret" }),
      /^callback must be one of .* but is "\(removed: it names a session token\)"$/,
    ],
    ["no answer", recorded({ response: undefined }), "response is missing; it may be null"],
    [
      "an answer without statusCode",
      recorded({ response: "<html>" }),
      'response must be your answer, an object or its JSON text, or null, but is "<html>"',
    ],
    [
      "a balance that is none",
      recorded({ response: { ...response, balanceAfter: "much" } }),
      'response.balanceAfter must be a decimal number, but is "much"',
    ],
    [
      "a wrong amount",
      recorded({}, { betAmount: -1 }),
      "request.txns[0].betAmount must not be negative, but is -1",
    ],
    [
      "a field that is missing",
      recorded({ request: { ...request, username: undefined } }),
      "request.username must be text, but is missing",
    ],
  ])("with %s are rejected with line and reason, and kept without tokens", async (_what, bad, reason) => {
    const answer = { line: 1, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) };
    expect(await callbacks(lines(bad, recorded({ request: { ...request, id: "request-2" } })))).toEqual(
      counts({ added: 1, rejected: [answer] }),
    );
    expect(await rejected()).toEqual([
      expect.objectContaining({
        kind: "unusable",
        raw: expect.not.stringContaining("secret"),
        reason: expect.not.stringContaining("secret"),
      }),
    ]);
  });

  test("that were rejected name their bet, so the bet is not reported as missing", async () => {
    await callbacks(lines(recorded({}, { betAmount: -1 })));
    expect(await sql`select product_id, username, txn_id, round_id from rejected_entries`).toEqual([
      { product_id: "P1", username: "anna", txn_id: "bet-1", round_id: "round-1" },
    ]);
    await callbacks(lines(recorded()));
    expect(
      await sql`select r.reason from rejected_entries r join callback_entries using (entry_id)`,
    ).toHaveLength(1);
  });
});

describe("files", () => {
  const COLUMNS = Object.keys(entry("e1"));
  const row = (id: string, fields = {}) => Object.values(entry(id, fields)).join(",");

  test("of CSV have a header, quotes and empty fields", async () => {
    const text = [
      COLUMNS.map((name) => `"${name}"`).join(","),
      row("e1", { txn_id: '"a ""b"", c"', bet_amount: "" }),
      row("e2", { skip_balance_update: "1", txn_id: '"two\nlines"' }),
    ].join("\r\n");
    expect(await run(text)).toEqual(counts({ added: 2 }));
    expect(
      await sql`select txn_id, bet_amount, skip_balance_update as skip from callback_entries order by entry_id`,
    ).toEqual([
      { txn_id: 'a "b", c', bet_amount: null, skip: false },
      { txn_id: "two\nlines", bet_amount: "10.00", skip: true },
    ]);
  });

  test("of CSV with bad rows: the bad rows are rejected, the others imported", async () => {
    const text = [
      COLUMNS.join(","),
      row("e1"),
      "a,b",
      row("e2", { txn_id: '"open' }),
      row("e3"),
      row("e4", { moved: "x" }),
    ].join("\n");
    const taken = await run(text);
    expect(taken).toMatchObject({ added: 2 });
    expect(taken.rejected).toEqual([
      { line: 3, reason: "the row has 2 fields, but the header has 14" },
      { line: 4, reason: "a quote opened in line 4 is never closed" },
      { line: 6, reason: 'moved must be a decimal number, but is "x"' },
    ]);
    const kept = (await rejected()).find(({ entryId }) => entryId === "e4");
    expect(JSON.parse(kept?.raw ?? "")).toMatchObject({ entry_id: "e4", moved: "x" });
  });

  test("of CSV with a wrong header are refused as a whole", async () => {
    const header = COLUMNS.join(",").replace("username", "player");
    await expect(run(`${header}\n${row("e1")}`)).rejects.toThrow(
      /unknown column "player"; the column username is missing/,
    );
  });

  test("of CSV with the same column twice are refused as a whole", async () => {
    await expect(run(`${COLUMNS.join(",")},username\n`)).rejects.toThrow(
      /the column "username" appears twice/,
    );
  });

  test.each([
    [";", "utf8"],
    ["\t", "utf8"],
    [";", "utf16le"],
  ] as const)("of CSV separated by %j in %s", async (separator, encoding) => {
    const text = [COLUMNS.join(","), row("e1", { txn_id: '"a; ""b"""' }), row("e2", { username: "ณัฐ" })]
      .map((line) => line.replaceAll(",", separator))
      .join("\r\n");
    const file = Buffer.from(encoding === "utf16le" ? `\uFEFF${text}` : text, encoding);
    expect(await run(file)).toEqual(counts({ added: 2 }));
    expect(await sql`select txn_id, username from callback_entries order by entry_id`).toEqual([
      { txn_id: 'a; "b"', username: "anna" },
      { txn_id: "bet-1", username: "ณัฐ" },
    ]);
  });

  test("compressed by gzip are unpacked by the command, and refused by the API, which limits the size", async () => {
    const file = gzipSync(lines(entry("e1"), entry("e2")));
    expect(await run(file, { unpacks: true })).toEqual(counts({ added: 2 }));
    await expect(run(file)).rejects.toThrow(/compressed by gzip: unpack it first/);
    await expect(run(file.subarray(0, 60), { unpacks: true })).rejects.toThrow(/cannot be unpacked/);
  });

  test.each([
    ["PK\u0003\u0004\nwhatever", /a ZIP archive or an Excel workbook/],
    ["BZh91AY", /compressed by bzip2/],
    ['{\0"\0a\0"\0:\x001\0}\0', /UTF-16 without a byte order mark/],
    ["[{}]", /the file is a single JSON array, but must have one object on each line/],
    ["whatever", /neither JSON lines/],
  ])("that are not lines are refused as a whole: %j", async (text, reason) => {
    await expect(run(text, { unpacks: true })).rejects.toThrow(reason);
    expect(await stored()).toEqual([]);
  });

  test("may have empty lines, a byte order mark, overlong lines and other encodings", async () => {
    const text = Buffer.concat([
      Buffer.from(`\uFEFF${lines(entry("e1"))}\r\n\r\n`),
      Buffer.from(`${lines(entry("e2"))}\n`.replace("anna", "ann\u00e9"), "latin1"),
      Buffer.from(`"${"x".repeat(3_000_000)}"\n`),
      Buffer.from(lines(entry("e3"))),
    ]);
    const taken = await run(text);
    expect(taken).toEqual(
      counts({
        added: 2,
        rejected: [
          { line: 3, reason: "the line is not UTF-8" },
          { line: 4, reason: "the line is longer than 1048576 characters" },
        ],
      }),
    );
  });
});

describe("files as other programs write them", () => {
  const columns = Object.keys(entry("e1"));
  const csvOf = (separator: string, ...values: ReturnType<typeof entry>[]) =>
    [columns, ...values.map((one) => columns.map((name) => String((one as Record<string, unknown>)[name])))]
      .map((fields) => fields.join(separator))
      .join("\n");
  const two = [entry("e1"), entry("e2")];

  test.each([
    {
      name: "Excel's line about the separator",
      text: `sep=;\r\n${csvOf(";", ...two).replaceAll("\n", "\r\n")}`,
    },
    { name: "the same in quotes, with a mark", text: `\ufeff"sep=\t"\n${csvOf("\t", ...two)}` },
    {
      name: "columns in capital letters",
      text: csvOf(",", ...two).replace(columns.join(","), columns.join(",").toUpperCase()),
    },
    {
      name: "two gzip parts",
      text: Buffer.concat([gzipSync(`${lines(two[0])}\n`), gzipSync(lines(two[1]))]),
    },
  ])("are read: $name", async ({ text }) => {
    expect(await run(text, { unpacks: true })).toEqual(counts({ added: 2 }));
  });

  const pretty = JSON.stringify(two, null, 2);
  test.each([
    { name: "gzip of gzip", text: gzipSync(gzipSync(lines(...two))), says: /gzip twice: unpack it once/ },
    {
      name: "gzip that is cut off",
      text: gzipSync(lines(...two)).subarray(0, -20),
      says: /cut off or damaged.*copy it again/,
    },
    {
      name: "gzip with something behind it",
      text: Buffer.concat([gzipSync(lines(...two)), Buffer.from("rest")]),
      says: /cut off or damaged/,
    },
    {
      name: "lines that end with a carriage return",
      text: csvOf(",", ...two).replaceAll("\n", "\r"),
      says: /carriage return only/,
    },
    {
      name: "JSON lines that end so",
      text: lines(...two).replaceAll("\n", "\r"),
      says: /carriage return only/,
    },
    { name: "an array over many lines", text: pretty, says: /a single JSON array/ },
    {
      name: "an array with an object on each line",
      text: `[\n${lines(two[0])},\n${lines(two[1])}\n]`,
      says: /a single JSON array/,
    },
    { name: "an array on each line", text: lines(...two.map((one) => [one])), says: /a single JSON array/ },
    {
      name: "an object over many lines",
      text: JSON.stringify(two[0], null, 2),
      says: /several lines.*jq -c/,
    },
    {
      name: "objects with commas between them",
      text: two.map((one) => `${lines(one)},`).join("\n"),
      says: /end with commas/,
    },
    {
      name: "another separator",
      text: csvOf("|", ...two),
      says: /not separated by commas, semicolons or tabs/,
    },
  ])("are refused with what they are: $name", async ({ text, says }) => {
    await expect(run(text, { unpacks: true })).rejects.toThrow(says);
    expect(await stored()).toEqual([]);
  });

  test("are refused in the same way if they contain callbacks", async () => {
    const callback = { callback: "placeBets", request: {}, response: null };
    for (const text of [JSON.stringify([callback]), JSON.stringify(callback, null, 2)])
      await expect(run(text, { format: "callbacks" })).rejects.toThrow(/a single JSON array|several lines/);
  });

  test.each(["1.23E+15", "1E+15", "1,23E+15"])("do not merge different ids into one: %s", async (txnId) => {
    const taken = await run(csvOf(";", entry("e1", { txn_id: txnId }), entry("e2")));
    const reason = `txn_id is "${txnId}", a number that a spreadsheet has rounded: export the column as text`;
    expect(taken).toEqual(counts({ added: 1, rejected: [{ line: 2, reason }] }));
  });
});
