/** The answers of the agent API besides money (§4.B, §4.C): log-ins, lists of games, bet limits, free games. */

import type { Amount } from "./money.ts";

interface WithExtraFields {
  /** the fields that the interface does not name, as JSON text of an object; null: there are none */
  readonly extra: string | null;
}

export interface SeamlessLogIn extends WithExtraFields {
  /** the game's address, the first of `urls`; only for the player, because it may hold a token */
  readonly url: string;
  /** all answered addresses in order, at least one; some providers answer a list */
  readonly urls: readonly string[];
}

export interface TransferLogIn extends SeamlessLogIn {
  readonly username: string;
}

/** §2.5 */
export interface Game extends WithExtraFields {
  /** null: a seamless list may lack it */
  readonly name: string | null;
  readonly category: string;
  readonly type: string;
  /** the gameCode of a log-in */
  readonly code: string;
  readonly img: string;
  readonly rank: number;
  readonly providerCode: string | null;
  /** names by language ("TH", "EN", "CN"; the keys in capital letters); null: not answered */
  readonly locale: Readonly<Record<string, string>> | null;
}

/** §2.6 */
export interface BetLimitGroup extends WithExtraFields {
  readonly productId: string;
  readonly limits: readonly BetLimit[];
}

interface BetLimit extends WithExtraFields {
  /** the value for the `limit` of a log-in */
  readonly limit: number;
  readonly most: Amount;
  readonly least: Amount;
}

export interface FreeGame extends WithExtraFields {
  /** digits as they came */
  readonly freeGameId: string;
}
