/** Sessions (4.3, docs/mismatches.md): a player's run of adjustBalance entries, rewards, tips and records in one currency. */

import {
  abs,
  type Facts,
  groupBy,
  isFresh,
  type LedgerRow,
  type ListedRecord,
  sum,
  tolerated,
  units,
} from "./facts.ts";
import { type Judgement, movedAlone } from "./judge.ts";

interface Item {
  readonly at: number;
  readonly heardAt: number;
  readonly of: LedgerRow | ListedRecord;
  /** what the ledger's item asks for, and what moved for it; a record's payout − stake */
  readonly asked: bigint;
  readonly moved: bigint;
  readonly net: bigint;
}
type Run = readonly Item[];

const MOST_RUNS = 6;
const MOST_QUIETS = 24;
const askedOf = (run: Run) => sum(run.map(({ asked }) => asked));
const netOf = (run: Run) => sum(run.map(({ net }) => net));
const isOpen = (run: Run) => askedOf(run) !== netOf(run);
const isListed = ({ of }: Item) => "betId" in of;

export function judgeSessions(
  facts: Facts,
  productId: string,
  rows: readonly LedgerRow[],
  records: readonly ListedRecord[],
  judgement: Judgement,
): void {
  const inTime = rows.toSorted((a, b) => a.occurred_at - b.occurred_at || a.received_at - b.received_at);
  const items = [
    ...inTime.map((row, index) => itemOf(row, inTime.slice(0, index))),
    ...records.map(recordOf),
  ];
  for (const own of groupBy(items, ({ of }) => JSON.stringify([of.username, of.currency])))
    for (const run of joined(runsOf(own, facts.sessionQuiet), facts.sessionQuiet)) judgeRun(run);

  function judgeRun(run: Run): void {
    const [{ of, at }] = run as [Item];
    const { username, currency } = of;
    if (run.some((item) => isFresh(facts, Math.max(item.heardAt, item.at + facts.sessionQuiet)))) {
      const ids = [null, ...run.map((item) => ("betId" in item.of ? item.of.betId : item.of.txn_id))];
      judgement.undecided.push({ why: "fresh", productId, username, ids });
      return;
    }
    judgement.judged += 1;
    const [asked, net, moved] = [askedOf(run), netOf(run), sum(run.map((item) => item.moved))];
    const allowed = tolerated(facts, currency, run.length);
    const differs = abs(asked - net) > allowed;
    if (!differs && run.every((item) => abs(item.moved - item.asked) <= allowed)) return;
    const about = `the session of ${username} in ${currency} at ${new Date(at).toISOString()}`;
    const kind = differs ? "session-differs" : "net-differs";
    // Two readings of "the difference": of what was declared, or of what moved.
    const atRisk = [moved - net, asked - net, moved - asked].map(abs);
    const one = { kind, productId, username, currency, betIds: [null], txns: [null], atRisk };
    judgement.claims.push({ about, readings: [[{ ...one, effects: [moved - net] }]] });
  }
}

/** A repeat declares nothing new. The time of a reward or a tip is that of its first entry. */
function itemOf(row: LedgerRow, before: readonly LedgerRow[]): Item {
  const says = ({ callback, username, txn_id, status, bet_amount, payout_amount }: LedgerRow) =>
    JSON.stringify([callback, username, txn_id, status, `${units(bet_amount)} ${units(payout_amount)}`]);
  const equal = before.filter((other) => says(other) === says(row));
  const isRepeat = equal.some(({ request_id }) => request_id === row.request_id);
  const isIdle = equal.length > 0 && row.moved !== null && units(row.moved) === 0n;
  const asked = isRepeat || isIdle ? 0n : movedAlone({ ...row, moved: null });
  const isSame = (other: LedgerRow) => other.username === row.username && other.txn_id === row.txn_id;
  const first = row.callback === "adjustBalance" ? row : (before.find(isSame) ?? row);
  const moved = row.moved === null ? asked : units(row.moved);
  return { at: first.occurred_at, heardAt: row.received_at, of: row, asked, moved, net: 0n };
}

function recordOf(record: ListedRecord): Item {
  const [stake, payout] = [units(record.stake), units(record.payout)];
  const net = record.betStatus === "VOID" ? 0n : record.betStatus === "SETTLED" ? payout - stake : -stake;
  const [at, heardAt] = [Date.parse(record.accountingDate), Date.parse(record.updatedDate)];
  return { at, heardAt, of: record, asked: 0n, moved: 0n, net };
}

function runsOf(items: readonly Item[], quiet: number): Run[] {
  const inTime = items.toSorted((a, b) => a.at - b.at);
  const begins = inTime.flatMap(({ at }, index) =>
    at - (inTime[index - 1]?.at ?? 0) > quiet ? [index] : [],
  );
  return begins.map((from, index) => inTime.slice(from, begins[index + 1]));
}

/** Joins runs that are open and close each other, then a run of open records alone with the nearest open run. */
function joined(runs: readonly Run[], quiet: number): readonly Run[] {
  const join = (from: number, to: number) =>
    joined(runs.toSpliced(from, to - from + 1, runs.slice(from, to + 1).flat()), quiet);
  const apart = (from: number, to: number) => (runs[to]?.[0]?.at ?? 0) - (runs[from]?.at(-1)?.at ?? 0);
  for (let from = 0; from < runs.length; from++)
    for (let to = from + 1; to < Math.min(from + MOST_RUNS, runs.length); to++) {
      const part = runs.slice(from, to + 1);
      const isShort = (runs[to]?.at(-1)?.at ?? 0) - (runs[from]?.[0]?.at ?? 0) <= MOST_QUIETS * quiet;
      if (isShort && part.every(isOpen) && !isOpen(part.flat()) && part.flat().some(isListed))
        return join(from, to);
    }
  const alone = runs.findIndex((run) => isOpen(run) && run.every(isListed));
  const near = [[alone - 1, alone] as const, [alone, alone + 1] as const]
    .filter(([from, to]) => alone >= 0 && from >= 0 && [from, to].every((index) => isOpen(runs[index] ?? [])))
    .toSorted((a, b) => apart(...a) - apart(...b))[0];
  return near !== undefined && apart(...near) <= MOST_QUIETS * quiet ? join(...near) : runs;
}
