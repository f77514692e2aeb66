/** The lists of the stand-in provider (§4.B2, §4.B4, §4.C5, §4.C6). A product always has the same lists. */

import Big from "big.js";
import { hashText } from "../world/random.ts";

const GAMES_OF_A_PRODUCT = 5;

/** A game of a list (§2.5). Seamless lists may lack its name, and the free-game list has no locale. */
export function gamesOf(productId: string, list: "seamless" | "free" | "transfer"): object[] {
  const all = Array.from({ length: GAMES_OF_A_PRODUCT }, (_, index) => {
    const number = index + 1;
    const name = `${productId} ${number}`;
    const isNamed = list === "transfer" || number < GAMES_OF_A_PRODUCT;
    return {
      ...(isNamed ? { name } : {}),
      category: "GAME",
      type: "SANDBOX",
      code: `${productId}-${number}`,
      img: `https://games.invalid/${encodeURIComponent(productId)}/${number}.png`,
      rank: number,
      ...(number === 1 ? { providerCode: `p-${number}` } : {}),
      ...(list === "free" ? {} : { locale: { en: name, th: `เกม ${number}` } }),
    };
  });
  return list === "free" ? all.slice(0, 2) : all;
}

/** §2.6 */
export function betLimitsOf(productId: string): object[] {
  const limits = [1, 2, 3].map((limit) => ({
    limit,
    Max: new Big(String(1000 * limit)),
    Min: new Big(String(10 * limit)),
  }));
  return [{ productId, BetLimit: limits }];
}

/** A game's address. Everybody with the address plays as the player, so no log may contain it. */
export function addressOf(username: string, productId: string, gameCode: string, seed: number): string {
  const token = hashText(`${seed}|${username}|${productId}|${gameCode}`).toString(16).padStart(8, "0");
  const query = new URLSearchParams({ productId, gameCode, token });
  return `https://play.invalid/start?${query}`;
}
