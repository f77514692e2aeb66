/** Judges pulling: refused credentials, gaps, products that are late or have not begun, and resweeps. Pure. */

import type { Condition } from "../alerts/condition.ts";
import { formatInstant, type Instant, showDuration, showInstant } from "../clock.ts";
import type { PullProgress } from "../sync/progress-store.ts";
import {
  FAILING,
  type Finding,
  findState,
  isLate,
  NO_WORKER,
  notice,
  patienceOf,
  type StatesSeen,
  type Watch,
} from "./finding.ts";

/** The watermark: everything before this time was fetched. */
export function watermarkOf({ head, firstMissingAt }: PullProgress): Instant {
  return Math.min(head, firstMissingAt ?? head);
}

/** Whether the product still fetches the history that it had before it at its first start: it was never up to date. */
function isFirstFetch(progress: PullProgress): boolean {
  const watermark = watermarkOf(progress);
  return watermark < (progress.firstFetchedAt ?? Number.NEGATIVE_INFINITY) || watermark === progress.begin;
}

export function isStalled({ gaps, stoppedUntil }: Pick<PullProgress, "gaps" | "stoppedUntil">): boolean {
  return gaps > 0 || stoppedUntil !== null;
}

/** A product that is pulled. */
export interface PulledProduct {
  readonly productId: string;
  /** null: it was never pulled */
  readonly progress: PullProgress | null;
}

interface PullingSeen extends StatesSeen {
  /** those of the settings that are pulled */
  readonly products: readonly PulledProduct[];
  /** `pull.every` */
  readonly everyMs: number;
  readonly settleDelayMs: number;
}

/** Credentials, gaps, products that are not fetched, lag. Resweeps are judged apart. */
export function judgePulling(seen: PullingSeen): Finding[] {
  const { products } = seen;
  return [
    ...judgeCredentials(products),
    ...products.flatMap(judgeGaps),
    ...judgeLate(seen),
    ...judgeLag(seen),
  ];
}

/** What to do about refused credentials, for a line of `recon doctor`. */
export const MEND_CREDENTIALS =
  "check PROVIDER_USERNAME and PROVIDER_PASSWORD, and ask the provider whether it allows this machine's address";
const CHECK_CREDENTIALS = `C${MEND_CREDENTIALS.slice(1)}. Then restart the worker.`;

/** Refused credentials: one condition for what is pulled, and one for the transfers of each product. */
function refused(subject: string, consequence: string, more: string): Finding & Condition {
  return {
    kind: "credentials-refused",
    subject,
    productId: null,
    severity: "bad",
    what: `the provider refuses the credentials: ${consequence}`,
    remedy: `${CHECK_CREDENTIALS} ${more}`,
    whatWhenOver: "the provider accepts the credentials again",
  };
}

/** One finding for all products, because they share the credentials. */
function judgeCredentials(products: readonly PulledProduct[]): Finding[] {
  const stopped = products.flatMap(({ progress }) =>
    progress === null || progress.stoppedUntil === null ? [] : { ...progress, until: progress.stoppedUntil },
  );
  if (stopped.length === 0) return [];
  const next = showInstant(Math.min(...stopped.map(({ until }) => until)));
  const names = nameSome(stopped.map(({ productId }) => productId));
  return [
    {
      ...refused(
        "provider",
        `the worker cannot pull ${names}`,
        `Without a restart the worker tries again every hour, the next time at ${next}.`,
      ),
      isWhole: stopped.length === products.length,
      heads: Object.fromEntries(stopped.map(({ productId, head }) => [productId, head])),
    },
  ];
}

const OF_TRANSFERS = "transfers of ";

/** The provider refuses the questions about a product's transfers and top-ups. It may refuse a single product. */
export function refusedForTransfers(productId: string): Finding & Condition {
  const consequence = `no transfer and no top-up of ${productId} can be verified`;
  const more = "Nothing is decided meanwhile, and other products continue.";
  const found = refused(`${OF_TRANSFERS}${productId}`, consequence, more);
  return {
    ...found,
    productId,
    whatWhenOver: `${found.whatWhenOver}: transfers of ${productId} are verified`,
  };
}

/** Whether a condition is about questions on transfers: the next answer to such a question ends it. */
export function isAboutTransfers({ kind, subject }: Pick<Finding, "kind" | "subject">): boolean {
  return kind === "credentials-refused" && subject.startsWith(OF_TRANSFERS);
}

/** Of more products only the number is named. */
const MOST_NAMED = 5;

