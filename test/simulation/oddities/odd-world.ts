/** A seeded world that also has products full of oddities. */

import { playPlain } from "../../../src/sandbox/world/play-minute.ts";
import { STYLES } from "../../../src/sandbox/world/styles.ts";
import { createWorldOf, type World } from "../../../src/sandbox/world/world.ts";
import type { PlainStyle } from "../../../src/sandbox/world/world-plan.ts";
import type { OddWorldPlan, StyleName } from "./odd-plan.ts";
import { seatOddPlayers } from "./odd-players.ts";
import { longestOddMs, playOddMinute } from "./play-odd-minute.ts";

export function createOddWorld(plan: OddWorldPlan): World {
  const plain = playPlain(plan);
  const players = seatOddPlayers(plan.seed, plan.players);
  return createWorldOf(plan, {
    longestMs: ({ style, ...product }) =>
      isPlain(style) ? plain.longestMs({ ...product, style }) : longestOddMs(style, plan.lateSettlementMs),
    playMinute: ({ style, ...product }, minute) =>
      isPlain(style)
        ? plain.playMinute({ ...product, style }, minute)
        : playOddMinute(plan, players, { ...product, style }, minute),
  });
}

function isPlain(style: StyleName): style is PlainStyle {
  return Object.hasOwn(STYLES, style);
}
