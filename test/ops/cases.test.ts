import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, HOUR_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { serveOps } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock, log: silentLog };
const MIA = { name: "mia", role: "decide", token: "mia's token" } as const;
const TOM = { name: "tom", role: "view", token: "tom's token" } as const;
const THURSDAY = "2026-12-03T09:00:00.000Z";
const NO_CASE = { owner: null, ticket: null, withProvider: null, remindAt: null };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const open = (...fields: Partial<MismatchContent>[]) => openMismatches(sql, config, clock.now(), fields);

/** @returns what a person asks for, with their token */
async function serve() {
  const ask = await serveApi(context, [MIA, TOM]);
  const as =
    ({ token }: { readonly token: string }) =>
    async (path: string, body?: unknown) =>
      await ask(body === undefined ? "GET" : "POST", `/api${path}`, {
        token,
        ...(body === undefined ? {} : { body }),
      });
  return { mia: as(MIA), tom: as(TOM) };
}

const caseOf = ({ owner, ticket, withProvider, remindAt }: Record<string, unknown>) => ({
  owner,
  ticket,
  withProvider,
  remindAt,
});
const linesOf = (json: {
  history: { by: string; note: string | null; fromStatus: string; toStatus: string }[];
}) => json.history.slice(1).map(({ by, note, fromStatus, toStatus }) => [by, note, fromStatus, toStatus]);

test("a mismatch has an owner, a ticket and a reminder, and its history says who gave them; repeating adds nothing", async () => {
  await open({});
  const { mia } = await serve();
  expect(caseOf((await mia("/mismatches/1")).json)).toEqual(NO_CASE);
  await mia("/mismatches/1/assign", { owner: "me" });
  clock.advance(HOUR_MS);
  await mia("/mismatches/1/ticket", { ticket: " PRV-123 ", note: "by mail" });
  clock.advance(HOUR_MS);
  for (let times = 0; times < 2; times += 1) {
    await mia("/mismatches/1/assign", { owner: "mia" });
    await mia("/mismatches/1/ticket", { ticket: "PRV-123" });
    await mia("/mismatches/1/remind", { remindAt: "2026-12-03T16:00:00+07:00" });
  }
  const { json } = await mia("/mismatches/1");
  const withProvider = "2026-11-20T13:00:00.000Z";
  const whole = { owner: "mia", ticket: "PRV-123", withProvider, remindAt: THURSDAY };
  expect(caseOf(json)).toEqual(whole);
  expect(linesOf(json)).toEqual([
    ["mia", "assigned to mia", "open", "open"],
    ["mia", "ticket PRV-123, with the provider: by mail", "open", "open"],
    ["mia", `reminder at ${THURSDAY}`, "open", "open"],
  ]);
  expect(caseOf((await mia("/mismatches")).json.mismatches[0])).toEqual(whole);
  const audited = await sql`select who, route, status from audit_log order by id limit 2`;
  expect(audited).toEqual([
    { who: "mia", route: "/api/mismatches/:id/assign", status: 200 },
    { who: "mia", route: "/api/mismatches/:id/ticket", status: 200 },
  ]);

  await mia("/mismatches/1/ticket", { ticket: "PRV-124" });
  expect(caseOf((await mia("/mismatches/1")).json)).toEqual({ ...whole, ticket: "PRV-124" });
  await mia("/mismatches/1/ticket", { withProvider: false });
  await mia("/mismatches/1/assign", { owner: "nobody" });
  await mia("/mismatches/1/remind", { remindAt: null });
  expect(caseOf((await mia("/mismatches/1")).json)).toEqual({ ...NO_CASE, ticket: "PRV-124" });
  expect(caseOf((await mia("/mismatches/1/ticket", { ticket: null })).json)).toEqual(NO_CASE);
  // The same value changes nothing, and a note is kept all the same.
  const { json: kept } = await mia("/mismatches/1/ticket", { ticket: null, note: "they closed it" });
  expect(kept.history.at(-1)).toMatchObject({ note: "no ticket, not with the provider: they closed it" });
});

