/** The players of odd products: some have names that break careless programs. */

import { seatPlayer, seatPlayers } from "../../../src/sandbox/world/play-minute.ts";
import type { SandboxPlayer } from "../../../src/sandbox/world/played-round.ts";

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

/** @returns the players of the plain styles, and those with odd names */
export function seatOddPlayers(seed: number, count: number): SandboxPlayer[] {
  const odd = ODD_NAMES.map((name, index) => seatPlayer(seed, count + index, name));
  return [...seatPlayers(seed, count), ...odd];
}
