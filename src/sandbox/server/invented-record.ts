/** Records of bets that never happened. A faulty provider adds them to a page, and auditors can recognise them. */

import { parseAmount } from "../../money.ts";
import type { FaultAction } from "../faults/fault.ts";
import { providerTime } from "../world/provider-side.ts";
import { hashText } from "../world/random.ts";
import type { BetQuery } from "./bet-query.ts";

/** The prefix of `id`, `betId` and `roundId` of every invented record, and of no other record. */
const INVENTED = "invented-";

/** Whether an id, bet id or round id belongs to an invented record. */
export function isInvented(id: string): boolean {
  return id.startsWith(INVENTED);
}

type Invention = Extract<FaultAction, { kind: "foreign-record" | "out-of-range" | "malformed-record" }>;

const HOUR_MS = 3_600_000;

/**
 * Makes the record that a fault adds to a page. The same page always gets the same record, so that a repeated fetch
 * shows nothing new.
 * @param foreignProductId a product other than the query's
 */
export function inventRecord(action: Invention, query: BetQuery, foreignProductId: string): object {
  const name = action.kind === "malformed-record" ? action.variant : action.kind;
  const place = hashText(JSON.stringify([query.productId, query.range, query.page, name]));
  const id = `${INVENTED}${name}-${place.toString(36)}`;
  const record = {
    id,
    betId: id,
    username: "player-001",
    currency: "THB",
    accountingDate: providerTime(query.range.from),
    updatedDate: providerTime(query.range.from),
    stake: parseAmount("10.50", "stake"),
    payout: parseAmount("21", "payout"),
    productId: query.productId,
    gameCode: "invented",
    gameName: "Invented",
    roundId: id,
    betStatus: "SETTLED",
    payoutStatus: "WIN",
  };
  switch (action.kind) {
    case "foreign-record":
      return { ...record, productId: foreignProductId };
    case "out-of-range": {
      const before = providerTime(query.range.from - HOUR_MS);
      return { ...record, accountingDate: before, updatedDate: before };
    }
    case "malformed-record":
      return spoilRecord(record, action.variant);
  }
}

type MalformedVariant = Extract<FaultAction, { kind: "malformed-record" }>["variant"];

function spoilRecord(
  record: { readonly currency: string; readonly accountingDate: string },
  variant: MalformedVariant,
): object {
  switch (variant) {
    case "field-missing": {
      const { currency: _, ...rest } = record;
      return rest;
    }
    case "amount-as-text":
      return { ...record, stake: "10.50" };
    case "amount-no-number":
      return { ...record, payout: "twenty-one" };
    case "date-without-offset":
      return { ...record, accountingDate: record.accountingDate.slice(0, "2026-11-20T10:00:00.000".length) };
    case "unknown-status":
      return { ...record, betStatus: "PENDING" };
    case "nul-in-name":
      return { ...record, gameName: "In\0vented" };
  }
}
