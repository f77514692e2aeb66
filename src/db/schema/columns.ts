/** Column types of several tables. */

import { bigint, customType, text, timestamp } from "drizzle-orm/pg-core";

/** timestamptz, to the microsecond */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 6 });
/** PostgreSQL's id of a transaction; ids are never reused */
export const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
/** The transaction that changed the row last, for `changedSince` (`../change-position.ts`); null: an older version wrote it. */
export const changedIn = () => transactionId("changed_in");
/** tstzmultirange: ranges of time, as few as possible */
export const timeRanges = customType<{ data: string }>({ dataType: () => "tstzmultirange" });
/** an ascending "id" */
export const identity = () => bigint("id", { mode: "number" }).generatedAlwaysAsIdentity();
/** A person's case, of a mismatch or an incident. `src/mismatches/case-store.ts` changes them. */
export const caseColumns = () => ({
  /** the person who works on it; null: nobody */
  owner: text("owner"),
  /** the provider's ticket about it */
  ticket: text("ticket"),
  /** since when an answer of the provider is awaited */
  withProvider: instant("with_provider"),
  remindAt: instant("remind_at"),
  /** when the reminder was sent; null: it was not sent */
  remindedAt: instant("reminded_at"),
});
