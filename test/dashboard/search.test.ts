import { beforeEach, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import { findBetsOfRequest, findLatestOfPlayer, findRounds } from "../../src/diff/search-store.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { actOnMismatches } from "../../src/flows/mismatches/act-on-mismatches.ts";
import { silentLog } from "../../src/log.ts";
import { callbacksOf, iso, recordOf, useDiffWorld } from "../flows/compare/comparison-world.ts";
import { READ_TOKEN, TOKENS, useDashboard } from "../support/dashboard.ts";
import { openMismatches } from "../support/open-mismatches.ts";

const world = useDiffWorld();
const serveDashboard = useDashboard();
const context: FlowContext = {
  sql: world.sql,
  clock: world.clock,
  log: silentLog,
  config: parseConfig({ products: [{ productId: "P1" }, { productId: "P2" }] }),
};

/** bet-1 agrees, bet-2 differs and has a mismatch, bet-3 has no callback yet. */
beforeEach(async () => {
  await world.ledgerBegins();
  const record = (number: number, payout: string) =>
    recordOf(payout, {
      username: "anna",
      betId: `bet-${number}`,
      id: `rec-${number}`,
      roundId: `round-${number}`,
      accountingDate: iso(-4),
      updatedDate: iso(-3),
    });
  const called = (number: number, payout: string): CallbackEntry[] =>
    callbacksOf(payout, { username: "anna", txnId: `bet-${number}`, roundId: `round-${number}` });
  await world.receive(...called(1, "1234567.5"), ...called(2, "25.5"));
  await world.listed(record(1, "1234567.5"), record(2, "30.75"));
  await world.diffAt(20);
  await world.listed(record(3, "7"));
});

async function visit() {
  const baseUrl = await serveDashboard(context, TOKENS);
  const headers = { accept: "text/html", authorization: `Bearer ${READ_TOKEN}` };
  return async (q: string) => {
    const answer = await fetch(`${baseUrl}/search?${new URLSearchParams({ q })}`, { headers });
    const html = await answer.text();
    const words = html
      .replace(/<[^>]+>/g, " ")
      .replace(/&quot;/g, '"')
      .replace(/\s+/g, " ");
    return { status: answer.status, html, words };
  };
}

test.each(["bet-1", "rec-1", "round-1", "anna round-1"])(
  "%s leads to a bet on which both sides agree",
  async (q) => {
    const { words } = await (await visit())(q);
    expect(words).toContain("Both sides agree about this bet.");
    expect(words).toContain("Payout 1 234 567.50 1 234 567.50 same");
    expect(words).toContain("P1, player anna , round round-1");
  },
);

test("a bet leads back to its statement, and to its lines there", async () => {
  const { html, words } = await (await visit())("bet-1");
  expect(words).toContain("It counts in the statement of 2026-11-20 , among these lines .");
  expect(html).toContain('<a href="/report?day=2026-11-20">');
  expect(html).toMatch(/<a href="\/report\/items\?day=2026-11-20&(amp;)?productId=P1&(amp;)?currency=THB">/);
});

test("a bet that differs shows both sides, the difference, and its mismatch", async () => {
  const { html, words } = await (await visit())("bet-2");
  expect(words).toMatch(/The sides differ: paid out 30\.75 THB at the provider, 25\.50 THB in the ledger/);
  expect(words).toMatch(/Payout 30\.75 25\.50 differs/);
  expect(html).toMatch(/href="\/mismatches\/\d+">Mismatch #\d+: payout-differs/);
});

test.each(["provider-bet-4", "txn-4", "round-4", "anna round-4"])(
  "%s leads to the mismatch of a bet that has another id on each side",
  async (q) => {
    const times = { accountingDate: iso(-4), updatedDate: iso(-3) };
    const ids = { username: "anna", betId: "provider-bet-4", id: "txn-4", roundId: "round-4" };
    await world.receive(...callbacksOf("5", { username: "anna", txnId: "txn-4", roundId: "round-4" }));
    await world.listed(recordOf("6", { ...ids, ...times }));
    await world.diffAt(40);
    const { html, words } = await (await visit())(q);
    expect(words).toMatch(/The sides differ: paid out 6\.00 THB at the provider, 5\.00 THB in the ledger/);
    expect(html).toMatch(/href="\/mismatches\/\d+">Mismatch #\d+: payout-differs/);
    expect(words).not.toContain("no mismatch is open");
  },
);

test("a difference that a user has decided names the decision", async () => {
  const { sql } = world;
  const [open] = await sql`select id from mismatches where bet_id = 'bet-2'`;
  const id = String(open?.["id"]);
  const said = { note: "paid by hand", expected: null, adjustment: null, by: "somchai" };
  await actOnMismatches(context, { action: "resolve", target: { ids: [id] }, ...said });
  await sql`update mismatches set resolved_at = '2026-11-23T18:26:10Z' where id = ${Number(id)}`;
  const find = await visit();
  const { words } = await find("bet-2");
  expect(words).toContain(`Mismatch #${id}: resolved by somchai, 2026-11-23 18:26:10 .`);
  expect(words).not.toContain("Either its graces are not over");
});

test("a number leads to the mismatch and to the incident that have it", async () => {
  const { sql } = world;
  const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`select id from mismatches where bet_id = 'bet-2'`;
  await sql`
    insert into incidents (id, product_id, kind, backfill_id, number, began_at, last_at, total, open, alerted_total)
    overriding system value values (${id}, 'P2', 'missing-in-ledger', 0, 99, now(), now(), 3, 3, 0)
    on conflict (id) do nothing`;
  const find = await visit();
  const mismatch = `href="/mismatches/${id}">Mismatch #${id}: payout-differs</a>`;
  const incident = `href="/incidents/${id}">Incident #${id}: `;
  for (const q of [`${id}`, `#${id}`]) {
    const { html, words } = await find(q);
    expect(html).toContain(mismatch);
    expect(html).toContain(incident);
    expect(words).not.toContain("Nothing stored has this id");
  }
  const { html } = await find(`Incident ${id}`);
  expect(html).toContain(incident);
  expect(html).not.toContain(mismatch);
  expect((await find(`incident #${id + 100}`)).words).toContain("Nothing stored has this id");
});

test("spaces alone are answered with what to type", async () => {
  const { status, words } = await (await visit())("   ");
  expect(status).toBe(200);
  expect(words).toContain("“Id or player” is empty: type the id of a bet");
});

test("a bet of one side says that no mismatch is open yet", async () => {
  const { words } = await (await visit())("bet-3");
  expect(words).toContain("The sides differ, and no mismatch is open: the provider has a bet");
});

test("a player, a transfer and a request are found", async () => {
  const { sql } = world;
  await sql`
    insert into transfers (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at)
    values ('T/1', 'P1', 'anna', 'THB', 'DEPOSIT', 20, now(), now())`;
  await sql`insert into callback_requests values ('P2', 'placeBets', 'request-9', 'digest', 100, 90)`;
  const find = await visit();
  expect((await find("anna")).words).toContain(
    "Plays at P1. 1 mismatch open or acknowledged, 5.25 THB at risk. See all mismatches and the transfers",
  );
  expect((await find("T/1")).html).toContain('href="/transfers/T%2F1">Transfer T/1</a>');
  expect((await find("request-9")).words).toContain(
    "placeBets of P2 was answered with success. The balance was 100.00 before it and 90.00 after it.",
  );
});

test("a transfer shows the mismatches about it", async () => {
  const { sql, clock } = world;
  await sql`
    insert into transfers (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at)
    values ('same-1', 'P1', 'anna', 'THB', 'DEPOSIT', 20, now(), now())`;
  const about = { productId: "P1", username: "anna", transactionRef: "same-1", betId: null };
  await openMismatches(sql, context.config, clock.now(), [
    { ...about, kind: "transfer-late-success", subject: "transfer:same-1" },
    { ...about, kind: "top-up-differs", subject: "top-up:same-1" },
  ]);
  const { html, words } = await (await visit())("same-1");
  expect(html).toMatch(/href="\/mismatches\/\d+">Mismatch #\d+: transfer-late-success<\/a>/);
  expect(words).toMatch(/Transfer same-1 pending 20\.00 THB for anna at P1 Mismatch #\d+: .* open/);
  expect(words).not.toContain("top-up-differs");
});

test("a request leads to the bets of its entries, whichever program wrote them", async () => {
  const { sql } = world;
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    values ('own-1', 'placeBets', 'request of another program', 'P2', 'bert', 'THB', 'bet-8', 'round-8', 'OPEN', 5, false, now(), now())`;
  const find = await visit();
  expect((await find("request of another program")).words).toContain("P2, player bert , round round-8");
  expect((await find("round-8")).words).toContain("P2, player bert , round round-8");
});

test("an id shows all that it names: a bet, the round of another player, and the request of another bet", async () => {
  const { sql } = world;
  const times = { accountingDate: iso(-4), updatedDate: iso(-3) };
  const zoes = { username: "zoe", betId: "big-12", id: "rec-12", roundId: "bet-1" };
  await world.listed(recordOf("3", { ...zoes, ...times }));
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    values ('own-2', 'placeBets', 'bet-1', 'P2', 'bert', 'THB', 'bet-13', 'round-13', 'OPEN', 5, false, now(), now())`;
  const { words } = await (await visit())("bet-1");
  expect(words).toContain("P1, player anna , round round-1");
  expect(words).toContain("P1, player zoe , round bet-1");
  expect(words).toContain("P2, player bert , round round-13");
  expect(words).not.toContain("There may be more");
});

test("what an index found is whole, and the page says how far its id was looked for elsewhere", async () => {
  await world.sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      bet_amount, skip_balance_update, occurred_at, received_at)
    select 'many-' || n, 'placeBets', 'request-' || n, 'P2', 'player-' || n, 'THB', 'many-' || n, 'many-' || n, 'OPEN', 5, false,
      now(), now()
    from generate_series(1, 1001) n`;
  const { words } = await (await visit())("bet-1");
  expect(words).toContain("Both sides agree about this bet.");
  expect(words).not.toContain("everything could be searched");
  expect(words).toMatch(
    /looked for too: at the first 1.000 players, and in the newest 1.000 ledger entries\./,
  );
});

test("a player's page lists the latest bets with both sides, the newest first", async () => {
  const { sql } = world;
  const later = { accountingDate: iso(-2), updatedDate: iso(-1) };
  const ids = { username: "anna", betId: "provider-bet-5", id: "txn-5", roundId: "round-5" };
  await world.receive(...callbacksOf("5", { username: "anna", txnId: "txn-5", roundId: "round-5" }));
  await world.listed(recordOf("5", { ...ids, ...later }));
  const { html, words } = await (await visit())("anna");
  const rows = [...html.matchAll(/<tr[^>]*><th scope="row".*?<\/tr>/gs)].map(([row]) =>
    row
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ")
      .replaceAll(" ,", ","),
  );
  // A bet with another id on each side is one row.
  expect(rows).toHaveLength(4);
  expect(rows.find((row) => row.includes("bet-1 "))).toMatch(
    /P1 stake \S+ THB, payout 1.234.567\.50 THB SETTLED stake \S+ THB, payout 1.234.567\.50 THB settled same/,
  );
  expect(rows.find((row) => row.includes("bet-2 "))).toMatch(
    /payout 30\.75 THB .* payout 25\.50 THB .* #\d+ open/,
  );
  expect(rows.find((row) => row.includes("bet-3 "))).toMatch(/payout 7\.00 THB .* none so far differs/);
  expect(words).not.toContain("Those among the newest");

  // One who plays much: only the newest rows of all are searched.
  const found = await findLatestOfPlayer(sql, ["P1"], "anna", { most: 3, mostOwn: 2, mostNewest: 100 });
  expect(found.isWhole).toBe(false);
  expect(found.keys.map(({ ref }) => ref)).toEqual(
    (await findLatestOfPlayer(sql, ["P1"], "anna", { most: 3, mostOwn: 100, mostNewest: 1 })).keys.map(
      ({ ref }) => ref,
    ),
  );
});

test("a search that ends at its limit says so", async () => {
  const { sql } = world;
  await world.receive(...callbacksOf("1", { username: "zoe", txnId: "bet-9", roundId: "round-9" }));
  const ids = [["P1", "P2"], "round-9"] as const;
  expect(await findRounds(sql, ...ids, { most: 5, mostPlayers: 1 })).toEqual({ keys: [], isWhole: false });
  const found = { productId: "P1", username: "zoe", roundId: "round-9", ref: "bet-9" };
  const whole = await findRounds(sql, ...ids, { most: 5, mostPlayers: 3 });
  expect(whole.isWhole).toBe(true);
  expect(new Set(whole.keys.map((key) => JSON.stringify(key)))).toEqual(new Set([JSON.stringify(found)]));

  const [first] = await sql`select request_id as id from callback_entries order by received_at limit 1`;
  const limits = { most: 5, mostEntries: 1 };
  expect(await findBetsOfRequest(sql, ["P1"], first?.["id"], limits)).toEqual({ keys: [], isWhole: false });
});

test("what is unknown, or cannot be an id, is said, and the text stays", async () => {
  const find = await visit();
  expect((await find("bet-9")).words).toContain("Nothing stored has this id. The search needs the whole id");
  expect((await find("")).status).toBe(200);
  const long = await find("x".repeat(701));
  expect(long).toMatchObject({ status: 400 });
  expect(long.words).toContain("“Id or player” has 701 characters, more than 700");
  expect(long.html).toContain(`value="${"x".repeat(701)}"`);
  expect((await find("a\0")).status).toBe(400);
  expect((await find('"><img src=x>')).html).not.toContain("<img");
});
