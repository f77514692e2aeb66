/** Finds what both sides reported about a mismatch: the choice of record versions, and the callback entries. */

import { realRound } from "../../bet.ts";
import type { CallbackEntry } from "../../callback.ts";
import { parseInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { readBetsOfRequests } from "../../diff/link-store.ts";
import { readEntries, readTxnIds } from "../../ledger/store.ts";
import type { Mismatch } from "../../mismatch.ts";
import { readRequestsOf } from "../../mismatches/store.ts";
import type { VersionChoice } from "../../sync/record-version-store.ts";

/** The most callback entries, and the most record versions, that are shown of one mismatch. */
export const MOST_EVENTS = 1_000;

/** The choice of record versions: a whole round, the time of a session, or the ids that the sides name. */
export function chooseEvents(mismatch: Mismatch): VersionChoice {
  const { kind, provider, ledger } = mismatch;
  const sides = { ...ledger, ...provider } as Readonly<Record<string, string | null | undefined>>;
  const ids = distinct([mismatch.transactionId, mismatch.betId, sides["id"], sides["betId"], sides["txnId"]]);
  const rounds = distinct([realRound(mismatch.roundId)]);
  const times = distinct([sides["firstEntryAt"], sides["lastEntryAt"], sides["accountingDate"]]).map((text) =>
    parseInstant(text, "time"),
  );
  return {
    usernames: distinct([mismatch.username, provider?.username, ledger?.username]),
    ids: kind === "round-differs" || kind === "session-differs" ? [] : ids,
    rounds: kind === "round-differs" ? rounds : [],
    between:
      kind === "session-differs" && times.length > 0
        ? { from: Math.min(...times), to: Math.max(...times) }
        : null,
  };
}

/** The entries behind a mismatch. Those of a whole round or session may be more than `MOST_EVENTS`. */
export async function readLedgerEntries(
  sql: Query,
  mismatch: Mismatch,
  choice: VersionChoice,
): Promise<CallbackEntry[]> {
  const { productId, username } = mismatch;
  const { usernames, between } = choice;
  if (mismatch.kind === "balance-differs") return await readEntriesOfRequests(sql, mismatch);
  const ofTime = between === null ? [] : await readTxnIds(sql, productId, username, between, MOST_EVENTS);
  const ids = [...choice.ids, ...ofTime];
  const round = realRound(mismatch.roundId);
  const entries = await readEntries(sql, productId, {
    bets: usernames.flatMap((user) => ids.map((id) => [user, id] as const)),
    rounds: round === null ? [] : usernames.map((user) => [user, round] as const),
  });
  // Of the bet's round, only entries that act on the whole round concern the bet.
  const isWholeRound = choice.rounds.length > 0;
  return entries.filter(
    (entry) => isWholeRound || ids.includes(entry.txnId) || entry.transactionType === "BY_ROUND",
  );
}

/** The entries of the requests that a `balance-differs` names, which may be of two products. */
async function readEntriesOfRequests(sql: Query, { id, username }: Mismatch): Promise<CallbackEntry[]> {
  const entries: CallbackEntry[] = [];
  for (const { productId, callback, requestId, at } of await readRequestsOf(sql, id)) {
    const occurredAt = parseInstant(at, "time");
    const bets = await readBetsOfRequests(sql, productId, [{ username, callback, requestId, occurredAt }]);
    const found = await readEntries(sql, productId, { rounds: [], bets });
    entries.push(
      ...found.filter((one) => {
        const isOfRequest = one.callback === callback && one.requestId === requestId;
        return isOfRequest && one.occurredAt === occurredAt;
      }),
    );
  }
  return entries;
}

/** Each text once. */
export function distinct(texts: readonly (string | null | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => typeof text === "string"))];
}
