/** Mismatches in the database of a test, opened as a comparison opens them. */

import type { Instant } from "../../src/clock.ts";
import type { Config } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import { recordTransitions } from "../../src/flows/mismatches/record-transitions.ts";
import type { MismatchContent } from "../../src/mismatch.ts";
import { exampleFinding } from "./findings.ts";

/** Opens a mismatch for each set of fields, in one transaction. Bets without a name are "bet-1", "bet-2" … */
export async function openMismatches(
  sql: Sql,
  config: Config,
  at: Instant,
  findings: readonly Partial<MismatchContent>[],
): Promise<void> {
  const transitions = findings.map((fields, index) => ({
    change: "open" as const,
    content: exampleFinding({ betId: `bet-${index + 1}`, ...fields }),
  }));
  await sql.begin((tx) => recordTransitions(tx, transitions, config, at));
}

/** The statuses of all mismatches, in the order of their ids: "open resolved". */
export async function readStatuses(sql: Sql): Promise<string> {
  const rows = await sql<{ status: string }[]>`select status from mismatches order by id`;
  return rows.map(({ status }) => status).join(" ");
}
