/** Judges the progress of comparing, and the problems that hold it up. Pure. */

import { type Instant, showDuration, showInstant } from "../clock.ts";
import type { WaitingMarks, WorkState } from "../work/work-store.ts";
import {
  type Finding,
  findState,
  isFailing,
  isFarBehind,
  isLate,
  NO_WORKER,
  notice,
  patienceOf,
  type Watch,
} from "./finding.ts";

interface ComparingSeen extends Watch {
  readonly states: readonly WorkState[];
  /** one for every product that is compared */
  readonly marks: readonly WaitingMarks[];
  /** `diff.every` */
  readonly everyMs: number;
  /** the followed relation: its last reading, and the problem of reading it; null: no relation is configured */
  readonly ledger: { readonly readAt: Instant | null; readonly problem: string | null } | null;
}

export interface Comparing {
  /**
   * everything that had arrived by this time was judged, or waits for its graces; null: no comparison has finished
   * yet
   */
  readonly upTo: Instant | null;
  readonly waiting: number;
  readonly setAside: number;
  /** the main problem, as a sentence; null: none */
  readonly problem: string | null;
  readonly findings: readonly Finding[];
}

export function judgeComparing(seen: ComparingSeen): Comparing {
  const { marks, ledger } = seen;
  const found = marks.map((of) => judgeProduct(seen, of));
  const isWhole = found.every(({ stall }) => stall !== null);
  const late = found.flatMap(({ stall }) => (stall === null ? [] : { ...stall, isWhole }));
  const held = findHeldByLedger(seen);
  const all = held ?? (late.length > 1 && isWhole ? joinAll(seen, late) : null);
  const aside = marks.filter(({ setAside }) => setAside > 0).map(describeSetAside);
  const waits = found.find(({ waitsFor }) => waitsFor !== null)?.waitsFor ?? null;
  const problems = [
    ledger?.problem ?? null,
    all?.what ?? null,
    late.length === 0 ? null : `${late[0]?.what}${andMore(late.length)}`,
    waits,
    aside.length === 0 ? null : `${aside[0]?.what}${andMore(aside.length)}`,
  ];
  const upTo = earliest(found.map((one) => one.upTo));
  const behindMs = upTo === null ? null : seen.now - upTo;
  const stalls = [...(all === null ? late : [all]), ...aside];
  const isHeld = stalls.length > 0 || (ledger?.problem ?? null) !== null;
  return {
    upTo,
    waiting: marks.reduce((sum, { waiting }) => sum + waiting, 0),
    setAside: marks.reduce((sum, { setAside }) => sum + setAside, 0),
    problem: problems.find((one) => one !== null) ?? null,
    findings: isHeld ? stalls : findDelay(waits, behindMs, seen.everyMs),
  };
}

/** What is no stall: products that are not compared yet, or a backlog. */
function findDelay(waits: string | null, behindMs: number | null, everyMs: number): Finding[] {
  if (waits !== null) return [notice("comparing-waits", "unknown", waits)];
  if (behindMs === null || !isFarBehind(behindMs, everyMs)) return [];
  return [notice("comparing-behind", "warn", `comparing is ${showDuration(behindMs)} behind`)];
}

interface JudgedProduct {
  readonly upTo: Instant | null;
  readonly stall: Finding | null;
  /** why the product is not judged although it is not late; null: it is judged */
  readonly waitsFor: string | null;
}

function judgeProduct(seen: ComparingSeen, { productId, oldestDueAt }: WaitingMarks): JudgedProduct {
  const state = findState(seen.states, "comparing", productId);
  const upTo = judgedUpTo(seen, state, oldestDueAt);
  const doneAt = state?.doneAt ?? null;
  const error = isFailing(state) ? state.error : null;
  if (isLate(doneAt, patienceOf(seen.everyMs, error !== null), seen)) {
    return { upTo, stall: describeLate(productId, doneAt, error), waitsFor: null };
  }
  if (upTo !== null) return { upTo, stall: null, waitsFor: null };
  const waitsFor =
    doneAt === null
      ? `${productId} has not been compared yet`
      : `${productId} is not compared until the ledger has its first entry`;
  return { upTo, stall: null, waitsFor };
}

