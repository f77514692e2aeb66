/** The players of a world: each plays in one currency. */

import type { SandboxPlayer } from "./played-round.ts";
import { createRandom, hashText } from "./random.ts";
import type { Currency } from "./stakes.ts";

/** The players of the plain styles. */
export function seatPlayers(seed: number, count: number): SandboxPlayer[] {
  return Array.from({ length: count }, (_, index) =>
    seatPlayer(seed, index, `player-${String(index + 1).padStart(3, "0")}`),
  );
}

/** @param index the place among all players of the seed */
export function seatPlayer(seed: number, index: number, username: string): SandboxPlayer {
  const random = createRandom(hashText(`${seed}|player|${index}`));
  const currency = random.pick<Currency>(["THB", "THB", "THB", "THB", "THB", "THB", "USD", "VND"]);
  return { username, currency };
}
