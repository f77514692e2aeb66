import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config.ts";
import { inOneMoment } from "../../src/db/client.ts";
import { countDueMarks, screenMarks } from "../../src/diff/screen-store.ts";
import { diffProduct } from "../../src/flows/diff-product.ts";
import { screenProduct } from "../../src/flows/screen-product.ts";
import { silentLog } from "../../src/log.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, MINUTE_MS, NOON } from "../support/examples.ts";
import { minute, useDiffWorld } from "./diff-world.ts";
import { type Played, playRounds } from "./screen-world.ts";

const { sql, clock, receive, listed, fetchPlanned, ledgerBegins } = useDiffWorld();

const due = async (readsAll: boolean) => {
  const [row] = await sql<{ upTo: number }[]>`select coalesce(max(id), 0) as "upTo" from diff_marks`;
  return { marks: 0, upTo: row?.upTo ?? 0, readsAll };
};

/** The rounds whose marks a screening leaves, each once. */
async function screened(readsAll: boolean, most = 1000): Promise<string[]> {
  const marks = await due(readsAll);
  await inOneMoment(sql, (tx) => screenMarks(tx, "P1", clock.now(), marks, most));
  const left = await sql<{ mark: string }[]>`
    select distinct m.u || ' ' || coalesce(m.r, m.b) as mark
    from diff_marks, unnest(usernames, round_ids, bet_refs) as m (u, r, b) order by 1`;
  return left.map(({ mark }) => mark);
}

/** anna's round-1: placed, settled and listed alike, with a record id of its own. */
const placed = (fields: Partial<CallbackEntry> = {}) =>
  exampleEntry({ entryId: "p", requestId: "p", ...fields });
const settled = (fields: Partial<CallbackEntry> = {}) =>
  exampleSettle({ entryId: "s", requestId: "s", payoutAmount: amount("25"), ...fields });
const listedAs = (fields: Partial<BetRecord> = {}) =>
  exampleRecord({ payout: amount("25"), payoutStatus: "WIN", ...fields });
const answered = (before: string, after: string, moved: string) => ({
  balanceBefore: amount(before),
  balanceAfter: amount(after),
  moved: amount(moved),
});

interface Round {
  readonly entries: CallbackEntry[];
  readonly records: BetRecord[];
  /** what is known already when the round is marked */
  readonly before?: () => Promise<unknown>;
}

const agreeing: Readonly<Record<string, Round>> = {
  "of one bet": { entries: [placed(), settled()], records: [listedAs()] },
  "of several bets": {
    entries: [
      placed(),
      settled(),
      placed({ entryId: "p2", txnId: "bet-2" }),
      settled({ entryId: "s2", txnId: "bet-2" }),
    ],
    records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })],
  },
  "whose record has one id": { entries: [placed(), settled()], records: [listedAs({ id: "bet-1" })] },
  "whose settlement is told to have come first": {
    entries: [placed(), settled({ occurredAt: NOON - 9 * MINUTE_MS })],
    records: [listedAs()],
  },
  "that moved what it asks for": {
    entries: [placed(answered("10", "0", "-10")), settled(answered("0", "25", "25"))],
    records: [listedAs()],
  },
};

const mismatchOf =
  (fields: { subject: string; betId?: string; txnId?: string; roundId?: string; status?: string }) => () =>
    sql`insert into mismatches (product_id, username, subject, kind, status, bet_id, transaction_id, round_id, amount_at_risk,
      reason, occurred_at, first_seen_at, last_seen_at)
    values ('P1', 'anna', ${fields.subject}, 'payout-differs', ${fields.status ?? "open"}, ${fields.betId ?? null},
      ${fields.txnId ?? null}, ${fields.roundId ?? null}, 0, 'because', now(), now(), now())`;

