/** What a search found, as `recon find --json` and `GET /api/search` answer it. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, DATE, FLAG, listOf, objectOf, TEXT } from "../../answer.ts";
import { LEDGER_SIDE, MISMATCH_KINDS, MISMATCH_STATUSES, PROVIDER_SIDE } from "../../mismatch.ts";
import { compareSides } from "./compare-sides.ts";
import type { FoundBet, SearchResult } from "./search.ts";

const KIND = z.enum(MISMATCH_KINDS);
const NAMED = listOf(objectOf({ id: TEXT, kind: KIND, status: z.enum(MISMATCH_STATUSES) }));

export const FOUND_BET = objectOf({
  productId: TEXT,
  username: TEXT,
  roundId: z.nullable(TEXT),
  id: TEXT.meta({ description: "the betId or id of the record, or the transaction id of the callbacks" }),
  provider: z.nullable(PROVIDER_SIDE),
  ledger: z.nullable(LEDGER_SIDE),
  countsOn: z
    .nullable(DATE)
    .meta({ description: "the statement in which it counts; null: in none that is known" }),
  agrees: z.nullable(FLAG).meta({
    description: "null: not known, because one side need not have the bet yet, or a difference is accepted",
  }),
  difference: z.nullable(
    objectOf({
      kind: KIND,
      reason: TEXT,
      lacksDeleted: FLAG.meta({
        description: "rows that would explain it may be deleted: no mismatch opens",
      }),
    }),
  ),
  mismatches: NAMED,
});

export const SEARCH_ANSWER = objectOf({
  query: TEXT,
  mismatch: z.nullable(objectOf({ id: TEXT, kind: KIND, status: z.enum(MISMATCH_STATUSES) })),
  incident: z.nullable(objectOf({ id: TEXT, productId: TEXT, isOver: FLAG })),
  bets: listOf(FOUND_BET),
  hasMoreBets: FLAG,
  player: z.nullable(
    objectOf({
      playsAt: listOf(TEXT),
      undecided: listOf(objectOf({ currency: z.nullable(TEXT), count: COUNT, amountAtRisk: AMOUNT })).meta({
        description: "open and acknowledged mismatches",
      }),
    }),
  ),
  transfers: listOf(
    objectOf({
      kind: z.enum(["transfer", "top-up"]),
      productId: TEXT,
      username: TEXT,
      status: TEXT,
      amount: AMOUNT,
      currency: TEXT,
      mismatches: NAMED,
    }),
  ),
  requests: listOf(
    objectOf({ productId: TEXT, callback: TEXT, balanceBefore: AMOUNT, balanceAfter: AMOUNT }),
  ),
  unsearched: objectOf({ players: z.nullable(COUNT), entries: z.nullable(COUNT) }).meta({
    description:
      "after how many players, and how many of the newest entries, a search ended; null: all were searched",
  }),
});
export type SearchAnswer = AnswerOf<typeof SEARCH_ANSWER>;

export function describeSearch(query: string, found: SearchResult): SearchAnswer {
  const { numbered, bets, hasMore, playsAt, ofPlayer, transfers, requests, unsearched } = found;
  const { mismatch, incident } = numbered;
  return {
    query,
    mismatch: mismatch === null ? null : { id: mismatch.id, kind: mismatch.kind, status: mismatch.status },
    incident:
      incident === null
        ? null
        : { id: String(incident.id), productId: incident.productId, isOver: incident.endedAt !== null },
    bets: bets.map(({ ref, mismatches, ...bet }) => ({
      ...bet,
      id: ref,
      agrees: doesAgree(bet),
      mismatches: mismatches.map(named),
    })),
    hasMoreBets: hasMore,
    player:
      playsAt.length === 0
        ? null
        : {
            playsAt,
            undecided: ofPlayer.map(({ currency, count, amount }) => ({
              currency,
              count,
              amountAtRisk: amount,
            })),
          },
    transfers: transfers.map(({ mismatches, kind, productId, username, status, amount, currency }) => ({
      ...{ kind, productId, username, status, amount, currency },
      mismatches: mismatches.map(named),
    })),
    requests,
    unsearched,
  };
}

/** Whether both sides of a bet agree; null: not known. */
export function doesAgree({
  difference,
  provider,
  ledger,
}: Pick<FoundBet, "difference" | "provider" | "ledger">): boolean | null {
  if (difference !== null) return false;
  if (provider === null || ledger === null) return null;
  const differs = compareSides({ kind: "payout-differs", provider, ledger }).some(
    (one) => one.differs === true,
  );
  return differs ? null : true;
}

function named({ id, kind, status }: FoundBet["mismatches"][number]) {
  return { id: String(id), kind, status };
}