/**
 * The time up to which everything was judged. Marks are taken in order, so everything before the oldest due mark was
 * judged, as far as the ledger was read.
 */
function judgedUpTo({ ledger }: ComparingSeen, state: WorkState | null, oldestDueAt: Instant | null) {
  if (state === null || state.upTo === null) return null;
  return Math.min(oldestDueAt ?? state.upTo, ledger?.readAt ?? Number.POSITIVE_INFINITY);
}

function describeLate(productId: string, doneAt: Instant | null, error: string | null): Finding {
  return {
    kind: "comparing-stalled",
    subject: productId,
    productId,
    severity: "bad",
    what: `${productId} ${sayLate(doneAt)}${error === null ? ", and no comparison is under way" : `: ${error}`}`,
    remedy: error === null ? NO_WORKER : FAILING,
    whatWhenOver: `${productId} is compared again`,
  };
}

const FAILING =
  "The worker's log has the error; the worker retries automatically. Nothing is lost: bets that arrive are compared later. recon status shows how many wait.";
const ALL = "all products";

function joinAll({ states, marks }: ComparingSeen, late: readonly Finding[]): Finding {
  const last = marks.map(({ productId }) => findState(states, "comparing", productId));
  const doneAt = last.map((state) => state?.doneAt ?? null).filter((at) => at !== null);
  const error = last.find((state) => state?.error != null)?.error ?? null;
  return {
    kind: "comparing-stalled",
    subject: ALL,
    productId: null,
    severity: "bad",
    what: `none of ${late.length} products ${sayLate(doneAt.length === 0 ? null : Math.max(...doneAt)).replace("has not", "has")}${error === null ? "" : `: ${error}`}`,
    remedy: error === null ? NO_WORKER : FAILING,
    whatWhenOver: "products are compared again",
    isWhole: true,
  };
}

/** The stall of all products if the ledger has been unreadable for too long: newer bets cannot be judged. */
function findHeldByLedger(seen: ComparingSeen): Finding | null {
  const { ledger, everyMs, marks } = seen;
  if (ledger === null || ledger.problem === null || ledger.readAt === null || marks.length === 0) return null;
  if (!isLate(ledger.readAt, patienceOf(everyMs, false), seen)) return null;
  return {
    kind: "comparing-stalled",
    subject: ALL,
    productId: null,
    severity: "bad",
    what: `nothing has been compared since ${showInstant(ledger.readAt)}, because of the ledger: ${ledger.problem}`,
    remedy:
      "Make the ledger readable: recon doctor names its problems. Comparing then resumes by itself where it stopped.",
    whatWhenOver: "products are compared again",
    isWhole: true,
  };
}

function sayLate(doneAt: Instant | null): string {
  return doneAt === null ? "has not been compared yet" : `has not been compared since ${showInstant(doneAt)}`;
}

function describeSetAside({ productId, setAside, setAsideSince, setAsideReason }: WaitingMarks): Finding {
  const things = setAside === 1 ? "1 comparison failed and is" : `${setAside} comparisons failed and are`;
  const since = setAsideSince === null ? "" : `, the first since ${showInstant(setAsideSince)}`;
  return {
    kind: "comparing-set-aside",
    subject: productId,
    productId,
    severity: "bad",
    what: `${productId}: ${things} set aside${since}: ${setAsideReason ?? "the reason is not known"}`,
    remedy:
      "Everything else is compared, and the worker retries automatically. The table comparisons_set_aside names the player, the round or bet, and the reason.",
    whatWhenOver: `${productId}: no comparison is set aside any more`,
  };
}

function andMore(count: number): string {
  return count > 1 ? ` (and ${count - 1} more ${count === 2 ? "product" : "products"})` : "";
}

/** The earliest time; null if one of them is unknown, or there are none. */
function earliest(instants: readonly (Instant | null)[]): Instant | null {
  const known = instants.filter((one) => one !== null);
  return known.length === 0 || known.length < instants.length ? null : Math.min(...known);
}
