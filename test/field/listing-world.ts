/** A provider over real HTTP whose records the test writes, and an operator whose program writes plain SQL. */

import { beforeEach } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { search } from "../../src/flows/read/search.ts";
import { readReport } from "../../src/flows/reports/read-report.ts";
import { silentLog } from "../../src/log.ts";
import { parseAmount, sumAmounts, ZERO } from "../../src/money.ts";
import { openProvider } from "../../src/provider/client.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { betItem, CREDENTIALS, page, useHttpProvider } from "../support/http-provider.ts";
import { pullProduct } from "../support/pull-product.ts";

/** Minutes after 11:00, as ISO 8601. */
const at = (minutes: number) => new Date(NOON - HOUR_MS + minutes * MINUTE_MS).toISOString();

/** A row of the ledger. `at` is in minutes after 11:00. */
export interface Row {
  readonly callback: string;
  /** default: anna */
  readonly username?: string;
  /** default: THB */
  readonly currency?: string;
  readonly txn: string;
  readonly at: number;
  readonly round?: string | null;
  readonly stake?: string;
  readonly payout?: string;
  readonly skip?: boolean;
  /** what the wallet did; default: what the item asks for */
  readonly moved?: string | null;
  /** what the operator answered, as "100 > 90"; default: unknown */
  readonly balances?: string;
}

/** An item of the provider's answer. `at` is in minutes after 11:00: its accountingDate and updatedDate. */
export interface Item {
  readonly bet: string;
  /** default: anna */
  readonly username?: string;
  /** default: THB */
  readonly currency?: string;
  readonly id?: string;
  readonly round?: string;
  readonly stake: string;
  readonly payout?: string;
  readonly status?: string;
  readonly at: number;
  /** the accountingDate, if it is not the updatedDate */
  readonly accountedAt?: number;
  /** when the provider begins to list it; default: `at` */
  readonly from?: number;
}

export const place = (txn: string, minutes: number, stake: string, more: Partial<Row> = {}): Row => ({
  callback: "placeBets",
  txn,
  at: minutes,
  stake,
  ...more,
});
export const settle = (txn: string, minutes: number, payout: string, more: Partial<Row> = {}): Row => ({
  callback: "settleBets",
  txn,
  at: minutes,
  payout,
  ...more,
});

/** Everything is judged at the last of these minutes: a bet may run for three hours. */
const STEPS = [20, 45, 60, 90, 120, 180, 240, 300, 360];
/** The minute from which the operator has corrected rows. */
const CORRECTED_AT = 240;
const never = new AbortController().signal;

/** Call at the top of a test file. */
export function useListingWorld() {
  const { sql } = useDatabase();
  const provider = useHttpProvider();
  beforeEach(() => emptyTables(sql));

  async function insert({ callback, txn, at: minutes, ...row }: Row, number: number): Promise<void> {
    const isCredit = callback === "adjustBalance" && row.payout !== undefined;
    await sql`insert into callback_entries ${sql({
      entry_id: `e-${number}`,
      callback,
      request_id: `q-${number}`,
      product_id: "P1",
      username: row.username ?? "anna",
      currency: row.currency ?? "THB",
      txn_id: txn,
      round_id: row.round === undefined ? "round-1" : row.round,
      status: callback === "adjustBalance" ? (isCredit ? "CREDIT" : "DEBIT") : "OPEN",
      bet_amount: row.stake ?? null,
      payout_amount: row.payout ?? null,
      skip_balance_update: row.skip ?? false,
      moved: row.moved ?? null,
      balance_before: row.balances?.split(" > ")[0] ?? null,
      balance_after: row.balances?.split(" > ")[1] ?? null,
      occurred_at: at(minutes),
      received_at: at(minutes),
    })}`;
  }

  function list(items: readonly Item[], now: number): void {
    const text = (value: string) => JSON.stringify(value);
    provider.answer(({ from, to }) =>
      page(
        items
          .filter((item) => {
            const date = Date.parse(at(item.accountedAt ?? item.at));
            return date >= from && date < to && (item.from ?? item.at) <= now;
          })
          .map((item) =>
            betItem({
              id: text(item.id ?? `rec-${item.bet}`),
              betId: text(item.bet),
              username: text(item.username ?? "anna"),
              ...(item.currency === undefined ? {} : { currency: text(item.currency) }),
              roundId: text(item.round ?? "round-1"),
              stake: item.stake,
              payout: item.payout ?? "0",
              betStatus: text(item.status ?? "SETTLED"),
              payoutStatus: '"UNKNOWN"',
              accountingDate: text(at(item.accountedAt ?? item.at)),
              updatedDate: text(at(item.at)),
            }),
          ),
      ),
    );
  }

  /**
   * Writes the rows and lists the items as time passes, and compares at each step.
   * @param product settings of the product
   * @param correction a statement by which the operator corrects rows of the ledger, before the last steps
   * @returns every mismatch that ever opened, and the first row of the day's statement
   */
  async function play(
    rows: readonly Row[],
    items: readonly Item[],
    product: object = {},
    diff: object = {},
    correction: string | null = null,
  ): Promise<{
    opened: string[];
    row: Record<string, unknown>;
    /** rows of the statement that the effects of open mismatches do not explain */
    unexplained: unknown[];
    find: (id: string) => ReturnType<typeof search>;
  }> {
    const clock = createTestClock(Date.parse(at(0)));
    const config = parseConfig({
      products: [{ productId: "P1", since: at(0), stuckOpenAfter: "PT3H", ...product }],
      diff: { sessionQuiet: "PT30M", ...diff },
      ledger: { since: "2026-11-20T00:00:00Z" },
    });
    const limits = { requestTimeoutMs: 60_000, connections: 2, production: false };
    const client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
    const context = { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage };
    const written = new Set<Row>();
    try {
      for (const now of STEPS) {
        clock.set(Date.parse(at(now)));
        for (const row of rows.filter((one) => one.at <= now && !written.has(one))) {
          await insert(row, written.add(row).size);
        }
        if (now === CORRECTED_AT && correction !== null) await sql.unsafe(correction);
        list(items, now);
        await pullProduct(context, "P1", never);
        await compareProduct(context, "P1", never);
      }
    } finally {
      client.close();
    }
    const opened = await sql<{ story: string }[]>`
      select kind || ' of ' || substr(subject, strpos(subject, ':') + 1) || ', effect ' || coalesce(effect::text, '?')
        || case status when 'open' then '' else ', ' || status end as story
      from mismatches order by 1`;
    const day = { day: "2026-11-20", zone: "UTC", from: NOON - 12 * HOUR_MS, to: NOON + 12 * HOUR_MS };
    const { rows: statement } = await readReport(context, day);
    const effects = await sql<{ currency: string; effect: string }[]>`
      select currency, effect from mismatches where status = 'open' and effect is not null
      union all
      select other ->> 'currency', (other ->> 'effect')::numeric
      from mismatches, jsonb_array_elements(ledger -> 'otherCurrencies') as other where status = 'open'`;
    const unexplained = statement.filter(({ currency, mismatches, rest }) => {
      const own = effects.filter((one) => one.currency === currency).map(({ effect }) => effect);
      return (
        !sumAmounts([mismatches, ...own].map((text) => parseAmount(text, "sum"))).eq(ZERO) || rest !== "0"
      );
    });
    return {
      opened: opened.map(({ story }) => story),
      unexplained,
      row: { ...statement[0] },
      find: (id) => search(context, id),
    };
  }

  return { sql, play };
}
