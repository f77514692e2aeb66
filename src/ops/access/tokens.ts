/** Compares a token with those of OPS_TOKENS in constant time. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Settings } from "../../config.ts";

export type OpsToken = Settings["ops"]["tokens"][number];

export interface KnownTokens {
  /** false: the server answers only this machine */
  readonly areSet: boolean;
  /** @returns null if no token matches */
  find(given: string): OpsToken | null;
  /** The token of a session; null: the token was removed or changed. */
  findByProof(name: string, proof: string, sessionId: string): OpsToken | null;
}

/** Digests have one length, and every token is compared even after a match. */
export function openTokens(tokens: readonly OpsToken[]): KnownTokens {
  const known = tokens.map((token) => ({ token, digest: digest(token.token) }));
  return {
    areSet: tokens.length > 0,
    find: (given) => {
      const digestGiven = digest(given);
      let found: OpsToken | null = null;
      for (const one of known) {
        if (timingSafeEqual(one.digest, digestGiven)) found = one.token;
      }
      return found;
    },
    findByProof: (name, proof, sessionId) => {
      const mine = tokens.filter((token) => token.name === name);
      return mine.find((token) => isEqual(proveToken(token, sessionId), proof)) ?? null;
    },
  };
}

/**
 * Proves the token of a session. The key is the session's id, which only the cookie contains, so a reader of the
 * database cannot test tokens against the proof (56).
 */
export function proveToken({ token }: OpsToken, sessionId: string): string {
  return createHmac("sha256", sessionId).update(token).digest("base64url");
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