const plain = { entries: [placed(), settled()], records: [listedAs()] };
const elsewhere = { roundId: "round-2" };
/** Each breaks one condition, and nothing else. */
const uncertain: Readonly<Record<string, Round>> = {
  "that was never placed": { ...plain, entries: [settled()] },
  "that was never settled": { ...plain, entries: [placed()] },
  "that was placed twice": {
    ...plain,
    entries: [placed(), settled(), placed({ entryId: "p2", requestId: "p2" })],
  },
  "that was placed twice and never settled": {
    ...plain,
    entries: [placed(), placed({ entryId: "p2", requestId: "p2" })],
  },
  "that was settled in parts": {
    ...plain,
    entries: [placed(), settled(), settled({ entryId: "s2", payoutAmount: amount("0") })],
  },
  "that was placed as WAITING": { ...plain, entries: [placed({ status: "WAITING" }), settled()] },
  "that was settled BY_ROUND": { ...plain, entries: [placed(), settled({ transactionType: "BY_ROUND" })] },
  "with any other callback": {
    ...plain,
    entries: [placed(), settled({ callback: "winRewards" })],
  },
  "whose placement was skipped": { ...plain, entries: [placed({ skipBalanceUpdate: true }), settled()] },
  "whose settlement was skipped": { ...plain, entries: [placed(), settled({ skipBalanceUpdate: true })] },
  "whose placement moved another amount": { ...plain, entries: [placed({ moved: amount("-9") }), settled()] },
  "whose settlement moved another amount": {
    ...plain,
    entries: [placed(), settled({ moved: amount("24") })],
  },
  "whose placement names no stake": { ...plain, entries: [placed({ betAmount: null }), settled()] },
  "whose settlement names no payout": { ...plain, entries: [placed(), settled({ payoutAmount: null })] },
  "whose balance changed by something else": {
    ...plain,
    entries: [placed(), settled(answered("0", "24", "25"))],
  },
  "whose balance changed by something else than was asked, where nobody says what moved": {
    ...plain,
    entries: [placed(), settled({ ...answered("0", "24", "25"), moved: null })],
  },
  "whose request has another item elsewhere, where nobody says what moved": {
    ...plain,
    entries: [
      placed(),
      settled({ ...answered("0", "25", "25"), moved: null }),
      settled({ ...answered("0", "25", "25"), ...elsewhere, entryId: "s2", txnId: "bet-2", moved: null }),
    ],
  },
  "whose request has another item elsewhere": {
    ...plain,
    entries: [
      placed(),
      settled(answered("0", "25", "25")),
      settled({ ...answered("0", "25", "25"), ...elsewhere, entryId: "s2", txnId: "bet-2" }),
    ],
  },
  "placed and settled in different currencies": {
    ...plain,
    entries: [placed(), settled({ currency: "USD" })],
  },
  "listed in another currency": { ...plain, records: [listedAs({ currency: "USD" })] },
  "listed with another stake": { ...plain, records: [listedAs({ stake: amount("11") })] },
  "listed with another payout": { ...plain, records: [listedAs({ payout: amount("26") })] },
  "that is not listed": { ...plain, records: [] },
  "that no callback told of": { ...plain, entries: [] },
  "listed as running": { ...plain, records: [listedAs({ betStatus: "UNSETTLED" })] },
  "listed as a win that pays nothing": {
    entries: [placed(), settled({ payoutAmount: amount("0") })],
    records: [listedAs({ payout: amount("0") })],
  },
  "listed as a loss that pays more than its stake": {
    ...plain,
    records: [listedAs({ payoutStatus: "LOSE" })],
  },
  "listed for another player": { ...plain, records: [listedAs({ username: "bob" })] },
  "whose record a later fetch has missed": {
    ...plain,
    before: () => sql`insert into record_absences (product_id, username, bet_id, id, missed_since)
      values ('P1', 'anna', 'bet-1', 'rec-1', now())`,
  },
  "listed twice": { ...plain, records: [listedAs(), listedAs({ id: "rec-2" })] },
  "of which one bet more is listed": {
    ...plain,
    records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })],
  },
  "listed in another round": { ...plain, records: [listedAs(elsewhere)] },
  "settled in another round": { ...plain, entries: [placed(), settled(elsewhere)] },
  "with a callback that names no round": { ...plain, entries: [placed(), settled({ roundId: null })] },
  "whose bet another round knows": {
    ...plain,
    entries: [placed(), settled(), settled({ ...elsewhere, entryId: "s2", callback: "winRewards" })],
  },
  "whose record's id is a bet of another round": {
    ...plain,
    entries: [placed(), settled(), placed({ ...elsewhere, entryId: "p2", txnId: "rec-1" })],
  },
  "whose bet is the id of another record": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, betId: "bet-2", id: "bet-1" })],
  },
  "whose bet another player has": {
    ...plain,
    entries: [placed(), settled(), placed({ username: "bob", entryId: "p2", ...elsewhere })],
  },
  "whose bet is listed for another player as well": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, username: "bob" })],
  },
  "whose bet is the id of another player's record": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, username: "bob", betId: "bet-2", id: "bet-1" })],
  },
  "with an open mismatch of its bet": { ...plain, before: mismatchOf({ subject: "bet:bet-1" }) },
  "with an acknowledged one": {
    ...plain,
    before: mismatchOf({ subject: "bet:bet-1", status: "acknowledged" }),
  },
  "with an open mismatch of its record's id": { ...plain, before: mismatchOf({ subject: "bet:rec-1" }) },
  "with an open mismatch of its record": {
    ...plain,
    before: mismatchOf({ subject: 'record:["bet-1","rec-1"]', betId: "bet-1" }),
  },
  "with an open mismatch of the bet under another id": {
    ...plain,
    before: mismatchOf({ subject: "bet:x", txnId: "bet-1" }),
  },
  "with an open mismatch of its round": { ...plain, before: mismatchOf({ subject: "round:round-1" }) },
  "with an open mismatch that names its round": {
    ...plain,
    before: mismatchOf({ subject: "bet:x", roundId: "round-1" }),
  },
  "with an open mismatch of its request": {
    ...plain,
    before: mismatchOf({ subject: 'request:["settleBets","s"]' }),
  },
};

