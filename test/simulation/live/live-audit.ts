/** The independent auditor of a run in real time: compares what ever opened with what was planted and really reported. */

import type { Instant } from "../../../src/clock.ts";
import { parseAmount } from "../../../src/money.ts";
import type { PlantedFault } from "../../../src/sandbox/world/world.ts";
import type { HeardEntry, MismatchHistory } from "./history.ts";
import type { LiveGraces } from "./live-plan.ts";
import type { LiveRound } from "./live-world.ts";

export interface LiveFailure {
  readonly what: "false alarm" | "missed" | "resolved by itself" | "wrong amount" | "too early";
  readonly mismatch: MismatchHistory | null;
  readonly fault: PlantedFault | null;
  readonly round: LiveRound | null;
}

export interface LiveAudit {
  readonly planted: number;
  readonly found: number;
  readonly precision: number;
  readonly recall: number;
  readonly failures: readonly LiveFailure[];
  /** alarms about rounds with a callback later than callbackGrace: these were right */
  readonly excused: readonly MismatchHistory[];
  /** delays of the planted mismatches that were found, after the earliest possible moment, in milliseconds, ascending */
  readonly delays: readonly number[];
}

export interface LiveEvidence {
  readonly graces: LiveGraces;
  readonly rounds: readonly LiveRound[];
  readonly histories: readonly MismatchHistory[];
  readonly heard: readonly HeardEntry[];
  vanishedAt(fault: PlantedFault): Instant | null;
}

/** The auditor and the processes read the same clock at different moments. */
const SLACK_MS = 50;

export function auditLive(seen: LiveEvidence): LiveAudit {
  const roundOf = indexRounds(seen.rounds);
  const planted = new Map<string, Planted>();
  for (const round of seen.rounds) {
    if (round.fault !== null) planted.set(identify(round.fault, round), { fault: round.fault, round });
  }
  const heardOf = Map.groupBy(seen.heard, nameTxn);
  const failures: LiveFailure[] = [];
  const excused: MismatchHistory[] = [];
  const delays: number[] = [];
  const found = new Set<PlantedFault>();
  for (const mismatch of seen.histories) {
    const round = roundOf(mismatch);
    const known = planted.get(identify(mismatch, round)) ?? null;
    const delay = known === null ? 0 : delayOf(seen, mismatch, known, heardOf);
    const problems = problemsOf(mismatch, known?.fault ?? null, delay);
    const isLate = round !== null && isHeardTooLate(seen, round, heardOf);
    const unexcused = problems.filter((what) => !isLate || isWrongInTheEnd(what, mismatch));
    if (unexcused.length < problems.length) excused.push(mismatch);
    failures.push(
      ...unexcused.map((what) => ({
        what,
        mismatch,
        fault: known?.fault ?? null,
        round: known?.round ?? round,
      })),
    );
    if (known === null || mismatch.status !== "open") continue;
    found.add(known.fault);
    delays.push(delay);
  }
  for (const { fault, round } of planted.values()) {
    if (!found.has(fault)) failures.push({ what: "missed", mismatch: null, fault, round });
  }
  const alarms = seen.histories.length - excused.length;
  const wrong = failures.filter(({ what }) => what === "false alarm").length;
  return {
    planted: planted.size,
    found: found.size,
    precision: alarms <= 0 ? 1 : (alarms - wrong) / alarms,
    recall: planted.size === 0 ? 1 : found.size / planted.size,
    failures,
    excused,
    delays: delays.sort((one, other) => one - other),
  };
}

interface Planted {
  readonly fault: PlantedFault;
  readonly round: LiveRound;
}

/** The delay of a planted mismatch after the earliest possible moment. */
function delayOf(
  seen: LiveEvidence,
  mismatch: MismatchHistory,
  { fault, round }: Planted,
  heardOf: HeardOf,
): number {
  return (mismatch.transitions[0]?.at ?? 0) - earliestOf(seen, fault, round, heardOf);
}

function problemsOf(
  mismatch: MismatchHistory,
  fault: PlantedFault | null,
  delay: number,
): LiveFailure["what"][] {
  if (fault === null) return ["false alarm"];
  const isSame = isSameAmount(mismatch.amountAtRisk, fault.amountAtRisk);
  return [
    ...(mismatch.transitions.some(({ toStatus }) => toStatus !== "open")
      ? (["resolved by itself"] as const)
      : []),
    ...(mismatch.status === "open" && !isSame ? (["wrong amount"] as const) : []),
    ...(delay < -SLACK_MS ? (["too early"] as const) : []),
  ];
}

/** Everything late has arrived by the end of a run. */
function isWrongInTheEnd(what: LiveFailure["what"], { status }: MismatchHistory): boolean {
  return what === "wrong amount" || (what === "false alarm" && status === "open");
}