test("many are handed over by a filter, and a dry run only counts", async () => {
  await open({}, {}, {}, {});
  const { mia } = await serve();
  await mia("/mismatches/assign", { ids: ["1", "2"], owner: "mia" });
  await mia("/mismatches/4/ignore", { note: "known" });
  const hand = { filter: { owner: "me" }, owner: "tom" };
  const dry = await mia("/mismatches/assign", { ...hand, dryRun: true });
  expect(dry.json).toMatchObject({ action: "assign", dryRun: true, ids: ["1", "2"], count: 2 });
  expect((await mia("/mismatches?owner=tom")).json.mismatches).toEqual([]);
  expect((await mia("/mismatches/assign", hand)).json).toMatchObject({ dryRun: false, count: 2 });
  const ids = async (query: string) =>
    (await mia(`/mismatches?${query}`)).json.mismatches.map(({ id }: { id: string }) => id).join(" ");
  expect(await ids("owner=tom")).toBe("1 2");
  expect(await ids("owner=nobody")).toBe("3");
  expect(await ids("owner=me")).toBe("");
  await mia("/mismatches/remind", { ids: ["3"], remindAt: "2026-11-20T14:00:00Z" });
  await mia("/mismatches/remind", { ids: ["1"], remindAt: "2026-11-20T13:00:00Z" });
  await mia("/mismatches/ticket", { ids: ["2"], ticket: "PRV-1" });
  clock.advance(1.5 * HOUR_MS);
  expect(await ids("due=true")).toBe("1");
  expect(await ids("due=false")).toBe("2 3");
  expect(await ids("withProvider=true")).toBe("2");
  expect(await ids("withProvider=false&sort=remind-at")).toBe("1 3");
  const { next } = (await mia("/mismatches?sort=remind-at&limit=1")).json;
  expect(await ids(`sort=remind-at&after=${next}`)).toBe("3");
});

test("a change of a case is no decision: an undo, a status and the resolution stay as they are", async () => {
  await open({});
  const { mia } = await serve();
  await mia("/mismatches/1/ack", {});
  await mia("/mismatches/1/assign", { owner: "tom" });
  await mia("/mismatches/1/resolve", { note: "paid" });
  const { json } = await mia("/mismatches/1/ticket", { ticket: "PRV-1" });
  expect(json).toMatchObject({ status: "resolved", resolvedBy: "mia", note: "paid", owner: "tom" });
  expect(await mia("/mismatches/1/remind", { remindAt: THURSDAY })).toEqual(
    problemWith(409, "mismatch 1 is resolved (by mia): only open and acknowledged ones have reminders"),
  );
  expect(
    (await mia("/mismatches/remind", { filter: { status: "resolved" }, remindAt: THURSDAY })).json.count,
  ).toBe(0);
});

test("an incident has its own owner, ticket and reminder, and a comment says who gave them", async () => {
  await open({}, {});
  const { mia } = await serve();
  expect(caseOf((await mia("/incidents/1")).json)).toEqual(NO_CASE);
  await mia("/incidents/1/assign", { owner: "tom" });
  await mia("/incidents/1/assign", { owner: "tom" });
  await mia("/incidents/1/ticket", { ticket: "PRV-7", withProvider: false });
  const { json } = await mia("/incidents/1/remind", { remindAt: "2026-11-20T13:00:00Z", note: "ask again" });
  const remindAt = "2026-11-20T13:00:00.000Z";
  expect(caseOf(json)).toEqual({ owner: "tom", ticket: "PRV-7", withProvider: null, remindAt });
  expect(json.comments.map(({ by, note }: { by: string; note: string }) => [by, note])).toEqual([
    ["mia", "assigned to tom"],
    ["mia", "ticket PRV-7, not with the provider"],
    ["mia", `reminder at ${remindAt}: ask again`],
  ]);
  expect(caseOf(json.mismatches[0])).toEqual(NO_CASE);
  const count = async (query: string) => (await mia(`/incidents?${query}`)).json.incidents.length;
  expect([await count("owner=tom"), await count("owner=me"), await count("owner=nobody")]).toEqual([1, 0, 0]);
  expect([await count("due=true"), await count("due=false")]).toEqual([0, 1]);
  expect([await count("withProvider=true"), await count("withProvider=false")]).toEqual([0, 1]);
  await mia("/incidents/1/ticket", { withProvider: true });
  expect([await count("withProvider=true"), await count("withProvider=false")]).toEqual([1, 0]);
  clock.advance(HOUR_MS);
  expect([await count("due=true"), await count("due=false")]).toEqual([1, 0]);
  await mia("/mismatches/resolve", { ids: ["1", "2"], note: "done" });
  expect(await mia("/incidents/1/remind", { remindAt: THURSDAY })).toEqual(
    problemWith(409, "incident 1 is over"),
  );
});