beforeEach(() => sql`truncate record_absences`);

describe.each([
  ["found by index", false],
  ["read whole", true],
])("a round %s", (_, readsAll) => {
  const play = async ({ entries, records, before }: Round) => {
    await before?.();
    await receive(...entries);
    await listed(...records);
  };

  test.each(Object.entries(agreeing))("%s is dropped", async (_name, round) => {
    await play(round);
    expect(await screened(readsAll)).toEqual([]);
  });

  test.each(Object.entries(uncertain))("%s is looked at", async (_name, round) => {
    await play(round);
    expect(await screened(readsAll)).toContain("anna round-1");
  });

  test("of several bets is looked at where one of them differs", async () => {
    const [first, second, third, fourth] = agreeing["of several bets"]?.entries ?? [];
    if (!first || !second || !third || !fourth) throw new Error("the round has four entries");
    await play({
      entries: [first, second, third, { ...fourth, payoutAmount: amount("24") }],
      records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })],
    });
    expect(await screened(readsAll)).toEqual(["anna round-1"]);
  });

  test("that is not due, of another product, or a bet without one stays marked", async () => {
    const none = { roundId: "UNKNOWN" };
    await receive(placed(none), settled(none));
    await listed(listedAs(none));
    await sql`insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at) values
      ('P1', '{anna}', '{later}', '{null}', ${NOON + 1}), ('P2', '{anna}', '{other}', '{null}', ${NOON})`;
    expect(await screened(readsAll)).toEqual(["anna bet-1", "anna later", "anna other"]);
  });
});

