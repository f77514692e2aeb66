/** Random old bets of one or two players, so few ids that they collide, and everything that is stored about them. */

import fc from "fast-check";
import { BET_STATUSES, realRound } from "../../../src/bet.ts";
import { CALLBACKS } from "../../../src/callback.ts";
import type { Sql } from "../../../src/db/client.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";

export const DAY_MS = 24 * HOUR_MS;

/** Half of the runs delete both sides up to the first, and the others one of them up to the second. */
export const UP_TO = [NOON, NOON + DAY_MS] as const;

/** The beginning of the first closed day: before all rows, mostly, or between them. */
export const CLOSED_FROM = [...Array<number>(3).fill(NOON - 1000 * DAY_MS), NOON - 3 * DAY_MS] as const;

/** Far before, right before, at and after each time up to which rows are deleted; and of an unknown bet. */
const TIMES = [
  NOON - 900 * DAY_MS,
  NOON - 4 * DAY_MS,
  NOON - 3 * DAY_MS,
  NOON - 3 * DAY_MS,
  NOON - 2 * DAY_MS,
  NOON - 2 * DAY_MS,
  NOON - DAY_MS,
  NOON - 1,
  ...UP_TO.flatMap((at) => [at, at + 1]),
];

const time = fc.constantFrom(...TIMES);
const oldTime = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...TIMES.slice(1, 7)) },
  { weight: 1, arbitrary: time },
);
const place = {
  player: fc.constantFrom(0, 0, 0, 0, 0, 1),
  product: fc.constantFrom(...Array<number>(12).fill(0), 1),
  id: fc.constantFrom("a", "a", "b", "c", "d"),
  /** "own": a round of the bet's own */
  round: fc.constantFrom("own", "own", "own", "r1", "r1", "r2", "UNKNOWN", ""),
  currency: fc.constantFrom(...Array<string>(6).fill("THB"), "USD"),
};
const entry = fc.record({
  ...place,
  callback: fc.constantFrom(...CALLBACKS, "settleBets", "settleBets", "settleBets", "placeBets", "placeBets"),
  at: oldTime,
  request: fc.nat(5),
  waits: fc.constantFrom(false, false, false, true),
  byRound: fc.constantFrom(false, false, true),
  singleState: fc.constantFrom(null, null, null, true, false),
  endRound: fc.constantFrom(null, true, false),
  skips: fc.constantFrom(false, false, false, true),
  credits: fc.boolean(),
  noRound: fc.constantFrom(...Array<boolean>(9).fill(false), true),
});
const record = fc.record({
  ...place,
  /** by what the record names the bet */
  by: fc.constantFrom("betId", "betId", "id", "both"),
  number: fc.nat(1),
  status: fc.constantFrom(...BET_STATUSES, "SETTLED", "SETTLED", "SETTLED", "SETTLED", "SETTLED", "VOID"),
  at: fc.oneof({ weight: 3, arbitrary: oldTime }, { weight: 1, arbitrary: time }),
  seenAt: oldTime,
  /** what a fetch that did not return the record noted */
  absence: fc.constantFrom("none", "none", "none", "none", "decided", "decided", "elsewhere", "in doubt"),
});
const mismatch = fc.record({
  ...place,
  about: fc.constantFrom("bet", "round", "request", "session"),
  /** which columns name the bet */
  betId: fc.boolean(),
  transactionId: fc.boolean(),
  roundId: fc.boolean(),
  /** of a request: which one of the world */
  request: fc.nat(20),
  status: fc.constantFrom("open", "acknowledged", "resolved", "ignored"),
  misnames: fc.constantFrom(false, false, true),
});

/** A bet as most are: placed, settled and listed in a round. */
const bet = fc.record({
  ...place,
  at: fc.constantFrom(...TIMES.slice(1, 6)),
  lists: fc.boolean(),
  settles: fc.boolean(),
  /** its settlement ends the whole round */
  byRound: fc.constantFrom(false, false, true),
  /** when its settlement was received; null: at once */
  receivedAt: fc.constantFrom(...Array<null>(9).fill(null), ...UP_TO),
});

