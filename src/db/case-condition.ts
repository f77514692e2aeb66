/** The choice by owner, provider and reminder: columns that mismatches and incidents share (`caseColumns`). */

import type { Instant } from "../clock.ts";
import { NOBODY } from "../mismatch.ts";
import type { Query } from "./client.ts";

/** Null and absent fields do not filter. */
export interface CaseChoice {
  /** a name, or `NOBODY`: those without an owner */
  readonly owner?: string | null;
  /** whether the provider is to answer */
  readonly isWithProvider?: boolean | null;
  /** whether the reminder is due at this time */
  readonly isDue?: { readonly at: Instant; readonly due: boolean } | null;
}

/** The conditions of a choice, each with "and" before it. */
export function narrowedByCase(sql: Query, choice: CaseChoice) {
  const { owner = null, isWithProvider = null, isDue = null } = choice;
  return sql`${owner === null ? sql`` : owner === NOBODY ? sql`and owner is null` : sql`and owner = ${owner}`}
    ${isWithProvider === null ? sql`` : sql`and (with_provider is not null) = ${isWithProvider}`}
    ${isDue === null ? sql`` : isDue.due ? sql`and remind_at <= ${isDue.at}` : sql`and (remind_at is null or remind_at > ${isDue.at})`}`;
}