function nameSome(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function judgeGaps({ productId, progress }: PulledProduct): Finding[] {
  if (progress === null || progress.firstGapAt === null) return [];
  const { gaps, gapMs, firstGapAt, gapReason } = progress;
  const where = `${gaps === 1 ? "in 1 gap" : `in ${gaps} gaps, the first`} at ${showInstant(firstGapAt)}`;
  return [
    {
      kind: "product-stalled",
      subject: productId,
      productId,
      severity: "bad",
      what: `${productId} is stalled: ${showDuration(gapMs)} cannot be fetched, ${where}${gapReason === null ? "" : ` (${gapReason})`}`,
      remedy: `Newer time is still fetched. The worker retries the gap automatically. To see what is missing: recon coverage --product ${productId} --from ${formatInstant(firstGapAt)} --to …`,
      whatWhenOver: `${productId} is not stalled any more: no gap is left`,
    },
  ];
}

/** How a page names the state of a product that is pulled; the worst first. */
export type PullState = "stopped" | "stalled" | "behind" | "not-begun" | "current";

/** @param longestMs the result of `longestLag` */
export function stateOf(progress: PullProgress | null, now: Instant, longestMs: number): PullState {
  if (progress === null) return "not-begun";
  if (progress.stoppedUntil !== null) return "stopped";
  if (progress.gaps > 0) return "stalled";
  if (progress.head === progress.begin) return "not-begun";
  return now - watermarkOf(progress) > longestMs ? "behind" : "current";
}

const PATIENCE_TICKS = 5;
const LEAST_PATIENCE_MS = 300_000;

/** The lag that a product may have before it counts as behind, in milliseconds, by these settings of `pull`. */
export function longestLag({ settleDelay, every }: Record<"settleDelay" | "every", number>): number {
  return settleDelay + Math.max(PATIENCE_TICKS * every, LEAST_PATIENCE_MS);
}

/** The products that are behind, the one with the longest lag first, and those that have not begun. */
function judgeLag({ products, now, everyMs, settleDelayMs }: PullingSeen): Finding[] {
  const longestMs = longestLag({ settleDelay: settleDelayMs, every: everyMs });
  const stated = products.map(({ productId, progress }) => ({
    productId,
    state: stateOf(progress, now, longestMs),
    lagMs: progress === null ? 0 : now - watermarkOf(progress),
    history: progress !== null && isFirstFetch(progress) ? sayHistory(progress, now) : null,
  }));
  const found = (wanted: PullState, say: (one: (typeof stated)[number]) => Finding) =>
    stated
      .filter(({ state }) => state === wanted)
      .sort((a, b) => b.lagMs - a.lagMs)
      .map((one) => ({ ...say(one), subject: one.productId, productId: one.productId }));
  return [
    ...found("behind", ({ productId, lagMs, history }) =>
      history === null
        ? notice("product-behind", "warn", `${productId} is ${showDuration(lagMs)} behind`, BEHIND)
        : notice("product-behind", "unknown", `${productId}: ${history}`, FIRST_FETCH),
    ),
    ...found("not-begun", ({ productId }) =>
      notice("product-not-begun", "unknown", `${productId}: nothing has been fetched yet`),
    ),
  ];
}

const FIRST_FETCH =
  "This is the first start: nothing is wrong. Differences of a time are found once it is fetched.";
const HOUR_MS = 3_600_000;

/** "fetching 2 d of history, 40 %" */
function sayHistory(progress: PullProgress, now: Instant): string {
  const whole = now - progress.begin;
  const shown = whole < 3 * HOUR_MS ? whole : Math.round(whole / HOUR_MS) * HOUR_MS;
  const share = Math.floor((100 * (watermarkOf(progress) - progress.begin)) / whole);
  return `fetching ${showDuration(shown)} of history, ${share} %`;
}

const BEHIND =
  "If the lag falls, the worker is catching up. If not, the provider is slow: recon status shows the window lengths.";

/** The products that are behind and are not being fetched. */
function judgeLate(seen: PullingSeen): Finding[] {
  const patienceMs = patienceOf(seen.everyMs, false);
  const late = seen.products.flatMap(({ productId, progress }): Finding[] => {
    // Other findings describe gaps and refused credentials.
    if (progress !== null && isStalled(progress)) return [];
    const head = progress?.head ?? null;
    const state = findState(seen.states, "pulling", productId);
    const isBehind = head === null || seen.now - head > seen.settleDelayMs + patienceMs;
    if (!isBehind || !isLate(state?.doneAt ?? head, patienceMs, seen)) return [];
    const error = state?.error ?? null;
    const since =
      head === null ? "has never been pulled" : `has been pulled up to ${showInstant(head)} and no further`;
    return [
      {
        kind: "product-stalled",
        subject: productId,
        productId,
        severity: "bad",
        what: `${productId} is stalled: it ${since}${error === null ? "" : `: ${error}`}`,
        remedy: error === null ? NO_WORKER : FAILING,
        whatWhenOver: `${productId} is pulled again`,
        isWhole: seen.products.length === 1,
      },
    ];
  });
  if (late.length < 2 || late.length < seen.products.length) return late;
  const [first] = late;
  return [
    {
      kind: "product-stalled",
      subject: "all products",
      productId: null,
      severity: "bad",
      what: `all ${late.length} products are stalled; ${first?.what}`,
      remedy: first?.remedy ?? NO_WORKER,
      whatWhenOver: "products are pulled again",
      isWhole: true,
    },
  ];
}

/** The resweeps of a product that are due and not done, the oldest first. */
export interface ResweepsSeen {
  readonly productId: string;
  readonly due: readonly {
    readonly ageMs: number;
    readonly dueAt: Instant;
    readonly error?: string | null;
  }[];
}

/** Every resweep may be this late: the next one of the age 1 h would be due then. */
const LATE_RESWEEP_MS = 3_600_000;

/** The products whose resweeps are late by more than a tenth of their age, or an hour if that is longer. */
export function judgeResweeps({
  products,
  now,
  watchedSince,
}: Watch & { readonly products: readonly ResweepsSeen[] }): Finding[] {
  return products.flatMap(({ productId, due }): Finding[] => {
    const late = due.find(({ ageMs, dueAt }) =>
      isLate(dueAt, Math.max(ageMs / 10, LATE_RESWEEP_MS), { now, watchedSince }),
    );
    if (late === undefined) return [];
    const { ageMs, dueAt, error = null } = late;
    const why = error === null ? "" : `: ${error}`;
    return [
      {
        kind: "resweep-behind",
        subject: productId,
        productId,
        severity: "bad",
        what: `${productId}: the resweep after ${showDuration(ageMs)} has been due since ${showInstant(dueAt)}${why}`,
        remedy: `Later changes of the provider to this time are not seen yet. New time comes first, and resweeps get a tenth of the requests: raise pull.concurrency, or remove ages from pull.resweepAfter. To fetch the time now: recon backfill --product ${productId} --from … --to …`,
        whatWhenOver: `${productId}: resweeps are on time again`,
      },
    ];
  });
}
