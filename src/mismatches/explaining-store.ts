/** The mismatches that explain a difference in the day's statement, with their adjustments. */

import type { Query } from "../db/client.ts";
import { effectOf, type Judged } from "../effect.ts";
import type { MismatchKind } from "../mismatch.ts";
import { type Amount, parseAmount } from "../money.ts";
import { RESOLVED_BY_RECON } from "./transitions.ts";

export interface ExplainingRow {
  readonly kind: MismatchKind;
  readonly username: string;
  readonly subject: string;
  /** the player and the bet on the provider's side; null: that side is empty */
  readonly providerUsername: string | null;
  readonly betId: string | null;
  readonly amountAtRisk: Amount;
  /** without its adjustments; null: it cannot be known */
  readonly effect: Amount | null;
  /** the mismatch still holds, also if a person decided it */
  readonly stands: boolean;
  /** a person resolved the mismatch */
  readonly resolved: boolean;
  /** null: there is no adjustment */
  readonly adjustments: Amount | null;
}

/** All mismatches of these players, as either side names them, that still hold or have an adjustment. */
export async function readExplaining(
  tx: Query,
  productId: string,
  usernames: readonly string[],
): Promise<ExplainingRow[]> {
  const rows = await tx<
    (Omit<ExplainingRow, "amountAtRisk" | "effect" | "adjustments"> &
      Pick<Judged, "provider" | "ledger" | "foundEffect"> & {
        amountAtRisk: string;
        adjustments: string | null;
      })[]
  >`
    select kind, username, subject, provider->>'username' as "providerUsername", bet_id as "betId",
      amount_at_risk as "amountAtRisk", effect as "foundEffect", provider, ledger, status = 'resolved' as resolved,
      not (status = 'resolved' and resolved_by = ${RESOLVED_BY_RECON}) and ceased_at is null as stands,
      (select sum(a.amount) from adjustments a where a.mismatch_id = m.id) as adjustments
    from mismatches m
    where product_id = ${productId}
      and (username = any(${usernames as string[]})
        or kind = 'username-differs' and provider->>'username' = any(${usernames as string[]}))
      and (not (status = 'resolved' and resolved_by = ${RESOLVED_BY_RECON})
        or exists (select from adjustments a where a.mismatch_id = m.id))
    order by id`;
  return rows.map(({ provider, ledger, foundEffect = null, ...row }) => ({
    ...row,
    effect: effectOf({ ...row, provider, ledger, foundEffect }),
    amountAtRisk: parseAmount(row.amountAtRisk, "amount_at_risk"),
    adjustments: row.adjustments === null ? null : parseAmount(row.adjustments, "adjustments"),
  }));
}
