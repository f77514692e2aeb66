/** Says in one line whether all is well, or what is worst. `src/health` decides what is good and bad. */

import type { Overview, ProductState } from "../../../flows/read/read-overview.ts";
import { type FindingKind, SEVERITIES, type Severity } from "../../../health/finding.ts";
import type { Risk } from "../../../mismatches/risk-store.ts";
import { formatMoney, parseAmount, sumAmounts } from "../../../money.ts";
import { sayAmounts, showCount } from "../parts/show.ts";

export type Tone = Severity | "good";
/** Worst first. */
export const TONES: readonly Tone[] = [...SEVERITIES, "good"];

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
export type JudgedOverview = Pick<Overview, "findings" | "risk" | "waiting" | "rejected">;

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
    ...sayFindings(seen),
    ...judgeRisk(seen.risk),
    ...judgeTransfers(seen),
    ...judgeRejected(seen),
  ];
  const findings = TONES.flatMap((tone) => found.filter((finding) => finding.tone === tone));
  const tone = findings[0]?.tone ?? "good";
  if (tone !== "good") return { tone, findings };
  const text = "All is well: everything is fetched, and both sides agree";
  return { tone, findings: [{ tone, text, href: null }] };
}

/** The page with details; the others are on the page about health. */
const PAGES: Partial<Readonly<Record<FindingKind, string>>> = {
  "credentials-refused": "/#products",
  "product-behind": "/#products",
  "product-not-begun": "/#products",
  "verifying-behind": "/transfers?status=pending",
  "alerts-undelivered": "/alerts",
  "redis-shared": "/alerts",
  "backfill-failed": "/backfills",
  "disk-full": "/health#database",
};

/** Many products can have the same trouble: the first is named, the others are counted. */
const COUNTED: Partial<Readonly<Record<FindingKind, readonly [one: string, many: string]>>> = {
  "product-stalled": ["product", "products"],
  "product-behind": ["product", "products"],
  "product-not-begun": ["product", "products"],
  "backfill-failed": ["backfill", "backfills"],
};

function sayFindings({ findings }: JudgedOverview): HealthFinding[] {
  const groups = Map.groupBy(findings, ({ kind, severity, subject }) =>
    COUNTED[kind] === undefined ? `${kind} ${subject}` : `${kind} ${severity}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first, ...others] = group;
    if (first === undefined) return [];
    const { kind, severity, what } = first;
    const [one, many] = COUNTED[kind] ?? ["", ""];
    const more = others.length === 0 ? "" : ` (and ${countOf(others.length, `more ${one}`, `more ${many}`)})`;
    return [{ tone: severity, text: `${what}${more}`, href: PAGES[kind] ?? "/health" }];
  });
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

/** What a rejected row moved is in no comparison, so it is unknown whether both sides agree. */
function judgeRejected({ rejected: { records, entries } }: JudgedOverview): HealthFinding[] {
  const counts = [
    ...(records === 0 ? [] : [countOf(records, "record", "records")]),
    ...(entries === 0 ? [] : [countOf(entries, "entry", "entries")]),
  ];
  if (counts.length === 0) return [];
  const text = `${counts.join(" and ")} ${records + entries === 1 ? "is" : "are"} rejected, and not compared`;
  return [{ tone: "warn", text, href: "/rejected" }];
}

function countOf(count: number, one: string, many: string): string {
  return `${showCount(count)} ${count === 1 ? one : many}`;
}

/** Adds up money at risk by currency. */
export interface AtRisk {
  readonly currency: string | null;
  /** decimal text above 0 */
  readonly amount: string;
}

/** The number of mismatches, and the money at risk in each currency with any. */
export function addUpRisk(risk: readonly Risk[]): { readonly count: number; readonly amounts: AtRisk[] } {
  const count = risk.reduce((sum, one) => sum + one.count, 0);
  const amounts = [...Map.groupBy(risk, ({ currency }) => currency)].flatMap(
    ([currency, parts]): AtRisk[] => {
      const sum = sumAmounts(parts.map(({ amount }) => parseAmount(amount, "amountAtRisk")));
      return sum.eq("0") ? [] : [{ currency, amount: formatMoney(sum, "").trim() }];
    },
  );
  return { count, amounts };
}
