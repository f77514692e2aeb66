/**
 * Checks an archive as an auditor would who has nothing but its files and docs/closing.md#sealed-files: no import from the
 * program. The lines of each file must add up to the rows of the statement in the manifest, to the last digit, and each manifest
 * must name the hash of the statement before it. `node test/flows/archive/independent-checker.ts FOLDER` prints what is wrong.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

type Json = Readonly<Record<string, unknown>>;
interface Side {
  readonly bets: number;
  readonly stake: string;
  readonly payout: string;
  readonly net: string;
  readonly moved?: string;
  /** null: unknown */
  readonly rewards?: string | null;
  readonly tips?: string | null;
}
interface Line {
  readonly day: string;
  readonly productId: string;
  readonly currency: string;
  readonly provider: Side | null;
  readonly ledger: Side | null;
  readonly difference: string;
  readonly explainedBy: string | null;
}
interface Manifest extends Json {
  readonly day: string;
  readonly number: number;
  readonly previousHash: string | null;
  readonly files: readonly { readonly name: string; readonly sha256: string; readonly lines: number }[];
  readonly rows: readonly (Json & { readonly productId: string; readonly currency: string })[];
}

const DIGITS = 40;

/** Decimal text as a whole number of 10^-40. */
function amountOf(text: string): bigint {
  const [, sign, whole = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (sign === undefined || fraction.length > DIGITS) throw new Error(`"${text}" is no amount`);
  return BigInt(`${sign}${whole}${fraction.padEnd(DIGITS, "0")}`);
}

/** The row's figure to which a line's difference belongs. */
const FIGURES: Readonly<Record<string, string>> = {
  mismatch: "mismatches",
  correction: "adjustments",
  pending: "pending",
  rounding: "rounding",
  agreed: "nothing",
};

type Sums = Map<string, bigint>;

function add(sums: Sums, name: string, text: string): void {
  sums.set(name, (sums.get(name) ?? 0n) + amountOf(text));
}

function addSide(sums: Sums, name: string, side: Side | null): void {
  if (side === null) return;
  add(sums, `${name}.bets`, String(side.bets));
  for (const figure of ["stake", "payout", "net"] as const) add(sums, `${name}.${figure}`, side[figure]);
  for (const figure of ["moved", "rewards", "tips"] as const)
    if (side[figure] != null) add(sums, `${name}.${figure}`, side[figure]);
}

function addLine(sums: Sums, { provider, ledger, difference, explainedBy }: Line): void {
  if (explainedBy === "outside") {
    add(sums, "outside", ledger?.moved ?? "0");
    return;
  }
  addSide(sums, "provider", provider);
  addSide(sums, "ledger", ledger);
  add(sums, "difference", difference);
  add(sums, explainedBy === null ? "rest" : (FIGURES[explainedBy] ?? `unknown ${explainedBy}`), difference);
}

/** The figures of a row that its lines must add up to. */
function sumsOfRow(row: Json): Sums {
  const sums: Sums = new Map();
  addSide(sums, "provider", row["provider"] as Side);
  addSide(sums, "ledger", row["ledger"] as Side);
  for (const name of ["difference", "mismatches", "adjustments", "pending", "rounding", "outside", "rest"])
    add(sums, name, row[name] as string);
  return sums;
}

function compareSums(lines: Sums, row: Sums): string[] {
  const names = new Set([...lines.keys(), ...row.keys()]);
  return [...names].filter((name) => (lines.get(name) ?? 0n) !== (row.get(name) ?? 0n));
}

/** JSON with the keys of each object in order, and no spaces. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}

function sha256(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function checkDay(path: string, manifest: Manifest): string[] {
  const problems: string[] = [];
  const sums = new Map<string, Sums>();
  for (const { name, sha256: expected, lines } of manifest.files) {
    const bytes = readFileSync(join(path, name));
    if (sha256(bytes) !== expected) problems.push(`${name} has another SHA-256`);
    const productId = decodeURIComponent(name.replace(/\.ndjson\.gz$/, ""));
    let count = 0;
    for (const text of gunzipSync(bytes).toString().split("\n").slice(0, -1)) {
      count += 1;
      const line = JSON.parse(text) as Line;
      if (line.productId !== productId || line.day !== manifest.day)
        problems.push(`line ${count} of ${name} is that of ${line.productId} on ${line.day}`);
      const row = `${line.productId} ${line.currency}`;
      const own = sums.get(row) ?? new Map<string, bigint>();
      addLine(own, line);
      sums.set(row, own);
    }
    if (count !== lines) problems.push(`${name} has ${count} lines instead of ${lines}`);
  }
  const rows = new Map(manifest.rows.map((row) => [`${row.productId} ${row.currency}`, sumsOfRow(row)]));
  for (const row of new Set([...sums.keys(), ...rows.keys()])) {
    for (const name of compareSums(sums.get(row) ?? new Map(), rows.get(row) ?? new Map()))
      problems.push(`the lines of ${row} do not add up to the row's ${name}`);
  }
  return problems;
}

/** @returns a line for each problem; none: every file says what the statement says, and the chain holds */
export function checkArchive(folder: string): string[] {
  const problems: string[] = [];
  let before: { readonly number: number; readonly hash: string } | null = null;
  for (const day of readdirSync(folder).sort()) {
    const path = join(folder, day);
    const bytes = readFileSync(join(path, "manifest.json"));
    const manifest = JSON.parse(bytes.toString()) as Manifest;
    const files = ["manifest.json", ...manifest.files.map(({ name }) => name)].sort();
    if (canonical(readdirSync(path).sort()) !== canonical(files)) problems.push(`${day}: has other files`);
    problems.push(...checkDay(path, manifest).map((problem) => `${day}: ${problem}`));
    if (manifest.day !== day) problems.push(`${day}: the manifest is that of ${manifest.day}`);
    if (before !== null && manifest.number !== before.number + 1) problems.push(`${day}: a day is missing`);
    if (before !== null && manifest.previousHash !== before.hash)
      problems.push(`${day}: the chain is broken`);
    const { files: _, marks: __, ...statement } = manifest;
    before = { number: manifest.number, hash: sha256(canonical({ ...statement, archive: sha256(bytes) })) };
  }
  return problems;
}

if (process.argv[1] === import.meta.filename) {
  const problems = checkArchive(process.argv[2] ?? ".");
  for (const problem of problems) console.log(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
