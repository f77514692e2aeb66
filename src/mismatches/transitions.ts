/** Decides how one comparison changes mismatches. Pure; `transition-store.ts` writes the decisions. */

import type { MismatchContent, MismatchKind, MismatchStatus } from "../mismatch.ts";

/** A mismatch before the comparison. */
export interface KnownMismatch {
  readonly id: number;
  readonly subject: string;
  readonly kind: MismatchKind;
  readonly status: MismatchStatus;
  readonly resolvedBy: string | null;
  /** the difference ended after a reviewer had decided the mismatch */
  readonly hasCeased: boolean;
  readonly provider: MismatchContent["provider"];
  readonly ledger: MismatchContent["ledger"];
}

/** A difference that a comparison found. An unconfirmed one may still turn out to be merely late. */
export interface SeenDifference {
  readonly content: MismatchContent;
  /** all subjects that its sides could have under any kind, including its own */
  readonly subjects: readonly string[];
  readonly confirmed: boolean;
}

export type Transition =
  | { readonly change: "open"; readonly content: MismatchContent }
  /** "reopen": open again; "refresh": still open, perhaps with other values */
  | { readonly change: "reopen" | "refresh"; readonly id: number; readonly content: MismatchContent }
  | { readonly change: "resolve"; readonly id: number }
  /** the reviewer's decision stays; the row only notes that the difference no longer exists */
  | { readonly change: "cease"; readonly id: number };

/** The name under which the program itself resolves mismatches. */
export const RESOLVED_BY_RECON = "recon";

/**
 * The changes after which the mismatches of some subjects agree with a comparison of all these subjects. A mismatch
 * whose kind is about to change stays open until the new kind is confirmed, so a difference never disappears from
 * the list while it exists (decision 7).
 */
export function decideTransitions(
  known: readonly KnownMismatch[],
  seen: readonly SeenDifference[],
): Transition[] {
  const transitions: Transition[] = [];
  const held = new Set<number>();
  const byIdentity = new Map(known.map((one) => [identityOf(one), one]));
  for (const { content, confirmed } of seen) {
    const same = byIdentity.get(identityOf(content));
    if (same !== undefined) held.add(same.id);
    const transition = whileItHolds(same, content, confirmed);
    if (transition !== null) transitions.push(transition);
  }
  const changing = new Set(seen.filter(({ confirmed }) => !confirmed).flatMap(({ subjects }) => subjects));
  for (const one of known) {
    if (held.has(one.id) || changing.has(one.subject)) continue;
    if (one.status === "open" || one.status === "acknowledged")
      transitions.push({ change: "resolve", id: one.id });
    else if (isDecidedByReviewer(one) && !one.hasCeased) transitions.push({ change: "cease", id: one.id });
  }
  return transitions;
}

function identityOf({ kind, subject }: Pick<KnownMismatch, "kind" | "subject">): string {
  return `${kind} ${subject}`;
}

function whileItHolds(
  same: KnownMismatch | undefined,
  content: MismatchContent,
  confirmed: boolean,
): Transition | null {
  if (same === undefined) return confirmed ? { change: "open", content } : null;
  const changed = comparedValues(same) !== comparedValues(content);
  if (same.status === "open" || same.status === "acknowledged") {
    return { change: "refresh", id: same.id, content };
  }
  // A difference that had ended counts as changed, even with the same values.
  const isNews = changed || same.hasCeased || !isDecidedByReviewer(same);
  return confirmed && isNews ? { change: "reopen", id: same.id, content } : null;
}

function isDecidedByReviewer({ status, resolvedBy }: KnownMismatch): boolean {
  return status === "ignored" || (status === "resolved" && resolvedBy !== RESOLVED_BY_RECON);
}

/**
 * The fields of a side that do not count as a change. A new field of a side must be added here: stored sides lack it,
 * so every mismatch that ops have decided, and whose difference still exists, would be opened again.
 */
const NOT_COMPARED = new Set([
  "id",
  "betId",
  "txnId",
  "updatedDate",
  "accountingDate",
  "firstEntryAt",
  "lastEntryAt",
  "at",
]);

/** The compared values, without the ids and times of either side. */
function comparedValues({ provider, ledger }: Pick<MismatchContent, "provider" | "ledger">): string {
  return JSON.stringify([provider, ledger].map((side) => side && compared(side)));
}

/** The fields in one order: PostgreSQL keeps those of an object in another one. */
function compared(side: object): unknown[] {
  return Object.entries(side)
    .filter(([field]) => !NOT_COMPARED.has(field))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, value]) => [field, Array.isArray(value) ? value.map(compared) : (value as unknown)]);
}
