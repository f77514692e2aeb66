/** The plan of a world with odd products. */

import type { PlainStyle, ProductPlan, WorldPlan } from "../../../src/sandbox/world/world-plan.ts";

/**
 * The styles of products that are full of oddities. README.md describes each.
 */
export type OddStyle =
  | "odd"
  | "single-state"
  | "open-listed"
  | "by-round"
  | "session"
  | "mixed"
  | "lost-omitted"
  | "two-decimals";

export type StyleName = PlainStyle | OddStyle;

/** For a product with the style `session`, `roundsPerMinute` has no effect: the players alone decide its sessions, as in `mixed`. */
export type OddProductPlan = ProductPlan<OddStyle>;
export interface OddWorldPlan extends WorldPlan<StyleName> {
  /** Callbacks carry milliseconds, so no round of a world that is played through them is kept in whole seconds. */
  readonly throughCallbacks?: true;
}
