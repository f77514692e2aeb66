/** The columns that tables of every area have. */

import { bigint, customType, timestamp } from "drizzle-orm/pg-core";

/** timestamptz, to the microsecond */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 6 });
/** what PostgreSQL calls a transaction, for ever */
export const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
/** a column "id" that counts */
export const identity = () => bigint("id", { mode: "number" }).generatedAlwaysAsIdentity();