test("a mismatch that is reopened after its incident was over begins one with the same owner and ticket", async () => {
  await open({});
  const { mia } = await serve();
  await mia("/incidents/1/assign", { owner: "tom" });
  await mia("/incidents/1/ticket", { ticket: "PRV-7" });
  await mia("/incidents/1/remind", { remindAt: THURSDAY });
  await mia("/mismatches/1/resolve", { note: "paid" });
  clock.advance(HOUR_MS);
  await mia("/mismatches/1/reopen", { note: "bounced" });
  const { incidents } = (await mia("/incidents")).json;
  expect(incidents).toMatchObject([{ id: "2", open: 1 }]);
  const withProvider = "2026-11-20T12:00:00.000Z";
  expect(caseOf(incidents[0])).toEqual({ owner: "tom", ticket: "PRV-7", withProvider, remindAt: null });
});

describe("many incidents", () => {
  /** Incidents 1 to 4: three open ones, and one that is over. */
  async function openFour() {
    await open(
      {},
      { kind: "stake-differs", currency: "USD", amountAtRisk: amount("1.5") },
      { kind: "net-differs", amountAtRisk: amount("2") },
      { kind: "round-differs" },
    );
    const { mia } = await serve();
    await mia("/mismatches/4/ignore", { note: "known" });
    const kinds = await sql<{ kind: string }[]>`select kind from incidents order by id`;
    expect(kinds.map(({ kind }) => kind)).toEqual([
      "payout-differs",
      "stake-differs",
      "net-differs",
      "round-differs",
    ]);
    return mia;
  }

  test("get an owner, a ticket and a reminder by ids or by a filter, and a dry run only counts", async () => {
    const mia = await openFour();
    const ids = async (query: string) =>
      (await mia(`/incidents?state=all&${query}`)).json.incidents
        .map(({ id }: { id: string }) => id)
        .toReversed()
        .join(" ");
    const hand = { ids: ["3", "1", "2", "1"], owner: "me" };
    const money = [
      { currency: "THB", amount: "6.5", count: 2 },
      { currency: "USD", amount: "1.5", count: 1 },
    ];
    const result = { action: "assign", dryRun: true, ids: ["1", "2", "3"], count: 3, amounts: money };
    expect((await mia("/incidents/assign", { ...hand, dryRun: true })).json).toEqual(result);
    expect(await ids("owner=mia")).toBe("");
    for (let times = 0; times < 2; times += 1) {
      expect((await mia("/incidents/assign", hand)).json).toEqual({ ...result, dryRun: false });
    }
    expect(await ids("owner=mia")).toBe("1 2 3");
    expect((await mia("/incidents/2")).json.comments).toMatchObject([{ by: "mia", note: "assigned to mia" }]);
    expect(caseOf((await mia("/mismatches/1")).json)).toEqual(NO_CASE);
    const ticket = { filter: { owner: "me", currency: "THB" }, ticket: "PRV-1", note: "by mail" };
    expect((await mia("/incidents/ticket", ticket)).json).toMatchObject({ ids: ["1", "3"], count: 2 });
    expect(await ids("withProvider=true")).toBe("1 3");
    // One that is over has no reminder, so a filter passes it over.
    const remind = { filter: { state: "all", withProvider: "false" }, remindAt: THURSDAY };
    expect((await mia("/incidents/remind", remind)).json).toMatchObject({ ids: ["2"], count: 1 });
    expect(caseOf((await mia("/incidents/2")).json)).toMatchObject({ owner: "mia", remindAt: THURSDAY });
    const over = { filter: { state: "over" }, remindAt: THURSDAY };
    expect((await mia("/incidents/remind", over)).json).toMatchObject({ count: 0, amounts: [] });
    expect((await mia("/incidents/assign", { filter: { state: "over" }, owner: "tom" })).json).toMatchObject({
      ids: ["4"],
      amounts: [{ currency: "THB", amount: "4.5", count: 1 }],
    });
  });

  test("are listed by reminder, page by page, each once, also those with the same time", async () => {
    const mia = await openFour();
    const pages = async (query: string, limit: number) => {
      const listed: string[] = [];
      for (let after: string | null = ""; after !== null; ) {
        const place: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
        const path = `/incidents?sort=remind-at&limit=${limit}&count=true${query}${place}`;
        const { incidents, next, count } = (await mia(path)).json;
        listed.push(`${incidents.map(({ id }: { id: string }) => id).join(" ")} of ${count}`);
        after = next;
      }
      return listed;
    };
    expect(await pages("", 1)).toEqual([" of 0"]);
    await mia("/incidents/remind", { ids: ["1", "3"], remindAt: THURSDAY });
    expect(await pages("", 1)).toEqual(["1 of 2", "3 of 2"]);
    await mia("/incidents/2/remind", { remindAt: "2026-12-03T08:59:59.999Z" });
    expect(await pages("", 1)).toEqual(["2 of 3", "1 of 3", "3 of 3"]);
    expect(await pages("", 2)).toEqual(["2 1 of 3", "3 of 3"]);
    expect(await pages("", 3)).toEqual(["2 1 3 of 3"]);
    await mia("/incidents/3/assign", { owner: "me" });
    expect(await pages("&owner=nobody", 1)).toEqual(["2 of 2", "1 of 2"]);
    await sql`update incidents set remind_at = ${THURSDAY}::text::timestamptz + interval '1 microsecond' where id in (1, 4)`;
    expect(await pages("&state=all", 1)).toEqual(["2 of 4", "3 of 4", "1 of 4", "4 of 4"]);
    const { next } = (await mia("/incidents?sort=remind-at&limit=1")).json;
    await mia("/incidents/2/remind", { remindAt: null });
    const { json } = await mia(`/incidents?sort=remind-at&after=${encodeURIComponent(next)}`);
    expect(json.incidents.map(({ id }: { id: string }) => id)).toEqual(["3", "1"]);
  });

  test("change all or none, and once for one Idempotency-Key", async () => {
    const mia = await openFour();
    expect(await mia("/incidents/assign", { ids: ["1", "77", "x"], owner: "mia" })).toEqual(
      problemWith(404, 'there is no incident "77", "x"'),
    );
    expect(await mia("/incidents/remind", { ids: ["1", "4"], remindAt: THURSDAY })).toEqual(
      problemWith(409, "incident 4 is over: only open ones have reminders; nothing was changed"),
    );
    await sql`insert into comments (about, about_id, at, by, note)
      select 'incident', 2, ${NOON}, 'tom', 'full' from generate_series(1, 500)`;
    expect(await mia("/incidents/assign", { ids: ["1", "2"], owner: "mia" })).toEqual(
      problemWith(409, "incident 2 has 500 comments, which is the most"),
    );
    expect(await sql`select from incidents where owner is not null or remind_at is not null`).toEqual([]);
    expect(await sql`select from comments where about_id <> 2`).toEqual([]);

    const send = await serveOps(context, [MIA, TOM]);
    const assign = ({ token }: { readonly token: string }) =>
      send("POST", "/api/incidents/assign", {
        headers: {
          authorization: `Bearer ${token}`,
          "idempotency-key": "k",
          "content-type": "application/json",
        },
        body: JSON.stringify({ ids: ["1"], owner: "mia" }),
      });
    const { json: first } = await assign(MIA);
    await mia("/incidents/1/assign", { owner: "tom" });
    const again = await assign(MIA);
    expect([again.headers["idempotency-replayed"], again.json]).toEqual(["true", first]);
    expect(caseOf((await mia("/incidents/1")).json)).toMatchObject({ owner: "tom" });
    expect(await assign(TOM)).toMatchObject({ status: 403 });
  });

  test.each<[object, string]>([
    [{}, "give either ids or filter"],
    [{ ids: ["1"], filter: { state: "open" } }, "give either ids or filter"],
    [{ ids: [] }, "ids must be a list of 1 to 10000 ids, but is []"],
    [{ ids: [1] }, "ids must be text, but one is 1"],
    [{ filter: {} }, "filter is empty: name one of state, product, owner"],
    [{ filter: { state: "lost" } }, 'there is no state "lost"'],
    [{ filter: { kind: "net-differs" } }, 'there is no field "kind"'],
    [{ filter: { happenedTo: "soon" } }, "happenedTo must be a date-time with an offset"],
    [{ filter: { product: "P9" } }, 'there is no product "P9"'],
    [{ ids: ["1"], dryRun: "yes" }, 'dryRun must be true or false, but is "yes"'],
  ])("refuse %j, and name the field and its value", async (target, detail) => {
    const { mia } = await serve();
    expect(await mia("/incidents/assign", { ...target, owner: "mia" })).toEqual(problemWith(400, detail));
  });
});