describe("a screening", () => {
  const config = parseConfig({ products: [{ productId: "P1" }, { productId: "SINGLE", singleState: true }] });
  const context = { sql, config, clock, log: silentLog };
  const signal = new AbortController().signal;
  const products = Object.fromEntries(config.products.map((product) => [product.productId, product]));

  test("leaves what is little as it is, and products whose settlements need no placement", async () => {
    await receive(
      placed(),
      settled(),
      settled({ productId: "SINGLE", entryId: "x", betAmount: amount("10") }),
    );
    await listed(listedAs(), listedAs({ productId: "SINGLE" }));
    const before = await sql`select * from diff_marks order by id`;
    for (const productId of ["P1", "SINGLE"]) {
      const product = products[productId];
      if (product === undefined) throw new Error(`there is no ${productId}`);
      const fewest = productId === "P1" ? 4 : 1;
      expect(await screenProduct(context, product, NOON, signal, fewest)).toEqual({ marks: 0, left: 0 });
    }
    expect(await sql`select * from diff_marks order by id`).toEqual(before);
  });

  test("reads both sides whole only where much of them is marked", async () => {
    await receive(placed(), settled());
    expect(await countDueMarks(sql, "P1", NOON)).toMatchObject({ marks: 1, readsAll: false });
    const rounds = Array.from({ length: 100 }, (_, index) => `round-${index}`);
    await receive(...rounds.map((roundId) => placed({ roundId, entryId: `of-${roundId}` })));
    expect(await countDueMarks(sql, "P1", NOON)).toMatchObject({ marks: 101, readsAll: true });
  });

  test("takes so many marks at a time, the oldest first, and no mark that was made meanwhile", async () => {
    for (let index = 0; index < 4; index += 1) {
      const of = { roundId: `round-${index}`, txnId: `bet-${index}` };
      await receive(placed({ ...of, entryId: `p${index}` }), settled({ ...of, entryId: `s${index}` }));
      await listed(listedAs({ roundId: of.roundId, betId: of.txnId, id: `rec-${index}` }));
    }
    const marks = await due(false);
    await receive(placed({ roundId: "new", txnId: "new", entryId: "new" }));
    const batch = () => inOneMoment(sql, (tx) => screenMarks(tx, "P1", NOON, marks, 3));
    expect(await batch()).toEqual({ marks: 3, left: 0 });
    expect(await batch()).toEqual({ marks: 3, left: 0 });
    expect(await batch()).toEqual({ marks: 2, left: 0 });
    expect(await batch()).toEqual({ marks: 0, left: 0 });
    expect(await sql`select round_ids as rounds from diff_marks`).toEqual([{ rounds: ["new"] }]);
  });

  /** Two waves of what was played arrive, each looked at when it comes and when its graces are over. */
  const playThrough = async (played: readonly Played[], screenFrom: number, screenBefore = false) => {
    await sql`truncate windows, bet_records, rejected_records, bet_record_versions, callback_entries, diff_marks,
      mismatches, mismatch_events, record_absences restart identity cascade`;
    await ledgerBegins();
    let looked = 0;
    for (const wave of [0, 1]) {
      clock.set(minute(wave * 600));
      // One round in five arrives in pieces, some of them in the other wave.
      const isNow = (round: number, index: number) =>
        (round % 5 === 0 ? (index + round) % 3 : round) % 2 === wave;
      await receive(
        ...played.flatMap(({ entries }, round) => entries.filter((_, index) => isNow(round, index))),
      );
      await listed(
        ...played.flatMap(({ records }, round) => records.filter((_, index) => isNow(round, index + 1))),
      );
      for (const minutes of [1, 120]) {
        clock.set(minute(wave * 600 + minutes));
        if (screenBefore) await screened(false, 100_000);
        looked += (await diffProduct(context, "P1", signal, screenFrom)).looked;
        await fetchPlanned();
      }
    }
    return { looked, state: await readState() };
  };

  const readState = async () => ({
    mismatches: await sql`
      select username, subject, kind, status, currency, bet_id, transaction_id, round_id, amount_at_risk, reason, provider,
        ledger, first_seen_at, last_seen_at, resolved_at
      from mismatches order by username, subject, kind`,
    events: await sql`
      select m.username, m.subject, m.kind, e.at, e.from_status, e.to_status, e.reason
      from mismatch_events e join mismatches m on m.id = e.mismatch_id order by 1, 2, 3, 4, 5, 6, 7`,
    marks: await sql`
      select distinct m.u, m.r, m.b, due_at from diff_marks, unnest(usernames, round_ids, bet_refs) as m (u, r, b)
      order by 1, 2, 3, 4`,
  });

  test.each([1, 2])(
    "finds the same as the exact comparison alone in a world by chance (seed %i)",
    async (seed) => {
      const played = playRounds(seed, 400);
      const never = Number.POSITIVE_INFINITY;
      const exact = await playThrough(played, never);
      expect(exact.state.mismatches.length).toBeGreaterThan(50);
      for (const screening of [await playThrough(played, 1), await playThrough(played, never, true)]) {
        expect(screening.state).toEqual(exact.state);
        expect(screening.looked).toBeLessThan(0.8 * exact.looked);
      }
    },
  );
});
