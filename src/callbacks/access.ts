/** Says who may send callbacks: listed addresses, and requests that are signed with the shared key. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { BlockList, isIPv4, type Server } from "node:net";
import type { Instant } from "../clock.ts";

/** A signature whose timestamp differs more from the present time is refused, so that nobody can use it later. */
const LONGEST_VALID_MS = 5 * 60_000;

export interface SignedRequest {
  readonly body: Uint8Array;
  /** `sapi-signature`: hex HMAC-SHA256 of the body, a dot and the timestamp */
  readonly signature: unknown;
  /** `sapi-timestamp`: milliseconds since 1970, as the times of the interface are */
  readonly timestamp: unknown;
}

/** Identifies an accepted signature. */
export interface Signature {
  readonly text: string;
  readonly signedAt: Instant;
}

/** @param headers of a request without a signature fault */
export function signatureOf(headers: Readonly<Record<string, unknown>>): Signature {
  const text = String(headers["sapi-signature"]).toLowerCase();
  return { text, signedAt: Number(headers["sapi-timestamp"]) };
}

/** @returns the fault of the signature; null: none */
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
    return "sapi-signature does not belong to this body, timestamp and CALLBACK_SIGNATURE_KEY";
  }
  const away = Math.abs(now - Number(timestamp));
  return away > LONGEST_VALID_MS ? "sapi-timestamp is more than 5 minutes away from now" : null;
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
 * Closes connections of other addresses before a byte of them is read: 2,100 silent ones would otherwise take the places
 * of allowed callers.
 */
export function refuseStrangers(
  server: Server,
  isAllowed: (address: string | undefined) => boolean,
  onStranger: (address: string | undefined) => void,
): void {
  server.prependListener("connection", (caller) => {
    const { remoteAddress } = caller;
    if (isAllowed(remoteAddress)) return;
    caller.destroy();
    onStranger(remoteAddress);
  });
}
