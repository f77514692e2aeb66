/** Reads months as a user does: with the command, in a process of its own. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BetFigures, Correction, MonthReport } from "../../../src/closed.ts";
import { parseAmount } from "../../../src/money.ts";
import type { ReportRow } from "../../../src/report.ts";
import type { Sums } from "./year-books.ts";

const RECON = join(import.meta.dirname, "../../../src/cli/main.ts");

export async function readMonthJson(
  environment: Readonly<Record<string, string>>,
  month: string,
): Promise<MonthReport> {
  return JSON.parse((await run(environment, ["report", "--month", month, "--json"])).stdout) as MonthReport;
}

/** @returns one line if the chain does not hold */
export async function verifyChain(environment: Readonly<Record<string, string>>): Promise<string[]> {
  const { code, stdout, stderr } = await run(environment, ["report", "--verify"]);
  return code === 0 ? [] : [`recon report --verify ends with ${code}: ${stdout}${stderr}`];
}

async function run(environment: Readonly<Record<string, string>>, args: readonly string[]) {
  const env = { PATH: process.env["PATH"] ?? "", ...environment };
  const ended = promisify(execFile)(process.execPath, [RECON, ...args], { env, maxBuffer: 1 << 28 });
  return await ended.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code?: number; stdout?: string; stderr?: string }) => ({
      code: error.code ?? 1,
      stdout: error.stdout ?? "",
      stderr: error.stderr ?? "",
    }),
  );
}

const EXPLAINED = ["mismatches", "adjustments", "pending", "rounding"] as const;

/** A row, and corrections, as sums by name. */
export function addRow(sums: Sums, row: ReportRow): void {
  const name = `${row.productId} ${row.currency}`;
  addFigures(sums, name, row, 1);
  sums.addText(`${name} rest`, row.rest);
  sums.addText(`${name} difference`, row.difference);
}

export function addCorrection(sums: Sums, correction: Correction): void {
  const name = `${correction.productId} ${correction.currency}`;
  addFigures(sums, name, correction.before, -1);
  addFigures(sums, name, correction.after, 1);
  sums.addText(`${name} difference`, correction.difference);
  sums.addText(`${name} rest`, correction.difference);
  for (const part of EXPLAINED) {
    const [before, after] = [correction.before[part], correction.after[part]].map((text) =>
      parseAmount(text, part),
    );
    if (before !== undefined && after !== undefined) sums.add(`${name} rest`, before.minus(after));
  }
}

function addFigures(sums: Sums, name: string, figures: BetFigures, sign: 1 | -1): void {
  for (const side of ["provider", "ledger"] as const) {
    for (const [field, value] of Object.entries(figures[side])) {
      // The world does not add up which part of a payout was a reward, and what was tipped.
      if (field === "rewards" || field === "tips") continue;
      sums.add(`${name} ${side}.${field}`, parseAmount(String(value), field).times(String(sign)));
    }
  }
  for (const part of [...EXPLAINED, "outside"] as const) {
    sums.add(`${name} ${part}`, parseAmount(figures[part], part).times(String(sign)));
  }
}
