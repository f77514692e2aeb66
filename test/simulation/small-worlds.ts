/**
 * Every small world: up to four callbacks of a round with two bets, in every order, and up to two records of it. The program's
 * fold and comparison on one side, the oracle on the other. `node test/simulation/small-worlds.ts [SHARE]` plays all of them, or
 * one of SHARE, and prints each kind of disagreement once.
 */

import { pathToFileURL } from "node:url";
import type { StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { assessPairs } from "../../src/diff/assess.ts";
import { foldEntries } from "../../src/ledger/fold.ts";
import { formatAmount, parseAmount } from "../../src/money.ts";
import type { LedgerRow, ListedRecord } from "../oracle/facts.ts";
import { judge } from "../oracle/judge.ts";
import { exampleEntry, exampleRecord, HOUR_MS, NOON } from "../support/examples.ts";
import { rowOf } from "./operator-ledger.ts";
import { disagree, type Held } from "./oracle-audit.ts";

type Said = Partial<Omit<CallbackEntry, "betAmount" | "payoutAmount" | "moved">> & {
  readonly bet?: string;
  readonly payout?: string;
  readonly moved?: string;
};

const MOST_SHOWN = 20;
const DAY_MS = 24 * HOUR_MS;
const NOW = NOON + 2 * DAY_MS;
const IDLE = "place, moved nothing";
const BY_ROUND = { transactionType: "BY_ROUND" } as const;

/** What a provider can say about a round. A null `moved` stands for what the item asks for. */
const SAID: Readonly<Record<string, Said>> = {
  place: { callback: "placeBets", bet: "10" },
  "place again": { callback: "placeBets", bet: "10", requestId: "again" },
  "place repeated": { callback: "placeBets", bet: "10", requestId: "place" },
  [IDLE]: { callback: "placeBets", bet: "10", moved: "0", requestId: "idle" },
  "place b": { callback: "placeBets", bet: "20", txnId: "b" },
  adjust: { callback: "adjustBets", bet: "12" },
  settle: { callback: "settleBets", payout: "15", status: "SETTLED" },
  "settle again": {
    callback: "settleBets",
    payout: "15",
    status: "SETTLED",
    requestId: "settle again",
    moved: "0",
  },
  "settle repeated": { callback: "settleBets", payout: "15", status: "SETTLED", requestId: "settle" },
  "settle a part": { callback: "settleBets", payout: "4", status: "SETTLED", endRound: false },
  "settle b": { callback: "settleBets", payout: "5", status: "SETTLED", txnId: "b" },
  "settle round": { callback: "settleBets", payout: "20", status: "SETTLED", ...BY_ROUND },
  cancel: { callback: "cancelBets", bet: "10", status: "REFUND" },
  "cancel round": { callback: "cancelBets", bet: "10", status: "REFUND", ...BY_ROUND },
  void: { callback: "voidSettled", bet: "10", payout: "15", status: "SETTLED" },
  rollback: { callback: "rollback", bet: "0", payout: "15", status: "ROLLBACK" },
  "roll void back": { callback: "rollback", bet: "10", payout: "0", status: "ROLLBACK" },
  reward: { callback: "winRewards", payout: "7", status: "SETTLED" },
  tip: { callback: "placeTips", bet: "3", status: "TIPS", txnId: "tip" },
};

const LISTED: Readonly<Record<string, Partial<ListedRecord>>> = {
  open: { stake: "10", betStatus: "OPEN" },
  settled: { stake: "10", payout: "15" },
  "settled with reward": { stake: "10", payout: "22" },
  void: { stake: "10", betStatus: "VOID" },
  b: { id: "2", betId: "b", stake: "20", payout: "5" },
  whole: { id: "w", betId: "w", stake: "30", payout: "20" },
};

export interface SmallWorld {
  readonly said: readonly string[];
  readonly listed: readonly string[];
  readonly atOnce: boolean;
}

/** A repeat follows what it repeats, and a wallet debits a placement or does not. */
function mayFollow(before: readonly string[], one: string): boolean {
  if (before.includes(one)) return false;
  const [, repeated] = /^(.+) (?:again|repeated)$/.exec(one) ?? [];
  if (repeated !== undefined) return before.includes(repeated);
  // Open question: what the null of a cancel stands for if the placement is known to have moved nothing.
  if (one.startsWith("cancel") && before.includes(IDLE)) return false;
  if (one === IDLE && before.some((other) => other.startsWith("cancel"))) return false;
  if (one === IDLE) return !before.includes("place");
  return one !== "place" || !before.includes(IDLE);
}

/** @param share plays one world in this many, spread evenly */
export function* smallWorlds(share: number): Generator<SmallWorld> {
  let number = 0;
  const records = Object.keys(LISTED);
  const lists = [[], ...records.map((one) => [one])];
  for (const [index, one] of records.entries())
    for (const other of records.slice(index + 1)) lists.push([one, other]);
  function* orders(length: number): Generator<string[]> {
    if (length === 0) yield [];
    else
      for (const before of orders(length - 1))
        for (const one of Object.keys(SAID)) if (mayFollow(before, one)) yield [...before, one];
  }
  for (let length = 0; length <= 4; length++)
    for (const said of orders(length))
      for (const listed of lists)
        for (const atOnce of [false, true]) {
          // The order of one moment is lost: ids in the order of the names stand for all of them.
          if (atOnce && (length < 2 || said.toSorted().join() !== said.join())) continue;
          number += 1;
          if (number % share === 0) yield { said, listed, atOnce };
        }
}

export interface PlayedWorld {
  /** one line for each disagreement */
  readonly problems: readonly string[];
  /** why the oracle did not judge all of the world; null: it did */
  readonly notJudged: string | null;
}

/** @param spoil changes what the program holds, to see whether that is noticed */
export function playSmallWorld(
  { said, listed, atOnce }: SmallWorld,
  spoil: (held: Held[]) => Held[] = (held) => held,
): PlayedWorld {
  const entries = said.map((name, index) => {
    const { bet, payout, moved, ...fields } = SAID[name] as Said;
    const at = NOON + (atOnce ? 0 : index * 60_000);
    return exampleEntry({
      entryId: `e-${index}`,
      requestId: name,
      txnId: "a",
      roundId: "r",
      occurredAt: at,
      receivedAt: at,
      ...fields,
      betAmount: bet === undefined ? null : parseAmount(bet, "bet"),
      payoutAmount: payout === undefined ? null : parseAmount(payout, "payout"),
      moved: moved === undefined ? null : parseAmount(moved, "moved"),
    });
  });
  const records = listed.map((name): ListedRecord => {
    const time = new Date(NOON).toISOString();
    return {
      id: "1",
      betId: "a",
      username: "anna",
      currency: "THB",
      stake: "0",
      payout: "0",
      productId: "P1",
      roundId: "r",
      betStatus: "SETTLED",
      payoutStatus: "UNKNOWN",
      accountingDate: time,
      updatedDate: time,
      ...LISTED[name],
    };
  });
  const keyed = records.map((record, index) => ({ ...record, id: `${record.id}-${index}` }));
  const product = {
    productId: "P1",
    walletMode: "seamless",
    settlement: "bets",
    lostBets: "written",
    matchBy: ["betId", "id", "round"],
    singleState: false,
    openBetsListed: false,
    nominalStakes: false,
    stuckOpenAfter: DAY_MS,
    ledgerSince: null,
  };
  const judgement = judge({
    rows: entries.map(
      (entry): LedgerRow =>
        ({ ...rowOf(entry), occurred_at: entry.occurredAt, received_at: entry.receivedAt }) as never,
    ),
    rejected: [],
    records: keyed,
    onceListed: [],
    products: [product],
    ledgerSince: NOON - 100 * DAY_MS,
    balances: "partial",
    sessionQuiet: HOUR_MS,
    tolerance: {},
    now: NOW,
    fresh: 6 * HOUR_MS,
  });
  const { problems } = disagree(judgement, spoil(heldBy(entries, keyed)));
  return { problems, notJudged: judgement.undecided[0]?.why ?? null };
}

/** What the program holds open when all graces are over. */
function heldBy(entries: readonly CallbackEntry[], listed: readonly ListedRecord[]): Held[] {
  const records = listed.map((record) =>
    exampleRecord({
      ...(record as unknown as Partial<StoredRecord>),
      stake: parseAmount(record.stake, "stake"),
      payout: parseAmount(record.payout, "payout"),
    }),
  );
  const settings = {
    productId: "P1",
    matchBy: ["betId", "id", "round"],
    ledgerStart: NOON - 100 * DAY_MS,
    stuckOpenAfterMs: DAY_MS,
    openBetsListed: false,
    lostBets: "written",
    nominalStakes: false,
    tolerance: new Map(),
  } as const;
  return assessPairs(records, foldEntries(entries, { singleState: false }), settings).flatMap(
    ({ pending }) => {
      if (pending === null || pending.waitsForRound || (pending.existsFrom ?? 0) > NOW) return [];
      const { content: finding } = pending;
      const effect = finding.effect === undefined ? null : formatAmount(finding.effect);
      return [{ ...finding, amountAtRisk: formatAmount(finding.amountAtRisk), effect }];
    },
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const counts = new Map<string, number>();
  const shown = new Set<string>();
  let failed = 0;
  for (const world of smallWorlds(Number(process.argv[2] ?? 1))) {
    const { problems, notJudged } = playSmallWorld(world);
    counts.set(notJudged ?? "judged", (counts.get(notJudged ?? "judged") ?? 0) + 1);
    if (problems.length === 0) continue;
    failed += 1;
    // Of the worlds that differ only in their records, the first.
    const said = world.said.join();
    if (shown.has(said) || shown.size === MOST_SHOWN) continue;
    shown.add(said);
    console.log(`${JSON.stringify(world)}\n  ${problems.join("\n  ")}`);
  }
  for (const [why, count] of [...counts].toSorted(([, a], [, b]) => b - a)) console.log(`${count} ${why}`);
  console.log(`${failed} worlds in which the program and the oracle disagree`);
  process.exitCode = failed === 0 ? 0 : 1;
}
