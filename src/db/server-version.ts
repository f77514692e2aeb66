/** The version of the PostgreSQL server. */

import type { Query } from "./client.ts";

/** The oldest version with which all statements were tested. */
export const OLDEST_SERVER = 14;

/** @returns as the server names itself: major 18, name "18.4" */
export async function readServerVersion(sql: Query): Promise<{ major: number; name: string }> {
  const [row] = await sql<[{ number: number; name: string }]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`;
  return { major: Math.floor(row.number / 10_000), name: row.name };
}
