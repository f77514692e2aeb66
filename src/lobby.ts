/** What surrounds the play in the agent API (§4.B, §4.C): logins, lists of games, bet limits, free games. */

import type { Amount } from "./money.ts";

interface LogInRequest {
  readonly username: string;
  readonly productId: string;
  readonly gameCode: string;
  readonly isMobileLogin: boolean;
  /** the `limit` of an entry of the bet limit list (§2.6) */
  readonly limit?: number;
  /** without it the provider's "th" */
  readonly language?: string;
  /** where the player goes after quitting the game client */
  readonly callbackUrl?: string;
}

interface Documented {
  /** JSON object text of the fields the interface does not name, or null where there is none */
  readonly extra: string | null;
}

/** §4.B1 */
export interface SeamlessLogInRequest extends LogInRequest {
  /** made by the operator; checkBalance brings it back. Change it where a product refuses it again. */
  readonly sessionToken: string;
  /** ISO 4217; without it the agent's own */
  readonly currency?: string;
  /** its values depend on the product */
  readonly betLimit?: readonly unknown[];
}

/** §4.C1 */
export interface TransferLogInRequest extends LogInRequest {
  /** its shape is not shown by the interface */
  readonly betLimit?: object;
}

export interface SeamlessLogIn extends Documented {
  /** the game's address, for the player alone: it may hold a token; the first of `urls` */
  readonly url: string;
  /** all that were answered, in their order: some providers answer a list. At least one */
  readonly urls: readonly string[];
}

export interface TransferLogIn extends SeamlessLogIn {
  readonly username: string;
}

/** §2.5 */
export interface Game extends Documented {
  /** null: a seamless list may lack it */
  readonly name: string | null;
  readonly category: string;
  readonly type: string;
  /** the gameCode of a login */
  readonly code: string;
  readonly img: string;
  readonly rank: number;
  readonly providerCode: string | null;
  /** names by language ("TH", "EN", "CN", as they came in capital or small letters); null: none were given */
  readonly locale: Readonly<Record<string, string>> | null;
}

/** §2.6 */
export interface BetLimitGroup extends Documented {
  readonly productId: string;
  readonly limits: readonly BetLimit[];
}

interface BetLimit extends Documented {
  /** what a login takes as its `limit` */
  readonly limit: number;
  readonly most: Amount;
  readonly least: Amount;
}

/** §4.C6 */
export interface BetLimitQuestion {
  readonly username: string;
  readonly productId: string;
  /** ISO 4217 */
  readonly currency: string;
}

/** Grants games for which the operator pays (§4.C7); only one product knows them. */
export interface FreeGameRequest {
  readonly playerName: string;
  readonly freeGameName: string;
  /** whole hours, at least 1 */
  readonly expiresInHours: number;
  /** of each game; whole, at least 1 */
  readonly betAmount: number;
  /** at least 1 */
  readonly gameCount: number;
  /** the game id of the free game */
  readonly gameIds: string;
  readonly productId: string;
}

export interface FreeGame extends Documented {
  /** digits as they came */
  readonly freeGameId: string;
}
