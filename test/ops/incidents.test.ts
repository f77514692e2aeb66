import { beforeEach, describe, expect, test } from "vitest";
import { noteDelivered } from "../../src/alerts/delivery-store.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { problemWith, serveApi } from "../support/ops-api.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] });
const context = { sql, config, clock, log: silentLog };

/** Incident 1: two of P1, in two currencies. Incident 2: one of P2. */
beforeEach(async () => {
  await emptyTables(sql);
  clock.set(NOON);
  await openMismatches(sql, config, clock.now(), [{}, { currency: "USD", amountAtRisk: amount("0.5") }]);
  clock.advance(MINUTE_MS);
  await openMismatches(sql, config, clock.now(), [{ productId: "P2", kind: "stake-differs" }]);
});

describe("incidents", () => {
  test("are listed, the newest first, and chosen by filters", async () => {
    const ask = await serveApi(context);
    const { json } = await ask("GET", "/api/incidents");
    expect(json.next).toBeNull();
    expect(json.incidents.map(({ id }: { id: string }) => id)).toEqual(["2", "1"]);
    expect(json.incidents[1]).toEqual({
      id: "1",
      productId: "P1",
      kind: "payout-differs",
      backfillId: null,
      beganAt: "2026-11-20T12:00:00.000Z",
      lastAt: "2026-11-20T12:00:00.000Z",
      endedAt: null,
      total: 2,
      open: 2,
      amounts: [
        { currency: "THB", amount: "4.5" },
        { currency: "USD", amount: "0.5" },
      ],
      owner: null,
      ticket: null,
      withProvider: null,
      remindAt: null,
    });
    expect((await ask("GET", "/api/incidents?product=P2&state=all")).json.incidents).toMatchObject([
      { id: "2" },
    ]);
    expect((await ask("GET", "/api/incidents?state=over")).json.incidents).toEqual([]);
  });

  test("are ordered by the money at risk within each currency, and never across two", async () => {
    await openMismatches(sql, config, clock.now(), [
      { kind: "net-differs", currency: "USD", amountAtRisk: amount("9") },
      { kind: "net-differs", currency: "USD", amountAtRisk: amount("0.5"), betId: "b" },
      { kind: "net-differs", amountAtRisk: amount("100000"), betId: "c" },
      { kind: "status-differs", amountAtRisk: amount("30.25") },
      { kind: "balance-differs", currency: null, amountAtRisk: amount("0") },
    ]);
    const ask = await serveApi(context);
    const idsOf = async (query: string) => {
      const ids: string[] = [];
      for (let after: string | null = ""; after !== null; ) {
        const place: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
        const { json } = await ask("GET", `/api/incidents?limit=1&${query}${place}`);
        ids.push(...json.incidents.map(({ id }: { id: string }) => id));
        after = json.next;
      }
      return ids.join(" ");
    };
    const [status, net, none] = ["status-differs", "net-differs", "balance-differs"].map(async (kind) => {
      const [row] = await sql<{ id: number }[]>`select id from incidents where kind = ${kind}`;
      return row?.id;
    });
    // THB: 30.25, then 4.5 and 4.5, the newest first. USD: the one of which most mismatches are in USD.
    expect(await idsOf("sort=at-risk")).toBe(`${await status} 2 1 ${await net} ${await none}`);
    expect(await idsOf("sort=at-risk&currency=THB")).toBe(`${await net} ${await status} 2 1`);
    expect(await idsOf("sort=at-risk&currency=USD")).toBe(`${await net} 1`);
    expect(await idsOf("currency=USD")).toBe(`${await net} 1`);
    expect(await idsOf("currency=EUR&sort=at-risk")).toBe("");
    await sql`update mismatches set status = 'ignored' where currency = 'USD' and kind = 'net-differs'`;
    expect(await idsOf("sort=at-risk")).toBe(`${await net} ${await status} 2 1 ${await none}`);
    expect(await idsOf("currency=USD")).toBe("1");
  });

  test("are chosen by the time of the bet, and with a currency by one mismatch that has both", async () => {
    const at = (time: string) => ({ occurredAt: Date.parse(`2026-11-19T${time}Z`) });
    await openMismatches(sql, config, clock.now(), [
      { kind: "net-differs", ...at("10:00:00") },
      { kind: "net-differs", ...at("12:00:00"), currency: "USD", betId: "b" },
      { kind: "round-differs", ...at("12:30:00") },
    ]);
    const ask = await serveApi(context);
    const kinds = async (query: string) => {
      const { json } = await ask("GET", `/api/incidents?${query}`);
      return json.incidents.map(({ kind }: { kind: string }) => kind).sort();
    };
    expect(await kinds("happenedTo=2026-11-20T00:00:00Z")).toEqual(["net-differs", "round-differs"]);
    expect(await kinds("happenedTo=2026-11-20T00:00:00Z&happenedFrom=2026-11-19T19:00:00%2B07:00")).toEqual([
      "net-differs",
      "round-differs",
    ]);
    expect(
      await kinds("happenedTo=2026-11-20T00:00:00Z&happenedFrom=2026-11-19T12:00:01Z&sort=at-risk"),
    ).toEqual(["round-differs"]);
    expect(
      await kinds("happenedTo=2026-11-20T00:00:00Z&happenedFrom=2026-11-19T11:00:00Z&currency=THB"),
    ).toEqual(["round-differs"]);
    expect(
      await kinds(
        "happenedTo=2026-11-20T00:00:00Z&happenedFrom=2026-11-19T11:00:00Z&currency=USD&sort=at-risk",
      ),
    ).toEqual(["net-differs"]);
    const counted = await ask("GET", "/api/incidents?happenedTo=2026-11-19T11:00:00Z&count=true");
    expect(counted.json).toMatchObject({ count: 1, incidents: [{ kind: "net-differs" }] });
    await sql`update mismatches set status = 'resolved' where kind = 'net-differs' and currency = 'THB'`;
    expect(await kinds("happenedTo=2026-11-19T11:00:00Z")).toEqual(["net-differs"]);
  });

  test("say of one its sums, its mismatches, and who was notified of what", async () => {
    await noteDelivered(sql, "webhook", 1, clock.now());
    const ask = await serveApi(context);
    const { json } = await ask("GET", "/api/incidents/1");
    expect(json).toMatchObject({
      id: "1",
      sums: [
        { status: "open", currency: "THB", count: 1, amount: "4.5" },
        { status: "open", currency: "USD", count: 1, amount: "0.5" },
      ],
      mismatches: [{ id: "1" }, { id: "2" }],
      next: null,
      notifications: [
        { kind: "incident-opened", channel: "webhook", deliveredAt: "2026-11-20T12:01:00.000Z", attempts: 1 },
      ],
      comments: [],
    });
    expect(json.trend.counts.reduce((sum: number, one: number) => sum + one, 0)).toBe(2);
  });

  test.each([
    ["/api/incidents?state=lost", 400, 'there is no state "lost"'],
    ["/api/incidents?product=P9", 400, 'there is no product "P9"'],
    ["/api/incidents?currency=baht", 400, "currency must be a code in capital letters such as THB"],
    ["/api/incidents?sort=newest", 400, 'there is no sort "newest"; it is one of at-risk, remind-at'],
    ["/api/incidents?sort=at-risk&after=7", 400, 'after "7" is not a position in the list by at-risk'],
    ["/api/incidents?sort=remind-at&after=7", 400, 'after "7" is not a position in the list by remind-at'],
    [
      "/api/incidents?sort=remind-at&after=THB~4.5~7",
      400,
      'after "THB~4.5~7" is not a position in the list by remind-at',
    ],
    ["/api/incidents?after=THB~4.5~7", 400, 'after "THB~4.5~7" is not the "next" of a page'],
    ["/api/incidents?withProvider=yes", 400, 'there is no withProvider "yes"; it is one of true, false'],
    [
      "/api/incidents?happenedFrom=monday",
      400,
      'happenedFrom must be a date-time with an offset such as 2026-11-20T10:00:00Z, but is "monday"',
    ],
    [
      "/api/incidents?happenedFrom=2026-11-20T00:00:00Z&happenedTo=2026-11-20T00:00:00Z",
      400,
      'happenedFrom "2026-11-20T00:00:00Z" is not before happenedTo "2026-11-20T00:00:00Z"',
    ],
    ["/api/incidents/7", 404, 'there is no incident "7"'],
    ["/api/incidents/x", 404, 'there is no incident "x"'],
  ])("of %s name what is wrong", async (path, status, detail) => {
    const ask = await serveApi(context);
    expect(await ask("GET", path)).toEqual(problemWith(status, detail));
  });
});

