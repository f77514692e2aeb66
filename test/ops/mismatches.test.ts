import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readSettings } from "../../src/config.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, NOON } from "../support/examples.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";
import { openMismatches, readStatuses } from "../support/open-mismatches.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { READER, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };
const NOTE = { note: "asked the provider" };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const open = (...fields: Partial<MismatchContent>[]) => openMismatches(sql, config, clock.now(), fields);
const statuses = () => readStatuses(sql);

describe("a single mismatch", () => {
  test("is acknowledged, resolved, reopened and ignored, and each answer shows its new state", async () => {
    await open({});
    const ask = await serveApi(context);
    const act = async (action: string) =>
      (await ask("POST", `/api/mismatches/1/${action}`, { body: NOTE })).json.status;
    expect(await act("ack")).toBe("acknowledged");
    expect(await act("resolve")).toBe("resolved");
    expect(await act("reopen")).toBe("open");
    expect(await act("ignore")).toBe("ignored");
    const { json } = await ask("GET", "/api/mismatches/1");
    expect(json).toMatchObject({ status: "ignored", resolvedBy: "local", note: NOTE.note });
    expect(json.history.map(({ by }: { by: string }) => by)).toEqual([
      "recon",
      "local",
      "local",
      "local",
      "local",
    ]);
  });

  test("takes an adjustment with its resolution, and shows the adjustment", async () => {
    await open({});
    const ask = await serveApi(context);
    const body = { ...NOTE, adjustment: "-4.50", ref: "R-1" };
    for (let times = 0; times < 2; times += 1) {
      expect(await ask("POST", "/api/mismatches/1/resolve", { body })).toMatchObject({
        status: 200,
        json: {
          status: "resolved",
          adjustments: [{ ref: "R-1", amount: "-4.5", currency: "THB", by: "local" }],
        },
      });
    }
    const other = await ask("POST", "/api/mismatches/1/resolve", { body: { ...body, adjustment: "4.50" } });
    expect(other).toEqual(problemWith(409, 'ref "R-1" was used for another adjustment'));
  });

  test("that another person changed first is a conflict, and an unknown one is not found", async () => {
    await open({});
    const ask = await serveApi(context);
    await ask("POST", "/api/mismatches/1/resolve", { body: NOTE });
    expect(await ask("POST", "/api/mismatches/1/ack", { body: NOTE })).toEqual(
      problemWith(409, "mismatch 1 is resolved (by local): it cannot be acknowledged"),
    );
    expect(await ask("POST", "/api/mismatches/1/reopen", { body: { ...NOTE, from: "ignored" } })).toEqual(
      problemWith(409, "it is no longer ignored"),
    );
    for (const id of ["2", "0", "x", "9".repeat(30)]) {
      expect(await ask("POST", `/api/mismatches/${id}/ack`, { body: NOTE })).toEqual(
        problemWith(404, `there is no mismatch "${id}"`),
      );
    }
    expect(await ask("POST", "/api/mismatches/1/close", { body: NOTE })).toEqual(
      problemWith(404, "there is nothing"),
    );
    expect(await statuses()).toBe("resolved");
  });

  test("is acknowledged without a note, alone and among many, and its history has none", async () => {
    await open({}, {});
    const ask = await serveApi(context);
    expect((await ask("POST", "/api/mismatches/1/ack")).json).toMatchObject({
      status: "acknowledged",
      note: null,
    });
    expect((await ask("POST", "/api/mismatches/ack", { body: { ids: ["2"] } })).json).toMatchObject({
      count: 1,
    });
    expect(
      await sql`select to_status, by, note from mismatch_events where to_status <> 'open' order by id`,
    ).toEqual([
      { to_status: "acknowledged", by: "local", note: null },
      { to_status: "acknowledged", by: "local", note: null },
    ]);
    expect(await ask("POST", "/api/mismatches/resolve", { body: { ids: ["2"] } })).toEqual(
      problemWith(400, "note is missing"),
    );
  });

  test.each<[string, object | string, string]>([
    ["no note", {}, "note is missing"],
    ["an empty note", { note: " " }, "note is empty"],
    ["a note that is no text", { note: 5 }, "note must be text, but is 5"],
    ["an endless note", { note: "x".repeat(2001) }, "note has 2001 characters, more than 2000"],
    ["a note that the database cannot store", { note: "a\0b" }, "note has a character that cannot be stored"],
    [
      "an unknown field",
      { ...NOTE, notes: "x" },
      'there is no field "notes"; it is one of note, from, adjustment, ref',
    ],
    [
      "an unknown status",
      { ...NOTE, from: "closed" },
      'from must be one of open, acknowledged, resolved, ignored, but is "closed"',
    ],
    ["an adjustment without a ref", { ...NOTE, adjustment: "1" }, "ref is missing"],
    ["a ref without an adjustment", { ...NOTE, ref: "R" }, "adjustment is missing"],
    [
      "an adjustment that is a float",
      { ...NOTE, adjustment: 1.5, ref: "R" },
      "adjustment must be text, but is 1.5",
    ],
    [
      "an adjustment that is no amount",
      { ...NOTE, adjustment: "1,5", ref: "R" },
      'adjustment must be a decimal number, but is "1,5"',
    ],
    ["an adjustment of 0", { ...NOTE, adjustment: "0.00", ref: "R" }, 'adjustment "0.00" corrects nothing'],
    ["a list", [], "the body must be a JSON object"],
    ["no JSON", "{", ""],
  ])("is not changed by a body with %s", async (_, body, detail) => {
    await open({});
    const ask = await serveApi(context);
    expect(await ask("POST", "/api/mismatches/1/resolve", { body })).toEqual(problemWith(400, detail));
    expect(await statuses()).toBe("open");
  });

  test("has an adjustment only with its resolution", async () => {
    await open({});
    const ask = await serveApi(context);
    const body = { ...NOTE, adjustment: "1", ref: "R" };
    expect(await ask("POST", "/api/mismatches/1/ack", { body })).toEqual(
      problemWith(400, 'there is no field "adjustment"; it is one of note, from'),
    );
  });
});

