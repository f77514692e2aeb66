/** What a record or a request says of itself: nothing of the other side is needed to see that it is wrong. */

import type { StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import { type AssessedPair, transactionOf } from "../diff/assess.ts";
import { findBalances, subjectOfRequest } from "../diff/balance.ts";
import { findInconsistent } from "../diff/inconsistent.ts";
import { readBetsOfRequests } from "../diff/link-store.ts";
import type { Neighbourhood } from "../diff/neighbourhood.ts";
import type { Lack } from "../diff/ripeness.ts";
import { askedByEntry } from "../ledger/fold.ts";
import { readEntries } from "../ledger/store.ts";
import type { Finding } from "../mismatch.ts";
import type { SeenFinding } from "../mismatches/life.ts";
import type { Amount } from "../money.ts";
import type { Scene } from "./diff-scene.ts";

/** The requests of a look, each with all of its items. */
export interface Requests {
  readonly itemsOf: ReadonlyMap<string, readonly CallbackEntry[]>;
  /** what a null `moved` stands for, by entryId */
  readonly asked: ReadonlyMap<string, Amount>;
}

/** @param entries of the look; where they do not explain a balance, an item of another round may, and is read too */
export async function readRequests(
  { tx, product }: Scene,
  entries: readonly CallbackEntry[],
): Promise<Requests> {
  const askedBy = (of: readonly CallbackEntry[]) =>
    new Map(
      [...Map.groupBy(of, ({ username }) => username).values()].flatMap((own) => [
        ...askedByEntry(own, product),
      ]),
    );
  const asked = askedBy(entries);
  const byPlayer = [...Map.groupBy(entries, ({ username }) => username).values()];
  const doubtful = byPlayer.flatMap((own) => {
    const subjects = new Set(findBalances(own, asked).map(({ subject }) => subject));
    return own.filter((entry) => subjects.has(subjectOfRequest(entry)));
  });
  if (doubtful.length === 0) return { itemsOf: Map.groupBy(entries, keyOfRequest), asked };
  const { productId } = product;
  const bets = await readBetsOfRequests(tx, productId, doubtful);
  const all = new Map(entries.map((entry) => [entry.entryId, entry]));
  for (const entry of await readEntries(tx, productId, { rounds: [], bets })) all.set(entry.entryId, entry);
  const whole = [...all.values()];
  return { itemsOf: Map.groupBy(whole, keyOfRequest), asked: askedBy(whole) };
}

/** What is wrong with a neighbourhood's own records and requests: ripe with the callbacks' grace. */
export function seeAlone(
  { settings, graces, now }: Scene,
  { records, entries }: Neighbourhood,
  pairs: readonly AssessedPair[],
  requests: Requests,
): { readonly seen: SeenFinding[]; readonly waits: Lack[] } {
  const seen: SeenFinding[] = [];
  const waits: Lack[] = [];
  const see = (finding: Finding | null, lastHeardAt: Instant) => {
    if (finding === null) return;
    const until = lastHeardAt + graces.callbackGraceMs;
    seen.push({ finding, subjects: [finding.subject], ripe: now >= until });
    if (now < until) waits.push({ until });
  };
  const transactionIdOf = (record: StoredRecord) => transactionOf(record, pairs, settings);
  for (const record of records)
    see(findInconsistent(record, transactionIdOf, settings), record.versionSeenAt);
  const own = new Set(entries.map(keyOfRequest));
  const items = [...own].flatMap((request) => requests.itemsOf.get(request) ?? []);
  const compared = items.filter((entry) => entry.occurredAt >= settings.ledgerStart);
  const itemsOf = Map.groupBy(items, subjectOfRequest);
  for (const finding of findBalances(compared, requests.asked)) {
    const received = itemsOf.get(finding.subject) ?? [];
    see(finding, Math.max(...received.map((entry) => entry.receivedAt)));
  }
  return { seen, waits };
}

function keyOfRequest(entry: CallbackEntry): string {
  return `${entry.username}\0${subjectOfRequest(entry)}`;
}
