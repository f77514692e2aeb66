/** Reads the day's statement as a user does: with the command, in a process of its own. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { formatAmount, sumAmounts } from "../../../src/money.ts";
import type { TimeRange } from "../../../src/window.ts";
import type { LiveRound } from "./live-world.ts";

const RECON = join(import.meta.dirname, "../../../src/cli/main.ts");
const DAY_MS = 86_400_000;

interface StatementRow {
  readonly productId: string;
  readonly currency: string;
  readonly difference: string;
  readonly mismatches: string;
  readonly pending: string;
  readonly rest: string;
}

/** One line for each product and currency of the run's days whose statement leaves something unexplained. */
export async function findRests(
  environment: Readonly<Record<string, string>>,
  { from, to }: TimeRange,
  rounds: readonly LiveRound[],
): Promise<string[]> {
  const problems: string[] = [];
  for (let day = Math.floor(from / DAY_MS) * DAY_MS; day <= to; day += DAY_MS) {
    const name = new Date(day).toISOString().slice(0, 10);
    for (const row of await readStatement(environment, name)) {
      const { productId, currency, difference, mismatches, pending, rest } = row;
      if (rest === "0") continue;
      problems.push(
        `the statement of ${name} for ${productId} in ${currency} has a rest of ${rest} (difference ${difference}, mismatches ${mismatches}, pending ${pending}); ${describeDropped(rounds, productId, currency)}`,
      );
    }
  }
  return problems;
}

/** A statement that counts records which the provider no longer lists is wrong by their net. */
function describeDropped(rounds: readonly LiveRound[], productId: string, currency: string): string {
  const dropped = rounds
    .filter((round) => round.productId === productId && round.fault === null)
    .flatMap(({ records }) => records)
    .filter((versions) => versions.at(-1)?.record === null)
    .flatMap((versions) => versions.findLast(({ record }) => record !== null)?.record ?? [])
    .filter((record) => record.currency === currency && record.betStatus !== "VOID");
  const net = sumAmounts(
    dropped.map(({ betStatus, stake, payout }) =>
      betStatus === "SETTLED" ? payout.minus(stake) : stake.neg(),
    ),
  );
  return `${dropped.length} records that the provider dropped said ${formatAmount(net)}`;
}

async function readStatement(
  environment: Readonly<Record<string, string>>,
  day: string,
): Promise<readonly StatementRow[]> {
  const args = [RECON, "report", "--day", day, "--zone", "UTC", "--json"];
  const env = { PATH: process.env["PATH"] ?? "", ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1 << 26 }).catch(
    // A statement with a rest ends the command with 1, and is written all the same.
    (error: { stdout?: string }) => {
      if (error.stdout?.startsWith("{")) return { stdout: error.stdout };
      throw error;
    },
  );
  return (JSON.parse(stdout) as { rows: StatementRow[] }).rows;
}
