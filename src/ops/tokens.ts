/** Compares what somebody brings with the tokens of OPS_TOKENS, so that nothing about them can be timed. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Settings } from "../config.ts";

export type OpsToken = Settings["ops"]["tokens"][number];

export interface KnownTokens {
  /** without any, this machine alone is served */
  readonly areSet: boolean;
  /** @returns null: it is none of them */
  find(given: string): OpsToken | null;
  /** The token that a session was signed in with; null: it is gone, or has changed. */
  findByProof(name: string, proof: string, sessionId: string): OpsToken | null;
}

/** Digests have one length, and every token is compared, whichever fits. */
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
 * Says of a session which token it was signed in with. The session's id is the key, which only its cookie holds: who
 * reads the database cannot try tokens against it.
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
