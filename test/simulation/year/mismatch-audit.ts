/** Follows the mismatches of a year: what was found, by whom each ended, and whether its evidence stays. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { formatAmount, parseAmount } from "../../../src/money.ts";
import type { PlantedFault } from "../../../src/sandbox/world/world.ts";
import type { AuditedMismatch } from "../audit.ts";
import type { ChangingBet } from "./changing-bet.ts";
import { CHANGING } from "./year-plan.ts";

export interface SeenMismatch extends AuditedMismatch {
  readonly id: number;
  readonly currency: string | null;
  readonly resolvedBy: string | null;
  readonly occurredAt: Instant;
  readonly firstSeenAt: Instant;
  readonly isAdjusted: boolean;
  /** the numbers of records and entries that it names */
  readonly records: number;
  readonly entries: number;
}

const OWN: ReadonlySet<string> = new Set(Object.values(CHANGING));
const DAY_MS = 86_400_000;
/** A fault is found at most this long after it is complete, also if the worker was down. */
const FOUND_AFTER_MS = 4 * DAY_MS;

export class MismatchAudit {
  /** the newest content of each mismatch that ever was */
  readonly #seen = new Map<number, SeenMismatch>();
  #problems: string[] = [];

  /** Reads all mismatches, and compares their evidence with that of the last reading. */
  async read(sql: Sql): Promise<SeenMismatch[]> {
    const rows = await sql<SeenMismatch[]>`
      select id, kind, product_id as "productId", username, bet_id as "betId", transaction_id as "transactionId",
        round_id as "roundId", currency, amount_at_risk as "amountAtRisk", status, reason, resolved_by as "resolvedBy",
        occurred_at as "occurredAt", first_seen_at as "firstSeenAt",
        exists (select from adjustments a where a.mismatch_id = m.id) as "isAdjusted",
        (select count(*)::integer from bet_records r where r.product_id = m.product_id
          and (r.bet_id in (m.bet_id, m.transaction_id) or r.id = m.transaction_id)) as records,
        (select count(*)::integer from callback_entries e where e.product_id = m.product_id and e.username = m.username
          and (e.txn_id = m.transaction_id or m.kind = 'session-differs'
            and abs(extract(epoch from e.occurred_at - m.occurred_at)) < 1800)) as entries
      from mismatches m order by id`;
    for (const row of rows) {
      const before = this.#seen.get(row.id);
      // Operators delete entries of the changing bets.
      const isLess = before !== undefined && (row.records < before.records || row.entries < before.entries);
      if (isLess && !OWN.has(row.productId)) this.#problems.push(`evidence is lost of ${describe(row)}`);
      this.#seen.set(row.id, row);
    }
    return rows;
  }

  get found(): number {
    return this.#seen.size;
  }

  /** The planted faults that were ever open. */
  foundOf(planted: readonly PlantedFault[]): PlantedFault[] {
    const rows = [...this.#seen.values()].filter(
      ({ kind, records }) => kind !== "stuck-open" || records === 0,
    );
    const seen = new Set(rows.map(identify));
    return planted.filter((fault) => namesOf(fault).some((name) => seen.has(name)));
  }

  /**
   * Everything that is wrong so far.
   * @param planted all faults that are complete
   * @param endless txn ids of bets that never end: in a year they are stuck
   */
  findProblems(
    planted: readonly PlantedFault[],
    endless: ReadonlySet<string>,
    changing: readonly ChangingBet[],
    now: Instant,
  ): string[] {
    const problems = this.#problems;
    this.#problems = [];
    const due = planted.filter(({ completeAt }) => completeAt < now - FOUND_AFTER_MS);
    const found = new Set(this.foundOf(due));
    problems.push(
      ...due.filter((fault) => !found.has(fault)).map((fault) => `missed ${JSON.stringify(fault)}`),
    );
    const expected = new Set(planted.map(identify));
    const byName = changingByName(changing);
    const shown = new Set<string>();
    for (const one of this.#seen.values()) {
      if (!OWN.has(one.productId)) {
        const isOver = one.firstSeenAt < now - DAY_MS;
        if (one.kind === "stuck-open" && endless.has(one.transactionId ?? "")) continue;
        if (isOver && !expected.has(identify(one))) problems.push(`not planted: ${describe(one)}`);
        else if (one.resolvedBy === "recon") problems.push(`resolved by itself: ${describe(one)}`);
        continue;
      }
      const bet = byName(one);
      if (bet === undefined) problems.push(`about no bet: ${describe(one)}`);
      else if (bet.mustShow !== one.kind && !bet.mayShow.some((kind) => kind === one.kind)) {
        problems.push(`not expected of the bet "${bet.story}": ${describe(one)}`);
      } else shown.add(`${bet.ids[0]} ${one.kind}`);
    }
    for (const bet of changing) {
      if (bet.mustShow === null || (bet.states.at(-1)?.from ?? now) > now - FOUND_AFTER_MS) continue;
      if (!shown.has(`${bet.ids[0]} ${bet.mustShow}`)) {
        problems.push(`missed ${bet.mustShow} of the bet "${bet.story}" ${bet.ids[0]} of ${bet.username}`);
      }
    }
    return problems;
  }
}

/** Finds the bet that a mismatch is about: by its ids, or a session by its player and time. */
function changingByName(changing: readonly ChangingBet[]) {
  const byId = new Map(changing.flatMap((bet) => bet.ids.map((id) => [id, bet] as const)));
  const sessions = changing.filter(({ productId }) => productId === CHANGING.sessions);
  return (one: SeenMismatch): ChangingBet | undefined =>
    one.kind === "session-differs"
      ? sessions.find(
          ({ username, startedAt }) =>
            username === one.username && Math.abs(startedAt - one.occurredAt) < 3_600_000,
        )
      : byId.get(one.transactionId ?? one.betId ?? "");
}

/**
 * How a planted fault may be found. Where lost bets are omitted, the ledger has a bet open whose record was gone before
 * the worker saw it: nothing says that the bet ended, so it is stuck.
 */
function namesOf(fault: PlantedFault): string[] {
  const isGone = fault.kind === "vanished-at-provider";
  return [fault, ...(isGone ? [{ ...fault, kind: "stuck-open" } as const] : [])].map(identify);
}

function identify(one: PlantedFault | SeenMismatch): string {
  const atRisk = formatAmount(parseAmount(one.amountAtRisk, "amountAtRisk"));
  const { productId, username, betId, transactionId, roundId } = one;
  // A record that was gone before the worker saw it is missing.
  const kind = one.kind === "vanished-at-provider" ? "missing-at-provider" : one.kind;
  return JSON.stringify([kind, productId, username, betId, transactionId, roundId, atRisk]);
}

function describe({
  id,
  kind,
  productId,
  username,
  betId,
  transactionId,
  status,
  reason,
}: SeenMismatch): string {
  return `mismatch ${id} ${kind} of ${productId} ${username} ${betId} ${transactionId} (${status}): ${reason}`;
}
