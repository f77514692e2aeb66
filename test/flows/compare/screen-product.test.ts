import { afterEach, describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import { inSnapshot } from "../../../src/db/transactions.ts";
import { entry, type ScreenRules } from "../../../src/diff/agreement-store.ts";
import { writeMarks } from "../../../src/diff/mark-store.ts";
import { countDueMarks, planReading, screenMarks } from "../../../src/diff/screen-store.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import { screenProduct } from "../../../src/flows/compare/screen-product.ts";
import { silentLog } from "../../../src/log.ts";
import { emptyTables } from "../../support/database.ts";
import { amount, NOON } from "../../support/examples.ts";
import { minute, useDiffWorld } from "./comparison-world.ts";
import { listedAs, placed, settled } from "./screen-rounds.ts";
import { keepOtherwise, type Played, playRounds, waveOf } from "./screen-world.ts";

const { sql, clock, receive, listed, fetchPlanned, ledgerBegins, mismatches } = useDiffWorld();

const due = async (readsAll: boolean) => {
  const [row] = await sql<{ upTo: number }[]>`select coalesce(max(id), 0) as "upTo" from diff_marks`;
  return { marks: 0, upTo: row?.upTo ?? 0, bytes: 0, readsAll };
};

describe("a screening", () => {
  const config = parseConfig({ products: [{ productId: "P1" }, { productId: "SINGLE", singleState: true }] });
  const context = { sql, config, clock, log: silentLog };
  const signal = new AbortController().signal;
  const productOf = (productId: string) => {
    const product = config.products.find((one) => one.productId === productId);
    if (product === undefined) throw new Error(`there is no ${productId}`);
    return product;
  };
  const screen = (productId: string, fewest: number) =>
    screenProduct(context, productOf(productId), NOON, signal, 20_000, fewest);

  test("leaves small backlogs alone, and products whose settlements need no placement", async () => {
    await receive(
      placed(),
      settled(),
      settled({ productId: "SINGLE", entryId: "x", betAmount: amount("10") }),
    );
    await listed(listedAs(), listedAs({ productId: "SINGLE" }));
    const before = await sql`select * from diff_marks order by id`;
    expect(await screen("P1", 4)).toEqual({ marks: 0, left: 0 });
    expect(await screen("SINGLE", 1)).toEqual({ marks: 0, left: 0 });
    expect(await sql`select * from diff_marks order by id`).toEqual(before);
  });

  test("reads both sides whole only if much of them is marked", async () => {
    await receive(placed(), settled());
    expect(await countDueMarks(sql, "P1", NOON)).toMatchObject({ marks: 1, readsAll: false });
    const rounds = Array.from({ length: 100 }, (_, index) => `round-${index}`);
    await receive(...rounds.map((roundId) => placed({ roundId, entryId: `of-${roundId}` })));
    expect(await countDueMarks(sql, "P1", NOON)).toMatchObject({ marks: 101, readsAll: true });
  });

  test.each<[string, { of: "first" | "last"; screened: number; left: number }]>([
    ["continues if it drops many of the first thousand", { of: "first", screened: 2_500, left: 1_000 }],
    ["ends if it drops none of the first thousand", { of: "last", screened: 1_000, left: 1_000 }],
  ])("%s, because every turn would read again what it leaves", async (_, { of, screened, left }) => {
    // Bets that agree, and bets that only one side knows; one of the two kinds is due first.
    const agrees = (index: number) => (of === "first" ? index < 1_500 : index >= 1_000);
    const bets = Array.from({ length: 2_500 }, (_, index) => ({
      index,
      txnId: `bet-${index}`,
      roundId: `r-${index}`,
    }));
    await receive(
      ...bets.flatMap(({ index, ...ids }) =>
        agrees(index)
          ? [placed({ ...ids, entryId: `p${index}` }), settled({ ...ids, entryId: `s${index}` })]
          : [placed({ ...ids, entryId: `p${index}` })],
      ),
    );
    const agreeing = bets.filter(({ index }) => agrees(index));
    await listed(
      ...agreeing.map(({ index, txnId, roundId }) => listedAs({ roundId, betId: txnId, id: `rec-${index}` })),
    );
    await sql`delete from diff_marks`;
    const marks = bets.map(({ txnId, roundId, index }) => ({
      ...{ username: "anna", roundId, betRef: txnId },
      dueAt: NOON - 10_000 + index,
    }));
    await writeMarks(sql, "P1", marks);
    expect(await screen("P1", 1)).toEqual({ marks: screened, left });
  });

  test("takes a batch of marks at a time, the oldest first, and no mark that was made meanwhile", async () => {
    for (let index = 0; index < 4; index += 1) {
      const of = { roundId: `round-${index}`, txnId: `bet-${index}` };
      await receive(placed({ ...of, entryId: `p${index}` }), settled({ ...of, entryId: `s${index}` }));
      await listed(listedAs({ roundId: of.roundId, betId: of.txnId, id: `rec-${index}` }));
    }
    const marks = await due(false);
    await receive(placed({ roundId: "new", txnId: "new", entryId: "new" }));
    const batch = () => inSnapshot(sql, (tx) => screenMarks(tx, "P1", NOON, marks, 3));
    expect(await batch()).toEqual({ marks: 3, left: 0 });
    expect(await batch()).toEqual({ marks: 3, left: 0 });
    expect(await batch()).toEqual({ marks: 2, left: 0 });
    expect(await batch()).toEqual({ marks: 0, left: 0 });
    expect(await sql`select round_ids as rounds from diff_marks`).toEqual([{ rounds: ["new"] }]);
  });

  /** Rows that other tests deleted still take room, and the size decides how the tables are read. */
  const freeRoom = () =>
    sql.begin(async (tx) => {
      await tx`alter table callback_entries disable trigger recon_truncated`;
      await tx`alter table callback_entries disable trigger recon_emptied`;
      await tx`truncate callback_entries, bet_records`;
      await tx`alter table callback_entries enable trigger recon_truncated`;
      await tx`alter table callback_entries enable always trigger recon_emptied`;
    });

  /**
   * Rounds that all agree except the first, marked on both sides: enough of them for a screening that reads
   * everything.
   */
  const receiveMany = async () => {
    await freeRoom();
    await ledgerBegins();
    const rounds = Array.from({ length: 60 }, (_, index) => ({
      roundId: `round-${index}`,
      txnId: `bet-${index}`,
    }));
    await receive(
      ...rounds.flatMap((of) => [
        placed({ ...of, entryId: `p-${of.txnId}`, requestId: `p-${of.txnId}` }),
        settled({ ...of, entryId: `s-${of.txnId}`, requestId: `s-${of.txnId}` }),
      ]),
    );
    const payoutOf = (index: number) => amount(index === 0 ? "26" : "25");
    await listed(
      ...rounds.map(({ roundId, txnId }, index) =>
        listedAs({ roundId, betId: txnId, id: `rec-${index}`, payout: payoutOf(index) }),
      ),
    );
    expect(await countDueMarks(sql, "P1", NOON)).toMatchObject({ marks: 121, readsAll: true });
  };

  /** From now on screenings fail if the condition is true. */
  const refuse = (code: string, condition: string) =>
    sql.unsafe(`
      create or replace function refuse() returns trigger language plpgsql as $$ begin
        if ${condition} then raise exception 'refused' using errcode = '${code}'; end if;
        return null;
      end $$;
      create trigger refuse before delete on diff_marks for each statement execute function refuse()`);
  const isScreening = "current_setting('work_mem') = '128MB'";

  afterEach(() => sql`drop trigger if exists refuse on diff_marks`);

  test("takes everything that is due at once if it reads everything", async () => {
    await receiveMany();
    expect(await screen("P1", 1)).toEqual({ marks: 121, left: 2 });
    expect(await screen("P1", 100)).toEqual({ marks: 0, left: 0 });
  });

  test("divides the ids between the processes that it may use", async () => {
    await receiveMany();
    const boundsOf = (processes: number) =>
      sql.begin(async (tx) => {
        await tx`select set_config('max_parallel_workers_per_gather', ${String(processes - 1)}, true)`;
        return (await planReading(tx, "P1", 0)).bounds;
      });
    expect(await boundsOf(3)).toEqual(["bet-27", "bet-45"]);
    expect(await boundsOf(1)).toEqual([]);
    expect(await boundsOf(100)).toHaveLength(3);
  });

  test.each([
    ["in the order of their ids", "id", { parts: 2 }],
    ["in no order", "md5(id)", { parts: 1 }],
  ])("divides the ids of rows that lie %s by the size of the tables", async (_, order, { parts }) => {
    await freeRoom();
    const ids = "select 'bet-' || to_char(g, 'FM0000') as id from generate_series(1, 3000) as g";
    const at = "'2026-03-01T12:00:00Z'::timestamptz";
    await sql.unsafe(`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id,
        status, skip_balance_update, occurred_at, received_at)
      select id, 'placeBets', id, 'P1', 'anna', 'THB', id, 'OPEN', false, ${at}, ${at} from (${ids}) ids order by ${order}`);
    await sql.unsafe(`insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code,
        game_name, bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
      select 'P1', 'anna', id, id, id, 'THB', 1, 0, '', '', 'SETTLED', 'LOSE', ${at}, ${at}, ${at}, ${at}
      from (${ids}) ids order by ${order}`);
    await sql`analyze callback_entries, bet_records`;
    const bounds = await sql.begin(async (tx) => {
      await tx`select set_config('max_parallel_workers_per_gather', '0', true)`;
      return (await planReading(tx, "P1", 50_000_000)).bounds;
    });
    expect(bounds).toHaveLength(parts - 1);
  });

  test("knows settlements that carry the single-state flag", async () => {
    await receiveMany();
    expect(await planReading(sql, "P1", 0)).toMatchObject({ areFlagged: false });
    await receive(settled({ singleState: true }));
    expect(await planReading(sql, "P1", 0)).toMatchObject({ areFlagged: true });
  });

  test("holds no settlement with that flag for certain if it judges no times", async () => {
    await receive(placed(), settled({ singleState: true }));
    const plainOf = (areFlagged: boolean) =>
      sql.unsafe(
        `select places, plain from (
          select ${entry({ dropsOmittedLosses: false, tolerance: new Map(), areFlagged, namedBy: ["betId"] })}
          from callback_entries f where f.txn_id = 'bet-1'
        ) entries order by places`,
      );
    expect(await plainOf(false)).toEqual([
      { places: false, plain: false },
      { places: true, plain: true },
    ]);
    expect(await plainOf(true)).toEqual([
      { places: false, plain: true },
      { places: true, plain: true },
    ]);
  });

  test("is made by one process if the server has no room for several", async () => {
    await receiveMany();
    await refuse("53100", `${isScreening} and current_setting('max_parallel_workers_per_gather') <> '0'`);
    expect(await screen("P1", 1)).toEqual({ marks: 121, left: 2 });
  });

  test.each([
    ["has no room for it", "53200"],
    ["allows no temporary table", "42501"],
  ])("is skipped if the server %s: everything is compared exactly", async (_, code) => {
    await receiveMany();
    await refuse(code, isScreening);
    expect(await screen("P1", 1)).toEqual({ marks: 0, left: 0 });
    clock.set(minute(120));
    expect((await compareProduct(context, "P1", signal, { screenFrom: 1 })).compared).toBeGreaterThanOrEqual(
      60,
    );
    expect(await mismatches()).toEqual(["payout-differs of bet-0 is open"]);
  });

  test("that fails in any other way is logged", async () => {
    await receiveMany();
    await refuse("22012", isScreening);
    await expect(screen("P1", 1)).rejects.toMatchObject({ code: "22012" });
  });

  const screenAll = async (readsAll: boolean, rules?: ScreenRules) => {
    const marks = await due(readsAll);
    await inSnapshot(sql, (tx) => screenMarks(tx, "P1", clock.now(), marks, 100_000, null, rules));
  };

  /** How a screening reads the due marks before the comparison. */
  type Way = "whole" | "by index" | "unscreened";

  /** Two waves of play arrive, each compared when it comes and when its graces are over. */
  const playThrough = async (
    played: readonly Played[],
    ways: readonly [Way, Way],
    by: { readonly settings: Config; readonly rules?: ScreenRules } = { settings: config },
  ) => {
    await emptyTables(sql);
    await ledgerBegins();
    let compared = 0;
    for (const [wave, way] of ways.entries()) {
      clock.set(minute(wave * 600));
      const now = waveOf(played, wave, ways.length);
      await receive(...now.entries);
      await listed(...now.records);
      for (const minutes of [1, 120]) {
        clock.set(minute(wave * 600 + minutes));
        if (way !== "unscreened") await screenAll(way === "whole", by.rules);
        const judging = { ...context, config: by.settings };
        compared += (await compareProduct(judging, "P1", signal, { screenFrom: Number.POSITIVE_INFINITY }))
          .compared;
        await fetchPlanned();
      }
    }
    return { compared, state: await readState() };
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

  test.each<[number, Way, Way]>([
    [1, "whole", "by index"],
    [2, "by index", "whole"],
  ])(
    "finds the same as the exact comparison alone in a random world (seed %i: read %s, then %s)",
    async (seed, ...ways) => {
      const played = playRounds(seed, 200);
      const exact = await playThrough(played, ["unscreened", "unscreened"]);
      expect(exact.state.mismatches.length).toBeGreaterThan(25);
      const screened = await playThrough(played, ways);
      expect(screened.state).toEqual(exact.state);
      expect(screened.compared).toBeLessThan(0.8 * exact.compared);
    },
  );

  test.each<[number, Way, Way]>([
    [3, "whole", "by index"],
    [4, "by index", "whole"],
  ])(
    "does so too if losses are omitted and amounts differ within a tolerance (seed %i: read %s, then %s)",
    async (seed, ...ways) => {
      const played = playRounds(seed, 200).map(keepOtherwise);
      const settings = parseConfig({
        products: [{ productId: "P1", lostBets: "omitted" }],
        diff: { tolerance: { THB: "0.01" } },
      });
      const rules = { dropsOmittedLosses: true, tolerance: new Map([["THB", amount("0.01")]]) };
      const exact = await playThrough(played, ["unscreened", "unscreened"], { settings });
      expect(exact.state.mismatches.length).toBeGreaterThan(25);
      const screened = await playThrough(played, ways, { settings, rules });
      expect(screened.state).toEqual(exact.state);
      expect(screened.compared).toBeLessThan(0.8 * exact.compared);
    },
  );
});