/** What happens within seconds in a round that no other row names. Its end reaches neither entries of no round nor another currency. */
const step = fc.record({
  id: fc.constantFrom("e", "f", "g"),
  callback: fc.constantFrom("placeBets", "placeBets", "settleBets", "settleBets", "cancelBets", "winRewards"),
  byRound: fc.constantFrom(false, true, true),
  noRound: fc.constantFrom(false, false, false, true),
  currency: fc.constantFrom("THB", "THB", "THB", "USD"),
});
export const world = fc.record({
  product: fc.nat(3),
  bets: fc.array(bet, { maxLength: 3 }),
  entries: fc.oneof(fc.array(entry, { maxLength: 1 }), fc.array(entry, { maxLength: 5 })),
  records: fc.array(record, { maxLength: 2 }),
  /** most worlds have none */
  steps: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 2, maxLength: 6 }) },
  ),
  mismatches: fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(mismatch, { minLength: 1, maxLength: 2 }) },
  ),
  /** when each request was received */
  receivedAt: fc.array(oldTime, { minLength: 6, maxLength: 6 }),
});
export type World = typeof world extends fc.Arbitrary<infer One> ? One : never;

export const PRODUCTS = [
  { productId: "P1" },
  { productId: "OMITS", lostBets: "omitted" },
  { productId: "SINGLE", singleState: true },
  { productId: "BOTH", singleState: true, lostBets: "omitted" },
];

type Row = Record<string, unknown>;
/** What names a bet. */
interface Place {
  readonly player: number;
  readonly product: number;
  readonly id: string;
  readonly round: string;
  readonly currency: string;
}
type Entry = Place & Omit<World["entries"][number], keyof Place>;

const iso = (at: number) => new Date(at).toISOString();

/** Writes the worlds, each with players of its own, and what the wallet, older versions and closed days say of them. */
export async function writeWorlds(sql: Sql, worlds: readonly World[]): Promise<void> {
  const rows = new Map<string, Map<string, Row>>();
  const put = (table: string, key: unknown[], row: Row) => {
    const ofTable = rows.get(table) ?? new Map<string, Row>();
    rows.set(table, ofTable);
    ofTable.set(JSON.stringify(key), row);
  };
  for (const [number, one] of worlds.entries()) writeWorld(one, number, put);
  await sql.begin(async (tx) => {
    await tx.unsafe("set local session_replication_role = replica");
    for (const [table, ofTable] of rows) {
      const all = [...ofTable.values()];
      const columns = Object.keys(all[0] ?? {}).join(", ");
      await tx.unsafe(
        `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::text::json)`,
        [JSON.stringify(all)] as never[],
      );
    }
  });
}

