/** Says in one line whether all is well, or what is worst. Only this module decides what is good and bad. */

import { showDuration } from "../../../clock.ts";
import type { Overview, ProductOverview, ProductState } from "../../../flows/read/read-overview.ts";
import type { Risk } from "../../../mismatches/risk-store.ts";
import { isFullSoon, sayDisk } from "../../../storage.ts";
import { sayEmptied } from "../../../work/other-work.ts";
import { sayAmounts, showCount } from "../parts/show.ts";
import { addUpRisk } from "./risk.ts";

/** Worst first. "unknown" is neither good nor bad: there are no facts yet. */
export const TONES = ["bad", "warn", "unknown", "good"] as const;
export type Tone = (typeof TONES)[number];

interface HealthFinding {
  readonly tone: Tone;
  /** a clause: "2 products are stalled" */
  readonly text: string;
  /** the page with details; null: there is none */
  readonly href: string | null;
}

export interface HealthVerdict {
  readonly tone: Tone;
  /** worst first; if all is well, one finding says so */
  readonly findings: readonly HealthFinding[];
}

/** The facts for the verdict. */
export type JudgedOverview = Pick<
  Overview,
  | "now"
  | "products"
  | "risk"
  | "waiting"
  | "failingChannels"
  | "undelivered"
  | "wrongClocks"
  | "isRedisShared"
  | "lastReceivedAt"
  | "emptied"
  | "rejected"
  | "backfills"
  | "work"
  | "storage"
>;

export const TONE_OF_STATE: Readonly<Record<ProductState, Tone>> = {
  stopped: "bad",
  stalled: "bad",
  behind: "warn",
  "not-begun": "unknown",
  current: "good",
  "transfers-only": "good",
};

export function judgeHealth(seen: JudgedOverview): HealthVerdict {
  const found = [
    ...judgeProducts(seen.products),
    ...judgeWork(seen),
    ...judgeRisk(seen.risk),
    ...judgeTransfers(seen),
    ...judgeAlerts(seen),
    ...judgeClocks(seen),
    ...judgeRedis(seen),
    ...judgeBackfills(seen),
    ...judgeLedger(seen),
    ...judgeRejected(seen),
    ...judgeDisk(seen),
  ];
  const findings = TONES.flatMap((tone) => found.filter((finding) => finding.tone === tone));
  const tone = findings[0]?.tone ?? "good";
  if (tone !== "good") return { tone, findings };
  const text = "All is well: everything is fetched, and both sides agree";
  return { tone, findings: [{ tone, text, href: null }] };
}

/** All is not well while some work stands still, or its state is unknown. */
function judgeWork({ now, work, products }: JudgedOverview): HealthFinding[] {
  const { comparing, following, verifying, alerting, money, stalls } = work;
  const say = (tone: Tone, text: string, href = "/health"): HealthFinding => ({ tone, text, href });
  const isCompared = products.some(({ state }) => state !== "transfers-only");
  const found = stalls.map(({ what }) => say("bad", what));
  if (alerting.problem !== null)
    found.push(say(alerting.doneAt === null ? "unknown" : "bad", alerting.problem));
  const isHeld = following?.problem != null || comparing.stalls.length > 0;
  if (following?.problem != null && following.stalls.length === 0)
    found.push(say("unknown", following.problem));
  if (isCompared && !isHeld && comparing.problem !== null) found.push(say("unknown", comparing.problem));
  if (isCompared && !isHeld && comparing.upTo !== null && comparing.isFarBehind) {
    found.push(say("warn", `comparing is ${showDuration(now - comparing.upTo)} behind`));
  }
  if (money.problem !== null) found.push(say("unknown", money.problem));
  if (verifying.behindMs === null) found.push(say("unknown", "nothing has been verified yet"));
  else if (verifying.stalls.length === 0 && verifying.isFarBehind) {
    const text = `verifying is ${showDuration(verifying.behindMs)} behind: ${showCount(verifying.due)} are due`;
    found.push(say("warn", text, "/transfers?status=pending"));
  }
  return found;
}

function judgeProducts(products: readonly ProductOverview[]): HealthFinding[] {
  const inState = (state: ProductState) => products.filter((product) => product.state === state);
  const [stopped, stalled, behind, begins] = [
    inState("stopped"),
    inState("stalled"),
    inState("behind"),
    inState("not-begun"),
  ];
  const lagMs = Math.max(...behind.map(({ pulled }) => pulled?.lagMs ?? 0));
  return [
    findingAbout("bad", stopped, (who) => `the provider refuses the credentials: ${who} stopped`),
    findingAbout("bad", stalled, (who) => `${who} stalled`),
    findingAbout("warn", behind, (who) => `${who} ${showDuration(lagMs)} behind`),
    findingAbout("unknown", begins, (_, names) => `${names}: nothing has been fetched yet`),
  ].flat();
}

