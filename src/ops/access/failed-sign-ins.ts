/**
 * Counts failed sign-ins, for each address and in total, and answers them at a limited rate. A right token is compared first
 * and never delayed: behind a proxy all users share one address, so a limit on attempts would let one lock out the rest. A
 * caller that hangs up learns as much (2,300 tokens a second measured), which is nothing against 16 random characters.
 */

import type { ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import { setInterval, setTimeout } from "node:timers";
import type { Clock, Instant } from "../../clock.ts";

const MINUTE_MS = 60_000;
const MOST_OF_ADDRESS = 10;
const MOST_OF_ALL = 100;
/**
 * Beyond these limits the process answers ten wrong tokens a second. With a wait of one second for each answer instead,
 * 300 connections got 14,000 answers a second, because only 100 of them could be kept waiting.
 */
const ANSWER_EVERY_MS = 100;
/** A held answer costs its connection and about 15 KB. */
const MOST_HELD = 5_000;

export interface FailedSignIns {
  /** @returns the wait to announce to this address after a wrong token, in milliseconds; 0: none */
  waitOf(address: string): number;
  note(address: string): void;
  /**
   * Holds the answer to a wrong token until its turn, one turn for all connections together every tenth of a second.
   * @returns false: the caller hung up, or 5,000 answers are held already; the connection is to be closed without an answer
   */
  hold(answer: ServerResponse): Promise<boolean>;
  isHeld(answer: ServerResponse): boolean;
  close(): void;
}

export interface SignInLimits {
  /** the time between two answers to wrong tokens; default: 100 ms */
  readonly answerEveryMs?: number;
  /** how often `onHeld` is called while answers are held; default: a minute */
  readonly reportEveryMs?: number;
}

interface Minute {
  readonly until: Instant;
  failures: number;
}

/**
 * After ten failures of an address in a minute, or a hundred in total, the server answers wrong tokens in turn until
 * the minute is over. It never delays a right token: behind a proxy everybody has one address, and a guesser could
 * lock out all others (131). The limit of failures also limits the remembered addresses.
 * @param onHeld receives how many answers were held since the last call
 */
export function countFailedSignIns(
  clock: Clock,
  onHeld: (count: number) => void,
  { answerEveryMs = ANSWER_EVERY_MS, reportEveryMs = MINUTE_MS }: SignInLimits = {},
): FailedSignIns {
  let all: Minute = { until: 0, failures: 0 };
  const byNetwork = new Map<string, Minute>();
  /** in the order of their arrival */
  const held = new Map<ServerResponse, (isTurn: boolean) => void>();
  let turns: NodeJS.Timeout | null = null;
  let reporting: NodeJS.Timeout | null = null;
  let heldSinceReport = 0;
  const release = (answer: ServerResponse, isTurn: boolean) => {
    const resolve = held.get(answer);
    held.delete(answer);
    resolve?.(isTurn);
  };
  const giveTurn = () => {
    const [first] = held.keys();
    if (first !== undefined) return release(first, true);
    clearInterval(turns ?? undefined);
    turns = null;
  };
  const report = () => {
    reporting = null;
    onHeld(heldSinceReport);
    heldSinceReport = 0;
  };
  return {
    isHeld: (answer) => held.has(answer),
    hold: async (answer) => {
      heldSinceReport += 1;
      reporting ??= setTimeout(report, reportEveryMs).unref();
      if (held.size >= MOST_HELD || answer.destroyed) return false;
      turns ??= setInterval(giveTurn, answerEveryMs).unref();
      answer.once("close", () => release(answer, false));
      return await new Promise((resolve) => held.set(answer, resolve));
    },
    close: () => {
      clearInterval(turns ?? undefined);
      if (reporting === null) return;
      clearTimeout(reporting);
      report();
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
