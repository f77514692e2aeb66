/** The life of a mismatch: what one look changes about it. Pure; the store writes what is decided here. */

import type { Finding, LedgerSide, MismatchKind, MismatchStatus, ProviderSide } from "../mismatch.ts";

/** A mismatch as it stands before the look. */
export interface KnownMismatch {
  readonly id: number;
  readonly subject: string;
  readonly kind: MismatchKind;
  readonly status: MismatchStatus;
  readonly resolvedBy: string | null;
  readonly provider: ProviderSide | null;
  readonly ledger: LedgerSide | null;
}

/** A difference that a look found; unripe ones may still turn out to be merely late. */
export interface SeenFinding {
  readonly finding: Finding;
  /** every subject that its sides could have had under another kind, its own among them */
  readonly subjects: readonly string[];
  readonly ripe: boolean;
}

export type Transition =
  | { readonly change: "open"; readonly finding: Finding }
  /** open again, or still open with other values */
  | { readonly change: "reopen" | "refresh"; readonly id: number; readonly finding: Finding }
  | { readonly change: "resolve"; readonly id: number };

/** Who resolves what no longer holds. */
export const RESOLVED_BY_RECON = "recon";

/**
 * What must change so that the mismatches of some subjects agree with what a look at all of them found.
 * A mismatch whose kind is about to change stays open until the new kind is ripe, so that a difference never
 * disappears from the list while it exists.
 */
export function decideTransitions(
  known: readonly KnownMismatch[],
  seen: readonly SeenFinding[],
): Transition[] {
  const transitions: Transition[] = [];
  const held = new Set<number>();
  for (const { finding, ripe } of seen) {
    const same = known.find((one) => one.subject === finding.subject && one.kind === finding.kind);
    if (same !== undefined) held.add(same.id);
    const transition = whileItHolds(same, finding, ripe);
    if (transition !== null) transitions.push(transition);
  }
  const changing = new Set(seen.filter(({ ripe }) => !ripe).flatMap(({ subjects }) => subjects));
  for (const one of known) {
    if (held.has(one.id) || changing.has(one.subject)) continue;
    if (one.status === "open" || one.status === "acknowledged")
      transitions.push({ change: "resolve", id: one.id });
  }
  return transitions;
}

function whileItHolds(same: KnownMismatch | undefined, finding: Finding, ripe: boolean): Transition | null {
  if (same === undefined) return ripe ? { change: "open", finding } : null;
  const changed = comparedValues(same) !== comparedValues(finding);
  if (same.status === "open" || same.status === "acknowledged") {
    return { change: "refresh", id: same.id, finding };
  }
  const decidedByPerson = same.status === "ignored" || same.resolvedBy !== RESOLVED_BY_RECON;
  return ripe && (changed || !decidedByPerson) ? { change: "reopen", id: same.id, finding } : null;
}

/** The values that were compared, without the times of either side. */
function comparedValues(sides: {
  readonly provider: ProviderSide | null;
  readonly ledger: LedgerSide | null;
}): string {
  const { provider, ledger } = sides;
  return JSON.stringify([
    provider && [provider.status, provider.stake, provider.payout, provider.currency, provider.username],
    ledger && [ledger.status, ledger.stake, ledger.payout, ledger.moved, ledger.currency, ledger.username],
  ]);
}
