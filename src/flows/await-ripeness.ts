/** Whether a difference may be called a mismatch by now; what must be waited for otherwise. */

import type { Instant } from "../clock.ts";
import type { Verdict } from "../diff/assess.ts";
import { subjectsOf } from "../diff/finding.ts";
import { afterPatience, patienceEnds, whatMustHold } from "../diff/ripeness.ts";
import { isLedgerStale, isProviderStale } from "../diff/stale-store.ts";
import { isRejected } from "../diff/store.ts";
import type { MismatchKind } from "../mismatch.ts";
import type { SeenFinding } from "../mismatches/life.ts";
import { awaitConditions, type Wait } from "./await-fetch.ts";
import type { Scene } from "./diff-scene.ts";
import { isHeardUnusably } from "./follow-ledger.ts";

/** What a look makes of a neighbourhood. */
export interface Judgement {
  readonly seen: SeenFinding[];
  /** null: nothing of it is waited for */
  lookAgainAt: Instant | null;
  wantsFetch: boolean;
}

/** Kinds that say that the provider has no record; one that cannot be used is a record nevertheless. */
const LACK_A_RECORD: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

/** Adds a verdict to the judgement: as a finding that is ripe, or with the time at which it may be. */
export async function judgeVerdict(
  scene: Scene,
  verdict: Verdict,
  judgement: Judgement,
  staleness: Staleness,
): Promise<void> {
  const { holdsFrom, finding, pair } = verdict;
  if (holdsFrom !== null && scene.now < holdsFrom) {
    // It does not hold yet: nothing is about to change into it.
    judgement.lookAgainAt = earlier(judgement.lookAgainAt, wholeMinute(holdsFrom));
    return;
  }
  const wait = await waitOf(scene, verdict, staleness);
  judgement.seen.push({ finding, subjects: subjectsOf(pair.records, pair.bets), ripe: wait === null });
  judgement.wantsFetch ||= wait?.wantsFetch ?? false;
  judgement.lookAgainAt = earlier(judgement.lookAgainAt, wait?.until ?? null);
}

function earlier(a: Instant | null, b: Instant | null): Instant | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

const MINUTE_MS = 60_000;

/** Marks of one minute share a row. */
function wholeMinute(at: Instant): Instant {
  return Math.ceil(at / MINUTE_MS) * MINUTE_MS;
}

/** @returns null where the verdict is ripe */
async function waitOf(scene: Scene, given: Verdict, staleness: Staleness): Promise<Wait | null> {
  const { tx, now, graces, product, context } = scene;
  const verdict = afterPatience(given, graces, now);
  if (verdict.waitsForRound)
    return { until: patienceEnds(verdict, graces.roundPatienceMs), wantsFetch: false };
  const conditions = whatMustHold(verdict, graces);
  if (now < conditions.notBefore) return { until: conditions.notBefore, wantsFetch: false };

  const { username, kind, transactionId } = verdict.finding;
  const forGood = { until: null, wantsFetch: false };
  if (LACK_A_RECORD.has(kind) && (await isRejected(tx, product.productId, username, transactionId ?? "")))
    return forGood;
  if (await isHeardUnusably(context.config, tx, verdict)) return forGood;
  const wait = await awaitConditions(scene, conditions);
  if (wait !== null) return wait;
  const ripeAt = conditions.eitherFetched.at(-1)?.since ?? conditions.notBefore;
  return await staleness.holdBack(kind, ripeAt);
}

/** Which sides a look found stale. */
export interface Staleness {
  /** @returns null where a stale side holds nothing of this kind back, or not any more */
  holdBack(kind: MismatchKind, ripeAt: Instant): Promise<Wait | null>;
  readonly found: ReadonlySet<StaleKind>;
}
export type StaleKind = "ledger-stale" | "provider-stale";

/** While a side is stale, what waits for it is looked at this often within its time. */
const LOOKS_WHILE_STALE = 12;

/** A side is looked at once in a look, when something lacks it; what it holds back waits at most the provider's grace. */
export function openStaleness({ tx, product, settings, graces, now, context }: Scene): Staleness {
  const found = new Set<StaleKind>();
  const known = new Map<StaleKind, Promise<boolean>>();
  const limits = { ledgerStart: settings.ledgerStart, now };
  const ask = (kind: StaleKind) =>
    kind === "ledger-stale"
      ? isLedgerStale(tx, product.productId, now - graces.callbackGraceMs, limits)
      : isProviderStale(tx, product.productId, now - graces.providerGraceMs, limits);
  return {
    found,
    holdBack: async (kind, ripeAt) => {
      const stale = STALE_OF.get(kind);
      const until = ripeAt + graces.providerGraceMs;
      if (stale === undefined || now >= until) return null;
      const asked = known.get(stale) ?? ask(stale);
      known.set(stale, asked);
      if (!(await asked)) return null;
      found.add(stale);
      const nextLook = now + Math.max(context.config.diff.every, graces.providerGraceMs / LOOKS_WHILE_STALE);
      return { until: Math.min(until, nextLook), wantsFetch: false };
    },
  };
}

const STALE_OF: ReadonlyMap<MismatchKind, StaleKind> = new Map([
  ["missing-in-ledger", "ledger-stale"],
  ["missing-at-provider", "provider-stale"],
]);
