import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { amount } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";
import { type AskRaw, bearer, READER, serveOps } from "../support/ops-browser.ts";

const world = useDiffWorld();
const EVIL = "=cmd|'/c calc'!A0";
const SCRIPT = "</pre><script>alert(1)</script>";
let context: FlowContext;

/**
 * Mismatch 1 of bet-0: the settlement was restated from 30.75 to 31.75, and the ledger has 25.50. The body of its
 * placement is kept, the body of its settlement is deleted, and a second settlement was refused.
 */
beforeEach(async () => {
  const { sql, clock } = world;
  const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
  context = { sql, config, clock, log: silentLog };
  await world.ledgerBegins();
  const of = { username: EVIL, txnId: "bet-0", roundId: "round-0" };
  const record = {
    ...of,
    betId: "bet-0",
    id: "rec-0",
    gameName: SCRIPT,
    accountingDate: iso(-4),
    updatedDate: iso(-3),
  };
  const [placed, settled] = callbacksOf("25.5", of);
  const [bodyId, lostId] = ["41", "42"];
  const entryId = (id: string) => `c${id.padStart(16, "0")}-0000`;
  await world.receive(
    {
      ...(placed as CallbackEntry),
      entryId: entryId(bodyId),
      balanceBefore: amount("100"),
      balanceAfter: amount("90"),
    },
    { ...(settled as CallbackEntry), entryId: entryId(lostId) },
  );
  const keep = (id: string, callback: string, statusCode: number, body: string, at: number) => sql`
    insert into callback_bodies (id, callback, product_id, request_id, status_code, body, received_at)
    overriding system value values (${id}, ${callback}, 'P1', ${`request-of-${id}`}, ${statusCode}, ${body}, ${at})`;
  await keep(bodyId, "placeBets", 0, `{"txns":[{"id":"bet-0","gameCode":"${SCRIPT}"}]}`, minute(-5));
  await keep("43", "settleBets", 50001, '{"txns":[{"id":"bet-0","payoutAmount":31.75}]}', minute(-2));
  await keep("44", "settleBets", 50001, '{"txns":[{"id":"bet-01"}]}', minute(-2));
  await world.listed(recordOf("30.75", record));
  clock.set(minute(5));
  await world.listed(recordOf("31.75", { ...record, updatedDate: iso(-1) }));
  await world.fetchRange(minute(-60), minute(0));
  await world.diffAt(80);
});

const file = async (ask: AskRaw, query: string) => await ask("GET", `/api/evidence?${query}`);

test("as JSON it holds both sides, every callback with its body, every version of the record, and the fetches", async () => {
  const ask = await serveApi(context);
  const { json } = await ask("GET", "/api/evidence?id=1");
  expect(json).toMatchObject({ madeAt: iso(80), ledger: "callback_entries", incident: null });
  const [one] = json.mismatches;
  expect(one).toMatchObject({
    id: "1",
    kind: "payout-differs",
    productId: "P1",
    username: EVIL,
    betId: "bet-0",
  });
  expect(one.sides.filter(({ differs }: { differs: boolean }) => differs)).toMatchObject([
    { name: "Payout", provider: "31.75", ledger: "25.5" },
    { name: "Moved in the wallet", provider: "21.75", ledger: "15.5" },
  ]);
  expect(one.entries).toMatchObject([
    { callback: "placeBets", body: "kept", bodyId: "41", balanceBefore: "100", occurredAt: iso(-5) },
    { callback: "settleBets", body: "deleted", bodyId: null, payoutAmount: "25.5" },
  ]);
  expect(one.bodies).toMatchObject([
    { id: "41", statusCode: 0, body: `{"txns":[{"id":"bet-0","gameCode":"${SCRIPT}"}]}` },
    { id: "43", statusCode: 50001, requestId: "request-of-43", receivedAt: iso(-2) },
  ]);
  expect(one.records).toMatchObject([
    { record: { id: "rec-0", payout: "30.75", gameName: SCRIPT }, firstSeenAt: iso(0), replacedAt: iso(5) },
    { record: { id: "rec-0", payout: "31.75" }, firstSeenAt: iso(5), requestedAt: iso(5), replacedAt: null },
  ]);
  expect(one.fetches).toMatchObject([{ kind: "live" }]);
  expect(one.missing).toEqual([
    "The request bodies of 1 of 2 callbacks are deleted: they are older than retain.rawBodies. The ledger's entries of these callbacks are kept.",
  ]);
});

