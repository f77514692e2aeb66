/** Finds the records because of which PostgreSQL refuses a page. */

import { LosslessNumber, parse, stringify } from "lossless-json";
import type { BetPage, BetRecord, RejectedRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { isRejectedValue } from "../db/database-error.ts";
import { withinSavepoint } from "../db/transactions.ts";
import { describeError, ReconError } from "../errors.ts";
import { formatAmount } from "../money.ts";
import { writeRecords } from "./record-store.ts";

/** Finding one record takes several statements, so more of them would occupy a fetcher for long. */
const MOST_REFUSED = 100;

/**
 * Writes the halves of the page, then the halves of each refused half, in a transaction that is rolled back.
 * @param refusal the error of the whole page
 * @returns the page with the refused records among its rejected ones
 * @throws ReconError `provider-bad-envelope` if no record is refused alone, or more than `MOST_REFUSED` are
 */
export async function withoutRefused(
  sql: Sql,
  productId: string,
  page: BetPage,
  now: Instant,
  refusal: unknown,
): Promise<BetPage> {
  const refused = new Map<BetRecord, RejectedRecord>();
  const times = { requestedAt: page.requestedAt, now };
  const search = async (tx: Query, records: readonly BetRecord[]): Promise<void> => {
    const [record] = records;
    if (record === undefined || refused.size > MOST_REFUSED) return;
    try {
      await withinSavepoint(tx, (part) => writeRecords(part, productId, records, times));
    } catch (error) {
      if (!isRejectedValue(error)) throw error;
      if (records.length === 1) {
        const reason = `PostgreSQL refuses the record: ${describeError(error)}`;
        refused.set(record, { raw: textOf(record), reason });
        return;
      }
      const middle = Math.ceil(records.length / 2);
      await search(tx, records.slice(0, middle));
      await search(tx, records.slice(middle));
    }
  };
  const undone = new Error("undone");
  await sql
    .begin(async (tx) => {
      await search(tx, page.records);
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  if (refused.size === 0 || refused.size > MOST_REFUSED) {
    const which = refused.size === 0 ? "no record alone" : `more than ${MOST_REFUSED} records`;
    throw new ReconError(
      "provider-bad-envelope",
      `PostgreSQL refuses a page of ${productId}, and ${which}: ${describeError(refusal)}`,
      { cause: refusal, retryable: true },
    );
  }
  return {
    ...page,
    records: page.records.filter((record) => !refused.has(record)),
    rejected: [...page.rejected, ...refused.values()],
  };
}

/** The record as the provider writes one, in another order. */
function textOf({ extra, stake, payout, ...texts }: BetRecord): string {
  const others = extra === null ? {} : (parse(extra) as object);
  const amounts = [stake, payout].map((one) => new LosslessNumber(formatAmount(one)));
  return stringify({ ...texts, stake: amounts[0], payout: amounts[1], ...others }) ?? "{}";
}
