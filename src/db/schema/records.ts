/** Bet records with their older versions, absences, and rejected records. */

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
  /** fields that the interface does not name */
  extra: jsonb("extra"),
  /** when this version was first seen */
  versionSeenAt: instant("version_seen_at").notNull(),
  /** when the request that returned this version was sent */
  requestedAt: instant("requested_at").notNull(),
};

/** Our copy of the provider's bet records, newest version of each. */
export const betRecords = pgTable("bet_records", recordColumns, (t) => [
  // The betId comes first, so a bet is also found without its player, and without a further index.
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

/** Records that a complete pass did not return, and no later pass either. */
export const recordAbsences = pgTable(
  "record_absences",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    betId: text("bet_id").notNull(),
    id: text("id").notNull(),
    /** when that pass began */
    missedSince: instant("missed_since").notNull(),
    /** when that pass read its last page; null: noted by an older version */
    missedAt: instant("missed_at"),
    /** the absence is certain from this time on; null: the record is in doubt */
    absentSince: instant("absent_since"),
    /** the provider lists the record under another of its times, so another window returns it */
    elsewhere: boolean("elsewhere").notNull().default(false),
    /** if `elsewhere`: the range in which the provider last listed the record; null: noted by an older version */
    listedFrom: instant("listed_from"),
    listedTo: instant("listed_to"),
  },
  (t) => [
    primaryKey({ columns: [t.productId, t.username, t.betId, t.id] }),
    index("record_absences_elsewhere").on(t.productId, t.listedTo).where(sql`elsewhere`),
  ],
);

/** Rejected records with their text, each stored once however often it is fetched. */
export const rejectedRecords = pgTable(
  "rejected_records",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    raw: text("raw").notNull(),
    /** md5 of raw, because the text may be longer than an index entry */
    rawDigest: text("raw_digest").notNull(),
    reason: text("reason").notNull(),
    /** when the page that first contained it was requested */
    firstSeenAt: instant("first_seen_at").notNull(),
  },
  (t) => [
    unique("rejected_records_once").on(t.productId, t.rawDigest),
    // The username in the JSON text. A hash index, because the text may have any length.
    index("rejected_records_player").using(
      "hash",
      sql.raw(String.raw`(substring("raw" from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"'))`),
    ),
  ],
);
