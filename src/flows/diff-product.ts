/** Looks at what was touched of one product: loads it, folds, compares, and lets mismatches begin and end. */

import type { StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import type { ProductConfig } from "../config.ts";
import { inOneMoment, type Query } from "../db/client.ts";
import { assess } from "../diff/assess.ts";
import { subjectsOf, type Verdict } from "../diff/compare.ts";
import { keyOfSubject, type Neighbourhood, nextFrontier, partition } from "../diff/neighbourhood.ts";
import { type Fetched, type Graces, whatMustHold } from "../diff/ripeness.ts";
import { type DiffMark, isRejected, lockProduct, putMarks, readRecords, takeMarks } from "../diff/store.ts";
import { foldEntries } from "../ledger/fold.ts";
import { readEntries, readLedgerStart } from "../ledger/store.ts";
import { decideTransitions, type SeenFinding } from "../mismatches/life.ts";
import { readKnown, writeTransitions } from "../mismatches/store.ts";
import { planConfirm } from "../sync/plan-confirm.ts";
import { planWindows, readCoverage, readPullState } from "../sync/store.ts";
import { subtractRanges } from "../window.ts";
import { type FlowContext, findProduct } from "./context.ts";

const MARKS_PER_LOOK = 500;
const MOST_LOOKS_PER_RUN = 1_000;
/**
 * What hangs together is loaded in at most so many steps from a mark, and judged in at most so many: where rounds
 * form an endless chain, what lies far from a mark is judged by the marks near it.
 */
const MOST_STEPS = 16;
const MOST_STEPS_JUDGED = 8;

export interface DiffResult {
  /** neighbourhoods looked at */
  readonly looked: number;
  /** confirm fetches were planned: the product wants pulling */
  readonly wantsFetch: boolean;
}

/** Looks at everything of one product whose time has come. */
export async function diffProduct(
  context: FlowContext,
  productId: string,
  signal: AbortSignal,
): Promise<DiffResult> {
  const product = findProduct(context.config, productId);
  let looked = 0;
  let wantsFetch = false;
  if (product.walletMode === "transfer" || product.settlement === "session") return { looked, wantsFetch };
  const now = context.clock.now();

  for (let looks = 0; looks < MOST_LOOKS_PER_RUN && !signal.aborted; looks += 1) {
    // Coverage must not be newer than the records: a page committed in between would look like a missing record.
    const look = await inOneMoment(context.sql, (tx) => lookOnce(context, tx, product, now));
    looked += look.looked;
    wantsFetch ||= look.wantsFetch;
    if (look.marks < MARKS_PER_LOOK) break;
  }
  return { looked, wantsFetch };
}

async function lookOnce(context: FlowContext, tx: Query, product: ProductConfig, now: Instant) {
  const nothing = { marks: 0, looked: 0, wantsFetch: false };
  const { productId } = product;
  if (!(await lockProduct(tx, productId))) return nothing;
  const ledgerStart = context.config.ledger.since ?? (await readLedgerStart(tx));
  if (ledgerStart === null) return nothing;
  const marks = await takeMarks(tx, productId, now, MARKS_PER_LOOK);
  if (marks.length === 0) return nothing;

  let wantsFetch = false;
  const { neighbourhoods, judged } = await loadNeighbourhoods(tx, productId, marks);
  for (const neighbourhood of neighbourhoods) {
    const bets = foldEntries(neighbourhood.entries, product);
    const verdicts = assess(neighbourhood.records, bets, {
      productId,
      ledgerStart,
      matchBy: product.matchBy,
      singleState: product.singleState,
      stuckOpenAfterMs: product.stuckOpenAfter,
    });
    const isJudged = (subject: string) => judged.has(keyOfSubject(neighbourhood.username, subject));
    const seen: SeenFinding[] = [];
    let lookAgainAt: Instant | null = null;
    for (const verdict of verdicts.filter(({ finding }) => isJudged(finding.subject))) {
      const wait = await waitOf(context, tx, verdict, now);
      const { finding, pair } = verdict;
      seen.push({ finding, subjects: subjectsOf(pair.records, pair.bets), ripe: wait === null });
      wantsFetch ||= wait?.wantsFetch ?? false;
      if (typeof wait?.until === "number") lookAgainAt = Math.min(lookAgainAt ?? wait.until, wait.until);
    }
    const subjects = subjectsOf(neighbourhood.records, neighbourhood.entries).filter(isJudged);
    const known = await readKnown(tx, productId, neighbourhood.username, subjects);
    await writeTransitions(tx, decideTransitions(known, seen), now);
    if (lookAgainAt !== null) await lookAgain(tx, productId, neighbourhood, lookAgainAt);
  }
  return { marks: marks.length, looked: neighbourhoods.length, wantsFetch };
}

interface Loaded {
  readonly neighbourhoods: readonly Neighbourhood[];
  /** keys of what everything that can influence it was loaded for */
  readonly judged: ReadonlySet<string>;
}

/** Loads step by step what the marks lead to: rounds name bets, bets name records, records name rounds. */
async function loadNeighbourhoods(tx: Query, productId: string, marks: readonly DiffMark[]): Promise<Loaded> {
  const records = new Map<string, StoredRecord>();
  const entries = new Map<string, CallbackEntry>();
  const known = new Set<string>();
  let judged = known;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (step === MOST_STEPS_JUDGED) judged = new Set(known);
    const frontier = nextFrontier(marks, [...records.values()], [...entries.values()], known);
    if (frontier.rounds.length === 0 && frontier.bets.length === 0) {
      judged = known;
      break;
    }
    for (const record of await readRecords(tx, productId, frontier)) {
      records.set(JSON.stringify([record.username, record.betId, record.id]), record);
    }
    for (const entry of await readEntries(tx, productId, frontier)) entries.set(entry.entryId, entry);
  }
  return { neighbourhoods: partition(marks, [...records.values()], [...entries.values()]), judged };
}

