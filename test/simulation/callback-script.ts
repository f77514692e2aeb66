/** What a world sends to the operator: each player's requests, and entries that no callbacks server would write. */

import { setTimeout as pause } from "node:timers/promises";
import type { CallbackEntry } from "../../src/callback.ts";
import { type Instant, systemClock } from "../../src/clock.ts";
import type { PlantedFault, World } from "../../src/sandbox/world/world.ts";
import { isByWallet } from "./callback-plan.ts";
import { requestsOf, type WorldRequest } from "./callback-requests.ts";
import type { CallbackSender } from "./callback-sender.ts";

export interface CallbackScript {
  /** in world order */
  readonly sent: readonly CallbackEntry[];
  /** the same as requests, each player's in order */
  readonly requests: readonly (readonly WorldRequest[])[];
  readonly direct: readonly CallbackEntry[];
}

export function readScript(world: World, planted: readonly PlantedFault[]): CallbackScript {
  const spoilt = new Set(planted.filter(({ kind }) => isByWallet(kind)).map(nameRound));
  const all = world.entriesReceived({ from: 0, to: world.quietAt() + 1 });
  for (const entry of [...unplacedOf(all), ...inTwoCurrencies(all)]) spoilt.add(nameRound(entry));
  const { direct = [], sent = [] } = Object.groupBy(all, (entry) =>
    spoilt.has(nameRound(entry)) ? "direct" : "sent",
  );
  const players = Map.groupBy(sent, ({ username }) => username);
  return { sent, direct, requests: [...players.values()].map(requestsOf) };
}

/** Settles that a callbacks server refuses: without a placement, and not single-state by their own flag. */
function unplacedOf(entries: readonly CallbackEntry[]): CallbackEntry[] {
  const placed = new Set(
    entries.filter(({ callback }) => callback === "placeBets").map(({ txnId }) => txnId),
  );
  const single = new Set(entries.filter(({ singleState }) => singleState === true).map(({ txnId }) => txnId));
  return entries.filter(
    ({ singleState, txnId }) => singleState === false && !placed.has(txnId) && !single.has(txnId),
  );
}

/** A callbacks server refuses to end a bet in another currency than it was placed in. */
function inTwoCurrencies(entries: readonly CallbackEntry[]): CallbackEntry[] {
  const nameBet = ({ productId, username, txnId }: CallbackEntry) =>
    JSON.stringify([productId, username, txnId]);
  const currencies = Map.groupBy(entries, nameBet);
  return entries.filter((entry) =>
    (currencies.get(nameBet(entry)) ?? []).some(({ currency }) => currency !== entry.currency),
  );
}

function nameRound({ productId, roundId }: { productId: string; roundId: string | null }): string {
  return JSON.stringify([productId, roundId]);
}

/**
 * Sends everything when it is due, players side by side.
 * @param write stores an entry that no callbacks server would write
 * @returns the longest delay behind the due time, in milliseconds
 */
export async function deliverScript(
  script: CallbackScript,
  sender: CallbackSender,
  write: (entry: CallbackEntry) => Promise<unknown>,
): Promise<number> {
  let latestMs = 0;
  const inTime = async (dueAt: Instant, hear: () => Promise<unknown>) => {
    await pause(Math.max(0, dueAt - systemClock.now()));
    await hear();
    latestMs = Math.max(latestMs, systemClock.now() - dueAt);
  };
  const players = script.requests.map(async (requests) => {
    for (const request of requests) await inTime(dueAt(request), () => sender.deliver(request));
  });
  const written = script.direct.map((entry) =>
    inTime(entry.receivedAt, () => write({ ...entry, receivedAt: systemClock.now() })),
  );
  await Promise.all([...players, ...written]);
  await sender.idle();
  return latestMs;
}

function dueAt({ items }: WorldRequest): Instant {
  return Math.max(...items.map(({ receivedAt }) => receivedAt));
}