/** @param say with "SPORT is" or "2 products are", and "SPORT" or "2 products" */
function findingAbout(
  tone: Tone,
  products: readonly ProductOverview[],
  say: (who: string, names: string) => string,
): HealthFinding[] {
  const [first] = products;
  if (first === undefined) return [];
  const isOne = products.length === 1;
  const names = isOne ? first.productId : `${products.length} products`;
  return [{ tone, text: say(`${names} ${isOne ? "is" : "are"}`, names), href: "/#products" }];
}

function judgeRisk(risk: readonly Risk[]): HealthFinding[] {
  return (["open", "acknowledged"] as const).flatMap((status): HealthFinding[] => {
    const { count, amounts } = addUpRisk(risk.filter((one) => one.status === status));
    if (count === 0) return [];
    const atRisk = amounts.length === 0 ? "" : `, ${sayAmounts(amounts)} at risk`;
    const text = `${countOf(count, "mismatch", "mismatches")} ${count === 1 ? "is" : "are"} ${status}${atRisk}`;
    return [{ tone: status === "open" ? "bad" : "warn", text, href: `/mismatches?status=${status}` }];
  });
}

function judgeTransfers({ waiting }: JudgedOverview): HealthFinding[] {
  return waiting
    .filter(({ status }) => status === "inconclusive")
    .map(({ kind, count }) => {
      const text = `${countOf(count, kind, `${kind}s`)} ${count === 1 ? "is" : "are"} inconclusive: ops must decide`;
      return { tone: "bad", text, href: `/transfers?kind=${kind}&status=inconclusive` };
    });
}

function judgeAlerts({ failingChannels, undelivered }: JudgedOverview): HealthFinding[] {
  if (failingChannels.length === 0) return [];
  const text = `${failingChannels.join(" and ")} ${failingChannels.length === 1 ? "does" : "do"} not accept alerts: ${showCount(undelivered)} wait`;
  return [{ tone: "bad", text, href: "/alerts" }];
}

/** Other workers may do the work; a single worker with a wrong clock does nothing. */
function judgeClocks({ wrongClocks }: JudgedOverview): HealthFinding[] {
  return wrongClocks.map((who) => {
    const text = `the clock of the ${who} is wrong: correct the clock, and work there resumes`;
    return { tone: "bad", text, href: "/health" };
  });
}

function judgeRedis({ isRedisShared }: JudgedOverview): HealthFinding[] {
  if (!isRedisShared) return [];
  const text = "another installation uses the same Redis, and each slows the other: set REDIS_PREFIX";
  return [{ tone: "bad", text, href: "/alerts" }];
}

function judgeBackfills({ backfills }: JudgedOverview): HealthFinding[] {
  const failed = backfills.filter(({ status }) => status === "failed");
  if (failed.length === 0) return [];
  return [
    {
      tone: "warn",
      text: `${countOf(failed.length, "backfill has", "backfills have")} failed`,
      href: "/backfills",
    },
  ];
}

/** Products with transfers only need no ledger. */
function judgeLedger({ lastReceivedAt, emptied, products }: JudgedOverview): HealthFinding[] {
  if (emptied > 0) return [{ tone: "bad", text: sayEmptied(emptied), href: "/health" }];
  const isNeeded = products.some(({ state }) => state !== "transfers-only");
  if (lastReceivedAt !== null || !isNeeded) return [];
  return [{ tone: "unknown", text: "the ledger has no entries yet: nothing is compared", href: "/health" }];
}

/** What a rejected row moved is in no comparison, so it is unknown whether both sides agree. */
function judgeRejected({ rejected: { records, entries } }: JudgedOverview): HealthFinding[] {
  const counts = [
    ...(records === 0 ? [] : [countOf(records, "record", "records")]),
    ...(entries === 0 ? [] : [countOf(entries, "entry", "entries")]),
  ];
  if (counts.length === 0) return [];
  const text = `${counts.join(" and ")} ${records + entries === 1 ? "is" : "are"} rejected, and in no comparison`;
  return [{ tone: "warn", text, href: "/rejected" }];
}

function judgeDisk({ storage }: JudgedOverview): HealthFinding[] {
  if (storage === null || !isFullSoon(storage)) return [];
  return [{ tone: "warn", text: `the database's disk: ${sayDisk(storage)}`, href: "/health#database" }];
}

function countOf(count: number, one: string, many: string): string {
  return `${showCount(count)} ${count === 1 ? one : many}`;
}