describe("many at once", () => {
  beforeEach(() => open({}, { kind: "stake-differs", currency: "USD" }, { productId: "P2" }));

  test("are first counted with their money, and then changed by the same body", async () => {
    const ask = await serveApi(context);
    const filter = { product: "P1", minAmount: "1" };
    const expected = {
      action: "ignore",
      ids: ["1", "2"],
      count: 2,
      amounts: [
        { currency: "THB", amount: "4.5", count: 1 },
        { currency: "USD", amount: "4.5", count: 1 },
      ],
    };
    expect(await ask("POST", "/api/mismatches/ignore", { body: { filter, dryRun: true } })).toMatchObject({
      status: 200,
      json: { ...expected, dryRun: true },
    });
    expect(await statuses()).toBe("open open open");
    expect(await ask("POST", "/api/mismatches/ignore", { body: { filter, ...NOTE } })).toMatchObject({
      json: { ...expected, dryRun: false },
    });
    expect(await statuses()).toBe("ignored ignored open");
    const reopened = await ask("POST", "/api/mismatches/reopen", { body: { ids: ["1"], ...NOTE } });
    expect(reopened).toMatchObject({ json: { ids: ["1"], dryRun: false } });
    expect(await statuses()).toBe("open ignored open");
  });

  test("are changed all or none", async () => {
    const ask = await serveApi(context);
    const ack = (ids: string[]) => ask("POST", "/api/mismatches/ack", { body: { ids, ...NOTE } });
    await ack(["1"]);
    expect(await ack(["3", "1"])).toEqual(problemWith(409, "mismatch 1 is acknowledged"));
    expect(await ack(["3", "4"])).toEqual(problemWith(404, 'there is no mismatch "4"'));
    expect(await statuses()).toBe("acknowledged open open");
  });

  test("are accepted up to the limit of ids, however long the ids are", async () => {
    const ask = await serveApi(context);
    const ids = Array.from({ length: 10_000 }, (_, index) => String(100_000_000_000_000 + index));
    expect(await ask("POST", "/api/mismatches/ack", { body: { ids, ...NOTE } })).toEqual(
      problemWith(404, 'there is no mismatch "100000000000000", '),
    );
  });

  test.each<[string, object, string]>([
    ["neither ids nor a filter", {}, "give either ids or filter"],
    ["both", { ids: ["1"], filter: { kind: "net-differs" } }, "give either ids or filter"],
    ["no ids", { ids: [] }, "ids must be a list of 1 to 10000 ids, but is []"],
    ["an id that is no text", { ids: [1] }, "ids must be text, but one is 1"],
    ["a malformed filter", { filter: "all" }, 'filter must be an object, but is "all"'],
    ["an empty filter", { filter: {} }, "filter is empty: name one of status, kind"],
    ["an unknown filter", { filter: { user: "anna" } }, 'there is no field "user"'],
    ["a filter that is no text", { filter: { minAmount: 5 } }, "minAmount must be text, but is 5"],
    ["an unknown kind", { filter: { kind: "lost" } }, 'there is no kind "lost"'],
    [
      "a dry run that is neither true nor false",
      { ids: ["1"], dryRun: 1 },
      "dryRun must be true or false, but is 1",
    ],
    [
      "an adjustment for several",
      { ids: ["1", "2"], adjustment: "1", ref: "R" },
      "adjustment belongs to a single mismatch",
    ],
  ])("are not changed by %s", async (_, body, detail) => {
    const ask = await serveApi(context);
    expect(await ask("POST", "/api/mismatches/resolve", { body: { ...NOTE, ...body } })).toEqual(
      problemWith(400, detail),
    );
    expect(await statuses()).toBe("open open open");
  });
});

