/** Counts failed sign-ins, for each address and in total, so that nobody can guess tokens (decision 131). */

import { isIPv6 } from "node:net";
import { type Clock, type Instant, systemClock } from "../../clock.ts";

const MINUTE_MS = 60_000;
const MOST_OF_ADDRESS = 10;
const MOST_OF_ALL = 100;
/** The delay of an answer to a wrong token, and the most answers delayed at once: each uses a connection. */
const SLOWED_MS = 1_000;
const MOST_SLOWED = 100;

export interface FailedSignIns {
  /** @returns the wait to announce to this address after a wrong token, in milliseconds; 0: none */
  waitOf(address: string): number;
  note(address: string): void;
  /** Delays the answer to a wrong token, unless too many answers are delayed already. */
  slowDown(): Promise<void>;
}

interface Minute {
  readonly until: Instant;
  failures: number;
}

/**
 * After ten failures of an address in a minute, or a hundred in total, the server answers wrong tokens slowly until
 * the minute is over. It never delays a right token: behind a proxy everybody has one address, and a guesser could
 * lock out all others (131). The limit of failures also limits the remembered addresses.
 */
export function countFailedSignIns(clock: Clock): FailedSignIns {
  let all: Minute = { until: 0, failures: 0 };
  const byNetwork = new Map<string, Minute>();
  let slowed = 0;
  return {
    slowDown: async () => {
      if (slowed >= MOST_SLOWED) return;
      slowed += 1;
      await systemClock.sleep(SLOWED_MS);
      slowed -= 1;
    },
    waitOf: (address) => {
      const now = clock.now();
      const own = byNetwork.get(networkOf(address));
      return Math.max(
        waitIn(all, MOST_OF_ALL, now),
        own === undefined ? 0 : waitIn(own, MOST_OF_ADDRESS, now),
      );
    },
    note: (address) => {
      const now = clock.now();
      if (all.until <= now) all = { until: now + MINUTE_MS, failures: 0 };
      all.failures += 1;
      for (const [network, { until }] of byNetwork) if (until <= now) byNetwork.delete(network);
      const network = networkOf(address);
      const own = byNetwork.get(network) ?? { until: now + MINUTE_MS, failures: 0 };
      own.failures += 1;
      byNetwork.set(network, own);
    },
  };
}

function waitIn({ until, failures }: Minute, most: number, now: Instant): number {
  return failures < most ? 0 : Math.max(0, until - now);
}

/** The owner of one IPv6 address usually owns the whole /64 network. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith("::ffff:")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  const zeros = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const all = [...groups, ...Array<string>(zeros).fill("0"), ...(tail ?? "").split(":")];
  return all.slice(0, 4).join(":");
}