describe.each([
  ["mismatch", "/api/mismatches"],
  ["incident", "/api/incidents"],
])("a comment on one %s", (subject, path) => {
  test("is added under the name of its author, changes no status, and is audited", async () => {
    const tokens = [{ name: "bo", role: "write", token: "a token that writes" }] as const;
    const ask = await serveApi(context, [...tokens]);
    const token = "a token that writes";
    const comment = { id: "1", at: "2026-11-20T12:01:00.000Z", by: "bo", note: "asked <b>the provider</b>" };
    const added = await ask("POST", `${path}/1/comments`, { token, body: { note: comment.note } });
    expect(added).toMatchObject({ status: 201, json: { comment } });
    await ask("POST", `${path}/1/comments`, { token, body: { note: "no answer yet" } });
    const { json } = await ask("GET", `${path}/1`, { token });
    expect(json.comments).toMatchObject([comment, { id: "2", note: "no answer yet" }]);
    expect((await ask("GET", "/api/mismatches/1", { token })).json).toMatchObject({
      status: "open",
      note: null,
      incidentId: "1",
    });
    expect((await ask("GET", `${path}/2`, { token })).json.comments).toEqual([]);
    const { audit } = (await ask("GET", "/api/audit", { token })).json;
    expect(audit[1]).toMatchObject({
      who: "bo",
      route: `${path}/:id/comments`,
      details: { note: comment.note },
      status: 201,
    });
  });

  test.each<[string, string, unknown, number, string]>([
    ["nobody wrote", "1", { note: " " }, 400, "note is empty"],
    ["is too long", "1", { note: "x".repeat(2001) }, 400, "note has 2001 characters, more than 2000"],
    ["is no text", "1", { note: 5 }, 400, "note must be text, but is 5"],
    ["has a field too many", "1", { note: "x", by: "anna" }, 400, 'there is no field "by"'],
    ["is missing", "1", undefined, 400, "the body must be a JSON object with a note"],
    ["is about nothing", "77", { note: "x" }, 404, `there is no ${subject} "77"`],
    ["is about no id", "x", { note: "x" }, 404, `there is no ${subject} "x"`],
  ])("that %s is refused", async (_, id, body, status, detail) => {
    const ask = await serveApi(context);
    expect(await ask("POST", `${path}/${id}/comments`, { body })).toEqual(problemWith(status, detail));
    expect(await sql`select from comments`).toHaveLength(0);
  });

  test("beyond the five hundredth is refused: a page shows all of them", async () => {
    await sql`insert into comments (about, about_id, at, by, note)
      select ${subject}, 1, now(), 'bo', 'again' from generate_series(1, 500)`;
    const ask = await serveApi(context);
    expect(await ask("POST", `${path}/1/comments`, { body: { note: "x" } })).toEqual(
      problemWith(409, `${subject} 1 has 500 comments, which is the most`),
    );
    expect((await ask("POST", `${path}/2/comments`, { body: { note: "x" } })).status).toBe(201);
  });
});