describe("a refused change", () => {
  test.each<[string, object, string]>([
    ["assign", {}, "owner is missing"],
    ["assign", { owner: "" }, "owner is empty"],
    ["assign", { owner: "x".repeat(201) }, "owner has 201 characters, more than 200"],
    ["assign", { owner: "a\nb" }, "owner has a character that is no text, such as a line break"],
    ["assign", { owner: "mia\u200b" }, "owner has a character that is no text, such as a line break"],
    ["assign", { owner: "mia \ud83d" }, "owner has a character that is no text, such as a line break"],
    ["assign", { owner: "Nobody" }, 'owner "Nobody" is written "nobody"'],
    ["assign", { owner: "recon" }, 'owner "recon" is the name of this program'],
    ["assign", { owner: 5 }, "owner must be text, but is 5"],
    ["assign", { owner: "mia", at: "x" }, 'there is no field "at"; it is one of owner, note'],
    ["ticket", {}, "ticket is missing"],
    ["ticket", { ticket: "x".repeat(201) }, "ticket has 201 characters, more than 200"],
    ["ticket", { ticket: "P", withProvider: "yes" }, 'withProvider must be true or false, but is "yes"'],
    ["remind", {}, "remindAt is missing"],
    [
      "remind",
      { remindAt: "thursday" },
      'remindAt must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "thursday"',
    ],
    ["remind", { remindAt: "2026-11-20T12:00:00Z" }, 'remindAt "2026-11-20T12:00:00.000Z" has passed'],
    [
      "remind",
      { remindAt: "2036-12-20T12:00:00Z" },
      'remindAt "2036-12-20T12:00:00.000Z" is more than 10 years away',
    ],
  ])("%s with %j names the field and its value, alone and in bulk", async (what, body, detail) => {
    await open({});
    const { mia } = await serve();
    for (const path of [`/mismatches/1/${what}`, `/incidents/1/${what}`]) {
      expect(await mia(path, body)).toEqual(problemWith(400, detail.replace(/, note$/, "")));
    }
    for (const of of ["mismatches", "incidents"]) {
      const many = await mia(`/${of}/${what}`, { ...body, ids: ["1"] });
      expect(many).toEqual(problemWith(400, detail.replace(/it is one of .*/, "it is one of ")));
    }
    expect(await sql`select from mismatch_events where from_status is not null`).toEqual([]);
  });

  test("an unknown id changes none, and names it; who may only see is refused", async () => {
    await open({});
    const { mia, tom } = await serve();
    expect(await mia("/mismatches/assign", { ids: ["1", "77"], owner: "mia" })).toEqual(
      problemWith(404, 'there is no mismatch "77"'),
    );
    expect(await mia("/incidents/77/assign", { owner: "mia" })).toEqual(
      problemWith(404, 'there is no incident "77"'),
    );
    expect(await tom("/mismatches/1/assign", { owner: "tom" })).toEqual(
      problemWith(403, "this needs the role decide"),
    );
    expect(caseOf((await tom("/mismatches/1")).json)).toEqual(NO_CASE);
    expect(await tom("/mismatches?due=soon")).toEqual(problemWith(400, 'there is no due "soon"'));
  });
});
