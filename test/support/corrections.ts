/** Every stored correction, in the order of arrival. */

import type { Correction } from "../../src/closed.ts";
import type { Sql } from "../../src/db/client.ts";

export async function correctionsOfAll(sql: Sql): Promise<Correction[]> {
  const rows = await sql<{ correction: Correction }[]>`select correction from corrections order by id`;
  return rows.map(({ correction }) => correction);
}