test("what ops decided and wrote about it is not part of it", async () => {
  const ask = await serveApi(context);
  await ask("POST", "/api/mismatches/1/ack", { body: { note: "SECRET-NOTE" } });
  await ask("POST", "/api/mismatches/1/comments", { body: { note: "SECRET-COMMENT" } });
  await ask("POST", "/api/mismatches/1/assign", { body: { owner: "SECRET-OWNER" } });
  await ask("POST", "/api/mismatches/1/remind", { body: { at: "2031-01-02T03:04:05Z" } });
  await ask("POST", "/api/mismatches/1/ticket", { body: { ticket: "PRV-99", note: "SECRET-REASON" } });
  const raw = await serveOps(context, []);
  for (const format of ["json", "html", "csv"]) {
    const { text } = await file(raw, `id=1&format=${format}`);
    expect(text).toContain("bet-0");
    expect(text).not.toMatch(/SECRET|acknowledged|2031/);
    expect(text).toContain("PRV-99");
  }
});

test("as HTML it is one file without scripts and without anything from elsewhere, and shows text as text", async () => {
  const ask = await serveOps(context);
  const { status, headers, text } = await ask("GET", "/api/evidence?id=1&format=html", {
    headers: bearer(READER),
  });
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(headers["content-disposition"]).toBe('attachment; filename="evidence-1.html"');
  expect(text).not.toMatch(/<script|<link|<img|src=|@import|url\(/i);
  expect(text).toContain("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(text).toContain("default-src 'none'");
  expect(text).toContain('<a href="#m1">');
  expect(text).toContain("Made at 2026-11-20 13:20:00 UTC by wallet-recon");
  expect(text).toContain("refused with statusCode 50001");
  expect(text).toContain("request-of-43");
  expect(text).toMatch(/By the provider's records \S.* has 6\.25 THB too little\./);
  expect(text).toMatch(/<td class="number">not known<\/td>/);
  expect(text).not.toContain("? →");
});

test("as CSV it has a line for each thing that a side said, and harmless formulas", async () => {
  const { headers, text } = await file(await serveOps(context, []), "id=1&format=csv");
  expect(headers["content-type"]).toBe("text/csv; charset=utf-8");
  const lines = text.trimEnd().split("\n");
  const rows = lines.map(
    (line) => /,(mismatch|difference|missing|callback|record|fetch|body),/.exec(line)?.[1],
  );
  expect(rows.slice(1)).toEqual([
    "mismatch",
    "difference",
    "difference",
    "missing",
    "callback",
    "callback",
    "record",
    "record",
    "fetch",
    "body",
    "body",
  ]);
  expect(text).not.toMatch(/(^|,)"?=cmd/m);
  expect(text).toContain("'=cmd");
});

test("of a transfer it holds every answer as it came", async () => {
  const { sql } = world;
  await sql`insert into transfers (transaction_ref, product_id, username, currency, type, amount, status, sent_at, handed_at, attempts, note, closed_by)
    values ('T-1', 'P2', 'anna', 'THB', 'DEPOSIT', 10, 'inconclusive', ${minute(-30)}, ${minute(-29)}, 1, 'SECRET-NOTE', 'bo')`;
  await sql`insert into transfer_answers (of_id, attempt, asked_at, took_ms, says, code, message, raw, status, is_decisive)
    values (1, 1, ${minute(-20)}, 12, 'nothing', '5004', 'not found', '{"code":5004}', 'pending', true)`;
  const transfer = {
    kind: "transfer-inconclusive",
    productId: "P2",
    transactionRef: "T-1",
    betId: null,
    transactionId: null,
    roundId: null,
    subject: "transfer:T-1",
    provider: null,
    ledger: null,
  };
  await openMismatches(sql, context.config, world.clock.now(), [transfer as unknown as MismatchContent]);
  const ask = await serveOps(context, []);
  const { json, text } = await file(ask, "id=2");
  expect(json.mismatches[0]).toMatchObject({
    transactionRef: "T-1",
    transfer: { type: "DEPOSIT", amount: "10.00", answers: [{ askedAt: iso(-20), raw: '{"code":5004}' }] },
    records: [],
  });
  expect(text).not.toContain("SECRET");
  expect((await file(ask, "id=2&format=html")).text).toContain("{&quot;code&quot;:5004}");
});

test("of an incident with more than 500 mismatches there are parts, which hold each mismatch once", async () => {
  const findings = Array.from({ length: 501 }, (_, index) => ({
    betId: `many-${index}`,
    kind: "stake-differs" as const,
  }));
  await openMismatches(world.sql, context.config, world.clock.now(), findings);
  const [{ incident } = { incident: 0 }] = await world.sql<{ incident: number }[]>`
    select max(incident_id) as incident from incident_members`;
  const ask = await serveOps(context, []);
  const parts = [];
  for (const number of [1, 2]) {
    const { json } = await file(ask, `incident=${incident}&part=${number}`);
    expect(json.incident.part).toEqual({ number, of: 2 });
    parts.push(json.mismatches.map(({ id }: { id: string }) => Number(id)));
  }
  expect(parts.map(({ length }) => length)).toEqual([500, 1]);
  expect(new Set(parts.flat()).size).toBe(501);
  const second = await file(ask, `incident=${incident}&part=2&format=html`);
  expect(second.headers["content-disposition"]).toContain(`evidence-incident-${incident}-part-2.html`);
  expect(second.text).toContain("stake-differs in P1, part 2 of 2</h1>");
  const page = (await ask("GET", `/incidents/${incident}`)).text;
  expect(page).toContain(`/api/evidence?incident=${incident}&amp;part=2&amp;format=csv`);
  for (const [part, said] of [
    ["", "ask for its parts, from part 1 to part 2"],
    ["&part=3", `incident ${incident} has no part 3: the last is part 2`],
    ["&part=0", 'part \\"0\\" is not a whole number from 1 up'],
  ]) {
    const refused = await ask("GET", `/api/evidence?incident=${incident}${part}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(said);
  }
});

test("of an incident it holds all its mismatches, each once", async () => {
  const [{ incident } = { incident: 0 }] = await world.sql<{ incident: number }[]>`
    select incident_id as incident from incident_members where mismatch_id = 1`;
  const { json } = await file(await serveOps(context, []), `incident=${incident}`);
  expect(json.incident).toMatchObject({ id: String(incident), kind: "payout-differs", total: 1 });
  expect(json.mismatches.map(({ id }: { id: string }) => id)).toEqual(["1"]);
});

describe("a request", () => {
  test.each([
    ["", 400, "give either id or incident"],
    ["id=1&incident=1", 400, "give either id or incident"],
    ["id=1,x", 400, 'id "1,x" is not the id of a mismatch, or several separated by commas'],
    ["id=1&format=pdf", 400, 'there is no format "pdf"; it is one of html, json, csv'],
    ["id=1,7,8", 404, 'there is no mismatch "7", "8"'],
    ["incident=77", 404, 'there is no incident "77"'],
    ["incident=x", 404, 'there is no incident "x"'],
    [
      `id=${Array.from({ length: 501 }, (_, index) => index + 1).join(",")}`,
      400,
      "501 mismatches are more than the 500 that one file may hold",
    ],
  ])("for %s is refused and says why", async (query, status, detail) => {
    const ask = await serveApi(context);
    expect(await ask("GET", `/api/evidence?${query}`)).toEqual(problemWith(status, detail));
  });

  test("for more than 20 MB is refused, and says how many fit", async () => {
    const { sql } = world;
    const large = `{"txns":[{"id":"bet-0"}],"filler":"${"x".repeat(9_000_000)}"}`;
    await sql`update callback_bodies set body = ${large} where id = 41`;
    const bet = (betId: string) => ({
      productId: "P1",
      username: EVIL,
      betId,
      transactionId: "bet-0",
      subject: `bet:${betId}`,
    });
    await openMismatches(sql, context.config, world.clock.now(), ["a", "b"].map(bet));
    const ask = await serveApi(context);
    expect(await ask("GET", "/api/evidence?id=1,2,3")).toEqual(
      problemWith(
        400,
        "the evidence of 3 mismatches is more than 20 MB, which is the most of one file: the first 2 fit",
      ),
    );
  });
});