describe("if tokens are set", () => {
  test("a change stands under the name of its token", async () => {
    await open({});
    const ask = await serveApi(context, TOKENS);
    await ask("POST", "/api/mismatches/1/resolve", { body: NOTE, token: WRITER.token });
    const { json } = await ask("GET", "/api/mismatches/1", { token: READER.token });
    expect(json).toMatchObject({ status: "resolved", resolvedBy: "hand" });
  });

  test("no token has the name recon, because resolutions by recon open again by themselves", () => {
    expect(() => readSettings([], { OPS_TOKENS: "recon:write:0123456789abcdef" })).toThrow(
      /must not be named "recon"/,
    );
  });
});

describe("the list", () => {
  test("is filtered by the first time that a comparison found a mismatch, and by how much is at risk", async () => {
    await open({}, { amountAtRisk: amount("12.30") });
    clock.advance(HOUR_MS);
    await open({ betId: "late" });
    const ask = await serveApi(context);
    const ids = async (query: string) => {
      const { json } = await ask("GET", `/api/mismatches?${query}`);
      return json.mismatches.map(({ id }: { id: string }) => id);
    };
    expect(await ids("from=2026-11-20T12:30:00Z")).toEqual(["3"]);
    expect(await ids("to=2026-11-20T19:30:00%2B07:00")).toEqual(["1", "2"]);
    expect(await ids("minAmount=12.3")).toEqual(["2"]);
  });

  test("is filtered by the time of the bet", async () => {
    await open({ occurredAt: NOON - HOUR_MS }, { occurredAt: NOON }, { occurredAt: NOON + HOUR_MS });
    const ask = await serveApi(context);
    const ids = async (query: string) => {
      const { json } = await ask("GET", `/api/mismatches?${query}`);
      return json.mismatches.map(({ id }: { id: string }) => id).join(" ");
    };
    expect(await ids("happenedFrom=2026-11-20T12:00:00Z")).toBe("2 3");
    expect(await ids("happenedTo=2026-11-20T19:00:00%2B07:00")).toBe("1");
    expect(await ids("happenedFrom=2026-11-20T11:30:00Z&happenedTo=2026-11-20T13:00:00Z&sort=at-risk")).toBe(
      "2",
    );
    const body = { ...NOTE, filter: { happenedTo: "2026-11-20T12:00:00Z" } };
    expect((await ask("POST", "/api/mismatches/ignore", { body })).json).toMatchObject({ ids: ["1"] });
  });

  test("is filtered by currency, and by the day of closing.zone in whose statement a mismatch counts", async () => {
    // 2026-11-20 in Bangkok ends at 17:00 UTC.
    const at = (accountingDate: string) => ({ provider: { ...PROVIDER_SIDE, accountingDate } });
    await open(
      at("2026-11-20T16:59:59.999Z"),
      { ...at("2026-11-20T17:00:00.000Z"), currency: "USD" },
      { provider: null, ledger: { ...LEDGER_SIDE, lastEntryAt: "2026-11-19T17:00:00.000Z" } },
      { kind: "balance-differs" },
      { kind: "session-differs", subject: "session:a", ...at("2026-11-20T18:00:00.000Z") },
    );
    const closing = { zone: "Asia/Bangkok" };
    const inBangkok = { ...context, config: parseConfig({ products: [{ productId: "P1" }], closing }) };
    const ask = await serveApi(inBangkok);
    const list = async (query: string) =>
      (await ask("GET", `/api/mismatches?${query}`)).json.mismatches.map(
        ({ id, countsOn }: { id: string; countsOn: string | null }) => [id, countsOn],
      );
    expect(await list("")).toEqual([
      ["1", "2026-11-20"],
      ["2", "2026-11-21"],
      ["3", "2026-11-20"],
      ["4", null],
      ["5", "2026-11-21"],
    ]);
    expect(await list("day=2026-11-20")).toEqual([
      ["1", "2026-11-20"],
      ["3", "2026-11-20"],
    ]);
    expect(await list("day=2026-11-21&currency=USD")).toEqual([["2", "2026-11-21"]]);
    expect(await list("day=2026-11-21&currency=EUR")).toEqual([]);
    expect((await ask("GET", "/api/mismatches/2")).json.countsOn).toBe("2026-11-21");
  });

  test("counts a mismatch in no statement once it is over, and says what a correction left of its effect", async () => {
    await open({}, {}, {}, {});
    await sql`update mismatches set status = 'resolved', resolved_by = 'recon', resolved_at = now() where id = 1`;
    await sql`update mismatches set status = 'ignored', resolved_by = 'anna', resolved_at = now(), ceased_at = now()
      where id = 2`;
    const ask = await serveApi(context);
    const correct = (id: number, adjustment: string) =>
      ask("POST", `/api/mismatches/${id}/resolve`, { body: { ...NOTE, adjustment, ref: `R-${id}` } });
    await correct(3, "4.5");
    await correct(4, "4");
    const { json } = await ask("GET", "/api/mismatches?status=resolved,ignored,open");
    const shown = json.mismatches.map((one: { effect: string; countsOn: string }) => [
      one.effect,
      one.countsOn,
    ]);
    expect(shown).toEqual([
      ["-4.5", null],
      ["-4.5", null],
      ["0", "2026-11-20"],
      [null, "2026-11-20"],
    ]);
    await ask("POST", "/api/mismatches/4/reopen", { body: NOTE });
    expect((await ask("GET", "/api/mismatches/4")).json.effect).toBe("-0.5");
  });

  test.each(["first-seen", "at-risk", "happened"])(
    "sorted by %s, all pages together have each mismatch once, also with equal values",
    async (sort) => {
      for (let hour = 0; hour < 3; hour += 1) {
        await open(
          ...Array.from({ length: 7 }, (_, index) => ({
            betId: `bet-${hour}-${index}`,
            amountAtRisk: amount(String(9 + (index % 3))),
            occurredAt: NOON - (index % 2) * HOUR_MS,
          })),
        );
        clock.advance(HOUR_MS);
      }
      // Another program may have written times to the microsecond.
      await sql`update mismatches set occurred_at = occurred_at + id % 4 * interval '1 microsecond',
        first_seen_at = first_seen_at + id % 4 * interval '1 microsecond'`;
      const key = { "first-seen": "first_seen_at", "at-risk": "amount_at_risk", happened: "occurred_at" }[
        sort
      ];
      const expected = await sql.unsafe<{ id: number }[]>(
        `select id from mismatches order by ${key} desc, id desc`,
      );
      const ask = await serveApi(context);
      for (const limit of [1, 2, 5, 20, 21]) {
        const found: string[] = [];
        for (let after = ""; ; ) {
          const { json } = await ask("GET", `/api/mismatches?sort=${sort}&limit=${limit}${after}`);
          found.push(...json.mismatches.map(({ id }: { id: string }) => id));
          if (json.next === null) break;
          after = `&after=${encodeURIComponent(json.next)}`;
        }
        expect(found).toEqual(expected.map(({ id }) => String(id)));
      }
    },
  );

  test("accepts a product that left the config, as long as it has mismatches", async () => {
    await open({ productId: "GONE" });
    const ask = await serveApi(context);
    expect((await ask("GET", "/api/mismatches?product=GONE")).json.mismatches).toHaveLength(1);
    expect(await ask("GET", "/api/mismatches?product=NEVER")).toEqual(
      problemWith(400, 'there is no product "NEVER"; it is one of P1, P2'),
    );
  });

  test.each([
    [
      "from=yesterday",
      'from must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "yesterday"',
    ],
    ["to=2026-11-20T12:00:00", "to must be a date-time with an offset"],
    ["from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", 'is not before to "2026-11-20T00:00:00Z"'],
    ["happenedTo=soon", "happenedTo must be a date-time with an offset such as 2026-11-20T10:00:00Z"],
    [
      "happenedFrom=2026-11-20T12:00:00Z&happenedTo=2026-11-20T12:00:00Z",
      'happenedFrom "2026-11-20T12:00:00Z" is not before happenedTo "2026-11-20T12:00:00Z"',
    ],
    ["minAmount=much", 'minAmount must be a decimal number, but is "much"'],
    ["username=a%00", "username has a character"],
    ["day=yesterday", 'day must be a date such as 2026-11-20, but is "yesterday"'],
    ["day=2026-02-30", 'day must be a date such as 2026-11-20, but is "2026-02-30"'],
    ["currency=baht", 'currency must be a code in capital letters such as THB, but is "baht"'],
    ["sort=newest", 'there is no sort "newest"; it is one of first-seen, at-risk, happened'],
    ["sort=at-risk&after=17", 'after "17" is not a position in the list by at-risk'],
    ["sort=at-risk&after=1e3~17", 'after "1e3~17" is not a position in the list by at-risk'],
    ["sort=happened&after=soon~17", 'after "soon~17" is not a position in the list by happened'],
    ["sort=happened&after=0000-01-01T00:00:00Z~1", "is not a position in the list by happened"],
    ["after=3~17", 'after "3~17" is not the "next" of a page'],
    ["after=-1", 'after "-1" is not the "next" of a page'],
  ])("with %s is refused, and the error names field and value", async (query, detail) => {
    const ask = await serveApi(context);
    expect(await ask("GET", `/api/mismatches?${query}`)).toEqual(problemWith(400, detail));
  });

  test("is sent as CSV on request: every field, beyond the first page, with harmless formulas", async () => {
    const formula = '=HYPERLINK("http://x","y")';
    await open(
      { username: formula, reason: 'said "no",\nthen nothing', ledger: { ...LEDGER_SIDE, moved: "-10.00" } },
      { provider: null, roundId: "-1+2" },
      ...Array.from({ length: 1_500 }, (_, index) => ({ betId: `more-${index}` })),
    );
    const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens: [] }, async () => {});
    onTestFinished(() => server.close());
    const get = async (query: string) => {
      const response = await fetch(`${server.url}/api/mismatches${query}`, {
        headers: { accept: "text/csv" },
      });
      return { type: response.headers.get("content-type"), text: await response.text() };
    };
    const whole = await get("");
    expect(whole.type).toBe("text/csv; charset=utf-8");
    const [head = "", first = "", rest = "", second = "", third = ""] = whole.text.split("\n");
    expect(head).toMatch(
      /^id,kind,status,productId,username,currency,betId,transactionId,roundId,transactionRef,amountAtRisk,effect,reason,/,
    );
    for (const field of Object.keys(PROVIDER_SIDE)) expect(head).toContain(`provider.${field}`);
    for (const field of Object.keys(LEDGER_SIDE)) expect(head).toContain(`ledger.${field}`);
    expect(first).toBe(
      `1,payout-differs,open,P1,"'=HYPERLINK(""http://x"",""y"")",THB,bet-1,bet-1,round-1,,4.5,,"said ""no"",`,
    );
    expect(rest).toMatch(/^then nothing",.*,-10\.00,/);
    expect(second).toMatch(/^2,.*,'-1\+2,,4\.5,,/);
    expect(third).toMatch(/^3,.*,4\.5,-4\.5,"paid out/);
    expect(whole.text.trimEnd().split("\n")).toHaveLength(1 + 1_502 + 1);
    expect((await get("?limit=2&after=2")).text.trimEnd().split("\n")).toHaveLength(3);
    expect((await get("?kind=net-differs")).text.trimEnd().split("\n")).toEqual([head]);
  });
});
