/** Decides who may send callbacks: listed addresses, and requests signed with the shared key. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { BlockList, isIPv4, type Server } from "node:net";
import type { Instant } from "../clock.ts";

/** A signature with a timestamp further from now is refused, so a captured request cannot be sent later. */
const LONGEST_VALID_MS = 5 * 60_000;

interface SignedRequest {
  readonly body: Uint8Array;
  /** `sapi-signature`: hex HMAC-SHA256 of the body, a dot and the timestamp */
  readonly signature: unknown;
  /** `sapi-timestamp`: milliseconds since 1970, like all times of the interface */
  readonly timestamp: unknown;
}

/** Identifies an accepted signature. */
export interface Signature {
  readonly text: string;
  readonly signedAt: Instant;
}

/** @param headers of a request whose signature is valid */
export function signatureOf(headers: Readonly<Record<string, unknown>>): Signature {
  const text = String(headers["sapi-signature"]).toLowerCase();
  return { text, signedAt: Number(headers["sapi-timestamp"]) };
}

/** @returns what is wrong with the signature; null: it is valid */
export function findSignatureFault(key: string, request: SignedRequest, now: Instant): string | null {
  const { body, signature, timestamp } = request;
  if (typeof signature !== "string" || !/^[0-9a-f]{64}$/i.test(signature)) {
    return "the header sapi-signature is missing, or is not a SHA-256 in hex";
  }
  if (typeof timestamp !== "string" || !/^\d{1,15}$/.test(timestamp)) {
    return "the header sapi-timestamp is missing, or is not a time in milliseconds";
  }
  const expected = createHmac("sha256", key).update(body).update(`.${timestamp}`).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, "hex"))) {
    return "sapi-signature does not match this body, timestamp and CALLBACK_SIGNATURE_KEY";
  }
  const away = Math.abs(now - Number(timestamp));
  return away > LONGEST_VALID_MS ? "sapi-timestamp differs from now by more than 5 minutes" : null;
}

/**
 * @returns whether an address may send callbacks
 * @param listed addresses and CIDR ranges, already checked; empty: every address may send
 */
export function allowAddresses(listed: readonly string[]): (address: string | undefined) => boolean {
  if (listed.length === 0) return () => true;
  const list = new BlockList();
  for (const one of listed) {
    const [address = "", prefix] = one.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => address !== undefined && list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

/**
 * Closes connections from other addresses before reading a byte. Otherwise 2,100 silent connections from there would keep
 * allowed callers out.
 */
export function refuseUnlisted(
  server: Server,
  isAllowed: (address: string | undefined) => boolean,
  onRefused: (address: string | undefined) => void,
): void {
  server.prependListener("connection", (caller) => {
    const { remoteAddress } = caller;
    if (isAllowed(remoteAddress)) return;
    caller.destroy();
    onRefused(remoteAddress);
  });
}