function writeWorld(
  { product, bets, entries, records, steps, mismatches, receivedAt }: World,
  number: number,
  put: (table: string, key: unknown[], row: Row) => void,
): void {
  const naming = ({ player, product: other, id, round, currency }: Place) => {
    const txn = `w${number}-${id}`;
    return {
      product_id: PRODUCTS[(product + other) % PRODUCTS.length]?.productId ?? "",
      username: `w${number}-${player}`,
      txn_id: txn,
      round_id: round === "own" ? `round of ${txn}` : round.startsWith("r") ? `w${number}-${round}` : round,
      currency,
    };
  };
  /** A closed day names a bet by its round if one of its rows has a round. */
  const closed: {
    product_id: string;
    username: string;
    round: string | null;
    txn: string;
    bet_ref: string;
  }[] = [];
  const close = (product_id: string, username: string, round: string | null, txn: string, bet_ref: string) =>
    closed.push({ product_id, username, round: realRound(round), txn, bet_ref });
  let entered = 0;
  const requests: [callback: string, requestId: string][] = [];
  const enter = (one: Entry, occurred: number, received: number, request: string) => {
    // The database refuses an entry that occurred more than a day after it was received.
    const at = Math.min(occurred, received + DAY_MS);
    const { product_id, username, txn_id, round_id: round, currency } = naming(one);
    const round_id = one.noRound || one.callback === "adjustBalance" ? null : round;
    const request_id = `${username}-${product_id}-${request}`;
    requests.push([one.callback, request_id]);
    const names = { product_id, username, txn_id };
    const entry_id = `w${number}-${entered}`;
    entered += 1;
    const status = one.callback === "placeBets" && one.waits ? "WAITING" : "OPEN";
    const content = {
      entry_id,
      callback: one.callback,
      request_id,
      ...names,
      currency,
      round_id,
      status: one.callback === "adjustBalance" ? (one.credits ? "CREDIT" : "DEBIT") : status,
      bet_amount: one.callback === "settleBets" && !one.credits ? null : "1",
      payout_amount: one.callback === "settleBets" || one.callback === "winRewards" ? "2" : null,
      transaction_type: one.byRound ? "BY_ROUND" : null,
      skip_balance_update: one.skips,
      occurred_at: iso(at),
      received_at: iso(received),
      single_state: one.callback === "settleBets" ? one.singleState : null,
      end_round: one.endRound,
      appended_in: "1",
    };
    put("callback_entries", [entry_id], content);
    put("entry_versions", [entry_id], {
      entry_id,
      ...names,
      content: {},
      change: "replaced",
      changed_at: iso(at),
    });
    const ends = one.callback === "settleBets" || one.callback === "cancelBets";
    put("wallet_bets", Object.values(names), {
      ...names,
      currency,
      status: ends ? "settled" : "open",
      ...{ stake: 1, debited: 1, settlement: 0, reward: 0, said: [] },
      ...{ was_debited: true, placed: true, waiting: false, tip: false, reward_only: false, end_round: true },
      payout_returned: false,
    });
    put("callback_requests", [product_id, one.callback, request_id], {
      ...{ product_id, callback: one.callback, request_id, digest: "", balance_before: 0, balance_after: 0 },
    });
    if (one.callback !== "adjustBalance") close(product_id, username, round_id, txn_id, txn_id);
  };
  const list = (one: World["records"][number]) => {
    const { product_id, username, txn_id, round_id, currency } = naming(one);
    const own = `${txn_id}-${one.number}`;
    const [bet_id, id] = [one.by === "id" ? own : txn_id, one.by === "betId" ? own : txn_id];
    const key = { product_id, username, bet_id, id };
    const content = {
      ...key,
      ...{
        round_id,
        currency,
        stake: 1,
        payout: one.number % 2,
        game_code: "G",
        game_name: "G",
        bet_status: one.status,
      },
      ...{ payout_status: "LOSE", accounting_date: iso(one.at), updated_date: iso(one.at) },
      ...{ version_seen_at: iso(one.seenAt), requested_at: iso(one.seenAt) },
    };
    put("bet_records", Object.values(key), content);
    put("bet_record_versions", Object.values(key), { ...content, replaced_at: iso(one.seenAt) });
    if (one.absence !== "none")
      put("record_absences", Object.values(key), {
        ...{ ...key, missed_since: iso(one.seenAt), elsewhere: one.absence === "elsewhere" },
        absent_since: one.absence === "decided" ? iso(one.seenAt) : null,
      });
    close(product_id, username, round_id, txn_id, bet_id);
  };

  for (const [index, one] of bets.entries()) {
    const usual = { ...one, request: 0, waits: false, byRound: false, singleState: null, endRound: null };
    const plain = { ...usual, skips: false, credits: false, noRound: false } as const;
    enter({ ...plain, callback: "placeBets" }, one.at, one.at, `place ${index}`);
    if (one.settles) {
      const settlement = { ...plain, byRound: one.byRound, callback: "settleBets" } as const;
      enter(settlement, one.at + 1000, one.receivedAt ?? one.at + 1000, `settle ${index}`);
    }
    if (one.lists)
      list({ ...one, by: "betId", number: 9, status: "SETTLED", seenAt: one.at, absence: "decided" });
  }
  for (const [index, one] of steps.entries()) {
    const usual = { player: 0, product: 0, round: "r3", waits: false, singleState: null, endRound: null };
    const at = NOON - 4 * DAY_MS + index * 1000;
    enter({ ...usual, skips: false, credits: false, at, request: 0, ...one }, at, at, `step ${index}`);
  }
  for (const one of entries) enter(one, one.at, receivedAt[one.request] ?? NOON, String(one.request));
  for (const one of records) list(one);
  for (const one of mismatches) {
    const { product_id, username, txn_id, round_id } = naming(one);
    const real = realRound(round_id) ?? `round of ${txn_id}`;
    const request = JSON.stringify(requests[one.request % Math.max(requests.length, 1)] ?? []);
    const subjects = {
      ...{ bet: `bet:${txn_id}`, round: `round:${real}`, request: `request:${request}` },
      session: `session:${iso(NOON)} THB`,
    };
    const misnamed = one.misnames && one.about === "bet";
    const kind = misnamed ? "username-differs" : "payout-differs";
    const subject = subjects[one.about];
    const named = one.about !== "session";
    put("mismatches", [product_id, username, subject, kind], {
      ...{
        product_id,
        username: misnamed ? `${username} else` : username,
        subject,
        kind,
        status: one.status,
      },
      bet_id: named && one.betId ? txn_id : null,
      transaction_id: named && one.transactionId ? txn_id : null,
      round_id: named && one.roundId ? real : null,
      ...{ amount_at_risk: 1, reason: "r", provider: { username }, occurred_at: iso(NOON) },
      ...{ first_seen_at: iso(NOON), last_seen_at: iso(NOON) },
    });
  }
  const nameOf = (one: (typeof closed)[number]) => JSON.stringify([one.product_id, one.username, one.txn]);
  const inRounds = new Set(closed.filter(({ round }) => round !== null).map(nameOf));
  for (const one of closed) {
    if (one.round === null && inRounds.has(nameOf(one))) continue;
    const { product_id, username, bet_ref } = one;
    const subject = one.round === null ? `bet:${bet_ref}` : `round:${one.round}`;
    const key = { product_id, username, subject, bet_ref, day: "2026-11-01", currency: "THB" };
    const figures = { provider_bets: 1, provider_stake: 1, provider_payout: 1, provider_net: 0 };
    put("closed_bets", Object.values(key), { ...key, ...figures });
  }
}

