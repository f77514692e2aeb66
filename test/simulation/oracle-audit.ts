/** Lets the oracle judge a played world beside the auditor: from the operator's rows and the provider's list, not from the plan. */

import type { FlowContext } from "../../src/flows/context.ts";
import { listMismatches } from "../../src/flows/read/list-mismatches.ts";
import { measureOutside } from "../../src/flows/read/read-outside.ts";
import type { World } from "../../src/sandbox/world/world.ts";
import { abs, type LedgerRow, type ListedRecord, units } from "../oracle/facts.ts";
import { type Expected, type Judgement, judge } from "../oracle/judge.ts";
import { written } from "../sandbox/agent.ts";

const HOUR_MS = 3_600_000;

export interface OracleAudit {
  /** one line for each disagreement */
  readonly problems: string[];
  /** what the oracle judged, and by reason what it did not, in words */
  readonly summary: string;
}

/** @param steps the moments at which the worker worked: a record was fetched if two in a row list it */
export async function auditByOracle(
  context: FlowContext,
  world: World,
  steps: readonly number[],
): Promise<OracleAudit> {
  const { sql, config, clock } = context;
  const now = clock.now();
  const listAt = (at: number) =>
    config.products.flatMap(
      ({ productId }) =>
        written(world.recordsIn(productId, { from: 0, to: at + 1 }, at)) as unknown as ListedRecord[],
    );
  const idOf = ({ productId, username, betId, id }: ListedRecord) =>
    JSON.stringify([productId, username, betId, id]);
  let before = new Set<string>();
  const onceListed = new Map<string, ListedRecord>();
  for (const step of steps) {
    const listed = listAt(step);
    for (const record of listed) if (before.has(idOf(record))) onceListed.set(idOf(record), record);
    before = new Set(listed.map(idOf));
  }
  const rows = await sql<LedgerRow[]>`select * from ${sql(config.ledger.relation ?? "callback_entries")}`;
  const rejected = await sql<Pick<LedgerRow, "product_id" | "username" | "txn_id">[]>`
    select product_id, username, txn_id from rejected_entries where kind = 'unusable' and txn_id is not null`;
  const judgement = judge({
    rows,
    rejected,
    records: listAt(now),
    onceListed: [...onceListed.values()],
    products: config.products,
    ledgerSince: config.ledger.since,
    balances: config.ledger.balances,
    sessionQuiet: config.diff.sessionQuiet,
    tolerance: config.diff.tolerance,
    now,
    fresh: config.diff.callbackGrace + config.diff.providerGrace + HOUR_MS / 2,
  });
  const all = { statuses: [], kind: null, productId: null, username: null, order: null } as const;
  const { mismatches, next } = await listMismatches(context, { ...all, limit: 1_000, after: null });
  if (next !== null) throw new Error("more than 1,000 mismatches are open");
  const { problems, notJudged } = disagree(judgement, mismatches);
  const measured = (await measureOutside(context)).content.money.map(
    ({ productId, currency, outside }) => `${productId} ${currency} ${outside}`,
  );
  const outside = [...judgement.outside].map(([key, moved]) => `${key} ${inText(moved)}`);
  const [is, should] = [measured.toSorted().join(", "), outside.toSorted().join(", ")];
  if (is !== should) problems.push(`outside is ${is || "nothing"} instead of ${should || "nothing"}`);
  const undecided = [...notJudged].map(([why, count]) => `${count} of ${why}`).join(", ");
  return {
    problems: problems.map((problem) => `the oracle: ${problem}`),
    summary: `the oracle judged ${judgement.judged}, wants ${judgement.claims.length} open; not judged: ${undecided || "none"}`,
  };
}

/** A mismatch that the program holds open. */
export interface Held {
  readonly kind: string;
  readonly productId: string;
  readonly username: string;
  readonly currency: string | null;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
  readonly amountAtRisk: string;
  readonly effect: string | null;
}

interface Disagreements {
  /** one line for each: what must be open and is not, and what is open without a reason */
  readonly problems: string[];
  /** by reason, how many bets, rounds or sessions were not judged */
  readonly notJudged: ReadonlyMap<string, number>;
}

export function disagree({ claims, undecided }: Judgement, held: readonly Held[]): Disagreements {
  const left = new Set(held);
  const problems: string[] = [];
  for (const { about, readings } of claims) {
    const found = readings.map((reading) => findAll(reading, left)).find((all) => all !== null);
    for (const one of found ?? []) left.delete(one);
    if (found === undefined || found === null)
      problems.push(
        `of ${about}, must be open: ${readings.map((reading) => reading.map(show).join(" and ") || "nothing").join("; or ")}`,
      );
  }
  for (const one of left) {
    const ids = [one.betId, one.transactionId, one.roundId];
    const isUndecided = undecided.some(
      (doubt) =>
        doubt.productId === one.productId &&
        doubt.username === one.username &&
        // A bet with a rejected entry is pending: nothing is said to be missing (3.4).
        !(doubt.why === "a rejected entry" && one.kind.startsWith("missing-")) &&
        (ids.some((id) => id !== null && doubt.ids.includes(id)) ||
          (doubt.ids.includes(null) && ids.every((id) => id === null))),
    );
    if (!isUndecided) problems.push(`open without a reason: ${JSON.stringify(one)}`);
  }
  const notJudged = new Map<string, number>();
  for (const { why } of undecided) notJudged.set(why, (notJudged.get(why) ?? 0) + 1);
  return { problems, notJudged };
}

function findAll(reading: readonly Expected[], left: ReadonlySet<Held>): Held[] | null {
  const found: Held[] = [];
  for (const expected of reading) {
    const one = [...left].find((held) => !found.includes(held) && isSame(expected, held));
    if (one === undefined) return null;
    found.push(one);
  }
  return found;
}

function isSame(expected: Expected, held: Held): boolean {
  const isOneOf = <Value>(values: readonly Value[] | undefined, value: Value) =>
    values?.includes(value) ?? true;
  return (
    expected.kind === held.kind &&
    expected.productId === held.productId &&
    expected.username === held.username &&
    isOneOf(expected.currency === undefined ? undefined : [expected.currency], held.currency) &&
    isOneOf(expected.betIds, held.betId) &&
    isOneOf(expected.txns, held.transactionId) &&
    isOneOf(expected.rounds, held.roundId) &&
    isOneOf(expected.atRisk, abs(units(held.amountAtRisk))) &&
    (held.effect === null || isOneOf(expected.effects, units(held.effect)))
  );
}

function show({ atRisk, effects, ...expected }: Expected): string {
  const amounts = { atRisk: atRisk?.map(inText), effects: effects?.map(inText) };
  return JSON.stringify({ ...expected, ...amounts });
}

function inText(value: bigint): string {
  const one = units("1");
  const part = `${one + (abs(value) % one)}`.slice(1).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${abs(value) / one}${part === "" ? "" : `.${part}`}`;
}