/** A session has no name except its place in time: its round identifies it. */
function identify(
  { kind, productId, username, betId, transactionId, roundId }: PlantedFault | MismatchHistory,
  round: LiveRound | null,
): string {
  const session = kind === "session-differs" ? round?.roundId : null;
  return JSON.stringify([kind, productId, username, betId, transactionId, roundId, session]);
}

function isSameAmount(one: string, other: string): boolean {
  return parseAmount(one, "amountAtRisk").eq(parseAmount(other, "amountAtRisk"));
}

/** The player's last session that began before one opened. */
function findSession(
  rounds: readonly LiveRound[],
  { kind, productId, username, occurredAt }: MismatchHistory,
): LiveRound | null {
  if (kind !== "session-differs") return null;
  const own = rounds.filter((round) => round.productId === productId && round.username === username);
  return own.findLast(({ startedAt }) => startedAt <= occurredAt) ?? null;
}

/** The round of a mismatch, by its round, its bet or its record; null: no played round. */
function indexRounds(rounds: readonly LiveRound[]): (mismatch: MismatchHistory) => LiveRound | null {
  const index = new Map<string, LiveRound>();
  for (const round of rounds) {
    const names = new Set([
      round.roundId,
      ...round.entries.map(({ txnId }) => txnId),
      ...round.records.flatMap((versions) =>
        versions.flatMap(({ record }) => (record === null ? [] : [record.id, record.betId])),
      ),
    ]);
    for (const name of names) index.set(JSON.stringify([round.productId, name]), round);
  }
  return (mismatch) => {
    const { productId, transactionId, betId, roundId } = mismatch;
    const names = [transactionId, betId, roundId].filter((name) => name !== null);
    const found = names.map((name) => index.get(JSON.stringify([productId, name])));
    return found.find((round) => round !== undefined) ?? findSession(rounds, mismatch);
  };
}

type HeardOf = ReadonlyMap<string, readonly HeardEntry[]>;

function nameTxn({ productId, username, txnId }: Omit<HeardEntry, "callback" | "occurredAt" | "receivedAt">) {
  return JSON.stringify([productId, username, txnId]);
}

/** The ledger's entries of the round, in the order of their arrival. */
function heardIn(round: LiveRound, heardOf: HeardOf): HeardEntry[] {
  const names = new Set(round.entries.map(nameTxn));
  return [...names].flatMap((name) => heardOf.get(name) ?? []);
}

function isHeardTooLate({ graces }: LiveEvidence, round: LiveRound, heardOf: HeardOf): boolean {
  return heardIn(round, heardOf).some(
    ({ occurredAt, receivedAt }) => receivedAt - occurredAt >= graces.callbackGrace,
  );
}

/** The moment before which no grace lets the mismatch open. */
function earliestOf(
  { graces, vanishedAt }: LiveEvidence,
  fault: PlantedFault,
  round: LiveRound,
  heardOf: HeardOf,
): Instant {
  const { kind, betId, transactionId } = fault;
  const isNamed = betId !== null || transactionId !== null;
  const entries = heardIn(round, heardOf).filter(({ txnId }) => !isNamed || txnId === transactionId);
  const versions = round.records.flat();
  const shown = versions.filter(({ record }) => record !== null && (!isNamed || record.betId === betId));
  const heardAt = latest(entries.map(({ receivedAt }) => receivedAt));
  const listedAt = latest(shown.map(({ at }) => at));
  const occurredAt = latest(entries.map((entry) => entry.occurredAt));
  const ofLedger = heardAt + Math.max(graces.callbackGrace, graces.providerGrace);
  switch (kind) {
    case "stuck-open":
      return Math.max(
        Math.min(...entries.map((entry) => entry.occurredAt)) + graces.stuckOpenAfter,
        heardAt + graces.callbackGrace,
      );
    case "missing-at-provider":
      return ofLedger;
    case "vanished-at-provider":
      return Math.max(ofLedger, (vanishedAt(fault) ?? 0) + graces.settleDelay);
    case "session-differs":
      return Math.max(occurredAt, latest(shown.map(({ accountedAt }) => accountedAt))) + graces.sessionQuiet;
    case "top-up-rejected":
      return Math.min(...entries.map((entry) => entry.occurredAt)) + graces.rejectedFinalAfter;
    case "balance-differs":
      return Math.min(...entries.map(({ receivedAt }) => receivedAt));
    case "provider-inconsistent":
      return listedAt;
    default:
      return Math.max(heardAt, listedAt) + graces.callbackGrace;
  }
}

function latest(instants: readonly Instant[]): Instant {
  return Math.max(Number.NEGATIVE_INFINITY, ...instants);
}