/** A round of enough bets that it may be too large to be loaded whole, and why its first bet stays. */
export interface WideRound {
  readonly bets: number;
  readonly first: "ended" | "open" | "running" | "mismatch";
}

export async function writeWideRound(sql: Sql, { bets, first }: WideRound): Promise<void> {
  const at = iso(NOON - 3 * DAY_MS);
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      bet_amount, payout_amount, skip_balance_update, occurred_at, received_at, appended_in)
    select 'wide ' || callback || n, callback, 'wide ' || callback || n, 'P1', 'wide', 'THB', 'wide ' || n, 'wide', 'OPEN', 1,
      2, false, ${at}, ${at}, '1'
    from generate_series(1, ${bets}) n, unnest(array['placeBets', 'settleBets']) callback
    where callback = 'placeBets' or n > 1 or ${first !== "open"}`;
  await sql`
    insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
      bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
    select 'P1', 'wide', 'wide ' || n, 'wide tx ' || n, 'wide', 'THB', 1, 2, 'G', 'G',
      case when n = 1 and ${first === "running"} then 'OPEN' else 'SETTLED' end, 'WIN', ${at}, ${at}, ${at}, ${at}
    from generate_series(1, ${bets}) n`;
  if (first !== "mismatch") return;
  await sql`
    insert into mismatches (product_id, username, subject, kind, status, bet_id, amount_at_risk, reason, occurred_at,
      first_seen_at, last_seen_at)
    values ('P1', 'wide', 'bet:wide 1', 'payout-differs', 'open', 'wide 1', 1, 'r', ${at}, ${at}, ${at})`;
}
