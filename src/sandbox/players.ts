/** Who plays: everybody has one currency, and some have names that break careless programs. */

import type { SandboxPlayer } from "./played-round.ts";
import { createRandom, hashText } from "./random.ts";
import type { Currency } from "./stakes.ts";

const ODD_NAMES = [
  "สมชาย ใจดี",
  "王小明",
  "🎲lucky🎲",
  "O'Neil; drop table players;--",
  'a "quoted" name',
  "back\\slash%_$1",
  '=HYPERLINK("https://example.com";"win")',
  "<script>alert(1)</script>",
  "e\u0301 is not \u00e9",
  "\u202eright to left",
  "null",
  "x".repeat(300),
] as const;

/** The players of the plain styles. */
export function seatPlayers(seed: number, count: number): SandboxPlayer[] {
  return Array.from({ length: count }, (_, index) =>
    seat(seed, index, `player-${String(index + 1).padStart(3, "0")}`),
  );
}

/** Those, and the ones with odd names. */
export function seatOddPlayers(seed: number, count: number): SandboxPlayer[] {
  const odd = ODD_NAMES.map((name, index) => seat(seed, count + index, name));
  return [...seatPlayers(seed, count), ...odd];
}

function seat(seed: number, index: number, username: string): SandboxPlayer {
  const random = createRandom(hashText(`${seed}|player|${index}`));
  const currency = random.pick<Currency>(["THB", "THB", "THB", "THB", "THB", "THB", "USD", "VND"]);
  return { username, currency };
}
