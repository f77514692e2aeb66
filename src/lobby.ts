/**
 * The requests and answers of the agent API besides money (§4.B, §4.C): log-ins, lists of games, bet limits, free
 * games.
 */

import type { Amount } from "./money.ts";

interface LogInRequest {
  readonly username: string;
  readonly productId: string;
  readonly gameCode: string;
  readonly isMobileLogin: boolean;
  /** the `limit` of an entry of the bet limit list (§2.6) */
  readonly limit?: number;
  /** default: the provider's "th" */
  readonly language?: string;
  /** the address to which the player returns after quitting the game client */
  readonly callbackUrl?: string;
}

interface WithExtraFields {
  /** the fields that the interface does not name, as JSON text of an object; null: there are none */
  readonly extra: string | null;
}

/** §4.B1 */
export interface SeamlessLogInRequest extends LogInRequest {
  /** chosen by the operator; checkBalance returns it. Use another token if a product refuses a repeated one. */
  readonly sessionToken: string;
  /** ISO 4217; default: the agent's currency */
  readonly currency?: string;
  /** its values depend on the product */
  readonly betLimit?: readonly unknown[];
}

/** §4.C1 */
export interface TransferLogInRequest extends LogInRequest {
  /** the interface does not show its shape */
  readonly betLimit?: object;
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

/** §4.C6 */
export interface BetLimitQuestion {
  readonly username: string;
  readonly productId: string;
  /** ISO 4217 */
  readonly currency: string;
}

/** Grants free games, for which the operator pays (§4.C7). Only one product supports them. */
export interface FreeGameRequest {
  readonly playerName: string;
  readonly freeGameName: string;
  /** whole hours, at least 1 */
  readonly expiresInHours: number;
  /** the bet of each game; whole, at least 1 */
  readonly betAmount: number;
  /** at least 1 */
  readonly gameCount: number;
  /** the game id of the free game */
  readonly gameIds: string;
  readonly productId: string;
}

export interface FreeGame extends WithExtraFields {
  /** digits as they came */
  readonly freeGameId: string;
}
