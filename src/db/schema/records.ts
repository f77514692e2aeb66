/** What the provider says: bet records with their older versions, those that are absent, and those that cannot be used. */

import { sql } from "drizzle-orm";
import { boolean, index, jsonb, numeric, pgTable, primaryKey, text, unique } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

const recordColumns = {
  productId: text("product_id").notNull(),
  username: text("username").notNull(),
  betId: text("bet_id").notNull(),
  id: text("id").notNull(),
  roundId: text("round_id").notNull(),
  currency: text("currency").notNull(),
  stake: numeric("stake").notNull(),
  payout: numeric("payout").notNull(),
  gameCode: text("game_code").notNull(),
  gameName: text("game_name").notNull(),
  betStatus: text("bet_status").notNull(),
  payoutStatus: text("payout_status").notNull(),
  accountingDate: instant("accounting_date").notNull(),
  updatedDate: instant("updated_date").notNull(),
  /** fields the interface does not name */
  extra: jsonb("extra"),
  /** when this version was first seen */
  versionSeenAt: instant("version_seen_at").notNull(),
  /** when the request that brought this version was sent */
  requestedAt: instant("requested_at").notNull(),
};

/** Our copy of the provider's bet records, newest version of each. */
export const betRecords = pgTable("bet_records", recordColumns, (t) => [
  // The betId comes first, so that a bet is also found where its player is not known.
  primaryKey({ columns: [t.productId, t.betId, t.username, t.id] }),
  index("bet_records_round").on(t.productId, t.username, t.roundId),
  index("bet_records_id").on(t.productId, t.id),
  index("bet_records_accounted").on(t.productId, t.accountingDate),
]);

/** Versions that a newer one replaced. */
export const betRecordVersions = pgTable(
  "bet_record_versions",
  { ...recordColumns, replacedAt: instant("replaced_at").notNull() },
  (t) => [
    index("bet_record_versions_key").on(t.productId, t.username, t.betId, t.id),
    index("bet_record_versions_replaced").on(t.replacedAt),
  ],
);

/** Records that a complete pass over their accountingDate did not return, and nothing has returned since. */
export const recordAbsences = pgTable(
  "record_absences",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    betId: text("bet_id").notNull(),
    id: text("id").notNull(),
    /** when that pass began */
    missedSince: instant("missed_since").notNull(),
    /** when it had read its last page; null: noted by an older version */
    missedAt: instant("missed_at"),
    /** since then it is certain that the record is absent; null: it is in doubt */
    absentSince: instant("absent_since"),
    /** another window returns it: the provider does not list it by its accountingDate */
    elsewhere: boolean("elsewhere").notNull().default(false),
    /** of one listed elsewhere: the time in which the provider listed it last; null: noted by an older version */
    listedFrom: instant("listed_from"),
    listedTo: instant("listed_to"),
  },
  (t) => [
    primaryKey({ columns: [t.productId, t.username, t.betId, t.id] }),
    index("record_absences_elsewhere").on(t.productId, t.listedTo).where(sql`elsewhere`),
  ],
);

/** Records that cannot be used, with their text, each once however often it is fetched. */
export const rejectedRecords = pgTable(
  "rejected_records",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    raw: text("raw").notNull(),
    /** md5 of raw, so that the text may be longer than an index entry */
    rawDigest: text("raw_digest").notNull(),
    reason: text("reason").notNull(),
    /** when the page that first brought it was asked for */
    firstSeenAt: instant("first_seen_at").notNull(),
  },
  (t) => [
    unique("rejected_records_once").on(t.productId, t.rawDigest),
    // Of the player that it names, as JSON writes it; any length will do for a hash.
    index("rejected_records_player").using(
      "hash",
      sql.raw(String.raw`(substring("raw" from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"'))`),
    ),
  ],
);
