/** Alerts in PostgreSQL, on their way out. */

import type { Query } from "../db/client.ts";

export async function countUndelivered(sql: Query): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select count(*) as count from alerts where delivered_at is null`;
  return row?.count ?? 0;
}
