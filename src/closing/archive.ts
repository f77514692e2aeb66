/** The sealed files of a closed day (§3.10): their names, their lines, what these add up to, and their manifest. Pure. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { formatInstant, parseInstant } from "../clock.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../money.ts";
import type { ReportRow } from "../report.ts";
import type { ReportItem } from "../report-item.ts";
import { canonicalJson, hashOf, type Statement } from "./statement.ts";

export const MANIFEST = "manifest.json";
const ENDING = ".ndjson.gz";

/**
 * The file of a product. Characters that a file system may not know are written as in a URL, so the id can be read back:
 * "a/b" is in "a%2Fb.ndjson.gz".
 */
export function fileOf(productId: string): string {
  const safe = encodeURIComponent(productId).replace(
    /[!'()*~]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  // A name that begins with a dot is hidden.
  return `${safe.replace(/^\./, "%2E")}${ENDING}`;
}

/** @returns null: no product has this file */
export function productOf(file: string): string | null {
  try {
    const productId = decodeURIComponent(file.slice(0, -ENDING.length));
    return productId !== "" && fileOf(productId) === file ? productId : null;
  } catch {
    return null;
  }
}

const HASH = z.string().regex(/^[0-9a-f]{64}$/);

const FILE = z.strictObject({ name: z.string(), sha256: HASH, lines: z.number().int().min(0) });
export type ArchivedFile = Readonly<z.output<typeof FILE>>;

/**
 * A manifest. Everything else in it is the statement, so its hash, which the next day names, can be computed without a
 * database.
 */
const MANIFEST_SHAPE = z.looseObject({
  day: z.iso.date(),
  zone: z.string(),
  number: z.number().int().min(1),
  previousHash: HASH.nullable(),
  files: z.array(FILE),
  /** by file: the CRC-32 of equal shares of its lines, which say where an altered file was altered */
  marks: z.record(z.string(), z.string().regex(/^([0-9a-f]{8})*$/)),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  closedAt: z.iso.datetime(),
});
export type Manifest = z.output<typeof MANIFEST_SHAPE>;

/** @throws Error that says what is wrong */
export function parseManifest(text: string): Manifest {
  const parsed = MANIFEST_SHAPE.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "it is no manifest"}`);
}

/** The manifest of a statement, as the bytes that are written. */
export function manifestText(
  { from, to, closedAt, archive: _, ...statement }: Statement,
  files: readonly ArchivedFile[],
  marks: Readonly<Record<string, string>>,
): string {
  const times = { from: formatInstant(from), to: formatInstant(to), closedAt: formatInstant(closedAt) };
  return `${canonicalJson({ ...statement, ...times, files, marks })}\n`;
}

/** The hash of the statement that a manifest belongs to. @param text the bytes of the manifest */
export function hashOfManifest(manifest: Manifest, text: string): string {
  const { files: _, marks: __, from, to, closedAt, ...statement } = manifest;
  return hashOf({
    ...statement,
    from: parseInstant(from, "from"),
    to: parseInstant(to, "to"),
    closedAt: parseInstant(closedAt, "closedAt"),
    archive: sha256(text),
  } as unknown as Statement);
}

export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The most marks of a file: a file with fewer lines has one for each line. */
const MOST_MARKS = 4_096;

/** The number of lines that share a mark. */
export function linesOfMark(lines: number): number {
  return Math.max(1, Math.ceil(lines / MOST_MARKS));
}

/** Sums by row, "TABLE THB", and figure, "provider.stake". */
export type LineSums = Map<string, Map<string, Amount>>;

const SIDE_FIGURES = ["bets", "stake", "payout", "net"] as const;
const FIGURES = {
  mismatch: "mismatches",
  correction: "adjustments",
  pending: "pending",
  rounding: "rounding",
} as const;

function addTo(sums: LineSums, row: string, figure: string, text: string): void {
  const own = sums.get(row) ?? new Map<string, Amount>();
  own.set(figure, (own.get(figure) ?? ZERO).plus(parseAmount(text, figure)));
  sums.set(row, own);
}

type Sides = {
  readonly [Side in "provider" | "ledger"]: Omit<NonNullable<ReportItem[Side]>, "status"> | null;
};

function addSides(sums: LineSums, row: string, { provider, ledger }: Sides): void {
  for (const figure of SIDE_FIGURES) {
    if (provider !== null) addTo(sums, row, `provider.${figure}`, String(provider[figure]));
    if (ledger !== null) addTo(sums, row, `ledger.${figure}`, String(ledger[figure]));
  }
  if (ledger !== null) addTo(sums, row, "ledger.moved", ledger.moved);
}

/** @param line as read from a file @throws Error if it is none */
export function addLine(sums: LineSums, line: ReportItem): void {
  const { productId, currency, ledger, difference, explainedBy } = line;
  const row = `${productId} ${currency}`;
  const isOutside = explainedBy === "outside";
  if (!isOutside) addSides(sums, row, line);
  addTo(sums, row, isOutside ? "outside" : "difference", isOutside ? (ledger?.moved ?? "0") : difference);
  if (isOutside || explainedBy === "agreed") return;
  addTo(sums, row, explainedBy === null ? "rest" : FIGURES[explainedBy], difference);
}

/**
 * Compares the rows of a statement with the sums of their lines.
 * @returns the first figure of each row that differs, as a part of a sentence whose subject is the manifest
 */
export function compareRows(rows: readonly ReportRow[], lines: LineSums): string[] {
  const said: LineSums = new Map();
  for (const one of rows) {
    const row = `${one.productId} ${one.currency}`;
    addSides(said, row, one);
    for (const figure of ["difference", "outside", "rest", ...Object.values(FIGURES)] as const)
      addTo(said, row, figure, one[figure]);
  }
  return [...new Set([...said.keys(), ...lines.keys()])].flatMap((row) => {
    const [own, added] = [said.get(row), lines.get(row)];
    const figures = [...new Set([...(own?.keys() ?? []), ...(added?.keys() ?? [])])];
    const of = (sums: Map<string, Amount> | undefined, figure: string) => sums?.get(figure) ?? ZERO;
    const wrong = figures.find((figure) => !of(own, figure).eq(of(added, figure)));
    if (wrong === undefined) return [];
    const [stated, sum] = [of(own, wrong), of(added, wrong)].map(formatAmount);
    return [`says ${wrong} ${stated} of ${row}, but its lines add up to ${sum}`];
  });
}