interface Wait {
  /** null: for something that brings a mark of its own */
  readonly until: Instant | null;
  readonly wantsFetch: boolean;
}

/** Whether a verdict has to wait; null: it is ripe. Plans the confirm fetch that it waits for. */
async function waitOf(context: FlowContext, tx: Query, verdict: Verdict, now: Instant): Promise<Wait | null> {
  const { diff, pull } = context.config;
  const graces: Graces = {
    callbackGraceMs: diff.callbackGrace,
    providerGraceMs: diff.providerGrace,
    overlapMs: pull.overlap,
  };
  if (verdict.waitsForRound) return { until: null, wantsFetch: false };
  const { notBefore, eitherFetched } = whatMustHold(verdict, graces);
  if (now < notBefore) return { until: notBefore, wantsFetch: false };
  if (eitherFetched.length === 0) return null;

  const { productId, username, kind, transactionId } = verdict.finding;
  if (kind === "missing-at-provider" && (await isRejected(tx, productId, username, transactionId ?? ""))) {
    return { until: null, wantsFetch: false };
  }
  for (const fetched of eitherFetched) {
    if (await isFetched(tx, productId, fetched, now)) return null;
  }
  const confirm = eitherFetched.at(-1);
  if (confirm === undefined) return null;
  if (now < confirm.since) return { until: confirm.since, wantsFetch: false };
  const windowMs = (await readPullState(tx, productId))?.windowMs ?? pull.windowMax;
  await planWindows(tx, productId, "confirm", planConfirm(confirm.ranges, now, windowMs));
  return { until: now + diff.every, wantsFetch: true };
}

/** What lies ahead of `now` cannot be fetched, and is not waited for: a record may be dated when its match is played. */
async function isFetched(tx: Query, productId: string, fetched: Fetched, now: Instant): Promise<boolean> {
  for (const { from, to } of fetched.ranges) {
    if (from >= now) continue;
    const range = { from, to: Math.min(to, now) };
    const covered = await readCoverage(tx, productId, range, fetched.since);
    if (subtractRanges(range, covered).length > 0) return false;
  }
  return true;
}

async function lookAgain(
  tx: Query,
  productId: string,
  { marks }: Neighbourhood,
  dueAt: Instant,
): Promise<void> {
  const distinct = new Map(marks.map((mark) => [JSON.stringify([mark.roundId, mark.betRef]), mark]));
  await putMarks(
    tx,
    productId,
    [...distinct.values()].map((mark) => ({ ...mark, dueAt })),
  );
}
