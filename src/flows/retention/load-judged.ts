/** Loads the bets of some visited rows, and judges which of their rows may be deleted (§3.10). */

import type { ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { readNotedAbsences } from "../../diff/record-store.ts";
import type { NamedByMismatch } from "../../mismatches/evidence-store.ts";
import { type RecordKey, textOfKey } from "../../sync/expired-records-store.ts";
import type { FlowContext } from "../context.ts";
import {
  type BetGroup,
  type Deletable,
  type DeleteUpTo,
  decideGroup,
  lostRecordsBefore,
} from "./decide-group.ts";
import { loadGroups, type VisitedRow } from "./load-groups.ts";
import { loadSessionGroups } from "./load-session-groups.ts";

/** The groups of some rows, and for each of them, at the same place, what may be deleted of it. */
export interface JudgedGroups {
  readonly groups: readonly BetGroup[];
  readonly decided: readonly Deletable[];
}

/** @param mismatches those that keep their bets */
export async function loadJudged(
  context: FlowContext,
  tx: Query,
  product: ProductConfig,
  visited: readonly VisitedRow[],
  upTo: DeleteUpTo,
  mismatches: readonly NamedByMismatch[],
): Promise<JudgedGroups> {
  const { productId, settlement } = product;
  const loaded = await loadGroups(tx, product, visited);
  const groups = settlement === "bets" ? loaded : await loadSessionGroups(context, tx, product, loaded);
  const deletedRecords = lostRecordsBefore((await readDeletedTime(tx, productId)).records.to, upTo);
  const omitsLostBets = product.lostBets === "omitted";
  const isInDoubt = await findInDoubt(tx, productId, groups);
  const decided = groups.map((group) =>
    decideGroup(group, { ...upTo, omitsLostBets, deletedRecords, mismatches, isInDoubt }),
  );
  return { groups, decided };
}

/** @returns whether a record of the groups is in doubt */
async function findInDoubt(
  tx: Query,
  productId: string,
  groups: readonly BetGroup[],
): Promise<(record: RecordKey) => boolean> {
  const records = groups.flatMap((group) => group.records);
  const noted = await readNotedAbsences(tx, productId, records);
  const inDoubt = new Set(noted.filter(({ absentSince }) => absentSince === null).map(textOfKey));
  return (record) => inDoubt.has(textOfKey(record));
}
